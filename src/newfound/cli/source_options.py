"""Options about the data, which several commands share: where they are, what the columns are, which labels to hide."""

from typing import TYPE_CHECKING, Annotated

import typer

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
Hide = Annotated[str | None, typer.Option(help="Hide all labels of these classes: 5-9 or cat,dog.")]
Keep = Annotated[
    str | None, typer.Option(help="Keep only this share (20%) or number (10) of the labels of each class.")
]
ByGroup = Annotated[bool, typer.Option("--by-group", help="Keep the labels of whole groups (har: people).")]
Seed = Annotated[int, typer.Option(min=0, help="Makes the run repeatable.")]


def read_source(
    console: "Console",
    source: str,
    label: str | None,
    id: str | None,
    ignore: list[str] | None,
    labels: str | None,
    categorical: list[str] | None,
    group: str | None = None,
) -> "Dataset":
    """Read the data and print its preprocessing log."""
    from newfound.data import read_dataset

    with console.status(f"reading {source} …"):
        dataset = read_dataset(source, label, id, ignore or [], labels, categorical=categorical or [], group=group)
    for sentence in dataset.log:
        console.print(f"· {sentence}", markup=False, soft_wrap=True)
    return dataset
