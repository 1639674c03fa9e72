import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.preprocessing.checks import check_feature_types, check_image_shape
from newfound.preprocessing.columns import BLOCK_ROWS, ColumnStatistics, blocks_of_features, decide, is_binary

RNG = np.random.default_rng(0)
X = RNG.normal(5, 3, (50, 4)).astype(np.float32)


def seen(made, rows):
    """What the model sees."""
    return made.scaling.apply(made.select(rows))


@pytest.mark.parametrize("standardize", [True, False, "auto", "min-max"])
def test_scaled_rows_come_back(standardize):
    made = decide(X, standardize, 0.0)
    np.testing.assert_allclose(made.restore(seen(made, X)), X, rtol=1e-4)


def test_each_scaling():
    standard = seen(decide(X, True, 0.0), X)
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(standard.std(axis=0), 1, rtol=1e-4)
    unit = seen(decide(X, "min-max", 0.0), X)
    assert (unit.min(axis=0), unit.max(axis=0)) == (pytest.approx(0, abs=1e-6), pytest.approx(1, rel=1e-5))
    np.testing.assert_array_equal(seen(decide(X, False, 0.0), X), X)
    np.testing.assert_array_equal(seen(decide(X, "auto", 0.0), X), standard)


def test_pixels_of_an_image_have_one_unit():
    pixels = np.abs(X) * [0, 1, 2, 5]
    as_image = seen(decide(pixels, "auto", 0.0, is_image=True), pixels)
    np.testing.assert_allclose(as_image, pixels[:, 1:] / pixels.max(), rtol=1e-5)
    np.testing.assert_allclose(
        seen(decide(1e-9 * pixels, "auto", 0.0, is_image=True), 1e-9 * pixels), as_image, rtol=1e-5
    )


@settings(max_examples=500, deadline=None)
@given(
    st.integers(0, 2**31),
    st.lists(st.tuples(st.floats(-150, 150), st.booleans(), st.floats(-1e6, 1e6)), min_size=3, max_size=3),
)
def test_units_do_not_matter(seed, units):
    """Any column times any number plus any number, within what doubles can tell, is the same to the model."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=40), rng.exponential(size=40), rng.integers(0, 9, 40)])
    scale = np.array([(-1.0 if is_negative else 1.0) * 10.0**power for power, is_negative, _ in units])
    shift = scale * np.array([offset for *_, offset in units])
    plain, other = decide(rows, "auto", 0.0), decide(rows * scale + shift, "auto", 0.0)
    expected = seen(plain, rows) * np.sign(scale)
    np.testing.assert_allclose(seen(other, rows * scale + shift), expected, atol=2e-3)


def test_noise_on_a_large_number_is_kept():
    rows = 1e9 + RNG.normal(size=(50, 2))
    x = seen(decide(rows, "auto", 0.0), rows)
    np.testing.assert_allclose(np.corrcoef(x[:, 0], rows[:, 0])[0, 1], 1, atol=1e-6)
    np.testing.assert_allclose(x.std(axis=0), 1, rtol=1e-3)


@pytest.mark.parametrize("outlier", [1e4, -1e9, 1e30])
def test_an_outlier_is_clipped_to_the_nearest_other_value_and_changes_no_other_row(outlier):
    rows = RNG.normal(5, 3, (200, 4))
    spoiled = rows.copy()
    spoiled[7, 2] = outlier
    made = decide(spoiled, "auto", 0.0)
    assert made.n_outliers(spoiled).tolist() == [0, 0, 1, 0]
    others = np.delete(np.arange(200), 7)
    np.testing.assert_allclose(seen(made, spoiled)[others], seen(decide(rows, "auto", 0.0), rows)[others], atol=0.5)
    x = seen(made, spoiled)[:, 2]
    assert x[7] == (x[others].max() if outlier > 0 else x[others].min())
    assert (
        made.fitted_range == [np.delete(spoiled, 7, axis=0).min(axis=0), np.delete(spoiled, 7, axis=0).max(axis=0)]
    )[:, 2].all()


def test_columns_of_few_values_have_no_outliers():
    rare = np.zeros((300, 3))
    rare[0, 0], rare[:3, 1], rare[:30, 2] = 1, 1, 1
    assert not decide(rare, "auto", 0.0).n_outliers(rare).any()


def test_a_model_of_floats_reads_bytes_and_the_other_way_round():
    pixels = RNG.integers(0, 256, (50, 3)).astype(np.uint8)
    for fitted_on in (pixels, pixels.astype(float)):
        made = decide(fitted_on, True, 0.0)
        np.testing.assert_allclose(seen(made, pixels), seen(made, pixels.astype(float)), atol=1e-5)


def test_bytes_are_read_as_grey_values():
    pixels = np.array([[0, 255, 51], [255, 0, 102]], np.uint8)
    made = decide(pixels, "auto", 0.0, unit_interval=True)
    np.testing.assert_allclose(seen(made, pixels), pixels / 255, rtol=1e-6)
    assert is_binary(pixels)
    assert is_binary(np.array([[0.0, 1.0]]))
    assert not is_binary(np.array([[0.0, 0.5]]))


def test_constant_columns_are_dropped_and_restored_by_their_mean():
    with_constant = np.insert(X, 2, 7.5, axis=1)
    made = decide(with_constant, True, 0.0)
    assert made.is_kept.tolist() == [True, True, False, True, True]
    np.testing.assert_allclose(made.restore(np.zeros((1, 4)))[0, 2], 7.5)
    with pytest.raises(ValueError, match="No column of X varies: all 4 have a standard deviation of at most 9"):
        decide(X, True, 9.0)


def test_only_numeric_columns_are_scaled_if_types_are_given():
    mixed = np.c_[X[:, 0], X[:, 1] > 5, np.eye(2)[np.arange(50) % 2]].astype(np.float32)
    made = decide(mixed, True, 0.0, ["numeric", "binary", "categorical:c", "categorical:c"])
    np.testing.assert_array_equal(seen(made, mixed)[:, 1:], mixed[:, 1:])
    assert seen(made, mixed)[:, 0].mean() == pytest.approx(0, abs=1e-5)
    assert made.blocks == (("binary", (1,)), ("categorical", (2, 3)), ("numeric", (0,)))
    assert blocks_of_features(["categorical:b", "categorical:a"]) == (("categorical", (1,)), ("categorical", (0,)))


def test_bernoulli_needs_the_unit_interval():
    with pytest.raises(ValueError, match="needs values from 0 to 1, got .* in column 0 .*Scale X to 0..1"):
        decide(X, "auto", 0.0, unit_interval=True)
    assert seen(decide(X, "min-max", 0.0, unit_interval=True), X).max() <= 1.000001


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(0, 2**31))
def test_statistics_by_blocks_are_those_of_all_rows(n_blocks, seed):
    rows = np.random.default_rng(seed).normal(3, 2, (n_blocks * BLOCK_ROWS - 5, 2))
    found = ColumnStatistics.of(rows)
    np.testing.assert_allclose(found.mean, rows.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.std, rows.std(axis=0), rtol=1e-9)
    np.testing.assert_array_equal((found.low, found.high), (rows.min(axis=0), rows.max(axis=0)))


@pytest.mark.parametrize(
    ("types", "message"),
    [(["numeric"], "must name a type for each of the 2 columns of X; got 1"), (["numeric", "date"], "got 'date'")],
)
def test_wrong_feature_types_are_refused(types, message):
    with pytest.raises(ValueError, match=message):
        check_feature_types(types, 2)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((4, 4), "makes 16 pixels, but X has 64 columns"), ((64,), "must be \\(height, width\\)"), (8, "must be")],
)
def test_wrong_image_shapes_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        check_image_shape(shape, 64)


def test_a_block_has_one_scale_so_that_distances_are_kept():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(50, 3)) * [1, 2, 5], 1000 * rng.normal(size=50)]).astype(np.float32)
    made = decide(X, True, 0.0, ["numeric:e", "numeric:e", "numeric:e", "numeric"])
    x = seen(made, X)
    distance = np.linalg.norm(X[:1, :3] - X[1:, :3], axis=1)
    ratio = np.linalg.norm(x[:1, :3] - x[1:, :3], axis=1) / distance
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)
    np.testing.assert_allclose(np.mean(np.square(x[:, :3].std(axis=0))), 1, rtol=1e-4)
    np.testing.assert_allclose(x[:, 3].std(), 1, rtol=1e-4)
    assert [name for name, _ in made.blocks] == ["numeric", "numeric"]
