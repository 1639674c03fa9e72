"""`newfound datasets`: real data sets by name."""

from typing import Annotated, Any

import typer

from newfound.cli.console import AsJson, clear_errors, console_for, print_json, table_with

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
    from newfound.data import fetch_named

    with clear_errors():
        for path in fetch_named(name):
            typer.echo(path)


def _named_sets() -> list[dict[str, Any]]:
    """Every named set, and whether its files are on this machine."""
    from newfound.data import NAMED, find_named

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
