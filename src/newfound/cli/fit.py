"""`newfound fit` and `newfound audit`: from a file to a run, or to a verdict."""

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from msgspec import defstruct
from msgspec.structs import asdict

from newfound._internal.records import Record, to_json
from newfound.cli.console import (
    AsJson,
    ByGroup,
    Categorical,
    ColumnOptions,
    Features,
    Hide,
    Id,
    Ignore,
    ImageSize,
    Keep,
    Label,
    LabelFile,
    Numeric,
    SampleRows,
    Seed,
    Source,
    clear_errors,
    console_for,
    keep_compiled_programs,
    listener_on,
    number_or_auto,
    observed_labels,
    one_of,
    print_audit,
    print_json,
    read_source,
)
from newfound.cli.runs import print_summary, summary_of
from newfound.runs.records import Masking

if TYPE_CHECKING:
    from rich.console import Console

    from newfound.explain.audit_record import Audit
    from newfound.labels import Labels
    from newfound.runs.run import Run
    from newfound.tables.dataset import Dataset

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
    bool, typer.Option("--audit/--no-audit", help="Tell how far to trust the answer: hide each known class in turn.")
]
FitSource = Annotated[
    str | None, typer.Argument(help="A table, folder of tables, NumPy file, folder of images, or name of a data set.")
]
CheckpointEvery = Annotated[
    float, typer.Option(min=0, help="Seconds between two checkpoints, from which a fit that was killed can go on.")
]
Resume = Annotated[Path | None, typer.Option(help="Go on with a fit to this folder that was stopped.")]
Replace = Annotated[bool, typer.Option("--replace", help="Write over an earlier run.")]
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

    Ctrl-C ends training early and keeps what was learned so far. A fit that was killed goes on with --resume.

    For example:

    `newfound fit flowers.csv --label species --out run/`

    `newfound fit mnist --hide 5-9 --keep 20% --n-new 40 --out run/`
    """
    console = console_for(as_json)
    with clear_errors():
        options = {name: value for name, value in context.params.items() if name not in NOT_KEPT}
        run = _resume(console, resume) if resume is not None else _from_options(console, out, options)
    if as_json:
        print_json(summary_of(run))
    else:
        print_summary(console, run)


def _resume(console: "Console", out: Path) -> "Run":
    """Go on with a fit that was stopped, with the options it had."""
    from newfound.runs.making import read_options

    unfinished, options = read_options(out, fit_options())
    return _from_options(console, out, asdict(options), resumed=unfinished)


def fit_options() -> Any:
    """The record of the options of `newfound fit`, with their types, as a stopped fit keeps them."""
    types = get_type_hints(fit)
    names = [name for name in types if name not in (*NOT_KEPT, "context", "return")]
    return defstruct("FitOptions", [(name, types[name]) for name in names], bases=(Record,), frozen=True)


def _from_options(console: "Console", out: Path, given: dict[str, Any], resumed: Path | None = None) -> "Run":
    """What the command does, from its options as they were given: these are kept with checkpoints."""
    o = SimpleNamespace(**given)
    if o.source is None:
        raise ValueError("Missing argument SOURCE: name a table, NumPy file, folder of images or data set.")
    _check(out, o.replace, o.model, o.likelihood)
    columns = ColumnOptions(
        *(o.label, o.id, o.ignore, o.labels, o.categorical, o.numeric, o.group, o.features, o.image_size),
        *(o.sample_rows, o.seed),
    )
    settings = _settings(o.n_new, o.epochs, o.n_init, o.seed, o.likelihood, o.min_std)
    dataset = read_source(console, o.source, columns)
    beside: dict[str, Any] = {
        "model": o.model,
        "settings": settings,
        "replace": o.replace,
        "uses_groups": o.group is not None,
        "with_audit": o.with_audit,
        "checkpoint_every": o.checkpoint_every,
        "options": given,
        "resumed": resumed,
    }
    return _fit(console, dataset, out, o.source, Masking(o.hide, o.keep, o.by_group, o.seed), **beside)


def _check(out: Path, replace: bool, model: str, likelihood: str) -> None:
    """What can be known before the data are read."""
    from newfound.estimator import LIKELIHOOD_CHOICES
    from newfound.models.architecture import MODELS
    from newfound.runs.making import check_out

    check_out(out, replace=replace)
    one_of("--model", model, list(MODELS))
    one_of("--likelihood", likelihood, list(LIKELIHOOD_CHOICES))


def _settings(n_new: str, epochs: str, n_init: int, seed: int, likelihood: str, min_std: float) -> dict[str, Any]:
    from newfound.config import Config

    return {
        "n_new": number_or_auto("--n-new", n_new),
        "max_epochs": number_or_auto("--epochs", epochs),
        "n_init": n_init,
        "random_state": seed,
        "likelihood": likelihood,
        "config": Config().replace(min_std=min_std),
        "verbose": True,  # in a pipe, too: a line now and then
    }


def _fit(console: "Console", dataset: "Dataset", out: Path, source: str, masking: Masking, **options: Any) -> "Run":
    from newfound.report.page import write_report
    from newfound.runs.derived import Origin
    from newfound.runs.leftovers import shareable_command, shareable_path
    from newfound.runs.new_run import fit_run

    listener = listener_on(console)

    def finish(run: "Run") -> None:
        listener.stage("writing the report")
        write_report(run)

    keep_compiled_programs()
    origin = Origin(shareable_path(source), shareable_command(), masking if masking.hides_any else None)
    observed = observed_labels(dataset, masking)
    return fit_run(dataset, out, origin, observed=observed, listener=listener, finish=finish, **options)


# ---- `newfound audit`: are there classes in a file that nobody labelled? ----


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
    """Are there classes here that nobody labelled? Yes, perhaps or none seen, and how far to trust it.

    Nothing is trained. Each known class is hidden in turn, to see whether it would have been found. Ctrl-C stops this
    and keeps what there is.

    Example: `newfound audit flowers.csv --label species`
    """
    console = console_for(as_json)
    with clear_errors():
        columns = ColumnOptions(
            label, id, ignore, labels, categorical, numeric, features=features, image_size=image_size
        )
        dataset = read_source(console_for(as_json=True), source, columns)
        observed = observed_labels(dataset, Masking(hide, keep, by_group, seed))
        found = _audit(dataset, dataset.labels if observed is None else observed, seed)
    if as_json:
        print_json(to_json(found))
    else:
        print_audit(console, found)


def _audit(dataset: "Dataset", labels: "Labels", seed: int) -> "Audit":
    """What is warned of becomes notes, on standard error."""
    from newfound.explain.audit import audit

    listener = listener_on(console_for(as_json=True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = audit(
            dataset.X,
            labels,
            image_shape=dataset.image_shape,
            feature_types=dataset.schema.feature_types,
            random_state=seed,
        )
    for warning in caught:
        listener.note(str(warning.message))
    return found
