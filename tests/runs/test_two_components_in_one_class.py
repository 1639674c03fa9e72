"""A class may have several components: through predict, evaluate, run and report the numbers agree."""

from dataclasses import replace

import numpy as np
import pytest
from pets import pets

from newfound.classes import Classes
from newfound.evaluation import evaluate
from newfound.labels import Labels
from newfound.report.cards import cards
from newfound.report.charts import confusion
from newfound.report.content import content_of
from newfound.report.page import write_report
from newfound.runs.derived import Origin, write_run
from newfound.runs.predict import evaluate_file, evaluate_run
from newfound.runs.run import open_run
from newfound.tables.read import read_dataset

MAPS = {
    "new": Classes(np.array(["cat", "dog", "new-1"]), np.array([False, False, True]), np.array([0, 1, 2, 2])),
    "known": Classes(np.array(["cat", "dog", "new-1"]), np.array([False, False, True]), np.array([0, 1, 2, 0])),
}


@pytest.fixture(scope="module", params=MAPS)
def merged(request, workplace):
    """A fitted GMDGM of four components, two of which are made one class by hand."""
    model = open_run(workplace / "run").model
    model.fitted_ = replace(model.fitted_, classes=MAPS[request.param])
    return model


@pytest.fixture(scope="module")
def dataset(workplace):
    return read_dataset(workplace / "true-pets.csv", label="truth", id="name")


@pytest.fixture(scope="module")
def run(merged, dataset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("merged") / "run"
    observed = Labels.read([row["species"] for row in pets()], len(dataset))
    return write_run(folder, merged, dataset, Origin("true-pets.csv"), observed=observed, finish=write_report)


def test_the_probability_of_a_class_is_the_sum_over_its_components(merged, dataset):
    of_components, of_classes = merged.predict_component_proba(dataset.X), merged.predict_proba(dataset.X)
    classes = merged.fitted_.classes
    assert merged.classes_.tolist() == ["cat", "dog", "new-1"]
    assert of_components.shape == (240, 4)
    for position in range(3):
        expected = sum(of_components[:, k] for k in range(4) if classes.component_class[k] == position)
        np.testing.assert_allclose(of_classes[:, position], expected, rtol=1e-12)
    np.testing.assert_allclose(merged.predict_new_proba(dataset.X), of_classes[:, 2], rtol=1e-12)


def test_a_row_is_predicted_as_the_class_of_its_component(merged, dataset):
    predicted, component = merged.predict(dataset.X), merged.predict_component(dataset.X)
    assert (merged.classes_[merged.component_class_[component]] == predicted).all()
    assert merged.sample(5, class_name="new-1", random_state=0).shape == (5, dataset.X.shape[1])


def test_run_and_model_say_the_same(run, merged, dataset):
    table, probabilities = run.predictions, merged.predict_proba(dataset.X)
    assert table["class"].tolist() == merged.predict(dataset.X).tolist()
    np.testing.assert_array_equal(table["component"], merged.predict_component(dataset.X))
    best = [merged.classes_.tolist().index(name) for name in table["class"]]
    np.testing.assert_allclose(table["probability"], probabilities[np.arange(240), best], rtol=1e-12)
    np.testing.assert_allclose(table["p_new"], probabilities[:, 2], rtol=1e-12)
    np.testing.assert_array_equal(run.model.predict(dataset.X), table["class"])


def test_no_class_is_without_components_and_no_row_is_counted_twice(run):
    assert [c.name for c in run.classes] == ["cat", "dog", "new-1"]
    assert all(c.components for c in run.classes)
    assert sorted(k for c in run.classes for k in c.components) == [0, 1, 2, 3]
    assert [c.n_rows for c in run.classes] == [(run.predictions["class"] == c.name).sum() for c in run.classes]


def test_evaluation_compares_classes(run, merged, workplace):
    test = read_dataset(workplace / "test.csv", label="truth", schema=run.schema)
    direct = evaluate(test.labels.names, merged.predict(test.X), ["cat", "dog"], merged.classes_)
    of_file = evaluate_file(run, str(workplace / "test.csv"), "truth")
    assert of_file.predicted.tolist() == ["cat", "dog", "new-1"]
    np.testing.assert_array_equal(of_file.counts, direct.counts)
    assert {name: of_file.metrics[name] for name in direct.metrics} == direct.metrics


def test_report_shows_the_numbers_of_the_run(run):
    content, evaluation = content_of(run), evaluate_run(run)
    shown = cards(content)
    assert {card.name: card.n_rows for card in [*shown.known, *shown.new]} == {
        c.name: c.n_discovered for c in run.classes
    }
    assert run.answer.found.startswith("2 known classes, 1 new class ")
    matrix = confusion(content)
    assert [(column.name, column.is_new) for column in matrix.columns] == [
        ("cat", False),
        ("dog", False),
        ("new-1", True),
    ]
    assert [[cell.n_rows for cell in line.cells] for line in matrix.lines] == evaluation.counts.tolist()
    page = (run.folder / "report.html").read_text()
    assert all(f"<dt>{name}</dt><dd>{value}</dd>" in page for name, value in content.evaluation.shown)
