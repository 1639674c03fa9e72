"""The estimators `GMDGM` and `SSVAE`, with the interface of scikit-learn, and `load`.

They read and check a user's input; `fit` has the steps of a fit, `predictor` the answers, `acts` and `labelling`
the decisions of a person. There is no mathematics here.
"""

import copy
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import validate_data

from newfound._internal.frames import readable
from newfound._internal.records import to_json
from newfound._internal.threads import refuse_fork
from newfound._internal.words import and_list
from newfound.config import Config, Number, OneOf, Rule, Several, check_parameters, made_with
from newfound.discovery.rows import Rows
from newfound.labels import Labels
from newfound.models import in_numpy
from newfound.models.architecture import LIKELIHOODS, MODELS
from newfound.predictor import Predictor, check_fitted, may_be_lazy
from newfound.preprocessing import checks
from newfound.saved import load_fitted, save_fitted

if TYPE_CHECKING:
    from newfound.labelling.changes import Changes, HeldOut
    from newfound.labelling.suggest import Suggestions

LIKELIHOOD_CHOICES = ("auto", *(name for name, kind in LIKELIHOODS.items() if not kind.needs_feature_types))

PARAMETER_RULES: dict[str, tuple[Rule, ...]] = {  # feature_types and image_shape are checked against X
    "n_new": (Number(0, 10_000, whole=True), OneOf(("auto",))),
    "latent_dim": (Number(1, 1_000, whole=True),),
    "hidden_layer_sizes": (Several(Number(1, 100_000, whole=True)),),
    "likelihood": (OneOf(LIKELIHOOD_CHOICES),),
    "standardize": (OneOf(("auto", "min-max", True, False)),),
    "pu_weight": (Number(0, 1_000), OneOf(("auto",))),
    "batch_size": (Number(1, 100_000, whole=True),),
    "learning_rate": (Number(0, 1, is_low_open=True),),
    "max_epochs": (Number(1, 1_000_000, whole=True), OneOf(("auto",))),
    "validation_fraction": (Number(0, 0.5),),
    "n_init": (Number(1, 1_000, whole=True),),
    "verbose": (Number(0, whole=True), OneOf(("auto", True, False))),
}
DTYPES = [np.float64, np.float32, np.uint8]  # X keeps its dtype if it is one of these, else it becomes the first


class DeepGenerativeClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator, Predictor
):
    """What `GMDGM` and `SSVAE` have in common: everything except the model."""

    model: ClassVar[str]  # a name in `newfound.models.architecture.MODELS`
    changes_: "Changes"  # of a model from `refit`

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
        verbose: bool | int | Literal["auto"] = "auto",
        random_state: Any = None,
        config: Config | None = None,
    ):
        # Each argument becomes the attribute of the same name, unchanged, as scikit-learn expects.
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, groups: Any = None, *, sample_rows: int | None = None, **unknown: Any) -> Self:
        """Learn from X and the labels in y, and return the fitted estimator.

        Parameters
        ----------
        X : array, data frame, table file, mapped array, PyArrow dataset or Dask collection
            The rows. Input that is not in memory is sampled: the fit is of `sample_rows` rows drawn at random and of
            labelled rows in addition, whose numbers are in `sample_indices_`. Columns are scaled by all rows.
        y : array, str or None
            The label of each row; -1, None, NaN and "" mean unlabelled. None: no row has a label. For tables that are
            not in memory, the name of the label column.
        groups : array or None
            One value for each row: the person, site or machine it comes from. Whole groups are then held out for
            validation, and labels that come from only a few groups are detected (see `selection_`).
        sample_rows : int or None
            Size of the sample; None is at most 200,000.
        **unknown
            Refused with the reason, such as `sample_weight`.
        """
        checks.refuse_unknown(unknown)
        refuse_fork()
        if sample_rows is None and not may_be_lazy(X):
            return self._fit(X, y, groups)
        from newfound.tables.streams import draw_sample, source_of

        source = source_of(X, y, sample_rows)
        if source is None:
            return self._fit(X, y, groups)
        sample, of_all = draw_sample(source, groups, sample_rows, self.random_state)
        self._fit(sample.X, sample.y, of_all=of_all)
        self.sample_indices_ = sample.numbers
        return self

    def _fit(self, X: Any, y: Any, groups: Any = None, **options: Any) -> Self:
        """A fit of rows in memory; `options` are those of `fit_model`."""
        from newfound.fit import fit_model
        from newfound.training.steps import keep_compiled_programs_if_asked

        parameters = self._checked_parameters()
        keep_compiled_programs_if_asked()
        attempt = copy.copy(self)  # so that a fit that fails leaves this estimator unchanged
        attempt.__dict__.pop("sample_indices_", None)
        X, labels = attempt._read(X, y)
        names = getattr(attempt, "feature_names_in_", None)
        groups = None if groups is None else checks.check_groups(groups, len(X))
        attempt.fitted_ = fit_model(self.model, X, labels, parameters, names, groups, **options)
        self.__dict__ = attempt.__dict__
        return self

    def refit(self, X: Any, y: Any) -> Self:
        """Return a new estimator for the same rows with more labels; new classes are kept, and the labels correct them.

        Parameters
        ----------
        X : array or data frame
            The rows of the fit, in the same order.
        y : array
            All labels, by the names that classes have now. A class with labels becomes known: one that a person named,
            or one in which most of the given labels agree. A name that no class has becomes a class of its own. Rows
            similar to the labelled ones follow them.

        The `changes_` of the new estimator list what is different.
        """
        from newfound.fit import refit_model
        from newfound.labelling.changes import RowClasses, compare
        from newfound.labelling.given import labels_to_learn, new_class_names, with_current_names
        from newfound.labelling.lineage import ClassMapping
        from newfound.training.steps import keep_compiled_programs_if_asked

        check_fitted(self)
        before = self.fitted_
        self._check_same_rows(len(X))
        labels = with_current_names(before, Labels.read(y, len(X)))
        learned = labels_to_learn(before, labels)
        if learned.alone:
            warnings.warn(
                f"A class needs at least two labels. These have one, which is left out of this fit: "
                f"{and_list(f'“{name}”' for name in learned.alone)}. Label another row of each, or rename the new "
                f"class that it is.",
                stacklevel=2,
            )
        is_given = learned.labels.is_labelled & ~before.row_is_labelled
        held_out = before.validation_indices[~is_given[before.validation_indices]]
        mapping = ClassMapping(before, learned.labels.classes, new_class_names(before, labels))
        refuse_fork()
        keep_compiled_programs_if_asked()
        after = copy.copy(self)
        rows = self._read_rows(X, reset=False)
        after.fitted_ = refit_model(rows, learned.labels, mapping, held_out, self._checked_parameters())
        changes = compare(RowClasses.of(before), RowClasses.of(after.fitted_))
        known, was_known = (of.classes.known.astype(str).tolist() for of in (after.fitted_, before))
        after.changes_ = changes.replace(
            became_known=[name for name in known if name not in was_known],
            held_out=_held_out_accuracies(self, after, X, learned.labels),
        )
        return after

    def suggest(self, X: Any, n: int = 50, y: Any = None) -> "Suggestions":
        """Return the n rows whose labels would help most, the most helpful first.

        Parameters
        ----------
        X : array or data frame
            The rows of the fit, in the same order.
        n : int
            The number of rows to suggest.
        y : array or None
            Labels given since the fit. Rows with a label, in the fit or in y, are left out.

        Each suggestion has the number of its row, its class with its probability, and the reason why it helps.
        """
        from newfound.labelling.suggest import suggest_rows

        check_fitted(self)
        check_parameters({"n": n}, {"n": (Number(1, whole=True),)})
        fitted, latent = self.fitted_, self.transform(X)
        self._check_same_rows(len(latent))
        is_open = ~(fitted.row_is_labelled | Labels.read(y, len(latent)).is_labelled)
        return suggest_rows(fitted.classes, fitted.row_probabilities, latent, n, is_open)

    def rows_and_labels(self, X: Any, y: Any) -> tuple[Rows, Labels]:
        """Return X and y as discovery sees them, without a fit."""
        from newfound.fit import prepared_rows

        parameters = self._checked_parameters()
        X, labels = self._read(X, y)
        return prepared_rows(X, parameters), labels

    def settings(self) -> dict[str, Any]:
        """Return all parameters, with the whole configuration, as plain JSON."""
        settings = self.get_params(deep=False) | {"config": to_json(self.config or Config())}
        if not isinstance(self.random_state, int | None):
            settings["random_state"] = None  # a generator has no JSON; its seeds are kept with the restarts
        return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}

    def save(self, folder: str | PathLike) -> None:
        """Write the fitted model to a folder: weights as safetensors, the rest as JSON, nothing that can run code."""
        check_fitted(self)
        save_fitted(self.fitted_, {"model": self.model} | self.settings(), folder)

    # ---- decisions of a person: each returns another fitted estimator and leaves this one unchanged ------------------

    def rename(self, names: Mapping[Any, Any]) -> Self:
        """Return the model with other names for some classes: `model.rename({"new-1": "chinstrap"})`."""
        return self._after("rename", names=names)

    def merge(self, classes: Sequence[Any], into: Any = None) -> Self:
        """Return the model with several classes as one: `model.merge(["new-3"], into="login")`.

        Rows of all other classes keep their class and its probability. The merged class has the id and name of `into`,
        else of a known class, else of one that a person named, else of the largest; the other ids are retired.
        """
        return self._after("merge", classes=classes, into=into)

    def split(self, class_name: Any) -> Self:
        """Return the model with one class as two, by its last join in the class tree.

        The larger part keeps id and name. New classes that were merged into a known class are separated from it again.
        """
        return self._after("split", class_name=class_name)

    def cut(self, n_new: int) -> Self:
        """Return the model with another number of new classes, without a second fit: split further or joined.

        `tree_` has the components of new classes and the order in which they join. A class with the same components as
        before keeps id and name. Discarded classes, and those merged into known ones, stay as they are.
        """
        return self._after("cut", n_new=n_new)

    def discard(self, class_name: Any) -> Self:
        """Return the model without one of its new classes: each of its rows moves to the best remaining class.

        Probabilities are then conditional on a row not being of the discarded class; fitted rows that belonged to it
        are not sure (`is_sure_`). Only new classes can be discarded. To drop a known class, remove its labels and fit
        again.
        """
        return self._after("discard", class_name=class_name)

    def _after(self, act: str, **arguments: Any) -> Self:
        from newfound.acts import ACTS

        check_fitted(self)
        other = copy.copy(self)
        other.fitted_ = ACTS[act].apply(self.fitted_, **arguments)
        return other

    # ---- answers, in addition to those of `Predictor` ----------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Return the posterior mean of z for each row: (rows, latent_dim), in the container of `set_output`."""
        return super().transform(X)  # scikit-learn wraps the `transform` of this class only, not of its parents

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of labelled rows that are right: called by name, or new if their class is not known.

        Rows without a label do not count. This is `newfound.metrics.open_set_accuracy`; `labelled_accuracy_scorer`
        there is the plain accuracy of the labelled rows.
        """
        check_fitted(self)
        from newfound.metrics import open_set_accuracy_scorer

        return open_set_accuracy_scorer(self, X, y, sample_weight)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the ELBO of each row, a lower bound of log p(x) in the units of the scaled columns."""
        from newfound.compiled_inference import elbos

        check_fitted(self)
        refuse_fork()
        return elbos(self.fitted_, self._read_rows(X))

    def sample(
        self, n_samples: int = 1, class_name: Any = None, *, mean: bool = False, random_state: Any = None
    ) -> np.ndarray:
        """Return generated rows, (n_samples, features), in the units of X.

        Parameters
        ----------
        n_samples : int
            The number of rows.
        class_name : class name, class id or None
            The class of all rows; None draws classes from p(y).
        mean : bool
            Return the mean of p(x | y, z) instead of a draw.
        random_state : int, RandomState or None
            Makes the rows repeatable.
        """
        check_fitted(self)
        check_parameters({"n_samples": n_samples}, {"n_samples": (Number(1, whole=True),)})
        rng, fitted = check_random_state(random_state), self.fitted_
        weights = np.exp(fitted.restart.weights[".log_p_y"].astype(float)) * fitted.classes.is_kept
        if class_name is not None:
            weights = weights * (fitted.classes.component_class == fitted.classes.position(class_name))
        components = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
        return self._generate(components, rng.standard_normal((n_samples, self.latent_dim)), mean, rng)

    def sample_grid(self, n_rows: int = 10, *, random_state: Any = None) -> np.ndarray:
        """Return means of p(x | y, z), (n_rows, components, features): a row has one draw of noise, a column one y."""
        check_fitted(self)
        rng, n_components = check_random_state(random_state), self.fitted_.classes.n_components
        shared = np.repeat(rng.standard_normal((n_rows, self.latent_dim)), n_components, axis=0)
        rows = self._generate(np.tile(np.arange(n_components), n_rows), shared, True, rng)
        return rows.reshape(n_rows, n_components, -1)

    def _generate(
        self, components: np.ndarray, epsilon: np.ndarray, mean: bool, rng: np.random.RandomState
    ) -> np.ndarray:
        fitted, weights = self.fitted_, self.fitted_.restart.weights
        if in_numpy.is_known(fitted.architecture):
            decoded = in_numpy.decoded(fitted.architecture, weights, components, epsilon)
            rows = in_numpy.means(fitted.architecture, decoded)
            rows = rows if mean else in_numpy.draws(fitted.architecture, weights, rows, rng)
        else:
            from newfound.compiled_inference import generated_rows

            refuse_fork()
            rows = generated_rows(fitted, components, epsilon, rng, mean=mean)
        return fitted.preprocessing.restore(rows)

    # ---- input -------------------------------------------------------------------------------------------------------

    def _checked_parameters(self) -> dict[str, Any]:
        """All parameters by name, with a whole configuration."""
        parameters = self.get_params(deep=False)
        check_parameters(parameters, PARAMETER_RULES)
        return parameters | {"config": self.config or Config()}

    def _read(self, X: Any, y: Any) -> tuple[np.ndarray, Labels]:
        X = self._read_rows(X, reset=True)
        labels = Labels.read(y, len(X)).observed()
        labels.warn_of_marks()
        return X, labels

    def _read_rows(self, X: Any, *, reset: bool = False) -> np.ndarray:
        """Rows by scikit-learn's checks; only the numbers are checked if X is an array like the one of `fit`."""
        is_plain = checks.is_plain_matrix(X) and not hasattr(self, "feature_names_in_")
        if not reset and is_plain and X.shape[1] == getattr(self, "n_features_in_", None):
            X = checks.as_rows(X)
            checks.check_finite(X, None)
            return X
        checks.check_shape(X)
        checks.check_numeric(X)
        with checks.explain_overflow():
            table = X if isinstance(X, np.ndarray) else readable(X)
            X = validate_data(self, table, reset=reset, dtype=DTYPES, ensure_all_finite=False)
        checks.check_finite(X, getattr(self, "feature_names_in_", None))
        return X

    def _check_same_rows(self, n: int) -> None:
        """Refuse another number of rows where answers are per fitted row."""
        expected = len(self.fitted_.row_components)
        if n != expected:
            raise ValueError(
                f"X must be the rows of the fit, in the same order: expected {expected:,}, got {n:,}. Give all of "
                f"them; for other rows use `predict`."
            )

    # ---- scikit-learn ------------------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self.latent_dim

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.transformer_tags.preserves_dtype = ["float32"]  # the precision of the model, for any dtype of X
        return tags

    # From version 1.8 a notebook shows what the documentation says about each parameter and attribute, but only next
    # to a link to a page with that text. The notebook itself is such a page.

    def _get_params_html(self, deep: bool = True, doc_link: str = "") -> Any:
        shown = super()._get_params_html(deep)
        shown.doc_link = doc_link or "#"
        return shown

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        return super()._get_fitted_attr_html(doc_link or "#")


def _held_out_accuracies(before: Any, after: Any, X: Any, labels: Labels) -> "HeldOut | None":
    """The accuracy of both models on the labels of rows that were validation rows of both."""
    from newfound.labelling.changes import HeldOut

    rows = np.intersect1d(before.validation_indices_, after.validation_indices_)
    rows = rows[labels.is_labelled[rows] & before.fitted_.row_is_labelled[rows]]
    if len(rows) == 0:
        return None
    truth = labels.names[rows]
    some = X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
    right = [float(np.mean(model.predict(some).astype(str) == truth)) for model in (before, after)]
    return HeldOut(len(rows), *right)


class GMDGM(DeepGenerativeClassifier):
    """Gaussian-mixture deep generative model: names the known classes and discovers the others.

    p(x, y, z) = p(x | z) p(z | y) p(y): each component, a value of y, is one Gaussian of a mixture in z.

    Parameters
    ----------
    n_new : int or "auto"
        How many new classes there are. "auto" finds their number, which may be 0, from the graph of neighbours and
        from where labels are missing. A given number is used as it is: exactly that many new classes.
    latent_dim : int
        Dimensions of z.
    hidden_layer_sizes : tuple of int
        Units of the hidden layers of every network.
    likelihood : "auto", "bernoulli", "gaussian" or "gaussian-fixed"
        The distribution of x given the decoder's output. "auto" is "bernoulli" for uint8 images and for columns of
        only 0 and 1, else "gaussian", which learns a standard deviation for each column. With feature_types, each
        column has the likelihood of its own type instead.
    standardize : bool, "min-max" or "auto"
        Whether columns are scaled to mean 0 and standard deviation 1 for a Gaussian likelihood, so that units do not
        matter. "auto" does so, except for bytes and for images, because all pixels have the same unit. "min-max" scales
        every column to 0..1 instead, for either likelihood. Outlier cells are clipped, and a warning names their
        column.
    feature_types : sequence of str or None
        The type of each column, for tables of mixed columns: "numeric" (Gaussian), "numeric:<block>" for columns with
        a common scale, such as an embedding, "binary" (Bernoulli), or "categorical:<group>" for the columns of a
        one-hot group. None: one likelihood for all columns.
    image_shape : tuple of int or None
        (height, width) or (height, width, channels) if rows are images: their neighbours are then found by histograms
        of oriented gradients (HOG) instead of by pixels.
    pu_weight : float or "auto"
        ρ, the weight of the positive-unlabelled (PU) term relative to that of the labels: where labelled rows are rare
        among their neighbours, a new class is probable. It assumes that labels were selected completely at random
        within each class (SCAR). "auto" is 0.3; if labels do not look so (one site only, easy cases first; see
        `selection_`), missing labels are not used as a sign of a new class, and a warning reports it. A given number
        is used in any case. The term is part of pretraining and has no effect without it.
    batch_size : int
        Rows of each kind, labelled and unlabelled, in a step.
    learning_rate : float
        Learning rate of Adam at the start of a cosine decay.
    max_epochs : int or "auto"
        Passes over the rows without a label (over all rows if each has one). "auto" makes 3,000 steps, but at least
        5 and at most 150 passes; at most 6,000 steps on large tables, even if that is less than one pass.
    validation_fraction : float
        The share of rows held out of training, for each label and for unlabelled rows; 0 for none.
    n_init : int
        Restarts from different seeds, all in one program; the one with the best validation ELBO is used.
    verbose : bool, int or "auto"
        Whether to show progress; 0 is False, a larger number is True. "auto" shows it on a terminal and in a notebook.
    random_state : int, RandomState or None
        Makes a fit repeatable.
    config : Config or None
        All other settings (`newfound.Config`): of the objective, the optimisation and the initialisation.

    Attributes
    ----------
    classes_ : the names of the known classes, then of the new ones.
    labels_ : the class of each fitted row: its label, or else what was discovered; the model's prediction if there is
        no new class.
    class_ids_ : the id of each class, which no decision changes: the label of a known class, the first name of a new
        one.
    is_named_ : whether a person named each class.
    n_new_, n_new_range_ : the number of new classes, and the least and the most there could be; the range is the
        number itself once a person has changed it by merge, split, cut or discard.
    is_sure_ : for each fitted row, whether its class is more probable than all others together.
    sure_labels_ : `labels_`, with no answer (-1, "" or None) for rows that are not sure.
    evidence_ : for each new class its rows, the labels expected if it were known, those it has, and the probability of
        at most as many.
    tree_ : how components of new classes join; `cut` returns a model with more or fewer new classes.
    selection_ : whether labels look selected at random within their classes (grade: "random", "doubtful", "not at
        random" or "too few labels"), and how far from it; None if no row has a label, or every row.
    is_new_ : whether each class is new.
    component_class_ : for each component, the position of its class in `classes_`.
    temperature_ : the divisor of log q(y | x), fitted on held-out labels; 1 if these are fewer than 10.
    regime_ : "unsupervised", "semi-supervised", "semi-unsupervised" or "supervised".
    termination_condition_ : "max_epochs", "early_stopping", "diverged" or "interrupted".
    history_ : every term of the objective, and the validation ELBO and accuracy, over time.
    validation_indices_ : the numbers of the rows held out of training.
    restarts_, best_restart_ : the result of every restart, and the position of the one in use.
    preprocessing_, architecture_ : how columns are selected and scaled, and the shape of the networks.
    changes_ : for a model from `refit`, the differences from the one before.
    fitted_ : all of this in one record.

    Examples
    --------
    >>> from newfound import GMDGM
    >>> model = GMDGM(n_new=5, random_state=0)
    """

    model = "gmdgm"


class SSVAE(DeepGenerativeClassifier):
    """Semi-supervised variational auto-encoder: the paper's baseline, without a mixture in z.

    p(x, y, z) = p(x | y, z) p(y) p(z): y and z are independent causes of x.

    """

    model = "ssvae"
    __doc__ += "Parameters\n" + str(GMDGM.__doc__).partition("Parameters\n")[2].partition("    Examples")[0]


def estimator_of(model: str) -> type[DeepGenerativeClassifier]:
    """Return the estimator class of a model in the registry; one is made for a model without a class here."""
    check_parameters({"model": model}, {"model": (OneOf(tuple(MODELS)),)})
    for estimator in (GMDGM, SSVAE):
        if estimator.model == model:
            return estimator
    return type(model, (DeepGenerativeClassifier,), {"model": model, "__doc__": MODELS[model].in_jax.__doc__})


def load(folder: str | PathLike) -> DeepGenerativeClassifier:
    """Return the estimator saved to `folder`, ready to predict."""
    fitted, settings = load_fitted(folder)
    parameters = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    model, config = parameters.pop("model", None), Config.from_json(settings.get("config") or {})
    check_parameters(parameters, {name: rules for name, rules in PARAMETER_RULES.items() if name in parameters})
    estimator = made_with(estimator_of(str(model)), parameters | {"config": config})
    Predictor.__init__(estimator, fitted)
    return estimator
