"""The command line door."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="newfound",
    help="Classifies the classes you labelled and discovers the ones you didn't.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Classifies the classes you labelled and discovers the ones you didn't."""
    if version:
        from newfound import __version__

        typer.echo(f"newfound {__version__}")
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the fitted model.")] = Path("newfound-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    runs: Annotated[int, typer.Option(min=1, help="Seeds to average over; the pictures show the first.")] = 1,
) -> None:
    """Show what newfound does, on handwritten digits of which half the classes carry no label.

    Fits three methods to the same rows: GM-DGM (newfound's model), SSVAE (the semi-supervised baseline) and k-means.
    Takes about half a minute on two cores.

    Example: `newfound demo --out my-demo`
    """
    from rich.console import Console

    from newfound import demo as steps

    console = Console()
    console.print(
        "1,347 handwritten digits to learn from. One label in five is kept of the digits 0 to 4, [bold]none[/bold] of "
        "5 to 9. Can a model name the first and find the others?\n"
    )
    outcomes: dict[str, list] = {name: [] for name in steps.FITS}
    first = steps.make_task(seed)
    for run in range(runs):
        task = first if run == 0 else steps.make_task(seed + run)
        for name in steps.FITS:
            with console.status(f"Fitting {name}, run {run + 1} of {runs} …"):
                outcomes[name].append(steps.run_method(name, task, seed + run))
    console.print(steps.results_table(outcomes))
    console.print(
        "one-to-one: each digit is matched with one component at most. many-to-one: each component stands for the "
        "digit most common in it. known: digits 0 to 4. new: digits 5 to 9, which no label ever named.\n"
    )
    for picture in steps.draw(first, {name: outcomes[name][0] for name in outcomes}, out):
        console.print(f"wrote {picture}")
    outcomes["GM-DGM"][0].model.save(out / "model")
    console.print(f"wrote {out / 'model'}   (open it with newfound.load)")
