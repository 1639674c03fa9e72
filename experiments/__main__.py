"""Run the paper's experiments again, and download the published data sets."""

from pathlib import Path
from typing import Annotated, Any

import typer

from newfound.cli.console import AsJson, clear_errors, console_for, print_json, table_with

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False, help=__doc__)
datasets_app = typer.Typer(help="List the published data sets, or download one.", invoke_without_command=True)
app.add_typer(datasets_app, name="datasets")

COUNTS = ("train", "test", "features", "classes")

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
ListOnly = Annotated[bool, typer.Option("--list", help="List which experiments are done, and stop.")]


@app.command()
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
    """Compute the paper's tables and figures beside its published numbers, and the scores of newfound's defaults.

    Each finished experiment (data set, model, regime, seed) is saved at once; a stopped command continues where it was.

    Example: `python -m experiments reproduce table-2 --dataset mnist --jobs 2`
    """
    from experiments import presets, queue, targets
    from newfound.training.steps import keep_compiled_programs

    console = console_for(False)
    with clear_errors():
        names = targets.names_of(target)
        choice = targets.Choice(tuple(dataset or ()), tuple(model or ()), tuple(regime or ()))
        experiments = targets.experiments_of(names, preset, seeds, choice)
        changes = presets.parse_changes(set_ or [])
        to_do = queue.missing(experiments, out, changes)
        n_done = len(experiments) - len(to_do)
        console.print(f"{n_done} of {len(experiments)} experiments are done")
        if list_only:
            for experiment in experiments:
                state = "to do" if experiment in to_do else "done "
                console.print(f"  {state}  {experiment.name}", markup=False, soft_wrap=True)
            return

        def show(experiment: Any, record: dict[str, Any]) -> None:
            nonlocal n_done
            n_done += 1
            result = f"{record['acc_many_to_one']:.1f} % many-to-one, {record['seconds']:.0f} s"
            console.print(
                f"{n_done:>3} of {len(experiments)}  {experiment.name}: {result}", markup=False, soft_wrap=True
            )

        keep_compiled_programs()
        queue.compute(to_do, out, changes, jobs, show)
        for path in targets.draw(names, out, preset, seeds):
            console.print(f"wrote {path}", markup=False, soft_wrap=True)


@datasets_app.callback()
def datasets(context: typer.Context, as_json: AsJson = False) -> None:
    """List the published data sets.

    Example: `python -m experiments datasets`
    """
    from experiments.named import NAMED, find_named

    if context.invoked_subcommand is not None:
        return
    known = [
        {
            "name": of.name,
            "title": of.title,
            "train": of.n_train,
            "test": of.n_test,
            "features": of.n_features,
            "classes": of.n_classes,
            "here": not of.files or find_named(of.name) is not None,
            "licence": of.licence,
        }
        for of in NAMED.values()
    ]
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
    console.print("`python -m experiments datasets get NAME` downloads one.", soft_wrap=True)


@datasets_app.command("get")
def datasets_get(
    name: Annotated[str, typer.Argument(help="A name that `python -m experiments datasets` lists.")],
) -> None:
    """Download a data set, check it, and print where its files are.

    Example: `python -m experiments datasets get fashion-mnist`
    """
    from experiments.named import fetch_named

    with clear_errors():
        for path in fetch_named(name):
            typer.echo(path)


if __name__ == "__main__":
    app(prog_name="python -m experiments")
