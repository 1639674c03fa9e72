"""Give records the settings that came or went since they were computed, where the fit never read them.

    python tools/convert_records.py results

Of the paper's presets those are the settings of the graph, of discovery and of the audit (the presets begin with
k-means and have no PU term); of all others, what had no effect and is gone. Anything else is refused: compute it again.
"""

import sys
from pathlib import Path

from experiments.experiment import Experiment
from experiments.presets import PRESETS, VARIANTS, by_name
from experiments.records import Record, read_records, write_records
from experiments.scores import evaluation_of, recorded_classes, scores
from newfound.config import NAMES

READ_BY_K_MEANS = {
    *("init", "vae_min_rows", "kmeans_n_init", "cluster_max_rows", "labels_per_cluster", "rows_per_covariance"),
}
RENAMED = {"spectral": "graph"}  # init, of fits that do not begin with k-means and so never read it
GONE = {"max_eigenvectors", "eigengap", "min_cluster_share"}
WITHOUT_EFFECT = {"vat_weight", "vat_radius"}  # where the weight was 0


def converted(record: Record) -> Record:
    experiment = Experiment.of(record)
    settings = experiment.settings({})
    now, then = by_name(settings), by_name(record["settings"])
    then |= {"init": RENAMED.get(then["init"], then["init"])} if "init" in then else {}
    if experiment.preset in PRESETS and then.get("standardize") == "auto" and now["standardize"] is False:
        then |= {"standardize": False}  # what "auto" was for columns within −1..1
    unread = set() if then.get("vat_weight") else set(WITHOUT_EFFECT)
    if experiment.preset in PRESETS:
        unread = (unread | NAMES["initialisation"] | GONE) - READ_BY_K_MEANS
    differ = {name for name in now.keys() | then.keys() if now.get(name) != then.get(name)} - {"feature_types"}
    if differ - unread:
        raise SystemExit(f"{experiment.name}: {', '.join(sorted(differ - unread))} changed; compute it again.")
    return record | {"settings": settings} | scores(evaluation_of(record), recorded_classes(record))


def main(folder: Path) -> None:
    for preset in (*PRESETS, *VARIANTS):
        records = read_records(folder, preset)
        if not records:
            continue
        write_records(folder, preset, {name: converted(record) for name, record in records.items()})
        print(f"{preset}: {len(records)} records")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
