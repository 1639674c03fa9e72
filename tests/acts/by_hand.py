"""A fitted model of which nothing was trained: random probabilities, a random tree, a network as it was drawn."""

from functools import cache

import jax.numpy as jnp
import numpy as np
from small import unscaled

from newfound.classes import Classes
from newfound.discovery.record import Evidence
from newfound.discovery.tree import grow_tree
from newfound.fitted import Fitted, RestartResult, Termination
from newfound.models.architecture import MODELS, Architecture
from newfound.models.base import weights_of
from newfound.preprocessing.columns import Scaling

KNOWN = {"text": np.array(["ape", "bee", "new-2"]), "numbers": np.array([3, 7, 8])}  # one is called like an id


def fitted_by_hand(kind, n_known, n_fragments, n_new, seed, n_rows=60, has_tree=True):
    """So many known classes, and as many fragments of new ones; rows are labelled, sure, doubtful or undecided."""
    rng = np.random.default_rng(seed)
    links, sizes = rng.random((n_fragments, n_fragments)), rng.integers(1, 50, n_fragments)
    tree = grow_tree(links + links.T, sizes, np.zeros(n_fragments, int))
    classes = Classes.of_fragments(KNOWN[kind][:n_known], tree.cut(n_new) if has_tree else np.arange(n_fragments))
    probabilities = rng.dirichlet(np.full(classes.n_components, 0.3), n_rows).astype(np.float32)
    is_labelled = (rng.random(n_rows) < 0.2) & (n_known > 0)
    label = rng.integers(0, max(n_known, 1), n_rows)
    evidence = Evidence(sizes.astype(float), sizes / 5, np.zeros(n_fragments))
    architecture, restart = network(classes.n_components)
    return Fitted(
        classes=classes,
        regime="semi-unsupervised",
        preprocessing=unscaled(np.ones(2, bool), Scaling(np.zeros(2, np.float32), np.ones(2, np.float32))),
        architecture=architecture,
        restarts=(restart,),
        best_restart=0,
        validation_indices=np.zeros(0, int),
        row_components=np.where(is_labelled, label, classes.answer(probabilities).component).astype(np.int32),
        row_probabilities=probabilities,
        row_is_labelled=is_labelled,
        n_new_range=(max(0, n_new - 1), n_new + 1),
        tree=tree if has_tree else None,
        evidence=evidence if n_known and has_tree else None,
        temperature=1.0,
        n_held_out_labels=0,
        n_features=2,
    )


@cache
def network(n_components):
    architecture = Architecture("gmdgm", 2, n_components, 1, (2,), "gaussian")
    model = MODELS["gmdgm"].in_jax.init(np.random.default_rng(0), architecture, jnp.zeros(n_components), jnp.float32(1))
    return architecture, RestartResult(0, weights_of(model), Termination.MAX_EPOCHS, 0.0, 0, {"elbo": np.zeros(1)})
