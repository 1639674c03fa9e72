"""Pictures of a fit, as matplotlib figures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from newfound.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KNOWN, NEW = "#3b6fb6", "#d1603d"  # also different to readers who do not see red or green
MAX_COLUMNS_WITH_NUMBERS = 20


def new_figure(width: float, height: float) -> "Figure":
    """A figure that belongs to no window and no global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=150)


def confusion_matrix(
    evaluation: Evaluation,
    is_new: np.ndarray,
    title: str,
    ax: "Axes",
    *,
    names: Sequence[object] | None = None,
    kind: str = "class",
) -> None:
    """True classes by what was predicted, each row of the picture a share of its class, in the order of `column_order`.

    `is_new` has a flag for each column. `names` stand below the columns where they are not those of `evaluation`, and
    `kind` says what the columns are ("class" or "component").
    """
    from matplotlib.colors import PowerNorm

    order = column_order(evaluation, is_new)
    shares = evaluation.counts / np.maximum(evaluation.counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares[:, order], cmap="Blues", norm=PowerNorm(0.5, 0, 1), aspect="auto")  # small shares show, too
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_yticks(range(len(evaluation.classes)), [str(name) for name in evaluation.classes])
    ax.set_ylabel("true class", fontsize=8)
    ax.set_xlabel(f"{kind} (blue: known, red: new)", fontsize=8)
    columns = evaluation.predicted if names is None else names
    _name_columns(ax, [str(columns[i]) for i in order], is_new[order])
    if len(order) <= MAX_COLUMNS_WITH_NUMBERS:
        _write_shares(ax, shares[:, order])


def column_order(evaluation: Evaluation, is_new: np.ndarray) -> np.ndarray:
    """Known columns first; then the new ones, grouped under the true class most common in each, empty ones last."""
    group = np.where(evaluation.majority < 0, len(evaluation.classes), evaluation.majority)
    return np.lexsort((np.arange(len(is_new)), np.where(is_new, group, -1)))


def _name_columns(ax: "Axes", names: list[str], is_new: np.ndarray) -> None:
    ax.set_xticks(range(len(names)), names, fontsize=7 if len(names) <= MAX_COLUMNS_WITH_NUMBERS else 4)
    for tick, new in zip(ax.get_xticklabels(), is_new, strict=True):
        tick.set_color(NEW if new else KNOWN)


def _write_shares(ax: "Axes", shares: np.ndarray) -> None:
    for row, column in np.argwhere(shares >= 0.05):
        share = shares[row, column]
        colour = "white" if share > 0.3 else "black"
        ax.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=6, color=colour)


def class_gallery(
    rows_of_class: dict[str, np.ndarray],
    image_shape: tuple[int, int],
    title: str,
    colours: list[str],
    limits: tuple[float, float] = (0.0, 1.0),
) -> "Figure":
    """A line of images for each class, drawn from white at the lower limit to black at the upper."""
    n_columns = max(len(rows) for rows in rows_of_class.values())
    figure = new_figure(0.55 * n_columns + 1.6, 0.6 * len(rows_of_class) + 0.6)
    figure.suptitle(title, fontsize=10, x=0.02, ha="left")
    axes = figure.subplots(len(rows_of_class), n_columns, squeeze=False)
    for line, (name, rows), colour in zip(axes, rows_of_class.items(), colours, strict=True):
        for ax in line:
            ax.axis("off")
        for ax, row in zip(line, rows, strict=False):
            ax.imshow(row.reshape(image_shape), cmap="gray_r", vmin=limits[0], vmax=limits[1])
        line[0].text(-0.4, 0.5, name, transform=line[0].transAxes, ha="right", va="center", fontsize=8, color=colour)
    return figure
