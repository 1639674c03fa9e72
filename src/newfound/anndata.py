"""AnnData, the table of cells that scanpy and scvi-tools share: labels and numbers from it, answers into it.

    import newfound.anndata

    model = newfound.anndata.fit(adata, label="cell_type", use="X_pca")

Cells without a label (NaN, "", −1, or the category that `unlabelled` names) get one: of a known type, or of a new one.
"""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from newfound import __version__
from newfound.classes import Answer, answer_columns
from newfound.estimator import GMDGM, DeepGenerativeClassifier
from newfound.labels import Labels

if TYPE_CHECKING:
    import anndata


MATRIX = "X"  # of `use`: the matrix itself


def fit(
    adata: "anndata.AnnData",
    label: str,
    use: str = "X_pca",
    *,
    unlabelled: str | Collection[str] = (),
    groups: str | None = None,
    key_added: str = "newfound",
    estimator: DeepGenerativeClassifier | None = None,
) -> DeepGenerativeClassifier:
    """Fit a model to partly labelled cells, write the class found for each cell, and return the model.

    Parameters
    ----------
    adata : AnnData
        It gets columns in `obs` (`newfound_class`, `newfound_probability`, `newfound_p_new`, `newfound_is_new`), the
        probabilities of components in `obsm["newfound_components"]`, latent positions in `obsm["X_newfound"]` (for
        `scanpy.pp.neighbors(adata, use_rep="X_newfound")`), and settings and classes in `uns["newfound"]`.
    label : str
        The column of `obs` that holds the labels.
    use : str
        The numbers to learn from: a key of `obsm`, or "X" for the matrix itself.
    unlabelled : str or collection of str
        Categories of the column that mean unlabelled, such as "Unknown".
    groups : str or None
        A column of `obs`, such as the donor or the batch: whole groups are then held out for validation.
    key_added : str
        What the names of all that is written begin with, or end with.
    estimator : estimator or None
        What to fit. None is GMDGM(random_state=0), so that a notebook gives the same answer again; where `use` is a key
        of `obsm` with standardize=False, because the variance of a principal component shows how much it matters.
    """
    model = GMDGM(standardize="auto" if use == MATRIX else False, random_state=0) if estimator is None else estimator
    rows = _rows(adata, use)
    model.fit(rows, _labels(adata, label, unlabelled), None if groups is None else _column(adata, groups).to_numpy())
    fitted = model.fitted_
    of_class = fitted.classes.probabilities(fitted.row_probabilities)
    answer = Answer(
        position=fitted.row_classes,
        probability=of_class[np.arange(len(rows)), fitted.row_classes],
        p_new=of_class[:, fitted.classes.is_new].sum(axis=1),
        component=fitted.row_components,
        is_given=np.ones(len(rows), bool),
    )
    about = {"label": label, "use": use}
    _write(adata, key_added, model, answer, fitted.row_probabilities, model.transform(rows), about)
    return model


def predict(
    adata: "anndata.AnnData", model: DeepGenerativeClassifier, use: str = "X_pca", *, key_added: str = "newfound"
) -> None:
    """Write the predictions of a fitted model for other cells, under the same names as `fit`.

    `use` must hold the same numbers as in `fit`. The principal components of another sample do not: project it on those
    of the first, for example by `scanpy.tl.ingest`.
    """
    rows = _rows(adata, use)
    of_components = model.predict_component_proba(rows)
    answer = model.fitted_.classes.answer(of_components)
    _write(adata, key_added, model, answer, of_components, model.transform(rows), {"use": use})


def _write(
    adata: "anndata.AnnData",
    key: str,
    model: DeepGenerativeClassifier,
    answer: Answer,
    of_components: np.ndarray,
    latent: Any,
    about: dict[str, str],
) -> None:
    import pandas as pd

    classes = model.fitted_.classes
    names = classes.names.astype(str)
    columns = answer_columns(classes, answer, prefix=f"{key}_")
    columns[f"{key}_class"] = pd.Categorical(names[answer.position], categories=names)
    for name, column in columns.items():
        adata.obs[name] = column
    adata.obsm[f"{key}_components"] = of_components
    adata.obsm[f"X_{key}"] = np.asarray(latent)
    adata.uns[key] = about | {
        "newfound": __version__,
        "model": model.model,
        "settings": json.dumps(model.settings()),  # as text: what is None has no place in .h5ad
        "classes": names,
        "is_new": classes.is_new,
        "component_class": classes.component_class,
        "n_new": model.n_new_,
        "n_new_range": np.array(model.n_new_range_),
    }


def _rows(adata: "anndata.AnnData", use: str) -> np.ndarray:
    """The numbers of each cell, dense."""
    if use != MATRIX and use not in adata.obsm:
        there = ", ".join(map(repr, [MATRIX, *adata.obsm]))
        advice = " Compute it by scanpy.pp.pca(adata)." if use == "X_pca" else ""
        raise ValueError(f"use must be one of {there}; got {use!r}.{advice}")
    rows = adata.X if use == MATRIX else adata.obsm[use]
    if rows is None:
        raise ValueError(f"The AnnData has no X. Name a key of obsm in use: {', '.join(map(repr, adata.obsm))}.")
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return rows.astype(np.float32) if rows.dtype != np.uint8 else rows


def _labels(adata: "anndata.AnnData", label: str, unlabelled: str | Collection[str]) -> Labels:
    marks = {unlabelled} if isinstance(unlabelled, str) else set(unlabelled)
    values = _column(adata, label).astype(object).to_numpy()
    return Labels.read(np.array([None if value in marks else value for value in values], dtype=object), len(values))


def _column(adata: "anndata.AnnData", name: str) -> Any:
    if name not in adata.obs:
        raise ValueError(f"obs has no column {name!r}. Its columns: {', '.join(map(repr, adata.obs.columns))}.")
    return adata.obs[name]
