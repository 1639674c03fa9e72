"""Neighbours, HOG, the spectral embedding and label propagation."""

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence
from small import blobs

from newfound.config import Initialisation
from newfound.discovery import features
from newfound.discovery import graph as neighbours
from newfound.discovery.features import hog, pca_projection, whitened
from newfound.discovery.graph import neighbour_graph, propagate, spectral_embedding
from newfound.labels import UNLABELLED

SETTINGS = Initialisation()


def graph_of(*feature_sets, settings=SETTINGS):
    return neighbour_graph(feature_sets, settings, seed=0)


# ---- neighbours ------------------------------------------------------------------------------------------------------


def test_the_index_finds_nearly_all_neighbours():
    X, _ = blobs(12_000, k=6)
    by_index, slow = neighbours._by_index(X, X, 11), neighbours._by_comparison(X[:500], X, 11)
    hits = [len(set(a) & set(b)) for a, b in zip(by_index[:500].tolist(), slow.tolist(), strict=True)]
    assert np.mean(hits) / 11 > 0.98


def test_rows_with_hardly_any_other_around_are_compared_with_all():
    """Three cells in a far corner hold one row each: the cells around them do not hold eleven."""
    rng = np.random.default_rng(0)
    X = np.vstack([np.zeros((300, 2)), rng.normal(size=(30, 2)) + 1e3]).astype("f4")
    found = neighbours._by_index(X, X, 11)
    assert found.min() >= 0
    assert all(len(set(row)) == 11 for row in found.tolist())


def test_large_samples_use_the_index_and_do_without_it_where_it_is_missing(monkeypatch):
    X, _ = blobs(300, k=3)
    slow = neighbours._nearest(X, np.arange(300), 10)
    monkeypatch.setattr(neighbours, "INDEX_MIN_ROWS", 100)
    calls = []
    monkeypatch.setattr(neighbours, "_by_index", lambda *args: calls.append(args) or slow)
    assert neighbours._nearest(X, np.arange(300), 10) is slow
    assert len(calls) == 1

    def missing(*args):
        raise ImportError("faiss")

    monkeypatch.setattr(neighbours, "_by_index", missing)
    np.testing.assert_array_equal(neighbours._nearest(X, np.arange(300), 10), slow)


# ---- HOG -------------------------------------------------------------------------------------------------------------


def square(top, left, brightness=255, size=28):
    image = np.zeros((size, size), np.uint8)
    image[top : top + 10, left : left + 10] = brightness
    return image.ravel()


def cross(size=28):
    image = np.zeros((size, size), np.uint8)
    image[size // 2] = image[:, size // 2] = 255
    return image.ravel()


def test_hog_hardly_notices_a_pixels_shift_or_another_brightness():
    images = np.stack([square(8, 8), square(9, 8), square(8, 8, brightness=100), cross()])
    same, shifted, darker, other = hog(images, (28, 28))
    np.testing.assert_allclose(same, darker, atol=1e-4)
    pixels = images.astype(float)
    noticed_by_pixels = np.linalg.norm(pixels[0] - pixels[1]) / np.linalg.norm(pixels[0] - pixels[3])
    assert np.linalg.norm(same - shifted) / np.linalg.norm(same - other) < 0.7 * noticed_by_pixels


def test_hog_tells_the_two_sides_of_a_bright_thing_apart():
    left = hog(np.tile(np.repeat([0, 255], 14), 28).astype(np.uint8)[None], (28, 28))
    right = hog(np.tile(np.repeat([255, 0], 14), 28).astype(np.uint8)[None], (28, 28))
    assert np.abs(left - right).max() > 0.3


@pytest.mark.parametrize("shape", [(28, 28), (8, 8), (5, 9), (1, 6), (6, 1), (12, 10, 3), (200, 160)])
def test_hog_of_images_of_any_shape_is_finite(shape):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, int(np.prod(shape))), dtype=np.uint8)
    images[0] = 0
    found = hog(images, shape)
    assert np.isfinite(found).all()
    assert (found[0] == 0).all()
    assert len(found) == 3


def slow_hog(image):
    """The same, pixel by pixel: each votes for its two nearest orientations in the cells whose triangles it lies in."""
    height, width = image.shape
    n_cells = [min(max(n // features.HOG_CELL_PIXELS, 1), features.HOG_MAX_CELLS) for n in image.shape]
    bins = np.zeros((features.HOG_ORIENTATIONS, *n_cells))
    for r in range(height):
        for c in range(width):
            down = image[r + 1, c] - image[r - 1, c] if 0 < r < height - 1 else 0.0
            right = image[r, c + 1] - image[r, c - 1] if 0 < c < width - 1 else 0.0
            turn = np.arctan2(down, right) / (2 * np.pi) * features.HOG_ORIENTATIONS % features.HOG_ORIENTATIONS
            for i in range(features.HOG_ORIENTATIONS):
                apart = min(abs(turn - i), features.HOG_ORIENTATIONS - abs(turn - i))
                for a in range(n_cells[0]):
                    for b in range(n_cells[1]):
                        near = [
                            max(0.0, 1 - abs(p - ((q + 0.5) * n / m - 0.5)) * m / n)
                            for p, q, n, m in ((r, a, height, n_cells[0]), (c, b, width, n_cells[1]))
                        ]
                        bins[i, a, b] += np.hypot(down, right) * max(0.0, 1 - apart) * near[0] * near[1]
    energy = (bins**2).sum(axis=0)
    norm = np.array(
        [
            [energy[max(a - 1, 0) : a + 2, max(b - 1, 0) : b + 2].sum() for b in range(n_cells[1])]
            for a in range(n_cells[0])
        ]
    )
    return np.sqrt(bins / np.sqrt(norm + features.HOG_EPSILON**2 * energy.mean()))


def test_hog_is_what_a_loop_over_pixels_gives():
    image = np.random.default_rng(0).random((9, 7)).astype(np.float32)
    np.testing.assert_allclose(hog(image.reshape(1, -1), image.shape)[0], slow_hog(image).ravel(), rtol=1e-3, atol=1e-5)


# ---- the graph and its eigenvectors ----------------------------------------------------------------------------------


def test_edges_count_shared_neighbours_as_a_loop_over_rows_does():
    X, _ = blobs(40)
    settings = Initialisation(n_neighbors=4)
    weights = graph_of(X, settings=settings).weights.toarray()
    order = np.random.default_rng(0).permutation(40)  # the graph's rows are a sample in random order
    distances = np.linalg.norm(X[order][:, None] - X[order], axis=2)
    nearest = [set(np.argsort(row)[1:5]) for row in distances]
    joined = [{j for j in range(40) if j in nearest[i] or i in nearest[j]} for i in range(40)]
    for i in range(40):
        for j in range(40):
            expected = 1 + len(joined[i] & joined[j]) if j in joined[i] else 0
            assert weights[i, j] == expected


def test_a_ring_and_what_is_inside_it_are_told_apart():
    angles = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    ring = np.c_[np.cos(angles), np.sin(angles)]
    rows = np.concatenate([ring, 0.2 * ring]).astype("f4")
    embedding = spectral_embedding(graph_of(rows), Initialisation(n_eigenvectors=2))
    same = embedding @ embedding[0]
    assert (same[:300] > 0.99).all()
    assert (same[300:] < 0.99).all()
    np.testing.assert_allclose(np.linalg.norm(embedding, axis=1), 1, rtol=1e-5)


def test_groups_that_nothing_joins_are_all_told_apart():
    X, truth = blobs(1500, d=10, k=10, distance=10)
    embedding = spectral_embedding(graph_of(X), Initialisation(n_eigenvectors=10))
    centres = np.stack([embedding[truth == k].mean(axis=0) for k in range(10)])
    np.testing.assert_allclose(np.abs(centres @ centres.T), np.eye(10), atol=0.05)
    embedding = spectral_embedding(graph_of(X), SETTINGS)  # more eigenvectors than groups: they part none of these
    is_other = truth[:, None] != truth
    assert np.abs(embedding @ embedding.T)[is_other].max() < 0.05


@pytest.mark.parametrize(("n_rows", "n_vectors"), [(1500, 20), (150, 3), (40, 1)])
def test_few_rows_have_few_eigenvectors(n_rows, n_vectors):
    X = np.random.default_rng(0).standard_normal((n_rows, 5)).astype("f4")
    assert spectral_embedding(graph_of(X), SETTINGS).shape == (n_rows, n_vectors)


@pytest.mark.parametrize("n_found", [0, 2])
def test_eigenvectors_that_cannot_be_found_are_done_without(n_found, monkeypatch):
    X = np.random.default_rng(0).standard_normal((300, 5)).astype("f4")
    monkeypatch.setattr(neighbours, "DENSE_MAX_ROWS", 100)

    def some_found(matrix, n, **how):
        eigenvalues, vectors = np.linalg.eigh(matrix @ np.eye(len(X), dtype=np.float32))
        found = slice(len(X) - n_found, None)
        raise ArpackNoConvergence("no convergence", eigenvalues[found], vectors[:, found])

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", some_found)
    embedding = spectral_embedding(graph_of(X), SETTINGS)
    assert embedding.shape == (300, 1 + n_found)  # that of the whole graph is known
    assert np.isfinite(embedding).all()


@pytest.mark.parametrize("distance", [1.0, 10.0], ids=["joined", "apart"])
def test_eigenvectors_in_single_precision_are_those_of_the_whole_decomposition(distance, monkeypatch):
    X, _ = blobs(1500, d=10, k=10, distance=distance)
    graph = graph_of(X)
    quick = spectral_embedding(graph, SETTINGS)
    monkeypatch.setattr(neighbours, "DENSE_MAX_ROWS", 2000)
    whole = spectral_embedding(graph, SETTINGS)
    assert quick.shape == whole.shape == (1500, 20)
    assert np.abs(quick @ quick.T - whole @ whole.T).mean() < 0.01  # whichever way they are turned


def test_more_groups_apart_than_eigenvectors_are_told_apart_all_the_same():
    X, truth = blobs(1500, d=40, k=40, distance=20)
    embedding = spectral_embedding(graph_of(X), Initialisation(n_eigenvectors=20, n_neighbors=5))
    centres = np.stack([embedding[truth == k].mean(axis=0) for k in range(40)])
    same = embedding @ centres.T
    assert (same.argmax(axis=1) == truth).all()
    np.testing.assert_allclose(np.linalg.norm(embedding, axis=1), 1, rtol=1e-4)


def test_a_row_beside_the_sample_lies_where_its_neighbours_lie():
    X, truth = blobs(800)
    settings = Initialisation(graph_max_rows=200)
    embedding = spectral_embedding(graph_of(X, 2 * X, settings=settings), settings)
    centres = np.stack([embedding[truth == k].mean(axis=0) for k in range(4)])
    nearest = ((embedding[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == truth).all()


def test_projection_has_at_most_so_many_components():
    X, _ = blobs(60, d=8)
    assert pca_projection(X, lambda rows: rows, SETTINGS, seed=0).shape == (60, 8)
    assert pca_projection(X, lambda rows: rows, Initialisation(pca_components=3), seed=0).shape == (60, 3)


# ---- label propagation -----------------------------------------------------------------------------------------------


def test_labels_propagate_within_their_own_group():
    X, truth = blobs(800)
    graph = graph_of(X)
    ends = propagate(graph, np.eye(4)[truth], 0.9)
    np.testing.assert_allclose(ends, np.eye(4)[truth], atol=1e-3)
    means = propagate(graph, np.arange(800.0)[:, None], 0.99)[:, 0]
    assert np.isfinite(means).all()
    assert means.min() >= 0
    assert means.max() <= 800


@pytest.mark.parametrize("damping", [0.5, 0.9])
def test_propagation_is_what_the_inverse_of_the_whole_matrix_gives(damping):
    X, _ = blobs(60)
    graph = graph_of(X)
    values = np.random.default_rng(0).random((60, 2))
    weights = graph.weights.toarray()
    walks = np.linalg.inv(np.diag(weights.sum(axis=1)) - damping * weights)
    nodes = graph.interpolation.toarray()
    expected = nodes @ ((walks @ nodes.T @ values) / (walks @ nodes.T @ np.ones((60, 1))))
    np.testing.assert_allclose(propagate(graph, values, damping), expected, rtol=0.02)


# ---- whitening -------------------------------------------------------------------------------------------------------


def streaks(n=400, d=3, seed=0):
    """Two classes that differ along one column and are spread out along another."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    points = rng.standard_normal((n, d)) * [8.0, *[1.0] * (d - 1)] + 4.0 * truth[:, None] * np.eye(d)[1]
    return points.astype(np.float32), truth


def variances_within(points, truth):
    return np.mean([points[truth == k].var(axis=0) for k in (0, 1)], axis=0)


def test_what_differs_within_classes_counts_less_and_new_rows_follow():
    points, truth = streaks()
    labels = np.where(np.arange(400) < 200, truth, UNLABELLED)
    before, after = (variances_within(of[200:], truth[200:]) for of in (points, whitened(points, labels, SETTINGS)))
    spread = np.sort(after)[::-1] / after.min()
    assert spread[0] < 0.7 * before.max() / before.min()
    assert spread[0] > 1.5  # in part only: the covariance of a few classes is not that of the others


def test_whitening_by_hand():
    points, truth = streaks(40, 2)
    around = np.concatenate([points[truth == k] - points[truth == k].mean(axis=0) for k in (0, 1)]).astype(float)
    covariance = around.T @ around / 40 / np.square(around).mean()
    slow = np.linalg.inv(np.linalg.cholesky(0.2 * covariance + 0.8 * np.eye(2)))
    distances = [np.linalg.norm(of[:1] - of[1:], axis=1) for of in (points @ slow.T, whitened(points, truth, SETTINGS))]
    np.testing.assert_allclose(*distances, rtol=1e-4)


@pytest.mark.parametrize("n_labels", [0, 9])
def test_few_labels_whiten_nothing(n_labels):
    points, truth = streaks()
    labels = np.where(np.arange(400) < n_labels, truth, UNLABELLED)
    np.testing.assert_array_equal(whitened(points, labels, SETTINGS), points)


def test_only_as_many_components_as_there_are_labels_for_are_whitened():
    points, truth = streaks(d=5)
    labels = np.where(np.arange(400) < 25, truth, UNLABELLED)
    found = whitened(points, labels, SETTINGS)
    np.testing.assert_array_equal(found[:, 2:], points[:, 2:])
    assert not np.allclose(found[:, :2], points[:, :2])


def test_classes_without_any_spread_are_left_as_they_are():
    points, labels = np.repeat(np.eye(2, dtype=np.float32), 20, axis=0), np.repeat([0, 1], 20)
    np.testing.assert_array_equal(whitened(points, labels, SETTINGS), points)
