"""A made-up table of support tickets: `python benchmarks/make_tickets.py tickets.csv`. One kind nobody labelled.

Four kinds have a queue ("billing", "login", "shipping", "returns"), of which a third of the tickets is sorted by hand.
Tickets about the new app have none: they are short, and come by chat from phones in the evening.
"""

import csv
import sys
from pathlib import Path

import numpy as np

COLUMNS = (
    "ticket",
    "queue",
    "words",
    "hour",
    "minutes_to_reply",
    "orders",
    "basket_eur",
    "channel",
    "device",
)
CHANNELS, DEVICES = ("mail", "chat", "phone"), ("desktop", "phone", "tablet")
KINDS = {  # words, hour, minutes to reply, orders, basket, P(channel), P(device), share
    "billing": (120, 10, 240, 6, 90, (0.7, 0.1, 0.2), (0.8, 0.1, 0.1), 0.28),
    "login": (35, 9, 15, 2, 40, (0.1, 0.8, 0.1), (0.5, 0.4, 0.1), 0.25),
    "shipping": (70, 14, 180, 3, 60, (0.5, 0.3, 0.2), (0.5, 0.4, 0.1), 0.2),
    "returns": (90, 15, 400, 9, 160, (0.3, 0.1, 0.6), (0.6, 0.2, 0.2), 0.12),
    "app": (20, 21, 60, 1, 25, (0.1, 0.85, 0.05), (0.02, 0.88, 0.1), 0.15),
}
HIDDEN, SORTED = "app", 0.33


def tickets(n_rows: int = 1500, seed: int = 0) -> list[tuple]:
    """Rows of COLUMNS; the queue is empty where nobody has sorted the ticket."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(list(KINDS), size=n_rows, p=[kind[-1] for kind in KINDS.values()])
    return [(f"T{10_000 + i}", *_ticket(rng, str(kind))) for i, kind in enumerate(kinds)]


def _ticket(rng: np.random.Generator, kind: str) -> tuple:
    words, hour, minutes, orders, basket, p_channel, p_device, _ = KINDS[kind]
    is_sorted = kind != HIDDEN and rng.random() < SORTED
    return (
        kind if is_sorted else "",
        int(rng.lognormal(np.log(words), 0.35)),
        round(float(rng.normal(hour, 1.8)) % 24, 1),
        int(rng.lognormal(np.log(minutes), 0.4)),
        int(rng.poisson(orders)),
        round(float(rng.lognormal(np.log(basket), 0.3)), 2),
        CHANNELS[rng.choice(3, p=p_channel)],
        DEVICES[rng.choice(3, p=p_device)],
    )


def write_tickets(path: Path, n_rows: int = 1500, seed: int = 0) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *tickets(n_rows, seed)])


if __name__ == "__main__":
    write_tickets(Path(sys.argv[1]))
