"""A small table to fit, and the command line to fit it with."""

import contextlib
import csv
import os
import subprocess
import sys

import numpy as np
from typer.testing import CliRunner

from newfound.cli.app import app

QUICK = ("--epochs", "3", "--n-new", "2", "--no-audit")
FIT = ("fit", "pets.csv", "--label", "species", "--id", "name", *QUICK)


def newfound(*arguments, cwd, code=0):
    """The command in this process, where compiled programs are shared with the other tests."""
    with contextlib.chdir(cwd):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert code is None or result.exit_code == code, result.output
    return result


def start(*arguments, cwd):
    """The installed command, in a process of its own."""
    command = [sys.executable, "-m", "newfound", *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # see `one_thread`
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=cwd, env=environment, text=True, **pipes)


def pets(n=240, labelled=0.4, seed=0):
    """Four kinds of animals; cats and dogs are partly labelled. Numbers, a category, a boolean, missing cells."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        k = int(rng.integers(0, 4))
        rows.append(
            {
                "name": f"pet {i}",
                "weight": "" if i == 7 else round(float(rng.normal([4, 20, 40, 8][k], 1)), 2),
                "height": round(float(rng.normal([25, 60, 180, 40][k], 4)), 1),
                "colour": str(rng.choice(["red", "grey", "brown"], p=[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]][k % 2])),
                "tame": int(rng.random() < [0.9, 0.9, 0.1, 0.1][k]),
                "species": ["cat", "dog", "emu", "fox"][k] if k < 2 and rng.random() < labelled else "",
                "truth": ["cat", "dog", "emu", "fox"][k],
            }
        )
    return rows


def write_csv(path, rows, drop=(), delimiter=","):
    names = [name for name in rows[0] if name not in drop]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore", delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
