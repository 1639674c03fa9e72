"""What each parameter may be, and `Config`: all settings that are not keywords of the estimators, as one frozen record.

A run, a model file and an experiment store the whole of it. Numbers that nobody needs to set are constants beside the
code that reads them. Change a setting by its name, or a part of the record as a dataclass:

    config = Config().replace(temperature=0.7)
    config = replace(Config(), objective=Objective(temperature=0.7))
"""

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, NamedTuple

from newfound._internal.activations import ACTIVATIONS
from newfound._internal.records import converted, to_json
from newfound._internal.words import DataError, shortened

# ---- What a parameter may be, and the one check of all parameters ----


class Number(NamedTuple):
    """A number from `low` to `high`. An open end is excluded; infinity always is."""

    low: float
    high: float = math.inf
    whole: bool = False
    is_low_open: bool = False

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number: Any = value  # compared as it is: 10**400 is not a float
        return bool(self.low <= number <= self.high) and not (self.is_low_open and number == self.low)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        lowest = f"above {self.low:g}" if self.is_low_open else f"of at least {self.low:g}"
        return f"{kind} {lowest}" + ("" if self.high == math.inf else f" and at most {self.high:,g}")


class OneOf(NamedTuple):
    """One of a few values."""

    values: tuple

    def accepts(self, value: Any) -> bool:
        return any(value is v or (type(value) is type(v) and value == v) for v in self.values)

    def __str__(self) -> str:
        return " or ".join(repr(value) for value in self.values)


class Several(NamedTuple):
    """A tuple of one or more numbers."""

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
            try:
                got = repr(values[name])
            except ValueError:  # Python refuses to print very long numbers
                got = "a number with too many digits to print"
            expected = ", or ".join(str(rule) for rule in allowed)
            raise ValueError(f"{name} must be {expected}; got {shortened(got)}.")


def made_with(kind: type[Any], stored: Mapping[str, Any]) -> Any:
    """An object from stored parameters, refused if it has no such parameters. Their values are checked on use."""
    try:
        return kind(**stored)
    except TypeError as error:
        reason = shortened(str(error))
        raise ValueError(f"The stored settings are of another newfound ({reason}). Fit the model again.") from None


# ---- The settings: name, default, meaning, rules ----

COUNT = Number(1, whole=True)
SHARE = Number(0, 1)


def setting(default: Any, meaning: str, *rules: Rule) -> Any:
    """A field with its default, its meaning and the values it accepts."""
    return field(default=default, metadata={"meaning": meaning, "rules": rules})


class Settings:
    """A part of the settings. Its fields are its documentation and the check of their values."""

    def __init_subclass__(cls) -> None:
        named = {name: of for name, of in vars(cls).items() if isinstance(of, Field)}
        lines = [f"    {name} : {of.metadata['meaning']}" for name, of in named.items()]
        cls.__doc__ = f"{cls.__doc__}\n\n    Parameters\n    ----------\n" + "\n".join(lines) + "\n    "

    def __post_init__(self) -> None:
        own = fields(self)  # type: ignore[arg-type]
        check_parameters({f.name: getattr(self, f.name) for f in own}, {f.name: f.metadata["rules"] for f in own})


@dataclass(frozen=True)
class Objective(Settings):
    """What is maximised."""

    posterior: str = setting(
        "structured", "q(z | x, y) as in the paper, or q(z | x)", OneOf(("structured", "mean-field"))
    )
    expectation: str = setting(
        "gumbel", "over y: from Gumbel-softmax samples, or exact, by enumeration", OneOf(("gumbel", "exact"))
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

    activation: str = setting("relu", "of the hidden layers", OneOf(tuple(ACTIVATIONS)))
    init_scale: float | None = setting(
        None,
        "standard deviation of the initial kernels; None is Glorot's",
        Number(0, 10, is_low_open=True),
        OneOf((None,)),
    )
    max_grad_norm: float = setting(100.0, "longer gradients are clipped to this norm", Number(0, is_low_open=True))
    target_steps: int = setting(
        3_000, "steps that max_epochs='auto' aims at, with 5 to 150 epochs and at most twice these steps", COUNT
    )
    pretrain_epochs: int | str = setting(
        "auto",
        "epochs of each phase of pretraining (as a VAE, then on pseudo-labels), 0 for none; 'auto' is none for SSVAE, "
        "and for GMDGM aims at pretrain_target_steps, with 1 to 60 epochs and at most twice these steps",
        Number(0, 1_000_000, whole=True),
        OneOf(("auto",)),
    )
    pretrain_target_steps: int = setting(1_500, "see pretrain_epochs", COUNT)
    early_stopping: bool = setting(
        False, "stop when the validation ELBO no longer improves, and keep the best state", OneOf((True, False))
    )
    n_iter_no_change: int = setting(
        10, "evaluations without a better validation ELBO before early stopping", Number(1, 1_000_000, whole=True)
    )
    min_std: float = setting(
        0.0, "columns with at most this standard deviation are dropped (the paper's images: 0.1)", Number(0)
    )


@dataclass(frozen=True)
class Initialisation(Settings):
    """Where the components begin: the graph of neighbours, the PU estimate, discovery, the audit."""

    init: str = setting(
        "graph",
        "discovery on the graph of neighbours, or k-means for a given number of classes",
        OneOf(("graph", "kmeans")),
    )
    pca_components: int = setting(100, "principal components in which neighbours are found", COUNT)
    whitening: float = setting(
        0.2, "weight of the covariance within known classes when neighbours are found; 0 ignores it", SHARE
    )
    n_neighbors: int = setting(10, "nearest rows that each row is joined with", COUNT)
    graph_max_rows: int = setting(60_000, "rows of the graph; others are interpolated", COUNT)
    n_eigenvectors: int = setting(20, "of the spectral embedding", COUNT)
    propagation_dampings: tuple[float, ...] = setting((0.9, 0.99), "of label propagation", Several(SHARE))
    n_folds: int = setting(
        5, "of labels, so that labelled rows are judged by the labels of others", Number(2, whole=True)
    )
    n_trees: int = setting(50, "of each forest", COUNT)
    resolution: float = setting(
        0.25, "of communities (Leiden), unless the labels ask for another", Number(0, is_low_open=True)
    )
    new_class_p: float = setting(
        0.01, "a group is new if a known class would hold at most its labels with a lower probability than this", SHARE
    )
    min_new_share: float = setting(
        1 / 3, "of the size of a known class: smaller new groups join the one they share most edges with", SHARE
    )
    selection_ratio: float = setting(
        1.15,
        "labels are not at random if pairs of them within one part are significantly more frequent than this",
        Number(1),
    )
    audit_max_rows: int = setting(5_000, "rows of the sample in which known classes are hidden in turn", COUNT)
    mixture_max_rows: int = setting(1_000, "tables up to this size use the mixture of Gaussians, not the graph", COUNT)
    vae_min_rows: int = setting(5_000, "init='kmeans': fewer rows are not pretrained as a VAE", Number(0, whole=True))


PARTS: dict[str, type[Any]] = {"objective": Objective, "optimisation": Optimisation, "initialisation": Initialisation}
NAMES = {part: {f.name for f in fields(kind)} for part, kind in PARTS.items()}


@dataclass(frozen=True)
class Config:
    """All settings that are not keywords of the estimators."""

    objective: Objective = Objective()
    optimisation: Optimisation = Optimisation()
    initialisation: Initialisation = Initialisation()

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Config":
        """The stored settings. Those of another version, which has other names, are refused."""
        config = converted(stored, cls, "The stored configuration", "Fit again.")
        if to_json(config) != stored:
            raise DataError("The stored configuration has other settings than this newfound. Fit again.")
        return config

    def replace(self, **changes: Any) -> "Config":
        """With some settings changed, given by their names alone."""
        names = set().union(*NAMES.values())
        unknown = sorted(changes.keys() - names)
        if unknown:
            raise ValueError(f"Config has no setting {unknown[0]!r}. It has {', '.join(sorted(names))}.")
        parts = {part: {n: v for n, v in changes.items() if n in NAMES[part]} for part in PARTS}
        return Config(**{part: PARTS[part](**vars(getattr(self, part)) | parts[part]) for part in PARTS})

    def __getitem__(self, name: str) -> Any:
        """A setting by its name alone: each name is in one part only."""
        return getattr(getattr(self, next(part for part, names in NAMES.items() if name in names)), name)
