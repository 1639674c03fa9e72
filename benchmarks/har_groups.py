"""What `groups` change on HAR: the accuracy that validation shows, beside that on people whom the model has not seen.

    NEWFOUND_DATA=... python benchmarks/har_groups.py

A fifth of the labels of every activity is kept, from all 21 people of the training rows. Without groups, validation
rows are of people whom the model learns from; with them, of others. The publisher's test rows are of 9 other people.
"""

import warnings

import numpy as np
import repository  # noqa: F401

from experiments.tasks import load_parts
from newfound import GMDGM
from newfound.labels import hide_labels

SEEDS = range(2)


def accuracies(seed: int, *, by_person: bool) -> tuple[float, float]:
    """On validation rows and on test rows, in %."""
    parts = load_parts("har", seed)
    labels = hide_labels(parts.labels, keep=0.2, random_state=seed)
    model = GMDGM(n_new=0, random_state=seed, verbose=False)
    model.fit(parts.X, labels, groups=parts.groups if by_person else None)
    held_out = model.validation_indices_
    shown = model.score(parts.X[held_out], labels.take(held_out))
    return 100 * shown, 100 * model.score(parts.X_test, parts.truth)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(f"HAR, 20 % of the labels, accuracy in %, mean over {len(SEEDS)} seeds (each)")
    for by_person in (False, True):
        scores = np.array([accuracies(seed, by_person=by_person) for seed in SEEDS])
        held_out = "people" if by_person else "rows"
        for name, column in zip((f"held-out {held_out}", "test people"), scores.T, strict=True):
            each = ", ".join(f"{value:.1f}" for value in column)
            print(f"{'with' if by_person else 'without'} groups, {name:<15}: {column.mean():.1f} ({each})", flush=True)
