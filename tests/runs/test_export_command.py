"""`newfound export`: a run for other programs."""

import json

import numpy as np
import pyarrow.parquet as pq
from pets import newfound

from newfound.runs.run import open_run


def test_an_atlas_has_a_place_and_what_is_said_for_each_row_on_the_map(workplace, tmp_path):
    printed = newfound("export", "run", "--atlas", tmp_path / "made" / "pets.parquet", cwd=workplace).stdout
    atlas = pq.read_table(tmp_path / "made" / "pets.parquet")
    run = open_run(workplace / "run")
    rows, places = run.latent_map
    assert printed.startswith(f"wrote {len(rows)} rows")
    assert atlas.column_names == ["x", "y", "class", "probability", "p_new", "observed_label", "row_id"]
    assert np.array_equal(np.column_stack([atlas["x"], atlas["y"]]), places.astype(np.float32))
    for name in ("class", "p_new", "row_id"):
        assert atlas[name].to_pylist() == run.predictions[name][rows].tolist()


def test_what_is_there_is_written_over_only_if_asked(workplace, tmp_path):
    mine = tmp_path / "mine.parquet"
    mine.write_text("mine")
    told = newfound("export", "run", "--atlas", mine, cwd=workplace, code=2).stderr
    assert "already exists. Use --replace" in told
    assert mine.read_text() == "mine"
    told = newfound("export", "run", "--atlas", mine, "--replace", "--json", cwd=workplace).stdout
    assert json.loads(told)["rows"] == pq.read_table(mine).num_rows
    told = newfound("export", "run", "--atlas", tmp_path / "pets.csv", cwd=workplace, code=2).stderr
    assert "must end in .parquet" in told
