"""In which precision columns are read."""

import numpy as np
import pytest

from newfound.tables.read import read_batches, read_dataset


@pytest.mark.parametrize(("shift", "scale"), [(1e9, 1.0), (0.0, 1e-60), (0.0, 1e60), (-1e12, 1e-2)])
def test_differences_that_single_precision_loses_are_read_in_double(tmp_path, shift, scale):
    """Units do not matter to a file, either; the next file is read alike, and so is an array."""
    numbers = shift + scale * np.random.default_rng(0).normal(size=(40, 1))
    path = tmp_path / "table.csv"
    path.write_text("far,near\n" + "".join(f"{far!r},{i}\n" for i, far in enumerate(numbers[:, 0].tolist())))
    dataset = read_dataset(path, numeric=["near"])
    assert np.array_equal(dataset.X[:, 0], numbers[:, 0])
    assert np.array_equal(next(read_batches(path, dataset.schema)).X, dataset.X)
    assert np.array_equal(read_dataset(numbers).X, numbers)


def test_other_numbers_are_read_in_single_precision():
    numbers = np.random.default_rng(0).normal(170.1, 10, size=(40, 3))
    numbers[0] = 1e300  # an outlier is no reason
    assert read_dataset(numbers).X.dtype == np.float32


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("numbers", [[1.7e308, -1.7e308, 1.0], [5e-324, 0, 5e-324], [1e39, 1, 2], [1e308] * 3])
def test_the_limits_of_double_precision_give_no_warning(numbers):
    assert read_dataset(np.array(numbers)[:, None]).X.dtype in (np.float32, np.float64)
