"""Every recipe in the documents runs, on small made-up vectors in place of a network that computes embeddings."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image
from small import blobs, quick, some_labels

import newfound
from newfound.labels import UNLABELLED

RECIPES = (Path(__file__).parent.parent.parent / "docs" / "recipes.md").read_text()
BLOCKS = dict(re.findall(r"<!-- run: (\w+) -->\n```python\n(.*?)```", RECIPES, re.DOTALL))
NAMES = np.array(["login", "invoice", "delivery", "refund"])


class Encoder:
    """Stands for a network: the vector of a text or an image is the one that is written on it."""

    def __init__(self, name):
        self.name = name

    def encode(self, given, normalize_embeddings):
        assert normalize_embeddings
        return np.array([self.vector(one) for one in given], np.float32)

    def vector(self, one):
        return np.asarray(one, float).ravel() / 255 if isinstance(one, Image.Image) else np.array(one.split(), float)


@pytest.fixture
def made_up(monkeypatch):
    """Vectors of four kinds, two of them partly labelled, and quick fits."""
    X, truth = blobs()
    X = (X - X.min()) / (X.max() - X.min())
    y = [None if label == UNLABELLED else str(NAMES[label]) for label in some_labels(truth)]
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = Encoder
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    real = newfound.GMDGM
    monkeypatch.setattr(newfound, "GMDGM", lambda **changes: real(**quick(n_new=2, **changes)), raising=False)
    return X, truth, y


def test_every_block_of_python_is_run_here():
    assert set(BLOCKS) == {"sentences", "images", "cells", "grid"}
    assert RECIPES.count("```python") == len(BLOCKS)


def test_sentences(made_up, capsys):
    X, _, y = made_up
    exec(BLOCKS["sentences"], {"texts": [" ".join(map(str, row)) for row in X], "y": y})
    assert re.findall(r"(new-\d): \d+ texts, such as '", capsys.readouterr().out) == ["new-1", "new-2"]


def test_images(made_up, capsys, tmp_path, monkeypatch):
    X, _, y = made_up
    for i, (row, label) in enumerate(zip(X, y, strict=True)):
        folder = tmp_path / "photos" / (label or "unlabelled")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((255 * row).astype(np.uint8).reshape(1, -1)).save(folder / f"{i}.png")
    monkeypatch.chdir(tmp_path)
    exec(BLOCKS["images"], {})
    assert capsys.readouterr().out == "2 new classes among 120 photographs\n"


def test_grid(made_up, capsys):
    X, _, y = made_up
    exec(BLOCKS["grid"], {"X": X, "y": np.array(y, dtype=object)})
    assert capsys.readouterr().out.startswith("{'pu_weight': 0.")


def test_cells(made_up, capsys, tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata", reason="needs pip install 'newfound[anndata]'")
    import newfound.anndata

    X, _, y = made_up
    adata = anndata.AnnData(obs={"cell_type": [label or "Unknown" for label in y]}, obsm={"X_pca": X})
    monkeypatch.setattr(newfound.anndata, "GMDGM", newfound.GMDGM)
    monkeypatch.chdir(tmp_path)
    exec(BLOCKS["cells"], {"adata": adata})
    assert "new-1" in capsys.readouterr().out
    assert list(anndata.read_h5ad("annotated.h5ad").obs["newfound_class"].cat.categories)[2:] == ["new-1", "new-2"]
