"""The Python door: scikit-learn estimators over the one path from X and y to classes. No mathematics here."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from newfound._internal.frames import readable
from newfound._internal.threads import refuse_fork
from newfound._internal.words import and_list
from newfound.acts import ACTS
from newfound.config import Config, Number, OneOf, check_parameters, made_with
from newfound.discovery.rows import Rows
from newfound.fitted import Fitted
from newfound.labelling.changes import Changes, HeldOut, Named, compare
from newfound.labelling.given import ToLearn, called_now, labels_to_learn
from newfound.labelling.lineage import Lineage
from newfound.labelling.suggest import Suggestions, suggest_rows
from newfound.labels import Labels
from newfound.metrics import open_set_accuracy_scorer
from newfound.models import in_numpy
from newfound.models.architecture import MODELS
from newfound.predictor import Predictor, PredictsRows, check_fitted
from newfound.preprocessing import checks
from newfound.saved import load_fitted, save_fitted

# ---- Acts as methods of an estimator: each gives a new fitted one, and leaves this one as it is ----


class ClassActs:
    """What a person may decide about the classes of a fitted model. A class is given by its name or its id."""

    fitted_: Fitted

    def rename(self, names: Mapping[Any, Any]) -> Self:
        """The same model with other names for some classes: `model.rename({"new-1": "chinstrap"})`."""
        return self._after("rename", names=names)

    def merge(self, classes: Sequence[Any], into: Any = None) -> Self:
        """The same model with several classes as one: `model.merge(["new-3"], into="login")`.

        All rows of other classes keep their class and its probability. The one class has the id and name of `into`,
        else of a known one, else of one that a person named, else of the largest; the ids of the others retire.
        """
        return self._after("merge", classes=classes, into=into)

    def split(self, class_name: Any) -> Self:
        """The same model with one class as two, where the class tree parts it: the larger part keeps id and name.

        What was merged into a known class is taken out of it again.
        """
        return self._after("split", class_name=class_name)

    def cut(self, n_new: int) -> Self:
        """The same model with another number of new classes, without a second fit: finer, or joined to fewer.

        `tree_` holds the components of new classes and in which order they join. A class of the same components as
        before keeps id and name. Discarded classes, and what was merged into known ones, stay as they are.
        """
        return self._after("cut", n_new=n_new)

    def discard(self, class_name: Any) -> Self:
        """The same model without one of its new classes: each of its rows takes the best class that remains.

        Probabilities are those given that a row is not of the discarded class; rows fitted on that belonged to it are
        not sure (`is_sure_`).
        """
        return self._after("discard", class_name=class_name)

    def _after(self, act: str, **arguments: Any) -> Self:
        check_fitted(self)
        other = copy.copy(self)
        other.fitted_ = ACTS[act].apply(self.fitted_, **arguments)
        return other


# ---- The loop of labelling as methods of an estimator ----
# Which rows to label next, and a fit that takes the labels in.


class LabellingLoop:
    """Suggest rows, let a person label some, refit."""

    fitted_: Fitted
    changes_: Changes  # of a refit: what is different from the model before

    def suggest(self, X: Any, n: int = 50, y: Any = None) -> Suggestions:
        """The n rows that would tell most if they were labelled, the most telling first.

        X are the rows that were fitted on. Those that carried a label then, or carry one in y now, are left out. Of
        each suggestion: the number of its row, its class with its probability, and why it would tell much.
        """
        check_fitted(self)
        check_parameters({"n": n}, {"n": (Number(1, whole=True),)})
        fitted = self.fitted_
        latent = self.transform(X)  # type: ignore[attr-defined]
        _check_rows(fitted, len(latent))
        is_open = ~(fitted.row_is_labelled | Labels.read(y, len(latent)).is_labelled)
        return suggest_rows(fitted.classes, fitted.row_probabilities, latent, n, is_open)

    def refit(self, X: Any, y: Any) -> Self:
        """A new estimator for the same rows with more labels: what was found is kept, and the labels correct it.

        y are all labels there are now, by the names that classes have now. A class that has labels is known: one that
        a person named, or in which most of the given labels agree; a name that no class has becomes a class of its
        own. Rows that are like those labelled follow them. `changes_` of the new estimator says what is different.
        """
        check_fitted(self)
        before = self.fitted_
        _check_rows(before, len(X))
        labels = as_called_now(before, Labels.read(y, len(before.row_components)))
        learned = labels_to_learn(before, labels)
        _warn_of_single_labels(learned)
        is_given = learned.labels.is_labelled & ~before.row_is_labelled
        held_out = before.validation_indices[~is_given[before.validation_indices]]
        lineage = Lineage(before, learned.labels.classes, called_now(before, labels))
        after = self._refit(X, learned.labels, lineage, held_out)  # type: ignore[attr-defined]
        after.changes_ = changes_between(self, after, X, learned.labels)
        return after


def _check_rows(fitted: Fitted, n: int) -> None:
    """What was found is known row by row, so these must be the same rows."""
    if n != len(fitted.row_components):
        raise ValueError(
            f"X must be the rows that were fitted on, in the same order: expected {len(fitted.row_components):,}, got "
            f"{n:,}. Give all of them; for other rows there is `predict`."
        )


def as_called_now(fitted: Fitted, labels: Labels) -> Labels:
    """Labels by the names that classes have now: a source goes on saying what it said before one was renamed."""
    classes = fitted.classes
    pairs = zip(classes.ids.tolist(), classes.names.tolist(), strict=True)
    now = {old: new for old, new in pairs if old not in classes.names.tolist()}
    if not now:
        return labels
    names = [now.get(name, name) for name in labels.classes.tolist()]
    return Labels.of_distinct([*names, None], labels.codes)  # UNLABELLED is the last position


def changes_between(before: Any, after: Any, X: Any, labels: Labels) -> Changes:
    """What a refit changed."""
    known = set(before.fitted_.classes.known.astype(str))
    became = [name for name in after.fitted_.classes.known.astype(str).tolist() if name not in known]
    changes = compare(Named.of(before.fitted_), Named.of(after.fitted_), became)
    return replace(changes, held_out=held_out_of_both(before, after, X, labels))


def held_out_of_both(before: Any, after: Any, X: Any, labels: Labels) -> HeldOut | None:
    """How often each model is right on the labels of rows that were validation rows of both."""
    rows = np.intersect1d(before.validation_indices_, after.validation_indices_)
    rows = rows[labels.is_labelled[rows] & before.fitted_.row_is_labelled[rows]]
    if len(rows) == 0:
        return None
    truth = labels.names[rows]
    some = X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
    right = [float(np.mean(model.predict(some).astype(str) == truth)) for model in (before, after)]
    return HeldOut(len(rows), *right)


def _warn_of_single_labels(learned: ToLearn) -> None:
    if learned.alone:
        names = and_list(f"“{name}”" for name in learned.alone)
        warnings.warn(
            f"A class needs two labels or more; {names} has one only, which is left out of this fit. Label another "
            f"row of it, or give its name to the new class that it is.",
            stacklevel=3,
        )


# ---- The other way: from classes to rows ----


def random_numbers(random_state: Any) -> np.random.RandomState:
    """By scikit-learn's rule, which is not imported for a plain seed."""
    if isinstance(random_state, int):
        return np.random.RandomState(random_state)
    from sklearn.utils import check_random_state

    return check_random_state(random_state)


class GeneratesRows:
    """What a fitted estimator can draw from p(x, y, z)."""

    fitted_: Fitted
    latent_dim: int

    def sample(
        self, n_samples: int = 1, class_name: Any = None, *, mean: bool = False, random_state: Any = None
    ) -> np.ndarray:
        """Generate rows of a class, or of classes drawn from p(y); without noise if `mean`."""
        check_fitted(self)
        check_parameters({"n_samples": n_samples}, {"n_samples": (Number(1, whole=True),)})
        rng = random_numbers(random_state)
        weights = np.exp(self.fitted_.restart.weights[".log_p_y"].astype(float)) * self.fitted_.classes.is_kept
        if class_name is not None:
            weights = weights * (self.fitted_.classes.component_class == self.fitted_.classes.position(class_name))
        components = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
        return self._generate(components, rng.standard_normal((n_samples, self.latent_dim)), mean, rng)

    def sample_grid(self, n_rows: int = 10, *, random_state: Any = None) -> np.ndarray:
        """Means of p(x | y, z), (n_rows, components, features): one shared draw behind z a row, one y a column."""
        check_fitted(self)
        rng = random_numbers(random_state)
        n_components = self.fitted_.classes.n_components
        shared = np.repeat(rng.standard_normal((n_rows, self.latent_dim)), n_components, axis=0)
        rows = self._generate(np.tile(np.arange(n_components), n_rows), shared, True, rng)
        return rows.reshape(n_rows, n_components, -1)

    def _generate(
        self, components: np.ndarray, epsilon: np.ndarray, mean: bool, rng: np.random.RandomState
    ) -> np.ndarray:
        fitted, weights = self.fitted_, self.fitted_.restart.weights
        if in_numpy.is_known(fitted.architecture):
            rows = in_numpy.means(
                fitted.architecture, in_numpy.decoded(fitted.architecture, weights, components, epsilon)
            )
            rows = rows if mean else in_numpy.draws(fitted.architecture, weights, rows, rng)
        else:
            from newfound.compiled_inference import generated_rows

            refuse_fork()
            rows = generated_rows(fitted, components, epsilon, rng, mean=mean)
        return fitted.preprocessing.restore(rows)


DTYPES = [np.float64, np.float32, np.uint8]  # of X, as it is or as the first of them


class DeepGenerativeClassifier(
    LabellingLoop,
    ClassActs,
    GeneratesRows,
    PredictsRows,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """What the estimators have in common: all but the model."""

    model: ClassVar[str]  # a name in `newfound.models.MODELS`

    def __init__(
        self,
        n_new: int | Literal["auto"] = "auto",
        *,
        latent_dim: int = 10,
        hidden_layer_sizes: tuple[int, ...] = (200, 200),
        likelihood: str = "auto",
        standardize: bool | Literal["auto", "min-max"] = "auto",
        feature_types: Sequence[str] | None = None,
        image_shape: tuple[int, ...] | None = None,
        pu_weight: float | Literal["auto"] = "auto",
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        max_epochs: int | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_init: int = 1,
        verbose: bool | Literal["auto"] = "auto",
        random_state: Any = None,
        config: Config | None = None,
    ):
        self.n_new = n_new
        self.latent_dim = latent_dim
        self.hidden_layer_sizes = hidden_layer_sizes
        self.likelihood = likelihood
        self.standardize = standardize
        self.feature_types = feature_types
        self.image_shape = image_shape
        self.pu_weight = pu_weight
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.validation_fraction = validation_fraction
        self.n_init = n_init
        self.verbose = verbose
        self.random_state = random_state
        self.config = config

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, groups: Any = None, *, sample_rows: int | None = None, **unknown: Any) -> Self:
        """Learn from X and the labels in y; -1, None, NaN and "" mean unlabelled, y = None that no row has a label.

        `groups` has one value a row: the person, site or machine it comes from. Whole groups are then held out for
        validation, and labels that come from a few of them are noticed (`selection_`).

        X may also be a table file or a folder of them, a PyArrow dataset (y is then the name of a column), an array
        that is mapped from disk, or Dask's: then the fit is of `sample_rows` rows drawn at random (None is 200,000 at
        most) and labelled ones beside them, whose numbers are in `sample_indices_`; columns are scaled by all rows.
        """
        from newfound.tables.streams import source_of

        checks.refuse_unknown(unknown)
        refuse_fork()
        source = source_of(X, y, sample_rows)
        if source is not None:
            return self._fit_sample(source, groups, sample_rows)
        self._fit(X, y, groups)
        self.__dict__.pop("sample_indices_", None)  # of an earlier fit
        return self

    def _fit_sample(self, source: Any, groups: Any, sample_rows: int | None) -> Self:
        """Of a `RowSource`."""
        from newfound.tables.streams import draw_sample

        sample, of_all = draw_sample(source, groups, sample_rows, self.random_state)
        self._fit(sample.X, sample.y, of_all=of_all)
        self.sample_indices_ = sample.numbers
        return self

    def _fit(self, X: Any, y: Any, groups: Any = None, **beside: Any) -> Self:
        """With checkpoints, where `beside` holds them."""
        from newfound.fit import RULES, fit_model
        from newfound.training.steps import keep_compiled_programs_if_asked

        check_parameters(self.get_params(deep=False), RULES)
        keep_compiled_programs_if_asked()
        attempt = copy.copy(self)  # a fit that fails leaves this estimator as it was
        X, labels = attempt._read(X, y)
        names = getattr(attempt, "feature_names_in_", None)
        groups = None if groups is None else checks.check_groups(groups, len(X))
        parameters = self.get_params(deep=False) | {"config": self.config or Config()}
        attempt.fitted_ = fit_model(self.model, X, labels, parameters, names, groups, **beside)
        self.__dict__ = attempt.__dict__
        return self

    def _refit(self, X: Any, labels: Labels, lineage: Lineage, held_out: np.ndarray) -> Self:
        """A copy, corrected by labels; `held_out` are rows for validation."""
        from newfound.fit import refit_model
        from newfound.training.steps import keep_compiled_programs_if_asked

        refuse_fork()
        keep_compiled_programs_if_asked()
        after = copy.copy(self)
        parameters = self.get_params(deep=False) | {"config": self.config or Config()}
        after.fitted_ = refit_model(self._read_rows(X, reset=False), labels, lineage, held_out, parameters)
        return after

    def _read(self, X: Any, y: Any) -> tuple[np.ndarray, Labels]:
        X = self._read_rows(X, reset=True)
        labels = Labels.read(y, len(X)).observed()
        labels.warn_of_marks()
        return X, labels

    def rows_and_labels(self, X: Any, y: Any) -> tuple[Rows, Labels]:
        """X and y as discovery sees them, without a fit."""
        from newfound.fit import RULES, prepared_rows

        check_parameters(self.get_params(deep=False), RULES)
        X, labels = self._read(X, y)
        return prepared_rows(X, self.get_params(deep=False) | {"config": self.config or Config()}), labels

    def settings(self) -> dict[str, Any]:
        """All parameters, with the whole configuration, as plain JSON."""
        settings = self.get_params(deep=False) | {"config": (self.config or Config()).to_json()}
        if not isinstance(self.random_state, int | None):
            settings["random_state"] = None  # a generator has no JSON; the seeds it gave are kept with the restarts
        return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}

    # ---- answers, beside those of `PredictsRows` ---------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """The posterior mean of z, in the frame that `set_output` asks for: scikit-learn looks for it in this class."""
        return super().transform(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of labelled rows that are right: called by name, or new if their class was never seen in training.

        Rows without a label do not count. This is `newfound.metrics.open_set_accuracy`; `labelled_accuracy_scorer`
        there is the plain accuracy of the labelled rows.
        """
        check_fitted(self)
        return open_set_accuracy_scorer(self, X, y, sample_weight)

    def score_samples(self, X: Any) -> np.ndarray:
        """The ELBO of each row, a lower bound of log p(x) in the units of the scaled columns."""
        from newfound.compiled_inference import elbos

        check_fitted(self)
        refuse_fork()
        return elbos(self.fitted_, self._read_rows(X))

    def save(self, folder: str | PathLike) -> None:
        """Write the fitted model to a folder: weights as safetensors, all else as JSON, nothing that can run code."""
        check_fitted(self)
        save_fitted(self.fitted_, {"model": self.model} | self.settings(), folder)

    @property
    def _n_features_out(self) -> int:
        return self.latent_dim

    # ---- what the rest consists of -----------------------------------------------------------------------------------

    def _read_rows(self, X: Any, *, reset: bool = False) -> np.ndarray:
        """By scikit-learn's checks; of an array in which these would find nothing, only the numbers are checked."""
        if not reset and self._is_ordinary(X):
            X = checks.as_rows(X)
            checks.check_finite(X, None)
            return X
        checks.check_readable(X)
        with checks.explain_overflow():
            X = validate_data(self, readable(X), reset=reset, dtype=DTYPES, ensure_all_finite=False)
        checks.check_finite(X, getattr(self, "feature_names_in_", None))
        return X

    def _for_workers(self) -> Predictor:
        return Predictor(self.fitted_)._for_workers()

    def _is_ordinary(self, X: Any) -> bool:
        """Whether X is a plain array of numbers with the columns of fit, where columns have no names."""
        n_columns = getattr(self, "n_features_in_", None)
        return checks.is_plain_matrix(X) and X.shape[1] == n_columns and not hasattr(self, "feature_names_in_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.transformer_tags.preserves_dtype = ["float32"]  # the precision of the model, whatever X has
        return tags


class GMDGM(DeepGenerativeClassifier):
    """Gaussian-mixture deep generative model: names the known classes and discovers the others.

    p(x, y, z) = p(x | z) p(z | y) p(y): each component, a value of y, is one Gaussian of a mixture in z.

    Parameters
    ----------
    n_new : int or "auto"
        How many new classes there are. "auto" finds their number, which may be 0: from the graph of neighbours, and
        from where labels are missing. A number is obeyed, as so many components for classes that nobody labelled.
    latent_dim : int
        Dimensions of z.
    hidden_layer_sizes : tuple of int
        Units of the hidden layers of every network.
    likelihood : "auto", "bernoulli", "gaussian" or "gaussian-fixed"
        How x is distributed around what the model decodes. "auto" is "bernoulli" for uint8 images and for columns of
        only 0 and 1, else "gaussian", which learns a standard deviation for each column. Where feature_types are
        given, each column has the likelihood of its own type instead.
    standardize : bool, "min-max" or "auto"
        Whether a Gaussian likelihood sees columns of mean 0 and standard deviation 1, so that units do not matter.
        "auto" does so, except for images, whose pixels are in one unit, and bytes. "min-max" brings every column to
        0..1 instead, for either likelihood. Cells that lie far away from nearly all others count like the nearest value
        that does not, and a warning names their column.
    feature_types : sequence of str or None
        For tables of mixed columns, the type of each: "numeric" (Gaussian), "numeric:<block>" for columns on one scale,
        such as an embedding, "binary" (Bernoulli), or "categorical:<group>" for the columns of a one-hot group. None is
        one likelihood for all columns.
    image_shape : tuple of int or None
        (height, width) or (height, width, channels) where rows are images: their neighbours are then found by
        histograms of oriented gradients (HOG) instead of pixel by pixel.
    pu_weight : float or "auto"
        ρ, the weight of the positive-unlabelled (PU) term, relative to that of the labels: where labelled rows are rare
        among their neighbours, a new class is probable. It assumes that labels were selected completely at random
        within each class (SCAR). "auto" is 0.3; where labels look as if they were not (one site only, easy cases first;
        see `selection_`), no missing label is taken for a sign of a new class, and a warning says so. A number is
        obeyed. Part of pretraining, and of no use without it.
    batch_size : int
        Rows of each kind, labelled and unlabelled, in a step.
    learning_rate : float
        Adam's, at the start of a cosine decay.
    max_epochs : int or "auto"
        Passes over the rows without a label (over all rows if each has one). "auto" makes 3,000 steps, but at least
        5 and at most 150 passes; of large tables 6,000 steps, be it less than a pass.
    validation_fraction : float
        The share of rows held out of training, of each label and of the unlabelled; 0 for none.
    n_init : int
        Restarts from different seeds, all in one program; the one with the best validation ELBO is used.
    verbose : bool or "auto"
        Whether to show progress; "auto" does so on a terminal and in a notebook.
    random_state : int, RandomState or None
        Makes a fit repeatable.
    config : Config or None
        All other settings (`newfound.Config`): of the objective, the optimisation and the initialisation.

    Attributes
    ----------
    classes_ : known classes first, then the new ones.
    labels_ : the class of each row that was fitted on: its label, else what was discovered; what the model predicts,
        where no new class was.
    class_ids_ : of each class what no act changes; a known class's is its label, a new one's the name it was found by.
    is_named_ : whether each class has its name from a person.
    n_new_, n_new_range_ : how many new classes there are, and the least and the most there could be; both the number
        itself once a person has chosen it, by merge, split, cut or discard.
    is_sure_ : whether each row that was fitted on belongs to its class more probably than not.
    sure_labels_ : `labels_`, with no answer (-1, "" or None) where a row is not sure.
    evidence_ : for each new class its rows, the labels it would hold if it were known, those it holds, and the
        probability of so few.
    tree_ : how components of new classes join; `cut` gives a model with more or fewer new classes.
    selection_ : whether labels look selected at random within their classes (grade: "random", "doubtful", "not at
        random" or "too few labels"), and by how much not; None where no row has a label, or every row.
    is_new_ : one flag for each class.
    component_class_ : for each component, the position of its class in `classes_`.
    temperature_ : what log q(y | x) is divided by, fitted on held-out labels; 1 where these are fewer than 10.
    regime_ : "unsupervised", "semi-supervised", "semi-unsupervised" or "supervised".
    termination_condition_ : "max_epochs", "early_stopping", "diverged" or "interrupted".
    history_ : every term of the objective, and the validation ELBO and accuracy, over time.
    validation_indices_ : numbers of the rows that were held out of training.
    restarts_, best_restart_ : every restart, and the position of the one in use.
    preprocessing_, architecture_ : what was decided about the columns, and about the networks.
    changes_ : of a model from `refit`, what is different from the one before.
    fitted_ : all of this in one record.

    Examples
    --------
    >>> from newfound import GMDGM
    >>> model = GMDGM(n_new=5, random_state=0)
    """

    model = "gmdgm"


class SSVAE(DeepGenerativeClassifier):
    """Semi-supervised variational auto-encoder: the baseline that does not discover classes by itself.

    p(x, y, z) = p(x | y, z) p(y) p(z): y and z are independent causes of x.

    """

    model = "ssvae"
    __doc__ += "Parameters\n" + str(GMDGM.__doc__).partition("Parameters\n")[2].partition("    Examples")[0]


def estimator_of(model: str) -> type[DeepGenerativeClassifier]:
    """The estimator of a model in the registry; one without a class of its own here gets a plain one."""
    check_parameters({"model": model}, {"model": (OneOf(tuple(MODELS)),)})
    own = {cls.model: cls for cls in (GMDGM, SSVAE)}
    return own.get(model) or type(
        model, (DeepGenerativeClassifier,), {"model": model, "__doc__": MODELS[model].in_jax.__doc__}
    )


def load(folder: str | PathLike) -> DeepGenerativeClassifier:
    """The estimator that was saved to `folder`, ready to predict."""
    fitted, settings = load_fitted(folder)
    parameters: dict[str, Any] = {
        n: tuple(v) if isinstance(v, list) else v for n, v in settings.items() if n != "model"
    }
    parameters["config"] = Config.from_json(settings.get("config") or {})
    estimator = made_with(estimator_of(str(settings.get("model"))), parameters)
    estimator.fitted_ = fitted
    estimator.n_features_in_ = fitted.n_features
    if fitted.feature_names is not None:
        estimator.feature_names_in_ = np.array(fitted.feature_names, dtype=object)
    return estimator
