"""`python -m newfound` is the command `newfound`."""

from newfound.cli.app import app

app(prog_name="newfound")
