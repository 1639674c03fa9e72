"""What the split of HAR into training and test rows does to a plain classifier.

    NEWFOUND_DATA=... python benchmarks/har_split.py

The publisher's test rows are of people who are not in the training rows. Shuffled, every person is in both. A logistic
regression that learns from 20 % and from all of the labels shows how much that matters.
"""

import numpy as np
import repository  # noqa: F401
from sklearn.linear_model import LogisticRegression

from experiments.tasks import make_task

SEEDS = range(4)


def accuracy(dataset: str, share: str, seed: int) -> float:
    task = make_task(dataset, "semi-supervised", seed)
    labels = task.labels if share == "20 %" else task.all_labels
    rows = labels.is_labelled
    return LogisticRegression(max_iter=2000).fit(task.X[rows], labels.codes[rows]).score(task.X_test, task.truth.codes)


print("logistic regression on HAR, accuracy in %, mean ± SD over", len(SEEDS), "seeds")
for dataset in ("har", "har-random-split"):
    for share in ("20 %", "100 %"):
        scores = [100 * accuracy(dataset, share, seed) for seed in SEEDS]
        print(
            f"{dataset:<17} {share:>5} of the labels: {np.mean(scores):.1f} ± {np.std(scores, ddof=1):.1f}", flush=True
        )
