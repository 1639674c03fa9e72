"""`newfound export`: a run for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from newfound.cli.console import AsJson, RunArgument, clear_errors, console_for, print_json


def export(
    run: RunArgument,
    atlas: Annotated[
        Path, typer.Option(help="Parquet file for embedding viewers: x, y, class, P(new) and id of each row.")
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the latent map of a run, with what is said of each row, for embedding viewers.

    Example: `newfound export run/ --atlas rows.parquet`
    """
    from newfound.runs import caught_up, open_run, write_atlas

    console = console_for(as_json)
    with clear_errors():
        opened = caught_up(open_run(run))
        n_rows = write_atlas(opened, atlas, replace=replace)
        n_all = opened.description["n_rows"]
    if as_json:
        print_json({"rows": n_rows, "of_rows": n_all, "out": str(atlas)})
        return
    of_all = "" if n_rows == n_all else f" (of {n_all:,}: those on the latent map)"
    console.print(f"wrote {n_rows:,} rows{of_all} to {atlas}", markup=False, soft_wrap=True)
