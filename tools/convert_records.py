"""Give the records of the paper's presets the settings that came or went since they were computed.

    python tools/convert_records.py results

Only settings that such a fit never reads may differ: those of the graph, of discovery and of the audit. (The presets
begin with k-means and have no PU term.) Anything else is refused: compute it again.
"""

import sys
from pathlib import Path

from newfound.config import NAMES
from newfound.experiments.component_scores import evaluation_of, recorded_classes, scores
from newfound.experiments.experiment import Experiment
from newfound.experiments.presets import PRESETS, by_name
from newfound.experiments.records import Record, read_records, write_records

READ_BY_K_MEANS = {
    *("init", "vae_min_rows", "kmeans_n_init", "cluster_max_rows", "labels_per_cluster", "rows_per_covariance"),
}
RENAMED = {"spectral": "graph"}  # init, of fits that do not begin with k-means and so never read it
GONE = {"max_eigenvectors", "eigengap", "min_cluster_share"}


def converted(record: Record) -> Record:
    experiment = Experiment.of(record)
    settings = experiment.settings({})
    now, then = by_name(settings), by_name(record["settings"])
    then |= {"init": RENAMED.get(then["init"], then["init"])} if "init" in then else {}
    unread = (NAMES["initialisation"] | GONE) - READ_BY_K_MEANS
    differ = {name for name in now.keys() | then.keys() if now.get(name) != then.get(name)} - {"feature_types"}
    if differ - unread:
        raise SystemExit(f"{experiment.name}: {', '.join(sorted(differ - unread))} changed; compute it again.")
    return record | {"settings": settings} | scores(evaluation_of(record), recorded_classes(record))


def main(folder: Path) -> None:
    for preset in PRESETS:
        records = read_records(folder, preset)
        write_records(folder, preset, {name: converted(record) for name, record in records.items()})
        print(f"{preset}: {len(records)} records")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
