"""`python -m experiments`: the paper's tables and figures, and the published data sets."""

import typer

from experiments.commands import datasets_app, reproduce

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)
app.command()(reproduce)
app.add_typer(datasets_app, name="datasets")

if __name__ == "__main__":
    app()
