"""AnnData: labels and numbers from it, answers into it, and all of that through a file."""

import json

import numpy as np
import pytest
from small import blobs, quick, some_labels

from newfound import GMDGM

anndata = pytest.importorskip("anndata", reason="needs pip install 'newfound[anndata]'")

TYPES = np.array(["B", "T", "NK", "monocyte"])


@pytest.fixture(scope="module")
def cells():
    """120 cells of four types; two types are partly labelled."""
    X, truth = blobs()
    labels = some_labels(truth)
    adata = anndata.AnnData(X.copy())
    adata.obsm["X_pca"] = X
    adata.obs["cell_type"] = np.where(labels < 0, "Unknown", TYPES[labels])
    adata.obs["cell_type"] = adata.obs["cell_type"].astype("category")
    adata.obs["donor"] = [f"donor {i % 5}" for i in range(120)]
    return adata


@pytest.fixture(scope="module")
def fitted(cells):
    import newfound.anndata

    adata = cells.copy()
    model = newfound.anndata.fit(
        adata, "cell_type", unlabelled="Unknown", estimator=GMDGM(**quick(n_new=2, max_epochs=30))
    )
    return adata, model


def test_what_was_found_is_written_for_each_cell(fitted, cells):
    adata, model = fitted
    assert adata.obs["newfound_class"].astype(str).tolist() == model.labels_.tolist()
    assert list(adata.obs["newfound_class"].cat.categories) == ["B", "T", "new-1", "new-2"]
    is_labelled = (cells.obs["cell_type"] != "Unknown").to_numpy()
    same = adata.obs["newfound_class"].astype(str) == cells.obs["cell_type"].astype(str)
    assert same[is_labelled].all()
    assert adata.obs["newfound_is_new"].to_numpy().sum() == np.isin(model.labels_, ["new-1", "new-2"]).sum() > 0
    assert adata.obs["newfound_p_new"].between(0, 1 + 1e-6).all()
    assert adata.obsm["newfound_components"].shape == (120, len(model.component_class_))
    assert adata.obsm["X_newfound"].shape == (120, 2)
    assert (adata.obs["cell_type"] == cells.obs["cell_type"]).all()  # the user's own column is as it was


def test_round_trip_through_a_file(fitted, tmp_path):
    adata, model = fitted
    adata.write_h5ad(tmp_path / "cells.h5ad")
    read = anndata.read_h5ad(tmp_path / "cells.h5ad")
    for name in ("newfound_class", "newfound_probability", "newfound_p_new", "newfound_is_new"):
        assert (read.obs[name] == adata.obs[name]).all()
    for name in ("newfound_components", "X_newfound"):
        assert (read.obsm[name] == adata.obsm[name]).all()
    about = read.uns["newfound"]
    assert json.loads(about["settings"]) == json.loads(json.dumps(model.settings()))
    assert list(about["classes"]) == model.classes_.tolist()
    assert about["is_new"].tolist() == model.is_new_.tolist()
    assert (about["label"], about["use"], about["n_new"]) == ("cell_type", "X_pca", 2)


def test_other_cells_are_predicted_under_the_same_names(fitted, cells):
    import newfound.anndata

    _, model = fitted
    other = cells[::-1].copy()
    newfound.anndata.predict(other, model, key_added="again")
    assert other.obs["again_class"].astype(str).tolist() == model.predict(other.obsm["X_pca"]).tolist()
    assert "newfound" not in other.uns
    assert other.uns["again"]["use"] == "X_pca"


def test_the_matrix_itself_may_be_sparse_and_donors_are_held_out(cells):
    from scipy.sparse import csr_matrix

    import newfound.anndata

    adata = anndata.AnnData(csr_matrix(cells.X), obs=cells.obs.copy())
    model = newfound.anndata.fit(
        adata, "cell_type", "X", unlabelled=["Unknown"], groups="donor", estimator=GMDGM(**quick(n_new=2))
    )
    donors = adata.obs["donor"].to_numpy()
    assert len(set(donors[model.validation_indices_])) < 5


def test_what_is_not_there_is_named_beside_what_is(cells):
    import newfound.anndata

    with pytest.raises(ValueError, match="use must be one of 'X', 'X_pca'; got 'X_umap'"):
        newfound.anndata.fit(cells, "cell_type", "X_umap")
    with pytest.raises(ValueError, match="obs has no column 'type'. Its columns: 'cell_type', 'donor'"):
        newfound.anndata.fit(cells, "type")
    with pytest.raises(ValueError, match="Compute it by scanpy.pp.pca"):
        newfound.anndata.fit(anndata.AnnData(cells.X, obs=cells.obs), "cell_type")
