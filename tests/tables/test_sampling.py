"""A sample of rows that are read once: uniform, with all labels if there are few, and the same from parts."""

import numpy as np
import pytest

from newfound.labels import UNLABELLED, Labels
from newfound.tables.sampling import Drawing, joined, max_rows_of_a_class, usual_size


def labels_of(codes: np.ndarray, n_classes: int = 2) -> Labels:
    return Labels(np.array([f"c{i}" for i in range(n_classes)]), codes)


def drawn(codes: np.ndarray, size: int, seed: int = 0, step: int = 97, n_classes: int = 2):
    drawing = Drawing(size, (seed,))
    for i in range(0, len(codes), step):
        part = codes[i : i + step]
        drawing.add(np.arange(i, i + len(part))[:, None], labels_of(part, n_classes))
    return drawing.sample()


def test_a_small_source_is_kept_complete_and_in_order():
    codes = np.full(500, UNLABELLED)
    sample = drawn(codes, 500)
    assert sample.is_whole
    assert (sample.numbers == np.arange(500)).all()
    assert (sample.rows[:, 0] == np.arange(500)).all()


def test_few_labels_are_all_kept_in_addition_to_the_sample():
    codes = np.full(20_000, UNLABELLED)
    codes[::400] = np.arange(50) % 2
    sample = drawn(codes, 1_000)
    assert sample.label_counts == {"c0": 25, "c1": 25}
    assert (sample.labels != "").sum() == 50
    assert 1_000 <= len(sample.keys) <= 1_050
    assert sample.n_rows == 20_000
    assert (sample.rows[:, 0] == sample.numbers).all()
    assert (np.diff(sample.numbers) > 0).all()


def test_many_labels_are_limited_and_rare_classes_are_kept():
    codes = np.zeros(50_000, int)
    codes[:30] = 1
    sample = drawn(codes, 1_000)
    assert (sample.labels == "c1").sum() == 30
    assert len(sample.keys) <= 1_000 + 100
    assert (sample.labels == "c0").sum() >= 960


def test_the_sample_is_uniform():
    """Over many seeds every row is drawn as often, and so is every tenth of the source (χ² of 9 degrees of freedom)."""
    codes = np.full(2_000, UNLABELLED)
    counts = np.zeros(2_000)
    for seed in range(200):
        counts[drawn(codes, 200, seed).numbers] += 1
    tenths = counts.reshape(10, -1).sum(axis=1)
    assert counts.sum() == 200 * 200
    assert ((tenths - 4_000) ** 2 / 4_000).sum() < 27.9  # p = 0.001


def test_within_a_class_labelled_rows_remain_random_picks():
    """If the labels of a class are random picks, so are those in the sample, even if both use the same seed."""
    rng = np.random.default_rng(0)
    is_labelled = rng.random(40_000) < 0.3
    codes = np.where(is_labelled, 0, UNLABELLED)
    sample = drawn(codes, 4_000, n_classes=1)
    labelled, others = (sample.numbers[flags] for flags in (sample.labels != "", sample.labels == ""))
    spread = 40_000 / np.sqrt(12)
    assert abs(labelled.mean() - others.mean()) < 4 * spread * np.sqrt(1 / len(labelled) + 1 / len(others))


def test_samples_of_parts_join_to_a_sample_of_all():
    codes = np.full(6_000, UNLABELLED)
    codes[:40] = np.arange(40) % 2
    parts = []
    for i in range(3):
        drawing = Drawing(500, (0, i))
        part = codes[i * 2_000 : (i + 1) * 2_000]
        drawing.add(np.arange(2_000)[:, None] + i * 2_000, labels_of(part))
        sample = joined(drawing.kept)
        parts.append(sample._replace(numbers=sample.numbers + i * 2_000))
    whole = joined(parts)
    assert whole.n_rows == 6_000
    assert (whole.labels != "").sum() == 40
    assert 500 <= len(whole.keys) <= 540
    assert len(np.unique(whole.numbers)) == len(whole.numbers)
    smallest = np.sort(np.concatenate([part.keys for part in parts]))[499]
    assert (whole.keys <= smallest).sum() == 500


@pytest.mark.parametrize(
    ("counts", "room", "maximum"), [([5, 5], 100, 5), ([100, 3], 20, 17), ([50, 50], 20, 10), ([9], 4, 4), ([], 4, 1)]
)
def test_small_classes_are_kept_complete(counts, room, maximum):
    assert max_rows_of_a_class(counts, room) == maximum
    assert sum(min(n, maximum) for n in counts) <= room


def test_wide_rows_make_a_smaller_sample():
    assert usual_size(8 * 50, 1) == 200_000
    assert usual_size(8 * 784, 1) < 50_000
    assert usual_size(2**30, 1) == 1_000
