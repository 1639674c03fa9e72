"""Pictures of a fit, as matplotlib figures."""

from typing import TYPE_CHECKING

import numpy as np

from newfound.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KNOWN, NEW = "#3b6fb6", "#d1603d"  # told apart by readers who do not see red or green, too


def new_figure(width: float, height: float) -> "Figure":
    """A figure that belongs to no window and no global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=150)


def confusion_matrix(evaluation: Evaluation, n_known: int, title: str, ax: "Axes") -> None:
    """True classes by components, each row of the picture a share of its class, components grouped by class."""
    from matplotlib.colors import PowerNorm

    order = component_order(evaluation, n_known)
    shares = evaluation.counts / np.maximum(evaluation.counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares[:, order], cmap="Blues", norm=PowerNorm(0.5, 0, 1), aspect="auto")  # small shares show, too
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_yticks(range(len(evaluation.classes)), [str(name) for name in evaluation.classes])
    ax.set_xticks(range(len(order)), [str(i) for i in order], fontsize=7 if len(order) <= 20 else 4)
    for tick, component in zip(ax.get_xticklabels(), order, strict=True):
        tick.set_color(KNOWN if component < n_known else NEW)
    ax.set_xlabel("component (blue: of a known class, red: new)", fontsize=8)
    ax.set_ylabel("true class", fontsize=8)
    for row, shares_of_row in enumerate(shares[:, order]):
        for column, share in enumerate(shares_of_row):
            if share >= 0.05 and len(order) <= 20:
                colour = "white" if share > 0.3 else "black"
                ax.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=6, color=colour)


def component_order(evaluation: Evaluation, n_known: int) -> np.ndarray:
    """Known components first; then the new ones, grouped under the class they stand for, empty ones last."""
    components = np.arange(evaluation.counts.shape[1])
    stands_for = evaluation.many_to_one_class
    group = np.where(stands_for < 0, len(evaluation.classes), stands_for)
    return np.lexsort((components, np.where(components < n_known, -1, group)))


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
