"""Convert results of before the redesign, one JSON file an experiment, to one JSON-lines file a preset.

    python tools/convert_records.py paper results

No number changes: names do, and every record gets its whole configuration, which is that of the present defaults with
what the old record names. A record whose scores are not those of its own counts is refused.
"""

import json
import sys
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from newfound.experiments.baselines import BASELINES
from newfound.experiments.component_scores import evaluation_of, recorded_classes, scores
from newfound.experiments.experiment import Experiment
from newfound.experiments.presets import by_name, whole_settings
from newfound.experiments.records import arrays_file, write_records
from newfound.experiments.tasks import HIDDEN_KNOWN

PRESETS = {
    "without-edges": "without-hog",
    "without-warm-start": "without-pretraining",
    "start-by-distances": "init-kmeans",
    "without-evidence": "without-pu",
    "alpha-1": "label-weight-1",
    "with-smoothness": "with-vat",
}
SETTINGS = {
    "alpha": "label_weight",
    "evidence": "pu_weight",
    "hidden": "hidden_layer_sizes",
    "kernel_sd": "init_scale",
    "known_mass": "prior_known",
    "max_gradient_norm": "max_grad_norm",
    "min_sd": "min_std",
    "smoothness": "vat_weight",
    "start": "init",
    "warm_epochs": "pretrain_epochs",
}
INIT = {"neighbours": "spectral", "distances": "kmeans"}
TERMINATION = {"reached the limit": "max_epochs", "converged": "early_stopping"}
SCORES = {"called_known": "assigned_to_known", "components_in_use": "non_empty_components"}


def main(old: Path, new: Path) -> None:
    for folder in sorted(old.glob("*/cells")):
        preset = PRESETS.get(folder.parent.name, folder.parent.name)
        converted = [convert(json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]
        write_records(new, preset, {Experiment.of(record).name: record for record in converted})
        for path in folder.glob("*.safetensors"):
            convert_arrays(path, new, Experiment.of(convert(json.loads(path.with_suffix(".json").read_text()))))
        print(f"{preset}: {len(converted)} records")


def convert(old: dict[str, Any]) -> dict[str, Any]:
    """A record with its new names, in the order in which records are written now."""
    named = old | {
        "preset": PRESETS.get(old["preset"], old["preset"]),
        "regime": HIDDEN_KNOWN if old["regime"] == "rediscovery" else old["regime"],
        "known_classes": known_classes(old),
        "component_class": list(range(old["n_known"] + old["n_new"])),
    }
    experiment = Experiment.of(named)
    first = [name for name in named if name in ("labels_per_class", *Experiment.__dataclass_fields__)]
    return {
        **{name: named[name] for name in first},
        **{name: named[name] for name in ("n_train", "n_labelled", "n_test", "n_known", "n_new")},
        **checked_scores(named),
        **{name: named[name] for name in ("classes", "known_classes", "component_class", "counts")},
        "training": convert_training(old["training"]),
        "settings": convert_settings(experiment, old["settings"]),
        **{name: old[name] for name in ("seconds", "cores", "versions")},
    }


def known_classes(old: dict[str, Any]) -> list[str]:
    """The classes that had labels: the first ones, or what is kept of them where known classes were hidden."""
    if old["regime"] != "rediscovery":
        return old["classes"][: old["n_known"]]
    hidden = {0: (-2, -1), 1: (0, 2)} if len(old["classes"]) > 3 else {0: (-1,), 1: (0,)}
    positions = {i % len(old["classes"]) for i in hidden[old["seed"] % 2]}
    return [name for i, name in enumerate(old["classes"]) if i not in positions]


def checked_scores(record: dict[str, Any]) -> dict[str, Any]:
    """The scores of the counts, which are the recorded ones, and the one that early records did not have."""
    computed = scores(evaluation_of(record), recorded_classes(record))
    recorded = {SCORES.get(name, name): value for name, value in record.items()}
    for name, value in computed.items():
        if name in recorded and recorded[name] != value:
            raise SystemExit(f"{Experiment.of(record).name}: {name} is {recorded[name]}, but the counts say {value}.")
    return computed


def convert_training(old: dict[str, Any] | None) -> dict[str, Any] | None:
    return old and {
        "termination_condition": TERMINATION[old["ending"]],
        "steps": old["steps"],
        "learning_rate_reductions": old["halvings_of_learning_rate"],
        "validation_elbo": old.get("heldout_elbo"),  # missing where nothing was held out
    }


def convert_settings(experiment: Experiment, old: dict[str, Any]) -> dict[str, Any]:
    if experiment.model in BASELINES:
        return old
    changes = {SETTINGS.get(name, name): value for name, value in old.items()}
    changes = {name: tuple(value) if isinstance(value, list) else value for name, value in changes.items()}
    if "init" in changes:
        changes["init"] = INIT[changes["init"]]
    whole = whole_settings(experiment.model, changes)
    if by_name(whole) != by_name(experiment.settings({})):
        raise SystemExit(f"{experiment.name} was made with other settings than those of {experiment.preset}.")
    return whole


def convert_arrays(path: Path, new: Path, experiment: Experiment) -> None:
    from safetensors.numpy import save_file

    arrays = load_file(path)
    arrays["most_confident"] = arrays.pop("surest")
    to = arrays_file(new, experiment)
    to.parent.mkdir(parents=True, exist_ok=True)
    save_file(arrays, to)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
