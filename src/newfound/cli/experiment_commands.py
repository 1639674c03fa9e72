"""`newfound reproduce` and `newfound demo`: the paper's experiments, and a short one to look at."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from newfound.cli.console import clear_errors, console_for, keep_compiled_programs
from newfound.cli.option_values import number_or_auto

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
    from newfound.experiments import presets, queue, targets

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
    from newfound.experiments import queue

    done = n_all - len(to_do)

    def tell(experiment: Any, record: dict[str, Any]) -> None:
        nonlocal done
        done += 1
        result = f"{record['acc_many_to_one']:.1f} % many-to-one, {record['seconds']:.0f} s"
        console.print(f"{done:>3} of {n_all}  {experiment.name}: {result}", markup=False, soft_wrap=True)

    keep_compiled_programs()
    queue.compute(to_do, out, changes, jobs, tell)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the images and the run.")] = Path("newfound-demo"),
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds to average over; the images show the first.")] = 1,
    n_new: Annotated[str, typer.Option(help="New classes for GM-DGM: a number, or auto to find it.")] = "auto",
) -> None:
    """Show what newfound does, on handwritten digits of which half the classes have no label.

    Fits three methods to the same rows: GM-DGM (newfound's model), SSVAE (the semi-supervised baseline) and k-means.
    Takes about a minute on two cores, and ends with the report of the first.

    Example: `newfound demo --out my-demo`
    """
    from newfound.experiments import demo as steps

    console = console_for(False)
    console.print(
        "1,347 handwritten digits. Of the digits 0 to 4, one label in five is kept; of 5 to 9, [bold]none[/bold]. "
        "Can a model classify the first, find how many others there are, and discover them?\n",
        markup=True,
    )
    keep_compiled_programs()
    with clear_errors():
        first = steps.make_task(seed)
        outcomes = _outcomes(console, seed, seeds, number_or_auto("--n-new", n_new))
        console.print(f"{steps.headline(outcomes['GM-DGM'][0])}; there are five.\n")
        console.print(steps.results_table(outcomes))
        console.print(
            "one-to-one (Hungarian accuracy): each digit is matched with at most one component. many-to-one (purity): "
            "each component counts as the digit most common in it. known: digits 0 to 4. new: digits 5 to 9. new "
            "classes: how many were found; the baselines are given the number.\n"
        )
        for picture in steps.draw(first, {name: of[0] for name, of in outcomes.items()}, out):
            console.print(f"wrote {picture}", markup=False, soft_wrap=True)
        with console.status("Hiding each known class in turn, and writing the report …"):
            page = steps.write_demo_run(first, outcomes["GM-DGM"][0].model, out / "run")
    console.print(f"wrote {page.parent}   (a run, as `newfound fit` writes one)", markup=False, soft_wrap=True)
    console.print(f"\nRead this: {page}", style="bold", markup=False, soft_wrap=True)


def _outcomes(console: "Console", seed: int, n_seeds: int, n_new: int | str) -> dict[str, list[Any]]:
    """Every method on every seed's task."""
    from newfound.experiments import demo as steps

    outcomes: dict[str, list[Any]] = {name: [] for name in steps.METHODS}
    for i in range(n_seeds):
        task = steps.make_task(seed + i)
        for name in steps.METHODS:
            with console.status(f"Fitting {name}, seed {i + 1} of {n_seeds} …"):
                outcomes[name].append(steps.run_method(name, task, seed + i, n_new))
    return outcomes
