"""What the commands share: where they print, what they do with errors, options that several of them have."""

import errno
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from newfound._internal.files import INTERRUPTED, ending_in_order
from newfound._internal.words import DataError, one_line, short_list, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from newfound.explain.audit_record import Audit
    from newfound.labels import Labels
    from newfound.runs.records import Listener, Masking
    from newfound.tables.dataset import Dataset

BAD_INPUT, FAILED = 2, 1
OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"  # as XLA says it

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
RunArgument = Annotated[Path, typer.Argument(help="A folder that `newfound fit` wrote.", show_default=False)]


@contextmanager
def clear_errors() -> Iterator[None]:
    """What a user can put right is one sentence, with exit code 2; a full disk or memory one with code 1.

    Ctrl-C and SIGTERM end in order, with the codes that shells give them. Anything else is a bug, and shows.
    """
    try:
        with ending_in_order():
            yield
    except (ValueError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        _end(BAD_INPUT, as_options(one_line(str(error))))
    except OSError as error:
        _end(FAILED, about_disk(error))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and OUT_OF_MEMORY not in str(error):
            raise
        _end(FAILED, "There is not enough memory for this. Give fewer rows or columns, or more memory.")
    except KeyboardInterrupt:
        _end(INTERRUPTED, "interrupted.")


def _end(code: int, sentence: str) -> NoReturn:
    typer.echo(f"newfound: {sentence}", err=True)
    raise typer.Exit(code) from None


def about_disk(error: OSError) -> str:
    """A sentence about what the system refused."""
    where = f" ({error.filename!r})" if error.filename else ""
    then = " Make room on the disk, and try again." if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return f"{error.strerror or error}{where}.{then}"


AS_OPTIONS = {  # what Python says, and what the command line has for it
    r"`(label|labels|id|ignore|categorical|numeric|group|features)`": r"--\1",
    r"`image_size`": "--image-size",
    r"\bn_new = '?(\w+)'?": r"--n-new \1",
    r"^n_new\b": "N_NEW",  # of `newfound cut`
    r"\binto='?([^']*)'?\.$": r"--into \1.",
    r"^abstain\b": "--abstain",
    r"\bknown_only\b": "--known-only",
    r"\bnew_threshold\b": "--new-threshold",
    r", or None(?=; got)": "",  # which is leaving the option out
}


def as_options(sentence: str) -> str:
    """The same sentence with the command line's options in place of Python's parameters: --ignore for `ignore`."""
    for pattern, option in AS_OPTIONS.items():
        sentence = re.sub(pattern, option, sentence)
    return sentence


def console_for(as_json: bool) -> "Console":
    """Where a person reads: standard output, or standard error while a machine reads the other."""
    from rich.console import Console

    return Console(stderr=as_json, highlight=False, markup=False, emoji=False)


def print_json(content: Any) -> None:
    typer.echo(json.dumps(content))


def print_audit(console: "Console", found: "Audit", style: str = "bold") -> None:
    """The answer first, in bold where nothing else is."""
    from newfound.explain.audit_record import sentences

    first, *others = sentences(found)
    console.print(first, style=style, markup=False, soft_wrap=True)
    for sentence in others:
        console.print(sentence, markup=False, soft_wrap=True)


@contextmanager
def status_line(console: "Console", first: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is being done, on a terminal."""
    with console.status(plain(first)) as status:
        yield lambda text: status.update(plain(text))


def plain(text: str) -> "Text":
    """Text as it is: a status line would take [brackets] in the name of a file for a style."""
    from rich.text import Text

    return Text(text)


def print_anywhere() -> None:
    """A terminal that has no letter for something shows its number, and nothing fails."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def listener_on(console: "Console") -> "Listener":
    """Stages as faint lines on standard error (a status line would be in the way of the bar), notes in yellow."""
    from newfound.runs.records import Listener

    beside = console_for(as_json=True)

    def stage(text: str) -> None:
        beside.print(f"{text} …", style="dim", markup=False)

    return Listener(stage, lambda text: console.print(f"note: {text}", style="yellow", markup=False))


def table_with(*columns: str, right: Sequence[str] = ()) -> "Table":
    """An empty table; the columns in `right` are aligned right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left")
    return table


def keep_compiled_programs() -> None:
    """So that the next command of the same shape starts at once."""
    from newfound.training import steps

    steps.keep_compiled_programs()


# ---- From the text of an option to its value ----

MOST_DIGITS = 18  # of a whole number


def observed_labels(dataset: "Dataset", masking: "Masking") -> "Labels | None":
    """The labels that the model may see; None where none are hidden."""
    from newfound.labels import hide_labels

    if not masking.hides_any:
        return None
    if masking.by_group and dataset.groups is None:
        raise DataError("--by-group needs data that has groups, such as har. Leave it out.")
    labels = dataset.labels.observed()
    return hide_labels(
        labels,
        hide=parse_classes(masking.hide or "", labels.classes.tolist()),
        keep=parse_keep(masking.keep or "100%"),
        random_state=masking.seed,
        groups=dataset.groups if masking.by_group else None,
    )


def parse_classes(text: str, names: Sequence[str]) -> list[str]:
    """Class names from "5-9", "cat,dog" or a mixture; a range is of whole numbers."""
    chosen = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        ends = re.fullmatch(r"(\d+)-(\d+)", part)
        if ends and part not in names:
            chosen += _range(part, ends[1], ends[2], names)
        else:
            chosen.append(part)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise DataError(
            f"--hide cannot hide {shortened(unknown[0])!r}: no row has that label. Labels: {short_list(names, 20)}."
        )
    return chosen


def _range(part: str, first: str, last: str, names: Sequence[str]) -> list[str]:
    """Every whole number of a range, which must be of labels: so it is no longer than these are many."""
    low, high = (int(end[:MOST_DIGITS]) for end in (first, last))
    if max(len(first), len(last)) > MOST_DIGITS or high - low >= len(names):
        raise DataError(
            f"--hide {shortened(part)!r} is a range of more numbers than there are labels: {short_list(names, 20)}. "
            f"Hide labels that rows have."
        )
    if low > high:
        raise DataError(f"--hide {shortened(part)!r} is no range: write the smaller number first, such as 5-9.")
    return [str(i) for i in range(low, high + 1)]


def parse_keep(text: str) -> float | int:
    """A share, "20%" or "0.2", or a number of labels, "10"."""
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        keep = int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else share
    except ValueError:
        keep = -1
    if not keep >= 0 or (isinstance(keep, float) and keep > 1):
        raise DataError(
            f"--keep must be a share such as 20% or 0.2, or a number of labels such as 10; got {shortened(text)!r}."
        )
    return keep


def number_or_auto(option: str, text: str) -> int | str:
    if text == "auto":
        return text
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise ValueError(f"{option} must be a whole number or auto; got {shortened(text)!r}.")
    return int(text)


def one_of(option: str, text: str, names: Sequence[str]) -> str:
    if text not in names:
        raise ValueError(f"{option} must be {' or '.join(names)}; got {text!r}.")
    return text


# ---- Options about the data, which several commands share ----
# Where they are, what the columns are, which labels to hide.

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
    from newfound.tables.read import read_dataset

    given = {name: value for name, value in columns._asdict().items() if value}
    with console.status(plain(f"reading {source} …")):
        dataset = read_dataset(source, **given)
    dataset = replace(dataset, log=[*map(as_options, dataset.log)], flags=[*map(as_options, dataset.flags)])
    for sentence in dataset.log:
        console.print(f"· {sentence}", markup=False, soft_wrap=True)
    for flag in dataset.flags:
        console.print(f"! {flag}", style="yellow", markup=False, soft_wrap=True)
    return dataset
