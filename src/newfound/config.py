"""Settings: what each may be, and the one frozen, hashable record of all that are not keywords of the estimators."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from inspect import get_annotations
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

from newfound._internal.words import shortened

# ---- What a parameter may be, and the one check that every parameter goes through ----


class Number(NamedTuple):
    """A parameter that is a number from `low` to `high`; an open end is excluded."""

    low: float
    high: float = math.inf
    whole: bool = False
    is_low_open: bool = False

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number: Any = value  # not as a float: 10**400 is none
        return bool(self.low <= number <= self.high) and not (self.is_low_open and number == self.low)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        lowest = f"above {self.low:g}" if self.is_low_open else f"of at least {self.low:g}"
        return f"{kind} {lowest}" + ("" if self.high == math.inf else f" and at most {self.high:,g}")


class OneOf(NamedTuple):
    """A parameter that is one of a few values."""

    values: tuple

    def accepts(self, value: Any) -> bool:
        return any(value is v or (type(value) is type(v) and value == v) for v in self.values)

    def __str__(self) -> str:
        return " or ".join(repr(value) for value in self.values)


class Several(NamedTuple):
    """A parameter that is a tuple of one or more numbers."""

    one: Number

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (tuple, list)) and len(value) > 0 and all(self.one.accepts(v) for v in value)

    def __str__(self) -> str:
        return f"a tuple, each entry {self.one}"


Rule = Number | OneOf | Several


def check_parameters(values: Mapping[str, Any], rules: Mapping[str, tuple[Rule, ...]]) -> None:
    """Refuse a value that none of its rules accepts."""
    for name, allowed in rules.items():
        if not any(rule.accepts(values[name]) for rule in allowed):
            expected = ", or ".join(str(rule) for rule in allowed)
            raise ValueError(f"{name} must be {expected}; got {shortened(as_text(values[name]))}.")


def made_with(kind: type[Any], stored: Mapping[str, Any]) -> Any:
    """An object of stored parameters; refused where these are not its own. Values are checked where they count."""
    try:
        return kind(**stored)
    except TypeError as error:
        raise ValueError(
            f"The stored settings are of another newfound ({shortened(str(error))}). Fit the model again."
        ) from None


def as_text(value: Any) -> str:
    """As `repr`, also of numbers that Python refuses to print."""
    try:
        return repr(value)
    except ValueError:
        return f"a {type(value).__name__} of very many digits"


# ---- Every setting that is not a keyword of the estimators ----
# One frozen, hashable record, with one line for each name. A run, a model file and an experiment hold the whole of it.
# Change a setting with `dataclasses.replace`:
#
#     config = replace(Config(), objective=Objective(temperature=0.7))

COUNT = Number(1, whole=True)


def setting(default: Any, meaning: str, *rules: Rule) -> Any:
    """A field with its default, what it means and what it may be."""
    return field(default=default, metadata={"meaning": meaning, "rules": rules})


class Settings:
    """A record of settings: checked when it is made, documented by its own fields, the same after JSON and back."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        lines = [f"    {name} : {cls.__dict__[name].metadata['meaning']}" for name in _annotations(cls)]
        cls.__doc__ = f"{cls.__doc__}\n\n    Parameters\n    ----------\n" + "\n".join(lines) + "\n    "

    def __post_init__(self) -> None:
        named = {f.name: f for f in fields(self)}  # type: ignore[arg-type]
        check_parameters(
            {name: getattr(self, name) for name in named}, {n: f.metadata["rules"] for n, f in named.items()}
        )

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()})


def _annotations(cls: type) -> list[str]:
    return [name for name in get_annotations(cls) if name in cls.__dict__]


@dataclass(frozen=True)
class Objective(Settings):
    """What is maximised."""

    posterior: str = setting(
        "structured", "q(z | x, y) as in the paper, or q(z | x)", OneOf(("structured", "mean-field"))
    )
    expectation: str = setting(
        "gumbel", "over y: by Gumbel-softmax samples, or exact, by enumeration", OneOf(("gumbel", "exact"))
    )
    temperature: float = setting(0.5, "of the Gumbel-softmax", Number(0.01, 100))
    n_y_samples: int = setting(1, "samples of y for each row and step", Number(1, 1_000, whole=True))
    n_z_samples: int = setting(1, "samples of z for each row and step", Number(1, 1_000, whole=True))
    label_weight: float = setting(100.0, "α, the weight of log q(y | x) for labelled rows", Number(0, 1e6))
    prior_known: float = setting(0.5, "share of p(y) that belongs to the known classes", Number(0.001, 0.999))
    sigma: float = setting(0.1, "standard deviation of likelihood='gaussian-fixed'", Number(0, 1e6, is_low_open=True))


@dataclass(frozen=True)
class Optimisation(Settings):
    """How it is maximised."""

    activation: str = setting("relu", "of the hidden layers", OneOf(("relu", "gelu", "silu", "tanh")))
    init_scale: float | None = setting(
        None,
        "standard deviation of the initial kernels; None is Glorot's",
        Number(0, 10, is_low_open=True),
        OneOf((None,)),
    )
    max_grad_norm: float = setting(100.0, "longer gradients are clipped to this norm", Number(0, is_low_open=True))
    target_steps: int = setting(
        3_000,
        "steps that max_epochs='auto' aims at, within 5 and 150 epochs; but no more than twice as many",
        COUNT,
    )
    pretrain_epochs: int | str = setting(
        "auto",
        "epochs of each phase of pretraining (as a VAE, then on pseudo-labels); 0 for none; 'auto' aims at "
        "pretrain_target_steps, within 1 and 60 epochs and twice as many steps, for GMDGM, and is none for SSVAE",
        Number(0, 1_000_000, whole=True),
        OneOf(("auto",)),
    )
    pretrain_target_steps: int = setting(1_500, "see pretrain_epochs", COUNT)
    early_stopping: bool = setting(
        False, "stop, and keep the best state, when the validation ELBO no longer improves", OneOf((True, False))
    )
    n_iter_no_change: int = setting(
        10, "evaluations without a better validation ELBO before early stopping", Number(1, 1_000_000, whole=True)
    )
    min_std: float = setting(
        0.0, "columns that vary no more than this are dropped (the paper's images: 0.1)", Number(0)
    )


@dataclass(frozen=True)
class Initialisation(Settings):
    """Where the components begin: the graph of neighbours, the PU estimate, the first clusters."""

    init: str = setting(
        "graph",
        "what is discovered on the graph of neighbours, or (for a given number) k-means and a Gaussian mixture",
        OneOf(("graph", "kmeans")),
    )
    # The rows' features
    pca_components: int = setting(100, "principal components that neighbours are found in", COUNT)
    whitening: float = setting(
        0.2, "weight of the covariance within known classes in who is near whom; 0 leaves it out", Number(0, 1)
    )
    # The graph
    n_neighbors: int = setting(10, "nearest rows that a row is joined with", COUNT)
    graph_max_rows: int = setting(60_000, "rows of the graph; others are interpolated", COUNT)
    n_eigenvectors: int = setting(20, "of the spectral embedding", COUNT)
    propagation_dampings: tuple[float, ...] = setting((0.9, 0.99), "of label propagation", Several(Number(0, 1)))
    # The PU estimate
    n_folds: int = setting(5, "of labels, so that a labelled row is judged by others", Number(2, whole=True))
    n_trees: int = setting(50, "of each forest", COUNT)
    # How many new classes there are
    resolution: float = setting(
        0.25, "of communities (Leiden), where the labels do not ask for another", Number(0, is_low_open=True)
    )
    new_class_p: float = setting(
        0.01, "a group is new if as few labels as it holds have a smaller probability, were it known", Number(0, 1)
    )
    min_new_share: float = setting(
        1 / 3, "of the size of a known class: smaller new groups join the one they are linked with most", Number(0, 1)
    )
    # Whether labels were selected at random
    selection_ratio: float = setting(
        1.15, "labels are not at random if pairs of them in one part are surely so many times as frequent", Number(1)
    )
    # The audit
    audit_max_rows: int = setting(5_000, "rows of the sample in which known classes are hidden in turn", COUNT)
    # Small tables: the mixture of Gaussians
    mixture_max_rows: int = setting(1_000, "tables up to this size are given to the mixture, not the graph", COUNT)
    # The first clusters
    vae_min_rows: int = setting(5_000, "init='kmeans': fewer rows are not pretrained as a VAE", Number(0, whole=True))


@dataclass(frozen=True)
class Config:
    """All settings beside the estimators' keywords."""

    objective: Objective = Objective()
    optimisation: Optimisation = Optimisation()
    initialisation: Initialisation = Initialisation()

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        return {part: _with_lists(asdict(getattr(self, part))) for part in PARTS}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Config":
        try:
            return cls(**{part: kind.from_json(stored[part]) for part, kind in PARTS.items()})
        except (AttributeError, KeyError, TypeError) as error:
            reason = shortened(repr(str(error))[1:-1], 200)  # which may name anything, also what cannot be printed
            raise ValueError(f"The stored configuration is of another newfound ({reason}). Fit again.") from None

    def replace(self, **changes: Any) -> "Config":
        """With some settings changed, whichever part they belong to."""
        names = set().union(*NAMES.values())
        unknown = sorted(changes.keys() - names)
        if unknown:
            raise ValueError(f"Config has no setting {unknown[0]!r}. It has {', '.join(sorted(names))}.")
        parts = {part: {n: v for n, v in changes.items() if n in NAMES[part]} for part in PARTS}
        return Config(**{part: PARTS[part](**vars(getattr(self, part)) | parts[part]) for part in PARTS})

    def __getitem__(self, name: str) -> Any:
        """A setting by its name alone: each name is in one part only."""
        return getattr(getattr(self, next(part for part, names in NAMES.items() if name in names)), name)


PARTS: dict[str, type[Any]] = {"objective": Objective, "optimisation": Optimisation, "initialisation": Initialisation}
NAMES = {part: {f.name for f in fields(kind)} for part, kind in PARTS.items()}


def _with_lists(values: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
