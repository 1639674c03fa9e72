"""One cell type of scanpy's packaged PBMC sample hidden, half of the other labels kept: is it found?

    pip install -e '.[anndata]' scanpy && python benchmarks/hidden_cell_type.py

700 blood cells of ten annotated types by 50 principal components. Hidden are, in turn, all five that
are no T cells; the types of T cells overlap widely.
"""

import sys
import warnings

import numpy as np
import scanpy

import newfound.anndata
from newfound import evaluate, mask_labels

HIDDEN = ("CD19+ B", "CD14+ Monocyte", "Dendritic", "CD56+ NK", "CD34+")


def hide(name: str) -> None:
    adata = scanpy.datasets.pbmc68k_reduced()
    truth = adata.obs["bulk_labels"].astype(str).to_numpy()
    adata.obs["cell_type"] = mask_labels(truth, hide=[name], keep=0.5, random_state=0)
    model = newfound.anndata.fit(adata, label="cell_type", use="X_pca")
    found = adata.obs["newfound_class"].astype(str).to_numpy()
    is_open = (adata.obs["cell_type"] == "").to_numpy()
    is_hidden, is_new = truth == name, adata.obs["newfound_is_new"].to_numpy()
    known = [label for label in np.unique(truth) if label != name]
    metrics = evaluate(truth[is_open], found[is_open], known=known).metrics
    right = metrics["one-to-one accuracy (Hungarian), known"]
    print(f"{name:<15} {is_hidden.sum():>4} cells, {model.n_new_} new classes,", end=" ")
    print(f"called new: {is_new[is_hidden].mean():.0%} of them, {is_new[is_open & ~is_hidden].mean():.0%}", end=" ")
    print(f"of the other unlabelled cells; one-to-one accuracy, known: {right:.0%}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for hidden in sys.argv[1:] or HIDDEN:
        hide(hidden)
