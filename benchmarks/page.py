"""The benchmarks as a page: every number of a run in tables."""

from collections.abc import Iterable
from typing import Any

DASH = "–"
PEERS = ("eager", "fused", "compiled", "enumerating")


def render(results: dict[str, Any]) -> str:
    """Markdown of what has been measured."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    sections = [
        "# Benchmarks\n\nWritten by `benchmarks/run.py`; [how each is measured](../README.md). "
        f"{machine['cores']} cores, {machine['processor']}; {versions}.\n\n![](benchmarks.png)",
        *(page(results[part]) for part, page in PAGES.items() if part in results),
    ]
    return "\n\n".join(sections) + "\n"


def _steps(part: dict[str, Any]) -> str:
    rows = (
        [
            f"{step['model']}, {step['data']}",
            f"{step['batch']} × {step['units']}",
            f"{step['microseconds']['newfound']:,.0f}",
            f"{step['share_of_limit']:.0%}",
            *(_times(step["times_as_fast"].get(f"torch {peer}")) for peer in PEERS),
        ]
        for step in part["steps"]
    )
    header = ["model, width of", "batch × units", "µs a step", "of the limit", *(f"PyTorch {peer}" for peer in PEERS)]
    more = [
        "## Steps\n\nnewfound's microseconds, the share of the machine's limit they reach, and how many times as long "
        "PyTorch takes.",
        _table(header, rows),
        f"By number of components, against 10: {_pairs(part['components'])}: "
        f"microseconds ~ components^{part['exponent_components']}.",
        *(
            f"Seeds in one program, batch {batch}, against one: {_pairs(times)}: "
            f"microseconds ~ seeds^{part['exponent_seeds'][batch]}."
            for batch, times in part["seeds"].items()
        ),
        f"Host work as a share of a chunk, by batch: {_pairs(part['host_share'], '.1%')}.",
    ]
    return "\n\n".join(more)


def _start_up(part: dict[str, Any]) -> str:
    return "## Start\n\n" + _table(["", "seconds"], ([name, f"{part[name]:.2f}"] for name in _measured(part)))


def _prediction(part: dict[str, Any]) -> str:
    arrays, parquet = part["arrays"], part["parquet"]
    ours, theirs = "newfound", "MLPClassifier"
    rows = (
        [f"{int(n):,}", f"{of[ours]:,}", f"{of[theirs]:,}", f"{of[ours] / of[theirs]:.2f}"] for n, of in arrays.items()
    )
    scan = next(iter(parquet.values()))
    ways = ([what, f"{seconds:.2f}", f"{seconds / scan:.1f}"] for what, seconds in parquet.items())
    return "\n\n".join(
        [
            "## Prediction",
            "CPU microseconds of `predict_proba`.",
            _table(["rows", ours, theirs, "ratio"], rows),
            "CPU seconds for a Parquet file.",
            _table(["", "seconds", "x the scan"], ways),
        ]
    )


def _growth(part: dict[str, Any]) -> str:
    rows = (
        [f"{int(n):,} {what}", f"{fit['seconds']:.1f}", f"{fit['peak_gb']:.2f}", f"{fit['added_gb']:.2f}"]
        for what in part["exponents"]
        for n, fit in part[what].items()
    )
    powers = ", ".join(f"{what}^{power}" for what, power in part["exponents"].items())
    return "\n\n".join(
        [
            "## Growth\n\nOne pass in each phase of a fit: 10,000 rows, 50 columns, 20 components and one seed, "
            "but for what grows.",
            _table(["", "seconds", "GB at the peak", "of them for this fit"], rows),
            f"Seconds ~ {powers}.",
            f"`newfound predict`, GB at the peak by rows of the file: {_pairs(part['streaming_peak_gb'])}.",
        ]
    )


def _accuracy(part: dict[str, Any]) -> str:
    rows = (
        [
            name,
            f"{fit['papers']}",
            DASH if (passed := fit["seconds_to_papers_accuracy"]) is None else f"{passed:.0f}",
            f"{fit['looks'][-1][1]:.1f}",
            f"{fit['seconds']:.0f}",
        ]
        for name in _measured(part)
        for fit in [part[name]]
    )
    header = ["", "the paper's, %", "seconds until then", "at the end, %", "seconds in all"]
    return "## Time to accuracy\n\nSemi-unsupervised, many-to-one on the test set.\n\n" + _table(header, rows)


def _alternatives(part: dict[str, Any]) -> str:
    rows = ([name, *(f"{value}" for value in part[name].values())] for name in _measured(part))
    header = ["", "seconds", "all", "known", "new"]
    return "## Alternatives\n\n10,000 rows of MNIST, one-to-one accuracy, %.\n\n" + _table(header, rows)


PAGES = {
    "steps": _steps,
    "start-up": _start_up,
    "prediction": _prediction,
    "growth": _growth,
    "accuracy": _accuracy,
    "alternatives": _alternatives,
}


def _measured(part: dict[str, Any]) -> list[str]:
    return [name for name in part if name != "measured_in_seconds"]


def _times(times: float | None) -> str:
    return DASH if times is None else f"{times:.1f}"


def _pairs(values: dict[str, float], form: str = "") -> str:
    return ", ".join(f"{int(n):,}: {value:{form}}" for n, value in values.items())


def _table(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
