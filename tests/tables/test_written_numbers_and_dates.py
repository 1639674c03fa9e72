"""Numbers and dates as people write them are read as what they are; records of a CSV file stay as they are written."""

import csv
import io
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.tables import own_columns
from newfound.tables.cells import find_format, numbers, plain_numbers
from newfound.tables.dates import DAY, find_dates, seconds
from newfound.tables.own_columns import CSVRecords
from newfound.tables.read import read_dataset

FORMATS = {
    "{:,.2f}": str,
    "${:,.2f}": str,
    "{:,.2f} %": str,
    "{:.2f} kg": str,
    "{:,.2f} € ": lambda cell: cell.translate(str.maketrans(",.", ".,")).strip(),
    "{:.3f}": lambda cell: cell.replace(".", ","),
    "{:,.1f}": lambda cell: cell.replace(",", "\u202f").replace(".", ","),
    "CHF {:,.2f}": lambda cell: cell.replace(",", "'"),
}


def words(*cells):
    return pa.chunked_array([pa.array(cells, pa.large_string())])


@pytest.mark.parametrize("written", FORMATS)
@settings(max_examples=15)
@given(st.lists(st.floats(-1e7, 1e7), min_size=1, max_size=8))
def test_numbers_are_read_in_the_format_of_their_column(written, values):
    values = [1234567.89, 0.5, *values]  # so that separators occur
    cells = words(*(FORMATS[written](written.format(value)) for value in values))
    found = find_format(cells)
    assert found.n_cells == len(values)
    read = numbers(plain_numbers(cells, found.number_format), "x")
    np.testing.assert_allclose(read, values, atol=0.06)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,234", "12"], [1234, 12]),  # a thousand
        (["0,123", "12"], [0.123, 12]),  # a decimal comma
        (["1,234", "5678"], [1.234, 5678]),  # no thousands separator where there should be one
        (["(1,234.50)", "−7"], [-1234.5, -7]),
    ],
)
def test_the_whole_column_decides_the_meaning_of_a_comma(cells, values):
    found = find_format(words(*cells))
    np.testing.assert_allclose(numbers(plain_numbers(words(*cells), found.number_format), "x"), values)


@pytest.mark.parametrize("cells", [["pet 1", "pet 2"], ["Q1", "Q2"], ["A12", "B7"], ["red", "blue"]])
def test_words_with_digits_are_not_numbers(cells):
    assert find_format(words(*cells)) is None


ORDERS = {
    "%Y-%m-%d": "year first",
    "%Y/%m/%d": "year first",
    "%d.%m.%Y": "day first",
    "%m/%d/%Y": "month first",
    "%d %B %Y": "day, month by name",
    "%d-%b-%Y": "day, month by name",
    "%b %d, %Y": "month by name, day",
    "%A, %d %b %Y": "day, month by name",
}


@pytest.mark.parametrize("written", ORDERS)
@settings(max_examples=15)
@given(st.lists(st.dates(date(1970, 1, 1), date(2068, 1, 1)), max_size=8))
def test_dates_are_read_as_pandas_reads_them(written, days):
    days = [date(2024, 2, 29), date(2023, 12, 31), *days]
    cells = words(*(day.strftime(written) for day in days))
    found = find_dates(cells)
    assert (found.orders, found.n_cells) == ([ORDERS[written]], len(days))
    expected = pd.to_datetime(cells.to_pylist(), format=written)
    np.testing.assert_array_equal(seconds(cells, found.orders[0]) / DAY, [(d - pd.Timestamp(0)).days for d in expected])


@settings(max_examples=25)
@given(st.datetimes(datetime(1980, 1, 1), datetime(2060, 1, 1)), st.integers(-12, 12))
def test_times_with_a_zone_become_utc(moment, hours):
    moment = moment.replace(microsecond=0)
    cells = words(f"{moment.isoformat()}{hours:+03d}:00")
    assert seconds(cells, "year first")[0] == ((moment - timedelta(hours=hours)) - datetime(1970, 1, 1)).total_seconds()


def test_days_that_do_not_exist_are_not_dates():
    assert find_dates(words("31.02.2024", "2024-13-01", "25:00")).n_cells == 0


def test_dates_that_may_have_the_month_first_are_not_guessed():
    table = pa.table({"x": [0.5, 1.5, 2.5], "day": ["01/05/2024", "02/05/2024", "03/06/2024"]})
    dataset = read_dataset(table)
    assert dataset.feature_names == ["x"]
    assert "dates with an ambiguous order of day and month: 'day' (01/05/2024)" in dataset.log[-1]


def test_day_of_week_and_hour_are_on_circles_if_they_vary():
    hourly = pd.DataFrame({"x": np.linspace(0.1, 3, 48), "t": pd.date_range("2024-01-01", periods=48, freq="h")})
    dataset = read_dataset(hourly)
    names = ["x", "t: days since 2024-01-01", "t: day of week (sin)", "t: day of week (cos)", "t: hour (sin)"]
    assert dataset.feature_names == [*names, "t: hour (cos)"]
    np.testing.assert_allclose(dataset.X[36, 1:], [1.5, np.sin(2 * np.pi / 7), np.cos(2 * np.pi / 7), 0, -1], atol=1e-6)
    monthly = pd.DataFrame({"x": [0.1, 0.2, 0.4], "t": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"])})
    assert read_dataset(monthly).feature_names == ["x", "t: days since 2024-01-01"]  # months have no weekday


def test_a_missing_date_is_filled_with_the_median():
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.4], "t": pd.to_datetime(["2024-01-01", None, "2024-01-03"])})
    dataset = read_dataset(frame)
    assert dataset.X[1, 1] == 1
    assert dataset.columns[1].n_missing == 1


@pytest.mark.parametrize("pair", [("yes", "no"), ("Y", "N"), ("TRUE", "False"), ("on", "off"), ("oui", "non")])
def test_booleans_in_any_spelling(pair):
    dataset = read_dataset(pa.table({"x": [0.5, 1.5, 2.5], "b": [pair[0], pair[1], None]}))
    assert [column.feature_type for column in dataset.columns] == ["numeric", "binary"]
    assert dataset.X[:2, 1].tolist() == [1, 0]


def test_lists_become_a_block_and_gaps_its_median():
    table = pa.table({"x": [0.5, 1.5, 2.5, 9], "v": [[1.0, 2.0], None, [3.0, np.nan], [5.0, 4.0]]})
    dataset = read_dataset(table)
    assert dataset.feature_names == ["x", "v[0]", "v[1]"]
    assert dataset.schema.feature_types == ["numeric", "numeric:v", "numeric:v"]
    np.testing.assert_array_equal(dataset.X[:, 1:], [[1, 2], [3, 3], [3, 3], [5, 4]])
    ragged = pa.table({"x": [0.5, 1.5], "v": [[1.0, 2.0], [1.0]]})
    assert "Dropped as lists of different lengths: 'v'." in read_dataset(ragged).log


def test_lists_written_as_text_are_not_free_text(tmp_path):
    rng = np.random.default_rng(0)
    lists = [[round(float(v), 3) for v in rng.normal(size=4)] for _ in range(40)]
    table = pd.DataFrame({"x": rng.normal(size=40), "listed": lists, "printed": [str(np.array(v)) for v in lists]})
    table.to_csv(tmp_path / "t.csv", index=False)
    dataset = read_dataset(tmp_path / "t.csv")
    assert dataset.dropped == ["listed", "printed"]
    assert "lists of numbers written as text: 'listed' and 'printed'. To use them, save" in "".join(dataset.log)


def test_almost_identical_columns_are_named_together():
    """Numbers in other units, and categories under other names; one group each, however many there are."""
    rng = np.random.default_rng(0)
    x, kind, other = rng.normal(size=60), rng.integers(0, 3, 60), rng.normal(size=60)
    table = {"x": x, "twice": 2 * x, "shifted": x + 7, "noisy": x + 1e-4 * other, "other": other}
    table |= {"colour": np.array(["red", "green", "blue"])[kind], "farbe": np.array(["rot", "gruen", "blau"])[kind]}
    (said,) = [line for line in read_dataset(pd.DataFrame(table)).log if line.startswith("Almost identical")]
    assert said.endswith("in `ignore`: 'x', 'twice', 'shifted' and 'noisy'; 'colour' and 'farbe'.")


def test_features_beside_a_table_are_joined_by_row(tmp_path):
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.5]})
    frame.assign(y=["a", "", "b"]).to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "emb.npy", np.arange(6.0).reshape(3, 2))
    dataset = read_dataset(tmp_path / "t.csv", label="y", features=tmp_path / "emb.npy")
    assert dataset.feature_names == ["x", "emb[0]", "emb[1]"]
    other = read_dataset(tmp_path / "t.csv", schema=dataset.schema, features=np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(other.X, dataset.X)


def test_numbered_columns_in_different_units_are_not_a_block():
    rng = np.random.default_rng(0)
    same = pd.DataFrame({f"e{i}": rng.normal(size=20) for i in range(40)})
    assert [column.feature_type for column in read_dataset(same).columns] == ["block"]
    other = same.assign(e3=1000 * same["e3"])
    assert {column.feature_type for column in read_dataset(other).columns} == {"numeric"}


CELLS = st.text(st.sampled_from('ab,"\n\r 1;'), max_size=6)


@settings(max_examples=60)
@given(st.lists(st.tuples(CELLS, CELLS), max_size=12), st.integers(1, 5), st.integers(1, 40), st.booleans())
def test_records_are_those_of_the_csv_module(tmp_path_factory, rows, n, size, has_mark):
    text = io.StringIO()
    csv.writer(text).writerows([("x", "y"), *rows])
    path = tmp_path_factory.mktemp("records") / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" * has_mark + text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_columns, "CHUNK_BYTES", size)
        records = CSVRecords(path)
        taken = []
        while part := records.take(n).to_pylist():
            taken += part
    assert records.header == b"x,y"
    assert [next(csv.reader(io.StringIO(record, newline=""))) for record in taken] == [list(row) for row in rows]
