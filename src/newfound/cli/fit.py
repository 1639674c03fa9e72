"""`newfound fit` and `newfound audit`: from a file to a run, or to a verdict."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from msgspec import defstruct
from msgspec.structs import asdict

from newfound._internal.records import Record
from newfound._internal.words import DataError, short_list, shortened
from newfound.cli.console import (
    MAX_DIGITS,
    AsJson,
    Features,
    as_options,
    clear_errors,
    console_for,
    listener_on,
    number_or_auto,
    print_json,
    print_lines,
    status_line,
)
from newfound.cli.runs import print_audit, print_summary, summary_of
from newfound.runs.records import Masking

if TYPE_CHECKING:
    from rich.console import Console

    from newfound.labels import Labels
    from newfound.runs.records import Masking
    from newfound.runs.run import Run
    from newfound.tables.dataset import Dataset

# ---- Where the data are, what the columns are, which labels to hide ----

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
    typer.Option(help="A column to read as numbers although it looks like an id, or also holds text."),
]
ImageSize = Annotated[
    int | None,
    typer.Option(min=1, max=4096, help="Scale larger images to this many pixels on the longer side (else 128)."),
]
Hide = Annotated[str | None, typer.Option(help="Hide all labels of these classes: 5-9 or cat,dog.")]
Keep = Annotated[
    str | None, typer.Option(help="Keep only this share (20%) or number (10) of the labels of each class.")
]
ByGroup = Annotated[bool, typer.Option("--by-group", help="Keep the labels of whole groups (har: people).")]
SampleRows = Annotated[
    int | None,
    typer.Option(min=100, help="Fit a sample of this many rows (else about 200,000 if all take over a gigabyte)."),
]
Seed = Annotated[int, typer.Option(min=0, help="Makes the run repeatable.")]

READ_OPTIONS = (
    *("label", "id", "ignore", "labels", "categorical", "numeric", "group", "features", "image_size", "sample_rows"),
    "seed",
)


def read_source(console: "Console", source: str, **options: Any) -> "Dataset":
    """Read the data; print the decision about each column, then what to check before trusting the answer."""
    from newfound.tables.read import read_dataset

    given = {name: value for name, value in options.items() if value}
    with status_line(console, f"reading {source} …"):
        dataset = read_dataset(source, **given)
    dataset = replaced(dataset, log=[*map(as_options, dataset.log)], flags=[*map(as_options, dataset.flags)])
    print_lines(console, *(f"· {sentence}" for sentence in dataset.log))
    print_lines(console, *(f"! {flag}" for flag in dataset.flags), style="yellow")
    return dataset


def observed_labels(dataset: "Dataset", masking: Masking) -> "Labels | None":
    """The labels that the model may see; None if none are hidden."""
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
    chosen: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        ends = re.fullmatch(r"(\d+)-(\d+)", part)
        if not ends or part in names:
            chosen.append(part)
            continue
        low, high = (int(end[:MAX_DIGITS]) for end in ends.groups())
        if max(map(len, ends.groups())) > MAX_DIGITS or high - low >= len(names):
            raise DataError(
                f"--hide {shortened(part)!r} is a range of more numbers than there are labels: "
                f"{short_list(names, 20)}. Hide labels that rows have."
            )
        if low > high:
            raise DataError(f"--hide {shortened(part)!r} is no range: write the smaller number first, such as 5-9.")
        chosen += [str(i) for i in range(low, high + 1)]
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise DataError(
            f"--hide cannot hide {shortened(unknown[0])!r}: no row has that label. Labels: {short_list(names, 20)}."
        )
    return chosen


def parse_keep(text: str) -> float | int:
    """A share, "20%" or "0.2", or a number of labels, "10"."""
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        keep = int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else share
    except ValueError:
        keep = -1
    if not keep >= 0 or (isinstance(keep, float) and keep > 1):
        raise DataError(
            f"--keep must be a share such as 20% or 0.2, or a number of labels such as 10; got {shortened(text)!r}."
        )
    return keep


# ---- `newfound fit`: from a file to a run ----

Out = Annotated[Path, typer.Option(help="Folder for the run.")]
Group = Annotated[
    str | None, typer.Option(help="The column that names each row's person, site or machine (har: subject).")
]
NNew = Annotated[str, typer.Option(help="How many new classes: a number, or auto to find it.")]
Model = Annotated[str, typer.Option(help="gmdgm, or the name of a baseline such as ssvae.")]
Epochs = Annotated[str, typer.Option(help="Passes over the data: a number, or auto.")]
NInit = Annotated[int, typer.Option(min=1, help="Restarts; the one with the best validation ELBO is used.")]
Likelihood = Annotated[
    str, typer.Option(help="auto, or the name of a likelihood such as gaussian or bernoulli (min-max scaled).")
]
MinStd = Annotated[float, typer.Option(min=0, help="Drop columns that vary less (the paper's images: 0.1).")]
WithAudit = Annotated[
    bool, typer.Option("--audit/--no-audit", help="Check how far to trust the answer: hide each known class in turn.")
]
FitSource = Annotated[
    str | None, typer.Argument(help="A table, folder of tables, NumPy file, folder of images, or name of a data set.")
]
CheckpointEvery = Annotated[
    float, typer.Option(min=0, help="Seconds between two checkpoints, from which a killed fit can continue.")
]
Resume = Annotated[Path | None, typer.Option(help="Continue the fit to this folder that was stopped.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace an existing run.")]
NOT_KEPT = ("out", "resume", "as_json")  # options of one call, not of the fit


def fit(
    context: typer.Context,
    source: FitSource = None,
    out: Out = Path("run"),
    label: Label = None,
    labels: LabelFile = None,
    id: Id = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    features: Features = None,
    image_size: ImageSize = None,
    sample_rows: SampleRows = None,
    group: Group = None,
    n_new: NNew = "auto",
    model: Model = "gmdgm",
    hide: Hide = None,
    keep: Keep = None,
    by_group: ByGroup = False,
    epochs: Epochs = "auto",
    n_init: NInit = 1,
    seed: Seed = 0,
    likelihood: Likelihood = "auto",
    min_std: MinStd = 0.0,
    with_audit: WithAudit = True,
    checkpoint_every: CheckpointEvery = 60.0,
    resume: Resume = None,
    replace: Replace = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model to your data and write a run: predictions, classes, report.

    Ctrl-C ends training early and keeps the best state so far. A killed fit continues with --resume.

    For example:

    `newfound fit flowers.csv --label species --out run/`

    `newfound fit mnist --hide 5-9 --keep 20% --n-new 40 --out run/`
    """
    console = console_for(as_json)
    with clear_errors():
        unfinished = None
        options = {name: value for name, value in context.params.items() if name not in NOT_KEPT}
        if resume is not None:
            from newfound.runs.making import read_options

            out = resume
            unfinished, stored = read_options(resume, fit_options())
            options = asdict(stored)
        run = _fit(console, out, options, unfinished)
    if as_json:
        print_json(summary_of(run))
    else:
        print_summary(console, run)


def fit_options() -> Any:
    """The record of the options of `newfound fit`, with their types, as a stopped fit keeps them."""
    types = get_type_hints(fit)
    names = [name for name in types if name not in (*NOT_KEPT, "context", "return")]
    return defstruct("FitOptions", [(name, types[name]) for name in names], bases=(Record,), frozen=True)


def _fit(console: "Console", out: Path, options: dict[str, Any], unfinished: Path | None) -> "Run":
    """Check the options before the data are read, then read and fit. Checkpoints keep the options as they are."""
    from newfound.config import Config
    from newfound.estimator import LIKELIHOOD_CHOICES
    from newfound.models.architecture import MODELS
    from newfound.report.page import write_report
    from newfound.runs.derived import Origin
    from newfound.runs.leftovers import shareable_command, shareable_path
    from newfound.runs.making import check_out
    from newfound.runs.new_run import fit_run
    from newfound.runs.records import Masking
    from newfound.training.steps import keep_compiled_programs

    source, replace = options["source"], options["replace"]
    if source is None:
        raise ValueError("Missing argument SOURCE: name a table, NumPy file, folder of images or data set.")
    check_out(out, replace=replace)
    for name, choices in (("model", list(MODELS)), ("likelihood", list(LIKELIHOOD_CHOICES))):
        if options[name] not in choices:
            raise ValueError(f"--{name} must be {' or '.join(choices)}; got {options[name]!r}.")
    settings = {
        "n_new": number_or_auto("--n-new", options["n_new"]),
        "max_epochs": number_or_auto("--epochs", options["epochs"]),
        "n_init": options["n_init"],
        "random_state": options["seed"],
        "likelihood": options["likelihood"],
        "config": Config().replace(min_std=options["min_std"]),
        "verbose": True,  # also in a pipe: a line from time to time
    }
    dataset = read_source(console, source, **{name: options[name] for name in READ_OPTIONS})
    masking = Masking(options["hide"], options["keep"], options["by_group"], options["seed"])
    listener = listener_on(console)

    def finish(run: "Run") -> None:
        listener.stage("writing the report")
        write_report(run)

    keep_compiled_programs()
    return fit_run(
        dataset,
        out,
        Origin(shareable_path(source), shareable_command(), masking if masking.hides_any else None),
        observed=observed_labels(dataset, masking),
        listener=listener,
        finish=finish,
        model=options["model"],
        settings=settings,
        replace=replace,
        uses_groups=options["group"] is not None,
        with_audit=options["with_audit"],
        checkpoint_every=options["checkpoint_every"],
        options=options,
        resumed=unfinished,
    )


# ---- `newfound audit`: does a file hold classes that have no labels? ----


def audit(
    source: Source,
    label: Label = None,
    labels: LabelFile = None,
    id: Id = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    features: Features = None,
    image_size: ImageSize = None,
    hide: Hide = None,
    keep: Keep = None,
    by_group: ByGroup = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Check whether the data hold classes without labels: yes, perhaps or none seen, and how far to trust that.

    Nothing is trained. Each known class is hidden in turn, to see whether it would be found. Ctrl-C stops this and
    prints the results so far.

    Example: `newfound audit flowers.csv --label species`
    """
    with clear_errors():
        from newfound.explain.audit import audit as audit_of
        from newfound.runs.records import Masking

        errors = console_for(as_json=True)
        columns = {"label": label, "id": id, "ignore": ignore, "categorical": categorical, "numeric": numeric}
        dataset = read_source(errors, source, labels=labels, features=features, image_size=image_size, **columns)
        observed = observed_labels(dataset, Masking(hide, keep, by_group, seed))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = audit_of(
                dataset.X,
                dataset.labels if observed is None else observed,
                image_shape=dataset.image_shape,
                feature_types=dataset.schema.feature_types,
                random_state=seed,
            )
        for warning in caught:
            listener_on(errors).note(str(warning.message))
    if as_json:
        print_json(found)
    else:
        print_audit(console_for(as_json), found)
