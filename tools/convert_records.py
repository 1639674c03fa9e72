"""Drop the settings that became constants from the committed results, without computing anything again.

    python tools/convert_records.py results

A setting is dropped only where the recorded value is the constant's, so that a record still states how it was made.
Any other difference from the present settings is refused: such a record must be computed again.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # where `experiments` is
from experiments.experiment import Experiment
from experiments.presets import PRESETS, VARIANTS, by_name
from experiments.records import Record, read_records, write_records

CONSTANTS = {  # settings that left the configuration, and the value that the code has now
    "max_learning_rate_reductions": 8,
    "max_label_repeats": 10,
    "span_quantile": 0.005,
    "span_max_rows": 10000,
    "whitening_labels": 10,
    "hog_orientations": 8,
    "hog_cell_pixels": 2,
    "hog_max_cells": 7,
    "hog_epsilon": 0.2,
    "rows_per_eigenvector": 50,
    "dense_max_rows": 1000,
    "propagation_max_iter": 500,
    "propagation_tol": 0.001,
    "min_samples_leaf": 10,
    "min_labels_leaf": 0.15,
    "forest_max_rows": 100000,
    "regression_max_labels": 5000,
    "regression_scale": 7.0,
    "label_smoothing": 0.01,
    "pool_prior": 1.0,
    "label_frequency_prior": 30.0,
    "resolution_rows": 12000,
    "resolution_penalty": 0.05,
    "resolution_tolerance": 0.1,
    "range_share": 0.1,
    "min_apart_share": 0.1,
    "apart_links": 0.05,
    "fragment_resolution": 4.0,
    "min_fragment_share": 0.1,
    "stability_samples": 5,
    "stability_share": 0.8,
    "selection_fineness": 32.0,
    "selection_doubt": 1.08,
    "selection_min_labels": 30,
    "audit_max_classes": 20,
    "audit_min_labels": 5,
    "audit_p_yes": 0.01,
    "audit_p_perhaps": 0.05,
    "mixture_rows_per_column": 10,
    "mixture_max_roughness": 0.5,
    "new_class_valley": 0.5,
    "kmeans_n_init": 10,
    "cluster_max_rows": 20000,
    "labels_per_cluster": 3,
    "rows_per_covariance": 10,
}


def converted(record: Record) -> Record:
    experiment = Experiment.of(record)
    settings = experiment.settings({})
    now, then = by_name(settings), CONSTANTS | by_name(record["settings"])
    differ = [name for name in sorted(now.keys() | then.keys()) if (CONSTANTS | now).get(name) != then.get(name)]
    if differ:
        raise SystemExit(f"{experiment.name} was made with another {', '.join(differ)}; compute it again.")
    return record | {"settings": settings}


def main(folder: Path) -> None:
    for preset in (*PRESETS, *VARIANTS):
        records = read_records(folder, preset)
        if not records:
            continue
        write_records(folder, preset, {name: converted(record) for name, record in records.items()})
        print(f"{preset}: {len(records)} records")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
