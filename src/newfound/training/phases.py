"""The phases of training as data: the labels, weights and number of steps of each."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from newfound._internal.threads import in_batches
from newfound.classes import Classes
from newfound.config import Config
from newfound.discovery.rows import Assignment, Images, Rows, initialise
from newfound.labels import UNLABELLED
from newfound.models.base import DeepGenerativeModel
from newfound.models.objective import Expectation, Weights
from newfound.preprocessing.columns import Scaling
from newfound.training.steps import Hyperparameters, Restarts

# ---- The settings of one training: those of the estimator, with "auto" resolved for these rows ----

EPOCHS = (5, 150)  # the fewest and the most that "auto" gives
PRETRAIN_EPOCHS = (1, 60)
MAX_TARGET_RATIO = 2  # steps relative to the target, even if that is less than the minimum of epochs
DEFAULTS = Config()
MAX_LABEL_REPEATS = 10  # weight of a labelled row relative to an unlabelled one, against overfitting of few labels


@dataclass(frozen=True)
class TrainingSettings:
    """All settings of training except the model and the rows."""

    batch_size: int
    max_epochs: float | int  # "auto" may be less than one
    pretrain_epochs: float | int
    learning_rate: float
    pu_weight: float = 0.0
    labelled_weight: float = 1.0  # of all labelled rows together, relative to those without a label
    has_few_labels: bool = False
    is_refit: bool = False  # starts with trained models, without pretraining
    config: Config = DEFAULTS

    @property
    def expectation(self) -> Expectation:
        objective = self.config.objective
        return Expectation(objective.expectation, objective.n_y_samples, objective.n_z_samples)

    @property
    def n_iter_no_change(self) -> int | None:
        """Evaluations without a better validation ELBO before early stopping; None without early stopping."""
        return self.config.optimisation.n_iter_no_change if self.config.optimisation.early_stopping else None

    @property
    def weights(self) -> Weights:
        objective = self.config.objective
        return Weights(_number(objective.label_weight), _number(self.pu_weight))

    def hyperparameters(self, weights: Weights) -> Hyperparameters:
        return Hyperparameters(
            weights=weights,
            labelled_weight=_number(self.labelled_weight),
            temperature=_number(self.config.objective.temperature),
            max_grad_norm=_number(self.config.optimisation.max_grad_norm),
        )


def training_settings(
    labels: np.ndarray,
    config: Config,
    *,
    batch_size: int,
    max_epochs: int | str,
    learning_rate: float,
    pu_weight: float,
    pretrains: bool,
) -> TrainingSettings:
    """For rows with these codes of labels; `pretrains` is whether the model pretrains by default."""
    optimisation = config.optimisation
    n_unlabelled = int((labels == UNLABELLED).sum())
    steps_per_epoch = math.ceil((n_unlabelled or len(labels)) / batch_size)
    pretrain_auto = _epochs(optimisation.pretrain_target_steps, steps_per_epoch, PRETRAIN_EPOCHS) if pretrains else 0
    auto = _epochs(optimisation.target_steps, steps_per_epoch, EPOCHS)
    n_labelled = len(labels) - n_unlabelled
    labelled_weight = min(1.0, MAX_LABEL_REPEATS * n_labelled / max(n_unlabelled, 1))
    return TrainingSettings(
        batch_size=batch_size,
        max_epochs=auto if max_epochs == "auto" else int(max_epochs),
        pretrain_epochs=pretrain_auto if optimisation.pretrain_epochs == "auto" else int(optimisation.pretrain_epochs),
        learning_rate=learning_rate,
        pu_weight=pu_weight,
        labelled_weight=labelled_weight,
        has_few_labels=labelled_weight < 1,
        config=config,
    )


def _epochs(target_steps: int, steps_per_epoch: int, limits: tuple[int, int]) -> float | int:
    whole = min(max(limits[0], target_steps // steps_per_epoch), limits[1])
    return min(whole, MAX_TARGET_RATIO * target_steps / steps_per_epoch)


def _number(value: float | int) -> jax.Array:
    """On the device, without a program to compile for it."""
    return jax.device_put(np.float32(value))


# ---- The phases ----
# 1. VAE pretraining with one component, if components are to be found in z-space (init="kmeans", with enough rows).
# 2. Pseudo-labels: every row has a component (from discovery or `discovery.rows.initialise`) as if it were its label.
# 3. The objective itself.
#
# A refit has only the third.

VAE, PSEUDO_LABELS, OBJECTIVE = "VAE pretraining", "pseudo-labels", "objective"
STEPS_PER_CHUNK = 32
CHUNKS_BETWEEN_EVALUATIONS = (4, 32)  # at least and at most; an epoch in between


class TrainingData(NamedTuple):
    """Rows in their own dtype, the codes of their labels (UNLABELLED for none), and the split."""

    X: np.ndarray
    labels: np.ndarray
    training: np.ndarray  # row numbers
    validation: np.ndarray  # row numbers
    scaling: Scaling
    classes: Classes
    images: Images | None = None  # if rows are images
    found: Assignment | None = None  # from discovery


class Phase(NamedTuple):
    """The labels, targets and weights of a number of steps."""

    name: str
    labels: list[np.ndarray]  # for each restart, the component of every row, UNLABELLED if it is free
    targets: list[np.ndarray] | None  # for each restart, P(y | x) of every component, for the PU term
    weights: Weights
    n_steps: int
    is_pretraining: bool = True


class KeptPhase(NamedTuple):
    """The labels and targets of a phase that was interrupted."""

    name: str
    labels: list[np.ndarray]
    targets: list[np.ndarray] | None


class Schedule(NamedTuple):
    """The steps of each phase, and the learning rate: constant in pretraining, then a cosine decay to 0."""

    vae_steps: int
    pseudo_label_steps: int
    main_steps: int
    learning_rate: float
    steps_between_evaluations: int

    @classmethod
    def of(cls, settings: TrainingSettings, data: TrainingData, rows_per_epoch: int) -> "Schedule":
        steps_per_epoch = math.ceil(rows_per_epoch / settings.batch_size)
        fewest, most = (n * STEPS_PER_CHUNK for n in CHUNKS_BETWEEN_EVALUATIONS)
        pretrain_steps = _whole_chunks(settings.pretrain_epochs * steps_per_epoch) * is_pretrained(
            settings, data.classes
        )
        has_vae = data.found is None and len(data.training) >= settings.config.initialisation.vae_min_rows
        return cls(
            vae_steps=pretrain_steps * has_vae,
            pseudo_label_steps=pretrain_steps,
            main_steps=_whole_chunks(settings.max_epochs * steps_per_epoch),
            learning_rate=settings.learning_rate,
            steps_between_evaluations=_whole_chunks(min(max(steps_per_epoch, fewest), most)),
        )

    @property
    def pretrain_steps(self) -> int:
        return self.vae_steps + self.pseudo_label_steps

    @property
    def n_steps(self) -> int:
        return self.pretrain_steps + self.main_steps

    def learning_rates(self, first_step: int) -> np.ndarray:
        """The learning rate of each step of the chunk that begins at `first_step`."""
        steps = np.arange(first_step, first_step + STEPS_PER_CHUNK)
        progress = np.maximum(steps - self.pretrain_steps, 0) / self.main_steps
        return (self.learning_rate * 0.5 * (1 + np.cos(np.pi * progress))).astype(np.float32)


def _whole_chunks(n_steps: float | int) -> int:
    return math.ceil(round(n_steps) / STEPS_PER_CHUNK) * STEPS_PER_CHUNK


def is_pretrained(settings: TrainingSettings, classes: Classes) -> bool:
    """Whether there are new components, or few labels, to which pseudo-labels can add something."""
    has_use = bool(classes.new_components) or (settings.has_few_labels and settings.pu_weight > 0)
    return bool(settings.pretrain_epochs) and has_use and not settings.is_refit


def has_pu_term(settings: TrainingSettings, data: TrainingData) -> bool:
    """Whether targets are used: the same in every phase, so that one compiled program serves them all."""
    has_targets = data.found is not None and data.found.targets is not None
    learns_from_them = is_pretrained(settings, data.classes) or settings.is_refit
    return learns_from_them and settings.pu_weight > 0 and has_targets


def phases(
    restarts: Restarts,
    data: TrainingData,
    settings: TrainingSettings,
    schedule: Schedule,
    seeds: list[int],
    resumed: KeptPhase | None = None,
) -> Iterator[Phase]:
    """The phases one by one; the pseudo-labels of the second are found after the first.

    A resumed training starts with the phase of its checkpoint, with the same labels and targets.
    """
    every = [0] * len(seeds)
    first = "" if resumed is None else resumed.name
    shape = (len(data.X), data.classes.n_components)
    has_targets = has_pu_term(settings, data)
    targets = [np.zeros(shape, np.float32) for _ in every] if has_targets else None
    if schedule.vae_steps and first in ("", VAE):
        one_component = [np.zeros_like(data.labels) for _ in every]
        yield Phase(VAE, one_component, targets, Weights(_number(0), _number(0)), schedule.vae_steps)
    if resumed is not None and first != VAE:
        labels, targets = resumed.labels, resumed.targets
    elif schedule.pseudo_label_steps:
        assignments = initialise_restarts(restarts, data, settings, seeds, has_vae=schedule.vae_steps > 0)
        if has_targets:
            targets = [assignment.targets for assignment in assignments if assignment.targets is not None]
        labels = [assignment.labels for assignment in assignments]
    if schedule.pseudo_label_steps and first != OBJECTIVE:
        yield Phase(PSEUDO_LABELS, labels, targets, settings.weights, schedule.pseudo_label_steps)
    if settings.is_refit and has_targets and data.found is not None:
        found = _in_components(data.found, data.classes).targets
        targets = [found for _ in every if found is not None]
    own_labels = [data.classes.component_of(data.labels) for _ in every]
    yield Phase(OBJECTIVE, own_labels, targets, settings.weights, schedule.main_steps, is_pretraining=False)


def initialise_restarts(
    restarts: Restarts, data: TrainingData, settings: TrainingSettings, seeds: list[int], *, has_vae: bool
) -> list[Assignment]:
    """For each restart a component for every row; after VAE pretraining, components are placed in z-space."""
    models = jax.device_get(restarts.states.model)
    assignments, placed = [], []
    for i, seed in enumerate(seeds):
        latent = latent_posterior(jax.tree.map(itemgetter(i), models), data.X, data.scaling) if has_vae else None
        found = data.found
        if found is None:
            labels = np.full_like(data.labels, UNLABELLED)
            labels[data.training] = data.labels[data.training]
            rows = Rows(data.X, data.scaling, data.images, None if latent is None else latent.mean)
            found = initialise(rows, labels, data.classes.n_known, len(data.classes.new_components), seed)
        found = _in_components(found, data.classes)
        assignments.append(found)
        if latent is not None:
            placed.append(component_init(latent, found.labels, data.classes.n_components))
    if placed:
        restarts.place_components(*(np.stack(parts) for parts in zip(*placed, strict=True)))
    return assignments


def _in_components(found: Assignment, classes: Classes) -> Assignment:
    """The assignment in the order of the model's components, from known classes first."""
    order = np.array([*classes.known_components, *classes.new_components])
    targets = None if found.targets is None else found.targets[:, np.argsort(order)]
    return Assignment(order[found.labels], targets)


# ---- the initial positions of components in z-space ----


class LatentPosterior(NamedTuple):
    """q(z | x) of every row, while there is only one component."""

    mean: np.ndarray  # (rows, d_z)
    var: np.ndarray  # (rows, d_z)


class ComponentInit(NamedTuple):
    """The initial position of each component in z-space."""

    mean: np.ndarray  # (components, d_z)
    log_var: np.ndarray  # (components, d_z)


def latent_posterior(model: DeepGenerativeModel, X: np.ndarray, scaling: Scaling) -> LatentPosterior:
    """q(z | x, y) of every row, for the first component."""
    gaussians = in_batches(lambda rows: _first_posterior(model, rows, scaling), X)
    return LatentPosterior(gaussians[:, 0], np.exp(gaussians[:, 1]))


@jax.jit
def _first_posterior(model: DeepGenerativeModel, rows: Array, scaling: Scaling) -> Float[Array, "batch 2 d_z"]:
    first = jnp.eye(1, model.log_p_y.size)[0]
    return jax.vmap(lambda x: jnp.stack(model.q_z(x, first)))(scaling.apply(rows))


def component_init(latent: LatentPosterior, component: np.ndarray, n_components: int) -> ComponentInit:
    """The mean and variance of z in each component; those of all rows for an empty one."""
    mean = np.tile(latent.mean.mean(axis=0), (n_components, 1))
    var = np.tile(latent.mean.var(axis=0) + latent.var.mean(axis=0), (n_components, 1))
    for k in np.unique(component):
        rows = component == k
        mean[k] = latent.mean[rows].mean(axis=0)
        var[k] = latent.mean[rows].var(axis=0) + latent.var[rows].mean(axis=0)
    return ComponentInit(mean.astype(np.float32), np.log(var).astype(np.float32))
