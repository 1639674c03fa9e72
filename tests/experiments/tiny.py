"""What the tests of the experiments share."""

from pathlib import Path

COMMITTED = Path(__file__).parent.parent.parent / "results"
TINY = {"max_epochs": 1, "pretrain_epochs": 1, "hidden_layer_sizes": (16, 16), "n_trees": 5}
