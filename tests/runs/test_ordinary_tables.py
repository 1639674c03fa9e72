"""Tables as people have them are read and fitted at the first try, and what was decided about each column is said."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from ordinary_tables import TABLES
from pets import newfound, write_csv

from newfound._internal.records import converted, to_json
from newfound.runs.run import open_run
from newfound.tables.dataset import Schema
from newfound.tables.read import read_batches, read_dataset

FEW_EPOCHS = ("--epochs", "5", "--no-audit")
ID_BACK = "To use one as a number, name it in --numeric."

DECIDED = {
    "tickets": [
        "'ticket_id' names the rows and is not a feature.",
        "2 numeric columns: 'minutes' and 'replies'.",
        "1 binary column (only 0 and 1): 'urgent'.",
        "1 categorical column, one feature for each category: 'channel' (4).",
        "1 column of dates or times, read as numbers: 'opened' (days since 2024-01-08, day of week and hour).",
        "In all, 12 features.",
        "Dropped as ids: 'customer_id'. To use one as a number, name it in `numeric`.",
        "Dropped as free text: 'subject'. To use it, make embeddings and join them by row with `features`: vectors = "
        "SentenceTransformer('all-MiniLM-L6-v2').encode(list(table['subject'])); np.save('subject.npy', vectors).",
    ],
    "sales": [
        "3 numeric columns: 'price', 'discount' and 'units'.",
        "1 categorical column, one feature for each category: 'region' (4).",
        "1 column of dates or times, read as numbers: 'date' (day first; days since 2023-03-01 and day of week).",
        "Read as numbers: 'price' (in $, thousands separated by ',') and 'discount' (in %).",
        "In all, 10 features.",
    ],
    "sensors": [
        "4 numeric columns: 'temperature', 'pressure', 'vibration' and 'firmware'.",
        "1 column of dates or times, read as numbers: 'time' (days since 2024-03-25, day of week and hour).",
        "2 cells were text that could not be read and filled with the column's median: 'pressure' (2).",
        "In all, 9 features.",
        "The same value in every row, so not useful: 'firmware'.",
    ],
    "survey": [
        "3 numeric columns: 'q2', 'q3' and 'age'.",
        "1 binary column (only 0 and 1): 'member'.",
        "1 categorical column, one feature for each category: 'q1' (4).",
        "In all, 8 features.",
        "Dropped as text that differs in at least 90 % of the rows: 'respondent'. To use one as the names of the "
        "rows, name it in `id`.",
        "Dropped as free text: 'comment'. To use it, make embeddings and join them by row with `features`: vectors = "
        "SentenceTransformer('all-MiniLM-L6-v2').encode(list(table['comment'])); np.save('comment.npy', vectors).",
    ],
    "export": [
        "3 numeric columns: 'Länge', 'Gewicht' and 'Betrag'.",
        "1 column of dates or times, read as numbers: 'Datum' (day first; days since 2024-01-01 and day of week).",
        "Read as numbers: 'Länge' (decimal comma), 'Gewicht' (decimal comma) and 'Betrag' (in €, decimal comma, "
        "thousands separated by '.').",
        "In all, 6 features.",
        "Dropped as numbers that only count the rows: 'column 1'. To use one, name it in `numeric`.",
    ],
    "wide_embeddings": [
        "'doc_id' names the rows and is not a feature.",
        "1 block of numbers on one scale: 'e0 … e63' (64).",
        "In all, 64 features.",
    ],
    "list_embeddings": [
        "'uuid' names the rows and is not a feature.",
        "1 numeric column: 'length'.",
        "1 column of dates or times, read as numbers: 'seen' (days since 2024-05-01, day of week and hour).",
        "1 block of numbers on one scale: 'vector' (48).",
        "In all, 54 features.",
    ],
    "text_ids": [
        "2 numeric columns: 'x' and 'y'.",
        "In all, 2 features.",
        "Dropped as whole numbers that are all different and unrelated to all other columns, as ids are: 'barcode'. "
        "To use one, name it in `numeric`.",
        "Dropped as text that differs in at least 90 % of the rows: 'sample'. To use one as the names of the rows, "
        "name it in `id`.",
    ],
    "leaking": [
        "2 numeric columns: 'width' and 'height'.",
        "1 categorical column, one feature for each category: 'team' (4).",
        "In all, 6 features.",
    ],
    "mixed_units": [
        "5 numeric columns: 'wavelength', 'distance', 'weight', 'celsius' and 'fahrenheit'.",
        "Read as numbers: 'weight' (in kg).",
        "In all, 5 features.",
        "Dropped as numbers in different units: 'portion'. Write them in one unit to use them.",
        "Almost identical, and all used unless you name all but one in `ignore`: 'celsius' and 'fahrenheit'.",
    ],
    "many_missing": [
        "8 numeric columns: 'm0', 'm1', 'm2', 'm3', 'm4' and 3 more.",
        "1 categorical column, one feature for each category: 'colour' (5).",
        "960 cells were missing and filled with the column's median: 'm5' (135), 'm0' (126), 'm2' (121), 'm4' (119), "
        "'m1' (117) and 3 more.",
        "119 cells were missing and read as the category '(missing)': 'colour' (119).",
        "In all, 13 features.",
        "Dropped because all cells are missing: 'notes'.",
    ],
    "tiny": [
        "'name' names the rows and is not a feature.",
        "2 numeric columns: 'x' and 'y'.",
        "In all, 2 features.",
    ],
}


def test_there_are_twelve():
    assert len(TABLES) == 12
    assert DECIDED.keys() == TABLES.keys()


@pytest.mark.parametrize("name", TABLES)
def test_what_is_decided_about_each_column(tmp_path, name):
    file, label, _ = TABLES[name](tmp_path)
    dataset = read_dataset(tmp_path / file, label=label)
    assert dataset.log[2:] == DECIDED[name]  # after the numbers of rows and labels
    assert [flag.split(" ")[0] for flag in dataset.flags] == (["'team'"] if name == "leaking" else [])


@pytest.mark.parametrize("name", TABLES)
def test_the_same_file_by_its_schema_gives_the_same_rows(tmp_path, name):
    file, label, _ = TABLES[name](tmp_path)
    dataset = read_dataset(tmp_path / file, label=label)
    schema = converted(to_json(dataset.schema), Schema, "The schema", "")
    assert schema == dataset.schema
    np.testing.assert_array_equal(read_dataset(tmp_path / file, schema=schema).X, dataset.X)
    blocks = list(read_batches(tmp_path / file, schema, rows=64))
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), dataset.X)


def known_accuracy(run, truth):
    """On the rows of classes that have labels."""
    table, truth = run.predictions, np.array(truth)
    is_known = np.isin(truth, [c.name for c in run.classes if not c.is_new])
    return float(np.mean(table["class"][is_known] == truth[is_known]))


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """A quick fit of a small version."""
    folder = tmp_path_factory.mktemp("tickets")
    file, label, truth = TABLES["tickets"](folder, n=160)
    printed = newfound("fit", file, "--label", label, "--out", "run", *FEW_EPOCHS, cwd=folder).stdout
    return folder, printed, truth


def test_tickets_are_fitted_and_the_command_line_speaks_of_its_own_options(tickets):
    folder, printed, truth = tickets
    assert f"· Dropped as ids: 'customer_id'. {ID_BACK}" in printed
    assert "`" not in printed
    assert known_accuracy(open_run(folder / "run"), truth) >= 0.9


def test_labelled_csv_is_the_users_file_with_the_answer_beside_it(tickets):
    folder, _, _ = tickets
    own = (folder / "tickets.csv").read_bytes().splitlines()
    labelled = (folder / "run" / "labelled.csv").read_bytes().splitlines()
    assert labelled[0] == own[0] + b",newfound_class,newfound_probability,newfound_p_new,newfound_is_new"
    assert len(labelled) == len(own) == 161
    assert all(line.startswith(record + b",") for line, record in zip(labelled, own, strict=True))
    run = open_run(folder / "run")
    with (folder / "run" / "labelled.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["newfound_class"] for row in rows] == run.predictions["class"].tolist()
    is_new = {c.name: c.is_new for c in run.classes}
    assert [row["newfound_is_new"] == "true" for row in rows] == [is_new[row["newfound_class"]] for row in rows]


def test_predict_writes_the_same_beside_the_same_rows(tickets):
    folder, _, _ = tickets
    newfound("predict", "run", "tickets.csv", "--out", "again.csv", cwd=folder)
    again, labelled = (
        list(csv.reader(path.open(newline=""))) for path in (folder / "again.csv", folder / "run" / "labelled.csv")
    )
    assert [row[:-3] for row in again] == [row[:-3] for row in labelled]
    np.testing.assert_allclose(
        np.array(again)[1:, -3:-1].astype(float), np.array(labelled)[1:, -3:-1].astype(float), atol=1e-5
    )


def test_an_act_is_followed_by_labelled_csv(tickets):
    folder, _, _ = tickets
    newfound("name", "run", "billing=invoices, old", cwd=folder)
    with (folder / "run" / "labelled.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    newfound("undo", "run", cwd=folder)
    assert "invoices, old" in {row["newfound_class"] for row in rows}
    assert rows[0]["ticket_id"] == "T-10000"


def test_a_lone_quote_in_a_cell_does_not_stop_it(tickets):
    folder, _, _ = tickets
    lines = (folder / "tickets.csv").read_text().splitlines()
    lines[1] = lines[1].replace(",please", ',5" please', 1).replace(",help", ',5" help', 1)
    lines[1] = lines[1] if '"' in lines[1] else lines[1].replace("T-", 'T"', 1)
    (folder / "odd.csv").write_text("\n".join(lines) + "\n")
    newfound("predict", "run", "odd.csv", "--out", "odd-labelled.csv", cwd=folder)
    with (folder / "odd-labelled.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 160
    assert '"' in rows[0]["ticket_id"] + rows[0]["subject"]


def test_only_new_rows_and_only_some_columns(tickets):
    folder, _, _ = tickets
    newfound("predict", "run", "tickets.csv", "--out", "new.csv", "--only-new", cwd=folder)
    options = ("--columns", "ticket_id,newfound_is_new", "--columns", "newfound_entropy")
    newfound("predict", "run", "tickets.csv", "--out", "few.csv", *options, cwd=folder)
    newfound("predict", "run", "tickets.csv", "--out", "few.parquet", "--only-new", *options, cwd=folder)
    with (folder / "new.csv").open(newline="") as file:
        new = list(csv.DictReader(file))
    with (folder / "few.csv").open(newline="") as file:
        few = list(csv.DictReader(file))
    assert {row["newfound_is_new"] for row in new} == {"true"}
    assert list(few[0]) == ["ticket_id", "newfound_is_new", "newfound_entropy"]
    assert [row["ticket_id"] for row in few if row["newfound_is_new"] == "true"] == [row["ticket_id"] for row in new]
    assert pq.read_table(folder / "few.parquet")["ticket_id"].to_pylist() == [row["ticket_id"] for row in new]
    refused = newfound("predict", "run", "tickets.csv", "--columns", "ticketid", cwd=folder, code=2)
    assert "There is no column 'ticketid' to write. Did you mean 'ticket_id'?" in refused.stderr


def test_a_parquet_file_comes_back_as_one(tmp_path):
    file, label, truth = TABLES["list_embeddings"](tmp_path, n=120)
    newfound("fit", file, "--label", label, "--out", "run", *FEW_EPOCHS, cwd=tmp_path)
    newfound("predict", "run", file, "--out", "again.parquet", cwd=tmp_path)
    newfound("predict", "run", file, "--out", "again.csv", cwd=tmp_path)
    own = pq.read_table(tmp_path / file)
    for name in ("run/labelled.parquet", "again.parquet"):
        table = pq.read_table(tmp_path / name)
        assert table.select(own.schema.names).equals(own)
        assert table.schema.names[-4:] == [f"newfound_{what}" for what in ("class", "probability", "p_new", "is_new")]
    with (tmp_path / "again.csv").open(newline="") as lines:
        assert len(json.loads(next(csv.DictReader(lines))["vector"])) == 48
    assert known_accuracy(open_run(tmp_path / "run"), truth) >= 0.9


def test_a_leaking_column_is_flagged_on_the_first_screen(tmp_path):
    file, label, _ = TABLES["leaking"](tmp_path, n=80)
    printed = newfound(
        "fit", file, "--label", label, "--out", "run", "--epochs", "1", "--no-audit", cwd=tmp_path
    ).stdout
    (flag,) = open_run(tmp_path / "run").description.flags
    assert flag.startswith("'team' alone determines every label.")
    assert f"! {flag}" in printed
    assert "name it in --ignore" in flag


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_fitted_without_any_option(tmp_path, name):
    file, label, truth = TABLES[name](tmp_path)
    newfound("fit", file, "--label", label, "--out", "run", cwd=tmp_path)
    assert known_accuracy(open_run(tmp_path / "run"), truth) >= 0.9


# ---- tables of others ------------------------------------------------------------------------------------------------


def half_of(labels):
    """Labels of half the rows, picked at random. (Every other penguin would be one sex only.)"""
    is_kept = np.random.default_rng(0).random(len(labels)) < 0.5
    return [label if kept else "" for label, kept in zip(labels, is_kept, strict=True)]


def published(folder, name):
    """A table of scikit-learn as its frame is written, half of the labels left out; its file and true classes."""
    import sklearn.datasets

    frame = getattr(sklearn.datasets, f"load_{name}")(as_frame=True).frame
    truth = frame["target"].astype(str).tolist()
    frame["target"] = half_of(truth)
    frame.to_csv(folder / "t.csv", index=False)
    return "t.csv", "target", truth


def penguins(folder):
    """As the package gives them, half of the labels left out."""
    from palmerpenguins import load_penguins

    frame = load_penguins()
    truth = frame["species"].tolist()
    frame["species"] = half_of(truth)
    frame.to_csv(folder / "penguins.csv", index=False)
    return "penguins.csv", "species", truth


def census(folder, n=400):
    """Mixed columns as of a census: numbers, many zeros, categories, a mark for what is missing."""
    rng = np.random.default_rng(0)
    rich = rng.random(n) < 0.4
    columns = {
        "age": np.where(rich, rng.normal(52, 5, n), rng.normal(29, 5, n)).round().astype(int),
        "workclass": rng.choice(["Private", "State-gov", "?"], n),
        "fnlwgt": rng.integers(20_000, 500_000, n),
        "education-num": np.where(rich, rng.integers(13, 17, n), rng.integers(6, 11, n)),
        "sex": rng.choice(["Male", "Female"], n),
        "capital-gain": np.where(rich & (rng.random(n) < 0.3), rng.integers(1000, 99_999, n), 0),
        "hours-per-week": np.where(rich, rng.integers(42, 60, n), rng.integers(20, 41, n)),
        "income": half_of(np.where(rich, ">50K", "<=50K")),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    write_csv(folder / "census.csv", rows)
    return "census.csv", "income", np.where(rich, ">50K", "<=50K").tolist()


OTHERS = {
    "penguins": penguins,
    "wine": lambda folder: published(folder, "wine"),
    "breast_cancer": lambda folder: published(folder, "breast_cancer"),
    "census": census,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_a_table_of_others_is_fitted_without_any_option(tmp_path, name):
    if name == "penguins":
        pytest.importorskip("palmerpenguins")
    file, label, truth = OTHERS[name](tmp_path)
    newfound("fit", file, "--label", label, "--out", "run", cwd=tmp_path)
    assert known_accuracy(open_run(tmp_path / "run"), truth) >= 0.9


@pytest.mark.parametrize(("name", "n_columns"), [("wine", 13), ("breast_cancer", 30)])
def test_published_tables_need_no_option(tmp_path, name, n_columns):
    file, label, _ = published(tmp_path, name)
    dataset = read_dataset(tmp_path / file, label=label)
    assert len(dataset.columns) == n_columns
    assert (dataset.dropped, dataset.flags) == ([], [])


def test_mixed_columns_as_of_a_census_need_no_option(tmp_path):
    file, label, _ = census(tmp_path)
    dataset = read_dataset(tmp_path / file, label=label)
    kinds = {column.name: column.feature_type for column in dataset.columns}
    assert kinds["workclass"] == kinds["sex"] == "categorical"
    assert {kinds[name] for name in ("age", "education-num", "capital-gain")} == {"numeric"}
    assert dataset.flags == []
