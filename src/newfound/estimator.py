"""The Python door: scikit-learn estimators over the one path that leads from X and y to classes."""

import copy
import math
import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from newfound import inference
from newfound.compilation import keep_compiled_programs
from newfound.errors import Number, check_settings
from newfound.features import (
    Features,
    check_column_kinds,
    check_finite,
    check_image_shape,
    check_numeric,
    check_shape,
    decide,
    in_batches,
)
from newfound.labels import Labels, class_names, most_probable, read_labels
from newfound.models import Architecture, DeepGenerativeModel, log_prior
from newfound.models.objective import UNLABELLED, Expectation
from newfound.models.randomness import key_of
from newfound.progress import progress_bar
from newfound.settings import RULES
from newfound.training import Ending, Images, Plan, RunResult, TrainingData, train

MOST_HELDOUT_ROWS = 2000  # without a label; more would tell no more
MOST_OFTEN = 10  # a labelled row counts at most as much as so many others, or the model would learn few rows by heart
AUTO_NEW = 40  # the paper's number of new components


class DeepGenerativeClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    """What `GMDGM` and `SSVAE` have in common: all but the name of the model.

    Parameters
    ----------
    n_new : int or "auto"
        How many components to keep for classes that nobody labelled. "auto" is 0 where every row has a label, else
        the paper's 40, or one for every 20 unlabelled rows if that is fewer. Give a few more than you expect.
    latent_dim : int
        Dimensions of z.
    hidden : tuple of int
        Units of the hidden layers of every network.
    posterior : "structured" or "mean-field"
        q(z | x, y) as in the paper, or q(z | x), with which expectation="exact" costs GMDGM no more than "gumbel".
    likelihood : "auto", "bernoulli", "gaussian" or "gaussian-fixed"
        How x is distributed around what the model decodes. "auto" is "bernoulli" for uint8 images and for columns of
        only 0 and 1, else "gaussian", which learns a spread for each column.
    sigma : float
        The spread of "gaussian-fixed", in the units of the scaled columns.
    standardize : bool, "min-max" or "auto"
        Whether a Gaussian likelihood sees columns of mean 0 and standard deviation 1. "auto" does so unless all of X
        lies within -1..1. "min-max" brings every column to 0..1 instead, for either likelihood.
    min_sd : float
        Columns that vary no more than this are left out (the paper's images: 0.1).
    column_kinds : sequence of str or None
        For tables of mixed columns, the kind of each: "numeric" (Gaussian), "binary" (Bernoulli), or "category:<group>"
        for the columns of a one-hot group (categorical). None is one likelihood for all columns.
    image_shape : tuple of int or None
        (height, width) or (height, width, channels) where rows are images: their neighbours are then found by the
        edges they show, instead of pixel by pixel.
    known_mass : float
        The share of p(y) that belongs to the known classes.
    alpha : float
        The weight of log q(y | x) for labelled rows.
    evidence : float
        The weight, against alpha, of what missing labels tell: where labelled rows are rare among their like, a new
        class is probable. It supposes that the rows to label were picked at random among those of a known class; if
        they were not (one site only, easy cases first), set 0. Part of the warm start, and of no use without it.
    smoothness : float
        The weight of virtual adversarial training, which keeps the boundaries of q(y | x) away from the rows and makes
        a step longer; 3 is a weight that makes itself felt.
    reach : float
        How far that looks around a row, as a share of the distance to the nearest other row of a batch.
    expectation : "gumbel" or "exact"
        Over y, by Gumbel-softmax samples or by summing over every component.
    temperature : float
        Of the Gumbel-softmax.
    n_y_samples, n_z_samples : int
        Samples of y and of z for each row and step.
    activation : str
        "relu", "gelu", "silu" or "tanh".
    kernel_sd : float or None
        Kernels start from N(0, kernel_sd²), or from Glorot's distribution where None.
    batch_size : int
        Rows of each kind, labelled and unlabelled, in a step.
    max_epochs : int or "auto"
        Passes over the rows without a label (over all rows if each has one). "auto" makes 6,000 steps, but at least
        10 and at most 150 passes.
    warm_epochs : int or "auto"
        Passes in each phase of the warm start, which comes before that where there are new components or few labels:
        with one component only (left out where there are fewer than 5,000 rows), then on pseudo-labels; 0 for none.
        "auto" makes 3,000 steps, but at least 3 and at most 60 passes, for GMDGM, and none for SSVAE.
    start : "neighbours" or "distances"
        What the warm start groups rows by: the near neighbours they have in common, or their distances (k-means, then a
        Gaussian mixture).
    learning_rate : float
        Adam's, at the start of a cosine decay.
    max_gradient_norm : float
        Longer gradients are shortened to this.
    validation_fraction : float
        The share of rows held out of training, of each label and of the unlabelled; 0 for none.
    early_stopping : bool
        Whether to stop, and keep the best state, once the held-out ELBO has not improved for `patience` evaluations.
    patience : int
        See `early_stopping`.
    n_runs : int
        Seeds to train, all in one program; the one with the best held-out ELBO is used, all are kept in `runs_`.
    progress : bool or "auto"
        Whether to show a progress bar; "auto" does so on a terminal.
    random_state : int, RandomState or None
        Makes a fit repeatable.

    Attributes
    ----------
    classes_ : known classes first, then the new ones.
    is_new_ : one flag for each class.
    component_class_ : for each component, the position of its class in `classes_`.
    regime_ : "unsupervised", "semi-supervised", "semi-unsupervised" or "supervised".
    runs_, best_run_ : every run, and the position of the one in use.
    history_, ending_ : of the run in use.
    heldout_ : numbers of the rows that were held out of training (not saved).
    features_, architecture_ : what was decided about the columns, and about the networks.
    """

    _model: str
    _warms_up: bool

    def __init__(
        self,
        n_new: int | Literal["auto"] = "auto",
        *,
        latent_dim: int = 10,
        hidden: tuple[int, ...] = (200, 200),
        posterior: str = "structured",
        likelihood: str = "auto",
        sigma: float = 0.1,
        standardize: bool | Literal["auto", "min-max"] = "auto",
        min_sd: float = 0.0,
        column_kinds: Sequence[str] | None = None,
        image_shape: tuple[int, ...] | None = None,
        known_mass: float = 0.5,
        alpha: float = 100.0,
        evidence: float = 0.3,
        smoothness: float = 0.0,
        reach: float = 0.1,
        expectation: Literal["gumbel", "exact"] = "gumbel",
        temperature: float = 0.5,
        n_y_samples: int = 1,
        n_z_samples: int = 1,
        activation: str = "relu",
        kernel_sd: float | None = None,
        batch_size: int = 64,
        max_epochs: int | Literal["auto"] = "auto",
        warm_epochs: int | Literal["auto"] = "auto",
        start: Literal["neighbours", "distances"] = "neighbours",
        learning_rate: float = 1e-3,
        max_gradient_norm: float = 100.0,
        validation_fraction: float = 0.1,
        early_stopping: bool = False,
        patience: int = 10,
        n_runs: int = 1,
        progress: bool | Literal["auto"] = "auto",
        random_state: Any = None,
    ):
        self.n_new = n_new
        self.latent_dim = latent_dim
        self.hidden = hidden
        self.posterior = posterior
        self.likelihood = likelihood
        self.sigma = sigma
        self.standardize = standardize
        self.min_sd = min_sd
        self.column_kinds = column_kinds
        self.image_shape = image_shape
        self.known_mass = known_mass
        self.alpha = alpha
        self.evidence = evidence
        self.smoothness = smoothness
        self.reach = reach
        self.expectation = expectation
        self.temperature = temperature
        self.n_y_samples = n_y_samples
        self.n_z_samples = n_z_samples
        self.activation = activation
        self.kernel_sd = kernel_sd
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.warm_epochs = warm_epochs
        self.start = start
        self.learning_rate = learning_rate
        self.max_gradient_norm = max_gradient_norm
        self.validation_fraction = validation_fraction
        self.early_stopping = early_stopping
        self.patience = patience
        self.n_runs = n_runs
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from X and the labels in y; -1, None, NaN and "" mean unlabelled, y = None that no row has a label."""
        attempt = copy.copy(self)  # a fit that fails leaves this estimator as it was
        attempt._fit(X, y)
        self.__dict__ = attempt.__dict__
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row: a known one if it is more probable than all new ones together, else a new one."""
        probabilities = self.predict_proba(X)
        return self.classes_[most_probable(probabilities, self.is_new_)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class of `classes_`, for each row."""
        return self.by_class(self.predict_component_proba(X))

    def predict_component(self, X: Any) -> np.ndarray:
        """The component of each row, chosen as `predict` chooses its class."""
        return most_probable(self.predict_component_proba(X), self.is_new_[self.component_class_])

    def predict_component_proba(self, X: Any) -> np.ndarray:
        """The probability q(y | x) of each component, for each row."""
        probabilities = self._infer(inference.component_probabilities, X).astype(float)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities

    def by_class(self, of_components: np.ndarray) -> np.ndarray:
        """The probability of each class, from that of each component."""
        belongs = self.component_class_[:, None] == np.arange(len(self.classes_))
        is_same = belongs.shape[0] == belongs.shape[1] and belongs.diagonal().all()
        return of_components if is_same else of_components @ belongs.astype(float)

    def new_class_score(self, X: Any) -> np.ndarray:
        """The probability that a row belongs to a class nobody labelled."""
        return self.predict_proba(X)[:, self.is_new_].sum(axis=1)

    def transform(self, X: Any) -> np.ndarray:
        """The posterior mean of z."""
        return self._infer(inference.latent_means, X)

    def score_samples(self, X: Any) -> np.ndarray:
        """The ELBO of each row, a lower bound of log p(x) in the units of the scaled columns."""
        check_is_fitted(self)
        noise = inference.shared_noise(self._fitted_model)
        return self._infer(inference.elbos, X, noise)

    def sample(self, n: int = 1, of: Any = None, *, as_means: bool = False, random_state: Any = None) -> np.ndarray:
        """`n` made-up rows of the class `of`, or of classes drawn from p(y); noiseless if `as_means`."""
        check_is_fitted(self)
        if not Number(1, whole=True).accepts(n):
            raise ValueError(f"n must be {Number(1, whole=True)}; got {n!r}.")
        rng = check_random_state(random_state)
        weights = np.exp(self._fitted_model.log_p_y.astype(float))
        if of is not None:
            weights = weights * (self.component_class_ == self._position_of(of))
        components = rng.choice(len(weights), size=n, p=weights / weights.sum())
        return self._generate(components, rng.standard_normal((n, self.latent_dim)), as_means, rng)

    def sample_grid(self, n_rows: int = 10, *, random_state: Any = None) -> np.ndarray:
        """Means of p(x | y, z), (n_rows, components, features): one shared draw behind z a row, one y a column."""
        check_is_fitted(self)
        rng = check_random_state(random_state)
        n_components = len(self.component_class_)
        shared = np.repeat(rng.standard_normal((n_rows, self.latent_dim)), n_components, axis=0)
        rows = self._generate(np.tile(np.arange(n_components), n_rows), shared, True, rng)
        return rows.reshape(n_rows, n_components, -1)

    def save(self, folder: str | PathLike) -> None:
        """Write the fitted model to a folder: weights as safetensors, all else as JSON, nothing that can run code."""
        from newfound.storage import save

        check_is_fitted(self)
        save(self, folder)

    # ---- what fit consists of ------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any) -> None:
        check_settings(self.get_params(), RULES)
        X = self._read_rows(X, reset=True)
        labels = read_labels(y, len(X))
        n_new = self._number_of_new(labels)
        self._check_labels(labels, n_new)
        check_column_kinds(self.column_kinds, X.shape[1])
        check_image_shape(self.image_shape, X.shape[1])
        features = decide(X, self.likelihood, self.standardize, self.min_sd, self.column_kinds)
        self._note_dropped(features, X.dtype)
        keep_compiled_programs()

        rng = check_random_state(self.random_state)
        seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=self.n_runs)]
        training, heldout = split_rows(labels.codes, self.validation_fraction, rng)
        images = None if self.image_shape is None else Images(X, tuple(self.image_shape))
        data = TrainingData(features.select(X), labels.codes, training, heldout, features.scaling, images)
        plan = self._plan(labels.codes[training])
        self.architecture_ = self._architecture(features, len(labels.known) + n_new)
        with progress_bar(self.progress, type(self).__name__) as watch:
            runs = train(
                self.architecture_,
                log_prior(labels.counts, n_new, self.known_mass),
                self.sigma if features.likelihood == "gaussian-fixed" else features.spread,
                data,
                plan,
                seeds,
                len(labels.known),
                watch,
            )
        self.heldout_ = heldout
        self._keep(runs, labels, n_new, features)

    def _read_rows(self, X: Any, *, reset: bool) -> np.ndarray:
        check_shape(X)
        check_numeric(X)
        X = validate_data(self, X, reset=reset, dtype=[np.float32, np.uint8], ensure_all_finite=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        return X

    def _number_of_new(self, labels: Labels) -> int:
        if self.n_new != "auto":
            return int(self.n_new)
        n_unlabelled = int((labels.codes == UNLABELLED).sum())
        return min(AUTO_NEW, math.ceil(n_unlabelled / 20))

    def _check_labels(self, labels: Labels, n_new: int) -> None:
        n_rows, n_known = len(labels.codes), len(labels.known)
        n_unlabelled = int((labels.codes == UNLABELLED).sum())
        if n_known == 0 and n_new == 0:
            raise ValueError(
                "There is nothing to learn: y has no labels and n_new = 0. Give some labels, or set n_new to the "
                "number of classes you expect, or a few more."
            )
        if n_unlabelled == 0 and n_new > 0:
            raise ValueError(
                f"All {n_rows} rows have a label, so no new class can be found among them; expected n_new = 0, got "
                f"{n_new}. Set n_new = 0 (or 'auto'), or mark the rows whose class is open with -1."
            )
        if n_known + n_new < 2:
            raise ValueError(
                f"There is one class only (n_samples = {n_rows}, {n_known} known and {n_new} new); expected at least "
                f"two. Give labels of another class, or set n_new to 1 or more and leave some rows unlabelled."
            )
        if n_new > n_unlabelled:
            raise ValueError(
                f"n_new must be at most the number of unlabelled rows, {n_unlabelled}; got {n_new}. "
                f"Lower n_new or give more rows without a label."
            )
        if self.validation_fraction > 0 and n_known and labels.counts.min() < 2:
            rare = labels.known[labels.counts.argmin()]
            raise ValueError(
                f"Every known class needs at least 2 labels, one to learn from and one to hold out; class {rare!r} has "
                f"1. Label another row of it, or set its label to -1 to let it be discovered, or set "
                f"validation_fraction = 0 to hold nothing out."
            )
        if self.validation_fraction == 0 and (self.early_stopping or self.n_runs > 1):
            raise ValueError(
                "early_stopping and n_runs > 1 choose by the held-out ELBO, but validation_fraction = 0 holds nothing "
                "out. Set validation_fraction to 0.1, say."
            )

    def _note_dropped(self, features: Features, dtype: np.dtype) -> None:
        n_dropped = int((~features.kept).sum())
        if n_dropped and dtype != np.uint8:  # the blank border of images is no news
            warnings.warn(
                f"{n_dropped} of {len(features.kept)} columns do not vary (standard deviation at most "
                f"{self.min_sd:g}) and are left out: the first is column {int(np.argmin(features.kept))}.",
                stacklevel=4,
            )

    def _architecture(self, features: Features, n_components: int) -> Architecture:
        return Architecture(
            model=self._model,
            n_features=int(features.kept.sum()),
            n_components=n_components,
            latent_dim=self.latent_dim,
            hidden=tuple(self.hidden),
            likelihood=features.likelihood,
            posterior=self.posterior,
            activation=self.activation,
            kernel_sd=self.kernel_sd,
            blocks=features.blocks,
        )

    def _plan(self, labels: np.ndarray) -> Plan:
        n_unlabelled = int((labels == UNLABELLED).sum())
        steps_per_epoch = math.ceil((n_unlabelled or len(labels)) / self.batch_size)
        auto_epochs = min(max(10, 6000 // steps_per_epoch), 150)
        auto_warm_epochs = min(max(3, 3000 // steps_per_epoch), 60) if self._warms_up else 0
        return Plan(
            batch_size=self.batch_size,
            max_epochs=auto_epochs if self.max_epochs == "auto" else int(self.max_epochs),
            warm_epochs=auto_warm_epochs if self.warm_epochs == "auto" else int(self.warm_epochs),
            start=self.start,
            learning_rate=self.learning_rate,
            alpha=self.alpha,
            evidence=self.evidence,
            smoothness=self.smoothness,
            reach=self.reach,
            labelled=min(1.0, MOST_OFTEN * (len(labels) - n_unlabelled) / max(n_unlabelled, 1)),
            temperature=self.temperature,
            max_gradient_norm=self.max_gradient_norm,
            expectation=Expectation(self.expectation, self.n_y_samples, self.n_z_samples),
            patience=self.patience if self.early_stopping else None,
        )

    def _keep(self, runs: list[RunResult], labels: Labels, n_new: int, features: Features) -> None:
        self.classes_ = class_names(labels.known, n_new)
        self.is_new_ = np.arange(len(self.classes_)) >= len(labels.known)
        self.component_class_ = np.arange(len(self.classes_))  # each component is a class of its own
        self.regime_ = regime(len(labels.known), n_new, labels.has_unlabelled)
        self.features_ = features
        self.runs_ = runs
        self.best_run_ = best_run(runs)
        self.history_ = runs[self.best_run_].history
        self.ending_ = runs[self.best_run_].ending
        if self.ending_ is Ending.INTERRUPTED:
            warnings.warn("Training was interrupted; the best state so far is kept and can be used.", stacklevel=4)
        if self.ending_ is Ending.DIVERGED:
            warnings.warn(
                "Training diverged in every run, even at a much lower learning rate; the last good state is kept. "
                "Lower learning_rate, or let standardize = True scale the columns.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- what the rest consists of -------------------------------------------------------------------------------

    @property
    def _fitted_model(self) -> DeepGenerativeModel:
        return self.runs_[self.best_run_].model

    @property
    def _n_features_out(self) -> int:
        return self.latent_dim

    def _infer(self, function: Any, X: Any, *args: Any) -> np.ndarray:
        check_is_fitted(self)
        X = self._read_rows(X, reset=False)
        return in_batches(
            lambda rows: function(self._fitted_model, self.features_.select(rows), self.features_.scaling, *args), X
        )

    def _position_of(self, name: Any) -> int:
        positions = np.flatnonzero(self.classes_ == name)
        if len(positions) == 0:
            some = ", ".join(repr(c) for c in self.classes_.tolist()[:10]) + ", …" * (len(self.classes_) > 10)
            raise ValueError(f"`of` must be one of classes_ ({some}); got {name!r}.")
        return int(positions[0])

    def _generate(
        self, components: np.ndarray, epsilon: np.ndarray, as_means: bool, rng: np.random.RandomState
    ) -> np.ndarray:
        one_hot = np.eye(len(self.component_class_), dtype=np.float32)[components]
        key = key_of(int(rng.randint(2**31 - 1)))
        rows = inference.generated(self._fitted_model, one_hot, epsilon.astype(np.float32), key, as_means=as_means)
        return self.features_.restore(np.asarray(rows))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.transformer_tags.preserves_dtype = ["float32"]  # the precision of the model, whatever X has
        return tags


class GMDGM(DeepGenerativeClassifier):
    """Gaussian-mixture deep generative model: names the known classes and discovers the others.

    p(x, y, z) = p(x | z) p(z | y) p(y): each component, a value of y, is one Gaussian of a mixture in z.
    Parameters and attributes are those of `DeepGenerativeClassifier`.

    Examples
    --------
    >>> from newfound import GMDGM
    >>> model = GMDGM(n_new=5, random_state=0)
    """

    _model = "gmdgm"
    _warms_up = True


class SSVAE(DeepGenerativeClassifier):
    """Semi-supervised variational auto-encoder: the baseline that does not discover classes by itself.

    p(x, y, z) = p(x | y, z) p(y) p(z): y and z are independent causes of x.
    Parameters and attributes are those of `DeepGenerativeClassifier`.
    """

    _model = "ssvae"
    _warms_up = False


def split_rows(
    codes: np.ndarray, validation_fraction: float, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to train on and to hold out: the same share of every label, at least one, and of the unlabelled."""
    if validation_fraction == 0:
        return np.arange(len(codes)), np.array([], dtype=int)
    heldout = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        n = round(validation_fraction * len(rows))
        heldout.append(rows[: min(n, MOST_HELDOUT_ROWS) if code == UNLABELLED else max(n, 1)])
    chosen = np.sort(np.concatenate(heldout))
    return np.setdiff1d(np.arange(len(codes)), chosen), chosen


def regime(n_known: int, n_new: int, has_unlabelled: bool) -> str:
    """What the paper calls learning from such labels."""
    if n_known == 0:
        return "unsupervised"
    if not has_unlabelled:
        return "supervised"
    return "semi-unsupervised" if n_new else "semi-supervised"


def best_run(runs: list[RunResult]) -> int:
    """The position of the run with the best held-out ELBO, among those that did not diverge if any did not."""

    def worth(run: RunResult) -> tuple[bool, float]:
        return run.ending is not Ending.DIVERGED, -math.inf if math.isnan(run.heldout_elbo) else run.heldout_elbo

    return max(range(len(runs)), key=lambda i: worth(runs[i]))
