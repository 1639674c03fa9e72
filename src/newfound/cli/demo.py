"""`newfound demo`: half of the classes of handwritten digits carry no label, and are found all the same."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from newfound.cli.console import clear_errors, console_for, keep_compiled_programs, number_or_auto

if TYPE_CHECKING:
    from rich.console import Console


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
    from experiments import demo as steps

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
    from experiments import demo as steps

    outcomes: dict[str, list[Any]] = {name: [] for name in steps.METHODS}
    for i in range(n_seeds):
        task = steps.make_task(seed + i)
        for name in steps.METHODS:
            with console.status(f"Fitting {name}, seed {i + 1} of {n_seeds} …"):
                outcomes[name].append(steps.run_method(name, task, seed + i, n_new))
    return outcomes
