"""The command line door: words in, words out; the work is done in `workflow`."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(name="newfound", no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_enable=False)
datasets_app = typer.Typer(help="List real data sets known by name, or fetch one.", invoke_without_command=True)
app.add_typer(datasets_app, name="datasets")

BAD_INPUT = 2
REPRODUCED = "table-1, table-2, figure-1 … figure-5, appendix, or all; of newfound's own: default, tables, ablation."

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
RunArgument = Annotated[Path, typer.Argument(help="A folder that `newfound fit` wrote.", show_default=False)]


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Classifies the classes you labelled and discovers the ones you didn't."""
    if version:
        from newfound import __version__

        typer.echo(f"newfound {__version__}")
        raise typer.Exit


@contextmanager
def clear_errors() -> Iterator[None]:
    """What a user can put right is told in one sentence, with exit code 2; anything else is a bug, and shows."""
    try:
        yield
    except (ValueError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        typer.echo(f"newfound: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from None


def console_for(as_json: bool) -> "Console":
    """Where a person reads: standard output, or standard error while a machine reads the other."""
    from rich.console import Console

    return Console(stderr=as_json, highlight=False)


@contextmanager
def working(console: "Console") -> Iterator[Callable[[str], None]]:
    """A line that says what is being done, on a terminal; notes are printed."""
    with console.status("reading") as status:

        def tell(what: str) -> None:
            if what.startswith("note: "):
                console.print(what, style="yellow")
            else:
                status.update(what)

        yield tell


@app.command()
def fit(
    source: Annotated[str, typer.Argument(help="A table, NumPy file, folder of images, or the name of a data set.")],
    out: Annotated[Path, typer.Option(help="Folder for the run.")] = Path("run"),
    label: Annotated[
        str | None, typer.Option(help="The column that holds the labels; empty cells are unlabelled.")
    ] = None,
    labels: Annotated[str | None, typer.Option(help="A file of labels, for images or arrays.")] = None,
    id: Annotated[str | None, typer.Option(help="The column that names the rows.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")] = None,
    categorical: Annotated[list[str] | None, typer.Option(help="A column of numbers that are names.")] = None,
    n_new: Annotated[str, typer.Option(help="Components for new classes: a number, or auto.")] = "auto",
    model: Annotated[str, typer.Option(help="gmdgm, or ssvae (the baseline).")] = "gmdgm",
    hide: Annotated[str | None, typer.Option(help="Hide all labels of these classes: 5-9 or cat,dog.")] = None,
    keep: Annotated[
        str | None, typer.Option(help="Keep only this share (20%) or number (10) of the other labels.")
    ] = None,
    by_group: Annotated[
        bool, typer.Option("--by-group", help="Keep the labels of whole groups (har: people).")
    ] = False,
    epochs: Annotated[str, typer.Option(help="Passes over the data: a number, or auto.")] = "auto",
    runs: Annotated[int, typer.Option(min=1, help="Seeds; the one with the best held-out ELBO is used.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Makes the run repeatable.")] = 0,
    likelihood: Annotated[
        str, typer.Option(help="auto, gaussian, gaussian-fixed or bernoulli (min-max scaled).")
    ] = "auto",
    min_sd: Annotated[float, typer.Option(help="Leave out columns that vary less (the paper's images: 0.1).")] = 0.0,
    replace: Annotated[bool, typer.Option("--replace", help="Write over an earlier run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model to your data and write a run: predictions, classes, report.

    Ctrl-C ends training early; what was learned so far is kept.

    For example:

    `newfound fit flowers.csv --label species --out run/`

    `newfound fit mnist --hide 5-9 --keep 20% --n-new 40 --out run/`
    """
    from newfound import workflow
    from newfound.data import read_dataset
    from newfound.run_folder import check_out

    console = console_for(as_json)
    with clear_errors():
        check_out(out, replace=replace)
        settings = {
            "n_new": _number_or_auto("--n-new", n_new),
            "max_epochs": _number_or_auto("--epochs", epochs),
            "n_runs": runs,
            "random_state": seed,
            "min_sd": min_sd,
            "likelihood": likelihood,
        }
        if model not in ("gmdgm", "ssvae"):
            raise ValueError(f"--model must be gmdgm or ssvae; got {model!r}.")
        with console.status(f"reading {source} …"):
            dataset = read_dataset(source, label, id, ignore or [], labels, categorical=categorical or [])
        for sentence in dataset.decisions:
            console.print(f"· {sentence}")
        observed, truth = workflow.mask_dataset(dataset, hide, keep, seed, by_group)
        about = {
            "source": source,
            "command": shlex.join(["newfound", *sys.argv[1:]]),
            "masking": None if truth is None else {"hide": hide, "keep": keep, "by_group": by_group, "seed": seed},
        }
        tell = _teller(console)
        run = workflow.fit_run(
            dataset,
            out,
            model=model,
            settings=settings,
            observed=observed,
            truth=truth,
            about=about,
            replace=replace,
            tell=tell,
        )
    _tell_run(console, run, as_json)


def _teller(console: "Console") -> Callable[[str], None]:
    def tell(what: str) -> None:
        if what.startswith("note: "):
            console.print(what, style="yellow")
        elif console.is_terminal:
            console.print(f"{what} …", style="dim")

    return tell


def _number_or_auto(name: str, text: str) -> int | str:
    if text == "auto":
        return text
    if not text.isdigit():
        raise ValueError(f"{name} must be a whole number or auto; got {text!r}.")
    return int(text)


def _tell_run(console: "Console", run: Any, as_json: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    if as_json:
        told = ("regime", "ending", "n_rows", "n_labelled", "n_disagreements")
        summary = {name: run.description[name] for name in told}
        typer.echo(json.dumps(summary | {"run": str(run.folder), "classes": run.classes}))
        return
    table = Table(box=SIMPLE_HEAD)
    for column in ("class", "", "rows", "labels", "mean probability"):
        table.add_column(column, justify="left" if column in ("class", "") else "right")
    for c in run.classes:
        sure = "" if c["confidence"] is None else f"{c['confidence']:.2f}"
        kind = "[red]new[/red]" if c["is_new"] else "known"
        table.add_row(escape(c["name"]), kind, f"{c['n_rows']:,}", f"{c['n_observed']:,}", sure)
    console.print(table)
    about = run.description
    console.print(
        f"{about['regime']} learning, {about['ending']}. {about['n_disagreements']:,} of {about['n_labelled']:,} "
        f"labels are doubted (disagreements.csv). Report: {run.folder / 'report.html'}",
        soft_wrap=True,
    )


@app.command()
def predict(
    run: RunArgument,
    source: Annotated[str, typer.Argument(help="Rows to predict: a file like the one the run was fitted on.")],
    out: Annotated[Path, typer.Option(help="File for the predictions, .csv or .parquet.")] = Path("predictions.csv"),
    as_json: AsJson = False,
) -> None:
    """Predict the class of every row of another file, whatever its size.

    Example: `newfound predict run/ more.csv --out labelled.csv`
    """
    from newfound import workflow
    from newfound.run_folder import open_run

    console = console_for(as_json)
    with clear_errors(), working(console) as tell:
        n_rows = workflow.predict_file(open_run(run), source, out, lambda n: tell(f"{n:,} rows"))
    if as_json:
        typer.echo(json.dumps({"rows": n_rows, "out": str(out)}))
    else:
        console.print(f"wrote {n_rows:,} rows to {out}", soft_wrap=True)


@app.command()
def evaluate(
    run: RunArgument,
    source: Annotated[str, typer.Argument(help="Rows with labels: a file, or a set such as mnist:test.")],
    label: Annotated[str | None, typer.Option(help="The column that holds the true classes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a run's answers with known labels; every metric is printed by its exact name.

    Example: `newfound evaluate run/ test.csv --label species`
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from newfound import workflow
    from newfound.run_folder import open_run

    console = console_for(as_json)
    with clear_errors(), working(console):
        evaluation, metrics = workflow.evaluate_file(open_run(run), source, label)
    if as_json:
        confusion = {"true_classes": evaluation.classes.tolist(), "rows_by_component": evaluation.counts.tolist()}
        numbers = {name: None if value != value else value for name, value in metrics.items()}
        typer.echo(json.dumps(numbers | {"confusion": confusion}))
        return
    table = Table(box=SIMPLE_HEAD)
    table.add_column("metric")
    table.add_column("value", justify="right")
    for name, value in metrics.items():
        table.add_row(name, "" if value != value else f"{value:.0f}" if name == "components in use" else f"{value:.3f}")
    console.print(table)


@app.command()
def report(run: RunArgument) -> None:
    """Write a run's report anew: one HTML file that needs no network.

    Example: `newfound report run/`
    """
    from newfound.run_folder import open_run, write_report

    with clear_errors():
        typer.echo(f"wrote {write_report(open_run(run))}")


@app.command()
def info(run: RunArgument, as_json: AsJson = False) -> None:
    """Show what a run holds: data, settings, classes.

    Example: `newfound info run/`
    """
    from newfound.run_folder import open_run

    console = console_for(as_json)
    with clear_errors():
        opened = open_run(run)
        if as_json:
            typer.echo(json.dumps(opened.description | {"classes": opened.classes}))
            return
        about = opened.description
        console.print(
            f"{about['source']}: {about['n_rows']:,} rows, {about['n_labelled']:,} with a label", markup=False
        )
        console.print(f"fitted {about['created']} by newfound {about['newfound']}: {about['command']}", markup=False)
        for sentence in about["decisions"]:
            console.print(f"· {sentence}", markup=False)
        _tell_run(console, opened, as_json=False)


@datasets_app.callback()
def datasets(context: typer.Context, as_json: AsJson = False) -> None:
    """List real data sets known by name.

    Example: `newfound datasets`
    """
    if context.invoked_subcommand is not None:
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from newfound import workflow

    known = workflow.named_sets()
    if as_json:
        typer.echo(json.dumps(known))
        return
    table = Table(box=SIMPLE_HEAD)
    for column in ("name", "what", "train", "test", "features", "classes", "here"):
        table.add_column(column, justify="right" if column in ("train", "test", "features", "classes") else "left")
    for s in known:
        numbers = (f"{s[column]:,}" for column in ("train", "test", "features", "classes"))
        table.add_row(s["name"], s["title"], *numbers, "yes" if s["here"] else "newfound datasets get " + s["name"])
    console_for(False).print(table)


@datasets_app.command("get")
def datasets_get(name: Annotated[str, typer.Argument(help="A name that `newfound datasets` lists.")]) -> None:
    """Download a data set, with checksums, to the cache folder.

    Example: `newfound datasets get fashion-mnist`
    """
    from newfound.data import fetch_named

    with clear_errors():
        for path in fetch_named(name):
            typer.echo(path)


@app.command()
def reproduce(
    target: Annotated[str, typer.Argument(help=REPRODUCED)],
    dataset: Annotated[list[str] | None, typer.Option(help="Only this data set; may be given several times.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Only this model: ssvae, gmdgm or k-means.")] = None,
    regime: Annotated[list[str] | None, typer.Option(help="Only this regime.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds; the paper has four.")] = 4,
    preset: Annotated[str, typer.Option(help="quick, or paper (Appendix C to the letter: hours).")] = "quick",
    out: Annotated[Path, typer.Option(help="Folder for cells, tables and figures.")] = Path("paper"),
    jobs: Annotated[int, typer.Option(min=1, help="Cells at a time, each on its own share of the cores.")] = 1,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting of the preset: max_epochs=2, alpha=1, …")
    ] = None,
    list_cells: Annotated[bool, typer.Option("--list", help="Say which cells are done, and stop.")] = False,
) -> None:
    """Compute the paper's tables and figures again, beside the numbers it prints, and what newfound's defaults reach.

    Each finished cell (data set, model, regime, seed) is saved at once; a run that is stopped goes on where it was.

    Example: `newfound reproduce table-2 --dataset mnist --jobs 2`
    """
    from newfound.reproduce import presets, targets, work

    console = console_for(False)
    with clear_errors():
        names = targets.names_of(target)
        choice = targets.Choice(tuple(dataset or ()), tuple(model or ()), tuple(regime or ()))
        cells = targets.cells_of(names, preset, seeds, choice)
        changes = presets.parse_changes(set_ or [])
        to_do = work.missing(cells, out, changes)
        console.print(f"{len(cells) - len(to_do)} of {len(cells)} cells are done")
        if list_cells:
            for cell in cells:
                console.print(f"  {'to do' if cell in to_do else 'done '}  {cell.name}", soft_wrap=True)
            return
        done = len(cells) - len(to_do)

        def tell(cell: Any, record: dict[str, Any]) -> None:
            nonlocal done
            done += 1
            accuracy = f"{record['acc_many_to_one']:.1f} % many-to-one"
            console.print(
                f"{done:>3} of {len(cells)}  {cell.name}: {accuracy}, {record['seconds']:.0f} s", soft_wrap=True
            )

        work.compute(to_do, out, changes, jobs, tell)
        for path in targets.draw(names, out, preset, seeds):
            console.print(f"wrote {path}", soft_wrap=True)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the fitted model.")] = Path("newfound-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    runs: Annotated[int, typer.Option(min=1, help="Seeds to average over; the pictures show the first.")] = 1,
    n_new: Annotated[int, typer.Option(min=1, max=100, help="Components for the digits nobody labelled.")] = 5,
) -> None:
    """Show what newfound does, on handwritten digits of which half the classes carry no label.

    Fits three methods to the same rows: GM-DGM (newfound's model), SSVAE (the semi-supervised baseline) and k-means.
    Takes about half a minute on two cores.

    Example: `newfound demo --out my-demo`
    """
    from newfound import demo as steps

    console = console_for(False)
    console.print(
        "1,347 handwritten digits to learn from. One label in five is kept of the digits 0 to 4, [bold]none[/bold] of "
        "5 to 9. Can a model name the first and find the others?\n"
    )
    outcomes: dict[str, list] = {name: [] for name in steps.FITS}
    first = steps.make_task(seed, n_new)
    for run in range(runs):
        task = first if run == 0 else steps.make_task(seed + run, n_new)
        for name in steps.FITS:
            with console.status(f"Fitting {name}, run {run + 1} of {runs} …"):
                outcomes[name].append(steps.run_method(name, task, seed + run))
    console.print(steps.results_table(outcomes))
    console.print(
        "one-to-one: each digit is matched with one component at most. many-to-one: each component stands for the "
        "digit most common in it. known: digits 0 to 4. new: digits 5 to 9, which no label ever named.\n"
    )
    for picture in steps.draw(first, {name: outcomes[name][0] for name in outcomes}, out):
        console.print(f"wrote {picture}", soft_wrap=True)
    outcomes["GM-DGM"][0].model.save(out / "model")
    console.print(f"wrote {out / 'model'}   (open it with newfound.load)", soft_wrap=True)
