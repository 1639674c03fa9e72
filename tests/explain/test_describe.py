"""Descriptions of classes: true, in the user's units and names, and empty if nothing sets a class apart."""

import re
import warnings

import numpy as np
import pytest
from hand_made import classes_of, described, numeric
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from small import blobs, quick, some_labels

import newfound
from newfound import GMDGM
from newfound._internal.records import decoded, encoded
from newfound.explain.columns import SourceColumn
from newfound.explain.describe import TreeHints
from newfound.explain.rules import Bound, Condition, all_hold, merge
from newfound.explain.wording import Description, Descriptions
from newfound.tables.dataset import MISSING_CATEGORY, Column

ISLANDS = ("Biscoe", "Dream", "Torgersen")


@pytest.fixture(scope="module")
def birds():
    """40 rows each of two known classes and a new one, which has long bills and lives on Dream, as some others do."""
    rng = np.random.default_rng(0)
    names = np.repeat(["Adelie", "Gentoo", "new-1"], 40)
    bill = rng.normal(np.repeat([38.8, 47.5, 48.8], 40), 1.5).round(1)
    mass = rng.normal(np.repeat([3700, 5000, 3700], 40), 200).round()
    year = rng.choice([2007, 2008, 2009], 120)
    island = np.concatenate([rng.choice(3, 40), np.zeros(40, int), np.ones(40, int)])
    X = np.column_stack([bill, mass, year, np.eye(3)[island]])
    columns = [*numeric("bill_length_mm", "body_mass_g", "year"), Column("island", "categorical", (3, 4, 5), ISLANDS)]
    z = np.repeat([[0.0], [9.0], [1.0]], 40, axis=0)
    return X, columns, names, z


def test_a_class_is_told_by_its_columns(birds):
    X, columns, names, z = birds
    new = described(X, columns, names, z=z)["new-1"]
    assert new.nearest == "Adelie"
    assert re.fullmatch(
        r"Rows with island Dream and bill_length_mm 4\d\.\d, (9|10)\.\d more than Adelie\.", new.sentence
    )
    by_column = {difference.column: difference for difference in new.differences}
    assert "year" not in by_column  # which says nothing
    assert re.fullmatch(r"island Dream \(100%, elsewhere \d\d?%\)", by_column["island"].text)
    assert (by_column["island"].value, by_column["island"].elsewhere) == ("Dream", "Biscoe")
    effects = [difference.effect for difference in new.differences]
    assert effects == sorted(effects, reverse=True)


def test_a_rule_is_short_and_measured(birds):
    X, columns, names, z = birds
    rule = described(X, columns, names, z=z)["new-1"].rule
    assert re.fullmatch(r"(island = Dream and bill_length_mm > 4\d(\.\d)?|bill.* and island = Dream)", rule.text)
    assert rule.recall > 0.9
    assert rule.false_rate < 0.05
    assert rule.fidelity == pytest.approx((1 + rule.recall - rule.false_rate) / 2, abs=1e-3)


def test_known_classes_have_a_name_and_need_no_rule(birds):
    X, columns, names, z = birds
    known = described(X, columns, names, z=z)["Gentoo"]
    assert (known.rule, known.hints, known.suggested_name) == (None, (), None)
    assert known.sentence.startswith("Rows with ")


def test_json_there_and_back_and_readable(birds):
    X, columns, names, z = birds
    all_of_them = Descriptions(described(X, columns, names, z=z).values())
    stored = decoded(encoded(all_of_them), list[Description], "descriptions.json", "")
    assert Descriptions(stored) == all_of_them
    lines = str(all_of_them).splitlines()
    assert lines[2].startswith("new-1: Rows with island Dream and ")
    assert re.fullmatch(r"  Rule: .* \(takes \d+% of its rows, .*% of all others\)\.", lines[3])
    assert lines[-1] == f"  A name could be “{all_of_them[2].suggested_name}”."
    assert "<p>new-1: Rows" in all_of_them._repr_html_()


@pytest.mark.parametrize(("factor", "shift"), [(1000.0, 0.0), (0.001, 0.0), (2.5, -300.0)])
def test_units_do_not_matter_to_which_columns_are_named(birds, factor, shift):
    X, columns, names, z = birds
    other = X.copy()
    other[:, :3] = factor * X[:, :3] + shift
    ours, theirs = (described(rows, columns, names, z=z)["new-1"] for rows in (X, other))
    assert [d.column for d in ours.differences] == [d.column for d in theirs.differences]
    assert [d.effect for d in ours.differences] == pytest.approx([d.effect for d in theirs.differences])
    assert ours.suggested_name == theirs.suggested_name
    assert ours.rule.fidelity == pytest.approx(theirs.rule.fidelity, abs=0.05)


def test_rows_count_by_their_weight(birds):
    """A row that stands for three says what three rows would."""
    X, columns, names, z = birds
    weight = np.where(names == "Adelie", 3, 1).astype(np.float32)
    thrice = np.repeat(np.arange(120), weight.astype(int))
    weighted = described(X, columns, names, z=z, weight=weight)["new-1"]
    repeated = described(X[thrice], columns, names[thrice], z=z[thrice])["new-1"]
    assert [d.text for d in weighted.differences] == [d.text for d in repeated.differences]
    assert [d.effect for d in weighted.differences] == pytest.approx([d.effect for d in repeated.differences])


# ---- where little can be said ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_class_of_few_rows_is_not_told_by_chance(n_rows):
    rng = np.random.default_rng(0)
    names = ["known"] * 200 + ["new-1"] * n_rows
    new = described(rng.normal(size=(len(names), 20)), numeric(*(f"c{i}_mm" for i in range(20))), names)["new-1"]
    assert (new.differences, new.rule, new.suggested_name) == ((), None, None)
    assert new.sentence == f"{n_rows} row{'s' * (n_rows > 1)}, nearest to “known” of the known classes."


def test_random_columns_say_nothing():
    for seed in range(5):
        names = ["a"] * 100 + ["b"] * 100 + ["new-1"] * 100
        X = np.random.default_rng(seed).normal(size=(300, 30))
        found = described(X, numeric(*(f"width of {c}" for c in "abcdefghijklmnopqrstuvwxyzäöüß")), names)
        assert all(one.differences == () and one.rule is None for one in found.values())


def test_constant_columns_and_an_empty_class_are_left_out():
    names = ["a"] * 50 + ["new-1"] * 50
    X = np.column_stack([np.full(100, 7.0), np.repeat([0.0, 5.0], 50) + np.arange(100) % 3])
    found = described(X, numeric("same", "height"), names, classes_of(["a", "empty"], 1))
    assert [d.column for d in found["new-1"].differences] == ["height"]
    empty = found["empty"]
    assert (empty.sentence, empty.differences, empty.rule) == ("", (), None)
    assert described(X[:, :1], numeric("same"), names)["new-1"].differences == ()


def test_missing_categories_are_called_missing():
    sex = np.array([0, 1] * 50 + [2] * 50)
    columns = [Column("sex", "categorical", (0, 1, 2), ("female", "male", MISSING_CATEGORY))]
    new = described(np.eye(3)[sex], columns, ["a"] * 100 + ["new-1"] * 50)["new-1"]
    assert new.sentence == "Rows with sex missing."
    assert new.differences[0].text == "sex missing (100%, elsewhere 0%)"
    assert new.rule.text == "sex is missing"
    assert new.suggested_name == "sex missing"


def test_a_category_that_the_schema_does_not_know_is_none_of_them():
    X = np.eye(2)[np.array([0] * 60 + [1] * 60)]
    X[:5] = 0
    columns = [Column("shape", "categorical", (0, 1), ("round", "long"))]
    new = described(X, columns, ["a"] * 60 + ["new-1"] * 60)["new-1"]
    assert new.rule.text in ("shape = long", "shape is not round")


def test_binary_columns_are_told_by_shares():
    tame = np.array([1, 0] * 40 + [1] * 78 + [0] * 2)
    new = described(tame[:, None], [Column("tame", "binary", (0,))], ["a"] * 80 + ["new-1"] * 80)["new-1"]
    assert new.differences[0].text == "tame 1 (98%, elsewhere 50%)"
    assert new.rule.text == "tame = 1"


@pytest.mark.parametrize("prefix", ["x", "e_", "", "dim "])
def test_of_an_embedding_no_column_is_spoken(prefix):
    X = np.vstack([np.zeros((50, 30)), np.ones((50, 30))]) + np.random.default_rng(0).normal(size=(100, 30))
    names = ["a"] * 50 + ["new-1"] * 50
    new = described(X, numeric(*(f"{prefix}{i}" for i in range(30))), names)["new-1"]
    assert (new.rule, new.differences, new.suggested_name) == (None, (), None)
    assert new.sentence == "50 rows, nearest to “a” of the known classes."
    few = described(X[:, :5], numeric(*(f"{prefix}{i}" for i in range(5))), names)["new-1"]
    assert few.rule is not None  # a few columns are known by their numbers


def test_images_are_told_by_what_they_are_near_to():
    new = described(None, [], ["3"] * 5 + ["7"] * 5 + ["new-1"] * 5, z=np.repeat([[0.0], [9.0], [8.0]], 5, axis=0))
    assert new["new-1"].sentence == "5 rows, nearest to “7” of the known classes."


def test_without_a_known_class_there_is_none_to_be_near_to():
    X = np.repeat([[0.0], [5.0]], 40, axis=0) + np.arange(80)[:, None] % 5 / 10
    classes = classes_of(np.array([], int), 2)  # called 0 and 1
    found = described(X, numeric("height"), ["0"] * 40 + ["1"] * 40, classes)
    assert found["1"].nearest is None
    assert found["1"].sentence == "Rows with height 5.2, elsewhere 0.2."
    assert found["1"].suggested_name == "height high"


# ---- hints -----------------------------------------------------------------------------------------------------------


def test_hints_from_the_tree_and_from_probabilities():
    names = ["login"] * 10 + ["new-1"] * 10 + ["new-2"] * 10
    probabilities = np.eye(3)[np.repeat([0, 1, 2], 10)]
    probabilities[10:13] = [0.3, 0.7, 0.0]
    hints = TreeHints(("new-1", "new-2"), "new-2")
    found = described(None, [], names, hints=hints, probabilities=probabilities)
    assert found["new-1"].hints == (
        "Close to “new-2”; the two may be one class.",
        "30% of it borders on “login”.",
    )
    assert found["new-2"].hints == ("It could be two classes.", "Close to “new-1”; the two may be one class.")
    assert found["login"].hints == ()


# ---- names -----------------------------------------------------------------------------------------------------------


def test_suggested_names_are_unique_also_among_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + np.repeat([[0, 0], [8, 0], [8, 9]], 100, axis=0)
    columns, names = numeric("width", "height"), ["a"] * 100 + ["new-1"] * 100 + ["new-2"] * 100
    found = described(X, columns, names)
    suggested = [one.suggested_name for one in found.values() if one.suggested_name]
    assert len(suggested) == len(set(suggested)) == 2
    taken = suggested[0]
    again = described(X, columns, [taken if name == "a" else name for name in names])
    assert taken not in [one.suggested_name for one in again.values()]


HOSTILE = [
    "",
    "   ",
    "a, b",
    "x > 3 and y",
    "<b>",
    "“quoted”",
    "line\nbreak",
    "3",
    "is",
    "ärger %",
    "a" * 300,
    "=",
    "\x1b[",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_column_name_stands_on_one_line_and_apart_from_the_words(name):
    X = np.repeat([[0.0], [5.0]], 40, axis=0) + np.arange(80)[:, None] % 5 / 10
    new = described(X, numeric(name), ["a"] * 40 + ["new-1"] * 40)["new-1"]
    assert new.differences[0].column == name
    for text in (new.sentence, new.rule.text, new.suggested_name):
        assert text.isprintable()
        assert len(text) < 120
    assert re.fullmatch(r"Rows with .+ 5\.2, 5\.0 more than a\.", new.sentence)
    is_plain = name in ("", "   ", "ärger %", "a" * 300, "line\nbreak")
    assert new.rule.text.startswith("“") != is_plain


# ---- conditions ------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("<>"), st.integers(0, 9)), min_size=1, max_size=6))
def test_merged_conditions_hold_where_all_of_them_do(asked):
    columns = {name: SourceColumn(name, np.arange(10.0)[:: 1 if name == "a" else -1]) for name in "ab"}
    conditions = [
        Condition(columns[name], **{"up_to" if side == "<" else "above": Bound(value)}) for name, side, value in asked
    ]
    merged = merge(conditions)
    assert len({c.column.name for c in merged}) == len(merged) <= 2
    assert (all_hold(merged, 10) == all_hold(conditions, 10)).all()


def test_conditions_in_words():
    island = SourceColumn("island", np.array([0, 1, 2]), ISLANDS)
    width = SourceColumn("width", np.array([0.5, 1.5, 2.5]))
    assert Condition(island, allowed=(1,)).text == "island = Dream"
    assert Condition(island, allowed=(1, 2)).text == "island is not Biscoe"
    assert Condition(width, above=Bound(0.8, 1), up_to=Bound(1.8, 1)).text == "0.8 < width ≤ 1.8"
    assert Condition(width, up_to=Bound(2000.0, 0)).text == "width ≤ 2000"


# ---- of a fitted model -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    pandas = pytest.importorskip("pandas")
    X, truth = blobs(120, d=3, k=3)
    table = pandas.DataFrame(X, columns=["length", "width", "weight in g"])
    return GMDGM(n_new=1, **quick(max_epochs=20)).fit(table, some_labels(truth)), table


def test_a_data_frame_brings_its_names(fitted):
    model, table = fitted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = newfound.describe(model, table)
    assert [one.name for one in found] == model.classes_.astype(str).tolist()
    assert {difference.column for difference in found[0].differences} & {*table.columns}
    assert found[0].sentence.startswith("Rows with ")


def test_a_model_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        newfound.describe(GMDGM(), np.zeros((3, 2)))
