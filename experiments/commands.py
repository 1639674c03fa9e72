"""`newfound reproduce` and `newfound demo`: the paper's experiments, and a short one to look at."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from newfound.cli.console import (
    AsJson,
    clear_errors,
    console_for,
    keep_compiled_programs,
    print_json,
    table_with,
)

if TYPE_CHECKING:
    from rich.console import Console

Target = Annotated[
    str,
    typer.Argument(
        help="A target such as table-2 or figure-1, all (the paper's), or default; any other word lists them."
    ),
]
DataSets = Annotated[list[str] | None, typer.Option(help="Only this data set; may be given several times.")]
Models = Annotated[list[str] | None, typer.Option(help="Only this model, such as gmdgm or k-means.")]
Regimes = Annotated[list[str] | None, typer.Option(help="Only this regime.")]
Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds; the paper has four.")]
Preset = Annotated[str, typer.Option(help="quick, or paper (Appendix C as printed: hours).")]
Results = Annotated[Path, typer.Option(help="Folder for experiments, tables and figures.")]
Jobs = Annotated[int, typer.Option(min=1, help="Experiments at a time, each on its own share of the cores.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="Change a setting of the preset: max_epochs=2, label_weight=1, …")
]
ListOnly = Annotated[bool, typer.Option("--list", help="Say which experiments are done, and stop.")]


def reproduce(
    target: Target,
    dataset: DataSets = None,
    model: Models = None,
    regime: Regimes = None,
    seeds: Seeds = 4,
    preset: Preset = "quick",
    out: Results = Path("results"),
    jobs: Jobs = 1,
    set_: Changes = None,
    list_only: ListOnly = False,
) -> None:
    """Compute the paper's tables and figures again, beside its published numbers, and what newfound's defaults reach.

    Each finished experiment (data set, model, regime, seed) is saved at once; a stopped command continues where it was.

    Example: `newfound reproduce table-2 --dataset mnist --jobs 2`
    """
    from experiments import presets, queue, targets

    console = console_for(False)
    with clear_errors():
        names = targets.names_of(target)
        choice = targets.Choice(tuple(dataset or ()), tuple(model or ()), tuple(regime or ()))
        experiments = targets.experiments_of(names, preset, seeds, choice)
        changes = presets.parse_changes(set_ or [])
        to_do = queue.missing(experiments, out, changes)
        console.print(f"{len(experiments) - len(to_do)} of {len(experiments)} experiments are done")
        if list_only:
            _list(console, experiments, to_do)
            return
        _compute(console, to_do, len(experiments), out, changes, jobs)
        for path in targets.draw(names, out, preset, seeds):
            console.print(f"wrote {path}", markup=False, soft_wrap=True)


def _list(console: "Console", experiments: list[Any], to_do: list[Any]) -> None:
    for experiment in experiments:
        state = "to do" if experiment in to_do else "done "
        console.print(f"  {state}  {experiment.name}", markup=False, soft_wrap=True)


def _compute(console: "Console", to_do: list[Any], n_all: int, out: Path, changes: dict[str, Any], jobs: int) -> None:
    from experiments import queue

    done = n_all - len(to_do)

    def tell(experiment: Any, record: dict[str, Any]) -> None:
        nonlocal done
        done += 1
        result = f"{record['acc_many_to_one']:.1f} % many-to-one, {record['seconds']:.0f} s"
        console.print(f"{done:>3} of {n_all}  {experiment.name}: {result}", markup=False, soft_wrap=True)

    keep_compiled_programs()
    queue.compute(to_do, out, changes, jobs, tell)


# ---- `newfound datasets`: real data sets by name ----

datasets_app = typer.Typer(help="List real data sets known by name, or download one.", invoke_without_command=True)

COUNTS = ("train", "test", "features", "classes")


@datasets_app.callback()
def datasets(context: typer.Context, as_json: AsJson = False) -> None:
    """List real data sets known by name.

    Example: `newfound datasets`
    """
    if context.invoked_subcommand is not None:
        return
    known = _named_sets()
    if as_json:
        print_json(known)
        return
    table = table_with("name", "title", *COUNTS, "downloaded", right=COUNTS)
    table.columns[0].no_wrap = True
    for one in known:
        counts = (f"{one[column]:,}" for column in COUNTS)
        table.add_row(one["name"], one["title"], *counts, "yes" if one["here"] else "no")
    console = console_for(False)
    console.print(table)
    console.print("`newfound datasets get NAME` downloads one, and so does `newfound fit NAME`.", soft_wrap=True)


@datasets_app.command("get")
def datasets_get(name: Annotated[str, typer.Argument(help="A name that `newfound datasets` lists.")]) -> None:
    """Download a data set, with checksums, to the cache folder.

    Example: `newfound datasets get fashion-mnist`
    """
    from experiments.named import fetch_named

    with clear_errors():
        for path in fetch_named(name):
            typer.echo(path)


def _named_sets() -> list[dict[str, Any]]:
    """Every named set, and whether its files are on this machine."""
    from experiments.named import NAMED, find_named

    return [
        {
            "name": known.name,
            "title": known.title,
            "train": known.n_train,
            "test": known.n_test,
            "features": known.n_features,
            "classes": known.n_classes,
            "here": not known.files or find_named(known.name) is not None,
            "licence": known.licence,
        }
        for known in NAMED.values()
    ]
