"""The rows of a run as embedding viewers take them: a place on a plane for each, and what is said of it."""

from pathlib import Path

import numpy as np

from newfound.errors import DataError
from newfound.files import make_folders, replace_file
from newfound.runs.columnar import Columns, parquet_bytes
from newfound.runs.folder import Run
from newfound.runs.outputs import check_file_out


def atlas_of(run: Run) -> Columns:
    """x, y, class, P(new) and row id of each row on the latent map."""
    rows, places = run.latent_map
    table = run.predictions
    said = {name: table[name][rows] for name in ("class", "probability", "p_new", "observed_label", "row_id")}
    return {"x": places[:, 0].astype(np.float32), "y": places[:, 1].astype(np.float32)} | said


def write_atlas(run: Run, out: Path, *, replace: bool = False) -> int:
    """Write it as Parquet; return the number of rows."""
    if out.suffix.lower() != ".parquet":
        raise DataError(f"--atlas must end in .parquet; got {out.name!r}. Name another file.")
    check_file_out(out, [], replace=replace)
    atlas = atlas_of(run)
    make_folders(out.absolute().parent)
    replace_file(out, parquet_bytes(atlas))
    return len(atlas["x"])
