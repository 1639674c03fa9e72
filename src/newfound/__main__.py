"""`python -m newfound` is the command `newfound`."""

from newfound.cli import app

app(prog_name="newfound")
