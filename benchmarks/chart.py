"""The benchmarks as a picture."""

from pathlib import Path
from typing import Any

OURS, OTHER = "#2a6fbb", "#b8bec6"


def draw(results: dict[str, Any], path: Path) -> None:
    """Write a chart of what has been measured: steps, growth, and accuracy against seconds."""
    from matplotlib.figure import Figure

    panels = [
        (part, panel)
        for part, panel in (("steps", _steps), ("growth", _growth), ("alternatives", _alternatives))
        if part in results
    ]
    if not panels:
        return
    figure = Figure(figsize=(5.2 * len(panels), 4.6), layout="constrained", facecolor="white")
    for ax, (part, panel) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        panel(ax, results[part])
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def _steps(ax: Any, part: dict[str, Any]) -> None:
    """How many times as long a step takes elsewhere."""
    steps = [step for step in part["steps"] if step["model"] == "gmdgm" and step["data"] == "mnist"]
    names = [name for name in steps[0]["times_as_fast"] if name != "newfound"]
    for i, name in enumerate(names):
        places = [j + i / (len(names) + 1) for j in range(len(steps))]
        times = [step["times_as_fast"][name] for step in steps]
        ax.bar(places, times, 0.8 / len(names), label=name, color=f"{0.35 + 0.5 * i / len(names)}")
    ax.axhline(1, color=OURS, label="newfound")
    ax.set_yscale("log")
    ax.set_yticks([1, 2, 3, 5, 10, 20], ["1", "2", "3", "5", "10", "20"])
    ax.minorticks_off()
    ax.set_xticks(
        [j + 0.5 - 0.5 / len(names) for j in range(len(steps))], [f"{s['batch']}\n{s['units']}" for s in steps]
    )
    ax.set(
        title="A GM-DGM step, against newfound's",
        xlabel="rows of a batch, units of a layer (MNIST)",
        ylabel="times as long",
    )
    ax.legend(frameon=False, fontsize="small")


def _growth(ax: Any, part: dict[str, Any]) -> None:
    rows = [int(n) for n in part["rows"]]
    ax.loglog(rows, [fit["seconds"] for fit in part["rows"].values()], "o-", color=OURS)
    ax.set(
        title=f"A pass of each phase: seconds ~ rows^{part['exponents']['rows']}",
        xlabel="rows of 50 columns",
        ylabel="seconds",
    )


def _alternatives(ax: Any, part: dict[str, Any]) -> None:
    methods = {name: method for name, method in part.items() if isinstance(method, dict)}
    for i, name in enumerate(sorted(methods, key=lambda name: methods[name]["seconds"])):
        at = methods[name]["seconds"], methods[name]["all"]
        ax.scatter(*at, color=OURS if name == "newfound" else OTHER, zorder=2)
        above_or_below = (5, 3 if i % 2 else -11)  # in turn, so that neighbours do not write over each other
        ax.annotate(name, at, xytext=above_or_below, textcoords="offset points", fontsize=8)
    ax.set_xscale("log")
    ax.margins(x=0.2)
    ax.set(title="MNIST, 5–9 hidden", xlabel="seconds, 10,000 rows", ylabel="one-to-one accuracy on all classes, %")
