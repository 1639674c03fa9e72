"""Tables as files: the same one as Markdown and as LaTeX."""

from collections.abc import Sequence
from pathlib import Path

Rows = list[list[str]]
ESCAPED = (("%", r"\%"), ("±", r"$\pm$"), ("–", "--"), ("_", r"\_"), ("&", r"\&"), ("≥", r"$\geq$"))


def write_table(folder: Path, name: str, caption: str, header: Sequence[str], rows: Rows) -> list[Path]:
    """Both files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.md", folder / f"{name}.tex"]
    paths[0].write_text(markdown(caption, header, rows))
    paths[1].write_text(latex(caption, header, rows))
    return paths


def markdown(caption: str, header: Sequence[str], rows: Rows) -> str:
    lines = [" | ".join(row) for row in (header, ["---"] * len(header), *rows)]
    return f"{caption}\n\n" + "".join(f"| {line} |\n" for line in lines)


def latex(caption: str, header: Sequence[str], rows: Rows) -> str:
    """A table for the booktabs package."""
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (header, *rows)]
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_escaped(caption)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _escaped(text: str) -> str:
    for plain, escaped in ESCAPED:
        text = text.replace(plain, escaped)
    return text
