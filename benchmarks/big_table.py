"""A folder larger than memory, fitted and answered: `python benchmarks/big_table.py big/ --label kind --ignore truth`.

Runs `newfound fit` on it in a process of its own and writes seconds, CPU seconds, rows a second and the most memory
that was resident, beside PyArrow's own scan of the same files, to benchmarks/results/big_table.json and .md.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq

RESULTS = Path(__file__).parent / "results"
STAGES = {  # what `newfound fit` says when a pass begins, and what that is
    "": "draw the sample",
    "reading all": "scale by all rows",
    "finding neighbours": "fit",
    "answering all rows": "answer all rows",
    "predicting": "write the run",
}


def scan(folder: Path) -> dict[str, float]:
    """PyArrow reads every column of every file, one batch after the other, on one thread and nothing else."""
    begun, cpu, n = time.monotonic(), time.process_time(), 0
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            n += sum(batch.num_rows for batch in file.iter_batches(batch_size=32_768, use_threads=False))
    return {"rows": n, "seconds": time.monotonic() - begun, "cpu_seconds": time.process_time() - cpu}


def fit(folder: Path, out: Path, options: list[str]) -> dict:
    """The command, and when each of its stages began: by the wall and by its own CPU seconds."""
    command = [sys.executable, "-u", "-m", "newfound", "fit", str(folder), "--out", str(out), *options]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    marks, lines, peak = {"draw the sample": (0.0, 0.0)}, [], 0
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line.rstrip())
        peak = max(peak, _peak(process.pid))
        for start, stage in STAGES.items():
            if start and start in line and stage not in marks:
                marks[stage] = (time.monotonic() - begun, _cpu(process.pid))
    _, status, usage = os.wait4(process.pid, 0) if process.returncode is None else (0, 0, None)
    assert status == 0, "\n".join(lines[-20:])
    total = (time.monotonic() - begun, usage.ru_utime + usage.ru_stime)
    names = list(marks)
    ends = [*(marks[name] for name in names[1:]), total]
    stages = {
        name: {"seconds": round(end[0] - marks[name][0], 1), "cpu_seconds": round(end[1] - marks[name][1], 1)}
        for name, end in zip(names, ends, strict=True)
    }
    return {
        "command": f"newfound fit FOLDER {' '.join(options)}",
        "seconds": round(total[0], 1),
        "cpu_seconds": round(total[1], 1),
        "peak_resident_mb": round(max(peak, usage.ru_maxrss * 1024) / 1e6),
        "stages": stages,
        "said": [line for line in lines if line.startswith(("·", "!")) or "known classes" in line],
    }


def _peak(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM")), 0)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def score(out: Path, folder: Path, truth: str) -> dict:
    """Every answer compared with the true classes: many-to-one over all rows."""
    import pyarrow as pa

    said = pq.read_table(out / "all_rows.parquet", columns=["class"], read_dictionary=["class"])[
        "class"
    ].unify_dictionaries()
    counts: dict[tuple[str, str], int] = {}
    n_seen = 0
    for path in sorted(folder.glob("*.parquet")):
        true = pq.read_table(path, columns=[truth], read_dictionary=[truth])[truth]
        pairs = pa.table({"said": said.slice(n_seen, len(true)), "true": true.unify_dictionaries()})
        for pair in pairs.group_by(["said", "true"]).aggregate([([], "count_all")]).to_pylist():
            key = (pair["said"], pair["true"])
            counts[key] = counts.get(key, 0) + pair["count_all"]
        n_seen += len(true)
    assert len(said) == n_seen == sum(counts.values()), "a row was lost, or answered twice"
    right = sum(max(n for (a, _), n in counts.items() if a == name) for name in {a for a, _ in counts})
    return {"rows_answered": n_seen, "many_to_one": right / n_seen}


def as_markdown(result: dict) -> str:
    n, scanned, fitted = result["rows"], result["pyarrow_scan"], result["fit"]
    lines = [
        "# A folder larger than memory",
        "",
        f"{n:,} rows, {result['columns']} columns, {result['files']} Parquet files, {result['gigabytes']:.1f} GB "
        f"({result['note']}). `{fitted['command']}`: the most memory resident was "
        f"**{fitted['peak_resident_mb']:,} MB**; {fitted['seconds']:,.0f} s by the clock, "
        f"{fitted['cpu_seconds']:,.0f} CPU s. Every row is answered; {100 * result['score']['many_to_one']:.1f} % "
        f"many-to-one.",
        "",
        "| | seconds | CPU seconds | rows a CPU second | × PyArrow's scan |",
        "|---|---|---|---|---|",
    ]
    rows = {"PyArrow scans all columns (one thread)": scanned} | fitted["stages"]
    for name, one in rows.items():
        speed = f"{n / one['cpu_seconds']:,.0f}" if one["cpu_seconds"] and name not in ("fit", "write the run") else ""
        ratio = f"{one['cpu_seconds'] / scanned['cpu_seconds']:.1f}"
        lines.append(f"| {name} | {one['seconds']:,.0f} | {one['cpu_seconds']:,.0f} | {speed} | {ratio} |")
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    return "\n".join([*lines, "", f"{result['machine']}; {versions}. Made by `benchmarks/big_table.py`.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--label", default="kind")
    parser.add_argument("--truth", default="truth")
    parser.add_argument("--note", default="made by benchmarks/make_big_table.py")
    parser.add_argument("--option", action="append", default=[], help="Of newfound fit, such as --option=--no-audit.")
    given = parser.parse_args()
    files = sorted(given.folder.glob("*.parquet"))
    about, load = pq.read_schema(files[0]), os.getloadavg()[0]
    scanned = scan(given.folder)
    with tempfile.TemporaryDirectory(dir=given.folder.absolute().parent) as place:
        out = Path(place) / "run"
        fitted = fit(given.folder, out, ["--label", given.label, "--ignore", given.truth, *given.option])
        scored = score(out, given.folder, given.truth)
    result = {
        "rows": scanned["rows"],
        "columns": len(about.names),
        "files": len(files),
        "gigabytes": sum(path.stat().st_size for path in files) / 1e9,
        "note": given.note,
        "pyarrow_scan": {name: round(value, 1) for name, value in scanned.items()},
        "fit": fitted,
        "score": scored,
        "machine": f"{os.cpu_count()} cores, load {load:.1f} before; {platform.system()}, "
        f"Python {platform.python_version()}",
        "versions": {name: version(name) for name in ("newfound", "pyarrow", "numpy", "jax")},
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "big_table.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "big_table.md").write_text(as_markdown(result))
    print(as_markdown(result))


if __name__ == "__main__":
    main()
