"""Options about the data, which several commands share: where they are, what the columns are, which labels to hide."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from newfound.cli.console import as_options, plain

if TYPE_CHECKING:
    from rich.console import Console

    from newfound.data import Dataset

Source = Annotated[str, typer.Argument(help="A table, NumPy file, folder of images, or the name of a data set.")]
Label = Annotated[str | None, typer.Option(help="The column that holds the labels; empty cells are unlabelled.")]
LabelFile = Annotated[str | None, typer.Option(help="A file of labels, for images or arrays.")]
Id = Annotated[str | None, typer.Option(help="The column that names the rows.")]
Ignore = Annotated[list[str] | None, typer.Option(help="A column to drop; may be given several times.")]
Categorical = Annotated[
    list[str] | None, typer.Option(help="A column of numbers to read as categories; may be given several times.")
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(help="A column to read as numbers though it looks like an id, or also holds text."),
]
Features = Annotated[
    str | None, typer.Option(help="A .npy or .npz file with a row of numbers for each row of the table: embeddings.")
]
ImageSize = Annotated[
    int | None,
    typer.Option(min=1, max=4096, help="Scale larger images to so many pixels on the longer side (else 128)."),
]
Hide = Annotated[str | None, typer.Option(help="Hide all labels of these classes: 5-9 or cat,dog.")]
Keep = Annotated[
    str | None, typer.Option(help="Keep only this share (20%) or number (10) of the labels of each class.")
]
ByGroup = Annotated[bool, typer.Option("--by-group", help="Keep the labels of whole groups (har: people).")]
SampleRows = Annotated[
    int | None,
    typer.Option(min=100, help="Fit on a sample of so many rows (else about 200,000 where all take over a gigabyte)."),
]
Seed = Annotated[int, typer.Option(min=0, help="Makes the run repeatable.")]


class ColumnOptions(NamedTuple):
    """What the options say about the columns of a source."""

    label: str | None = None
    id: str | None = None
    ignore: list[str] | None = None
    labels: str | None = None
    categorical: list[str] | None = None
    numeric: list[str] | None = None
    group: str | None = None
    features: str | None = None
    image_size: int | None = None
    sample_rows: int | None = None
    seed: int = 0


def read_source(console: "Console", source: str, columns: ColumnOptions) -> "Dataset":
    """Read the data and print what was decided about each column; then what to look at before believing the answer."""
    from newfound.data import read_dataset

    given = {name: value for name, value in columns._asdict().items() if value}
    with console.status(plain(f"reading {source} …")):
        dataset = read_dataset(source, **given)
    dataset = replace(dataset, log=[*map(as_options, dataset.log)], flags=[*map(as_options, dataset.flags)])
    for sentence in dataset.log:
        console.print(f"· {sentence}", markup=False, soft_wrap=True)
    for flag in dataset.flags:
        console.print(f"! {flag}", style="yellow", markup=False, soft_wrap=True)
    return dataset
