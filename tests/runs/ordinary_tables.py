"""Twelve tables as people have them, made here: `python tests/runs/ordinary_tables.py FOLDER` writes them all.

Each has four kinds of rows, of which two carry labels in part; the columns tell the kinds apart.
"""

import csv
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KINDS = ("a", "b", "c", "d")


class Rows:
    """Kinds, labels and a generator for one table."""

    def __init__(self, n, seed, labelled=0.6, names=KINDS):
        self.n, self.rng = n, np.random.default_rng(seed)
        self.kind = self.rng.permutation(np.arange(n) % 4)
        self.truth = [names[k] for k in self.kind]
        shown = (self.kind < 2) & (self.rng.random(n) < labelled)
        self.label = [name if is_shown else "" for name, is_shown in zip(self.truth, shown, strict=True)]

    def around(self, *centres, spread=1.0):
        """Numbers around a centre for each kind."""
        return self.rng.normal(np.array(centres)[self.kind], spread)

    def choice(self, *of_kinds):
        """For each row a word, mostly that of its kind."""
        words = sorted(set(of_kinds))
        return [of_kinds[k] if self.rng.random() < 0.9 else str(self.rng.choice(words)) for k in self.kind]

    def embeddings(self, width):
        centres = self.rng.normal(size=(4, width))
        return (0.05 * (centres[self.kind] + 0.5 * self.rng.normal(size=(self.n, width)))).astype(np.float32)


def write_csv(path, columns, delimiter=",", encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def tickets(folder, n=400):
    """An export of a help desk: ids, a date, free text, categories, a number of minutes."""
    rows = Rows(n, 1, names=("billing", "login", "outage", "refund"))
    words = ["please", "help", "with", "my", "order", "the", "page", "is", "slow", "today", "again", "thanks"]
    hours = rows.around(9, 11, 14, 17, spread=0.5)
    opened = [datetime(2024, 1, 8) + timedelta(days=i // 4, hours=float(hour)) for i, hour in enumerate(hours)]
    write_csv(
        folder / "tickets.csv",
        {
            "ticket_id": [f"T-{10_000 + i}" for i in range(n)],
            "opened": [day.strftime("%Y-%m-%d %H:%M") for day in opened],
            "customer_id": rows.rng.integers(1000, 9999, n).tolist(),
            "subject": [" ".join(rows.rng.choice(words, 7)) + f" {i}" for i in range(n)],
            "channel": rows.choice("mail", "web", "phone", "chat"),
            "urgent": rows.choice("no", "yes", "yes", "no"),
            "minutes": np.round(rows.around(10, 30, 55, 80, spread=4), 1).tolist(),
            "replies": np.maximum(0, np.rint(rows.around(2, 9, 16, 23))).astype(int).tolist(),
            "queue": rows.label,
        },
    )
    return "tickets.csv", "queue", rows.truth


def sales(folder, n=400):
    """Dates with the day first, prices with a currency and thousands, a discount in percent."""
    rows = Rows(n, 2)
    start = datetime(2023, 3, 1)
    write_csv(
        folder / "sales.csv",
        {
            "date": [(start + timedelta(days=int(d))).strftime("%d/%m/%Y") for d in rows.rng.integers(0, 300, n)],
            "price": [f"${value:,.2f}" for value in rows.around(900, 2500, 5200, 9000, spread=150)],
            "discount": [f"{value:.1f}%" for value in rows.around(5, 12, 20, 30)],
            "units": np.rint(rows.around(10, 40, 70, 100, spread=3)).astype(int).tolist(),
            "region": rows.choice("north", "south", "east", "west"),
            "segment": rows.label,
        },
    )
    return "sales.csv", "segment", rows.truth


def sensors(folder, n=400):
    """A log with time zones, one of them in summer time; a status word among the numbers now and then."""
    rows = Rows(n, 3)
    start = datetime(2024, 3, 25, tzinfo=UTC)
    zones = [timezone(timedelta(hours=1 if i < n // 2 else 2)) for i in range(n)]
    pressure = [f"{value:.2f}" for value in rows.around(990, 1000, 1010, 1020)]
    pressure[7] = pressure[70] = "ERR"
    write_csv(
        folder / "sensors.csv",
        {
            "time": [(start + timedelta(minutes=37 * i)).astimezone(zones[i]).isoformat() for i in range(n)],
            "temperature": np.round(rows.around(10, 16, 22, 28), 2).tolist(),
            "pressure": pressure,
            "vibration": np.round(np.exp(rows.around(-2, -1, 0, 1, spread=0.2)), 4).tolist(),
            "firmware": ["2.1"] * n,
            "state": rows.label,
        },
    )
    return "sensors.csv", "state", rows.truth


def survey(folder, n=400):
    """Likert answers as words and numbers, a free comment, yes and no in German."""
    rows = Rows(n, 4)
    agree = ["strongly disagree", "disagree", "agree", "strongly agree"]
    words = ["good", "bad", "could", "be", "better", "service", "staff", "food", "waiting", "time", "room", "nice"]
    write_csv(
        folder / "survey.csv",
        {
            "respondent": [f"{i:08x}" for i in rows.rng.permutation(n) * 7919],
            "q1": rows.choice(*agree),
            "q2": np.clip(np.rint(rows.around(1, 3, 5, 7, spread=0.4)), 1, 7).astype(int).tolist(),
            "q3": np.clip(np.rint(rows.around(7, 5, 1, 3, spread=0.4)), 1, 7).astype(int).tolist(),
            "member": rows.choice("nein", "ja", "nein", "ja"),
            "age": np.rint(rows.around(25, 40, 55, 70, spread=3)).astype(int).tolist(),
            "comment": [" ".join(rows.rng.choice(words, 9)) for _ in range(n)],
            "group": rows.label,
        },
    )
    return "survey.csv", "group", rows.truth


def export(folder, n=400):
    """From a spreadsheet in Europe: a byte order mark, semicolons, decimal commas, dates with dots, unnamed index."""
    rows = Rows(n, 5)
    start = datetime(2024, 1, 1)

    def comma(values):
        return [f"{value:.2f}".replace(".", ",") for value in values]

    write_csv(
        folder / "export.csv",
        {
            "": range(n),
            "Datum": [(start + timedelta(days=int(d))).strftime("%d.%m.%Y") for d in rows.rng.integers(0, 365, n)],
            "Länge": comma(rows.around(1, 2, 3, 4, spread=0.15)),
            "Gewicht": comma(rows.around(60, 45, 30, 15, spread=2)),
            "Betrag": [
                f"{value:,.2f} €".translate(str.maketrans(",.", ".,"))
                for value in rows.around(500, 1500, 2500, 3500, spread=80)
            ],
            "Klasse": rows.label,
        },
        delimiter=";",
        encoding="utf-8-sig",
    )
    return "export.csv", "Klasse", rows.truth


def wide_embeddings(folder, n=400):
    """An embedding as 64 flat columns."""
    rows = Rows(n, 6)
    vectors = rows.embeddings(64)
    columns = {f"e{i}": np.round(vectors[:, i], 5).tolist() for i in range(64)}
    write_csv(folder / "wide.csv", {"doc_id": [f"d{i}" for i in range(n)], **columns, "topic": rows.label})
    return "wide.csv", "topic", rows.truth


def list_embeddings(folder, n=400):
    """An embedding as one column of lists, in Parquet, beside other columns."""
    rows = Rows(n, 7)
    vectors = rows.embeddings(48)
    table = pa.table(
        {
            "uuid": [f"{i:032x}" for i in range(n)],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 48),
            "length": rows.around(100, 200, 300, 400, spread=20),
            "seen": pa.array([datetime(2024, 5, 1, tzinfo=UTC) + timedelta(hours=i) for i in range(n)]),
            "topic": [label or None for label in rows.label],
        }
    )
    pq.write_table(table, folder / "lists.parquet")
    return "lists.parquet", "topic", rows.truth


def text_ids(folder, n=400):
    """Text ids that are all different and say so neither by name nor otherwise."""
    rows = Rows(n, 8)
    write_csv(
        folder / "ids.csv",
        {
            "sample": [f"S{i:05d}-{rows.rng.integers(1e6):x}" for i in range(n)],
            "barcode": (rows.rng.permutation(n) * 104_729 + 10**9).tolist(),
            "x": rows.around(0, 4, 8, 12).tolist(),
            "y": rows.around(0, 4, 0, 4).tolist(),
            "type": rows.label,
        },
    )
    return "ids.csv", "type", rows.truth


def leaking(folder, n=400):
    """A column that says the class in other words."""
    rows = Rows(n, 9)
    write_csv(
        folder / "leaking.csv",
        {
            "width": rows.around(1, 3, 5, 7, spread=0.4).tolist(),
            "height": rows.around(2, 6, 2, 6, spread=0.4).tolist(),
            "team": [f"team {10 * (k + 1)}" for k in rows.kind],
            "class": rows.label,
        },
    )
    return "leaking.csv", "class", rows.truth


def mixed_units(folder, n=400):
    """Columns from 1e-9 to 1e9, a unit beside every number, one column in two units, one twice in other units."""
    rows = Rows(n, 10)
    celsius = rows.around(5, 15, 25, 35)
    weight = rows.around(2, 4, 6, 8, spread=0.2)
    write_csv(
        folder / "units.csv",
        {
            "wavelength": [f"{value:.4e}" for value in rows.around(4e-9, 5e-9, 6e-9, 7e-9, spread=2e-10)],
            "distance": np.round(rows.around(1e9, 2e9, 3e9, 4e9, spread=1e8)).tolist(),
            "weight": [f"{value:.3f} kg" for value in weight],
            "portion": [f"{value:.2f} kg" if i % 2 else f"{1000 * value:.0f} g" for i, value in enumerate(weight)],
            "celsius": celsius.tolist(),
            "fahrenheit": (32 + 1.8 * celsius).tolist(),
            "kind": rows.label,
        },
    )
    return "units.csv", "kind", rows.truth


def many_missing(folder, n=400):
    """A third of all cells are missing, in several spellings; one column is empty."""
    rows = Rows(n, 11, labelled=0.8)
    marks = ["", "NA", "n/a", "null", "?"]

    def with_gaps(values, share=0.3):
        gone = rows.rng.random(n) < share
        return [str(rows.rng.choice(marks)) if is_gone else v for v, is_gone in zip(values, gone, strict=True)]

    columns = {
        f"m{i}": with_gaps(np.round(rows.around(*rows.rng.permutation([0, 8, 16, 24])), 2).tolist()) for i in range(8)
    }
    columns["colour"] = with_gaps(rows.choice("red", "green", "blue", "grey"))
    write_csv(folder / "missing.csv", columns | {"notes": [""] * n, "class": rows.label})
    return "missing.csv", "class", rows.truth


def tiny(folder, n=24):
    """Two dozen rows."""
    rows = Rows(n, 12, labelled=0.9)
    write_csv(
        folder / "tiny.csv",
        {
            "name": [f"item {i}" for i in range(n)],
            "x": np.round(rows.around(0, 10, 20, 30), 2).tolist(),
            "y": np.round(rows.around(0, 10, 0, 10), 2).tolist(),
            "class": rows.label,
        },
    )
    return "tiny.csv", "class", rows.truth


TABLES = {
    make.__name__: make
    for make in (
        tickets,
        sales,
        sensors,
        survey,
        export,
        wide_embeddings,
        list_embeddings,
        text_ids,
        leaking,
        mixed_units,
        many_missing,
        tiny,
    )
}

if __name__ == "__main__":
    for make in TABLES.values():
        print(*make(Path(sys.argv[1]))[:2])
