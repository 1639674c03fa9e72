"""The paper's figures, as PNG and as PDF."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.experiment import Experiment
from experiments.paper_tables import REGIMES, model_title, title_of
from experiments.records import Record, Results
from experiments.scores import evaluation_of, recorded_classes
from experiments.tasks import FIRST_HALF
from newfound.report.charts import column_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KNOWN, NEW = "#3b6fb6", "#d1603d"  # also different to readers who do not see red or green
MAX_COLUMNS_WITH_NUMBERS = 20
IMAGE_SHAPE = (28, 28)
KDE_STD = 0.04  # nats
ACCIDENT = ((FIRST_HALF, "semi-supervised", "SS"), ("", "accidental", "SUS by accident"))
N_FIGURE_3 = 20  # components


def figure_1(results: Results, folder: Path) -> list[Path]:
    """What SSVAE generates: one z a row, one y a column."""
    figure = _new_figure(6.2, 9.4)
    axes = figure.subplots(2, 2)
    for line, dataset in zip(axes, ("mnist", "fashion-mnist"), strict=True):
        for ax, (suffix, regime, title) in zip(line, ACCIDENT, strict=True):
            _images(ax, _array(results, "grid", dataset + suffix, regime), f"{title_of(dataset)}, {title}", "y", "z")
    return _save(figure, folder, "figure-1")


def figure_2(results: Results, folder: Path) -> list[Path]:
    """The entropy of q(y | x) for test rows of labelled classes, and of classes without a label."""
    figure = _new_figure(7, 6)
    for ax, dataset in zip(figure.subplots(2, 1), ("mnist", "fashion-mnist"), strict=True):
        for (suffix, regime, title), style in zip(ACCIDENT, ("--", "-"), strict=True):
            entropy, is_known = (_array(results, name, dataset + suffix, regime) for name in ("entropy", "is_known"))
            if entropy is not None and is_known is not None:
                _densities(ax, entropy, is_known, title, style)
        ax.set_title(title_of(dataset), fontsize=10, loc="left")
        ax.set_xlabel("entropy of q(y | x) in nats, test rows", fontsize=8)
        ax.set_ylabel("density", fontsize=8)
        if ax.lines:
            ax.legend(fontsize=7, frameon=False)
    return _save(figure, folder, "figure-2")


def figure_3(results: Results, folder: Path) -> list[Path]:
    """SSVAE without any label, 20 components: what it generates, and the test rows it is most confident of."""
    figure = _new_figure(8, 7.6)
    first, second = figure.subplots(2, 1)
    grid, rows = (_array(results, name, "mnist", "unsupervised", N_FIGURE_3) for name in ("grid", "most_confident"))
    _images(first, grid, "Generated: one z a row, one y a column", "y", "z")
    _images(
        second,
        None if rows is None else rows.swapaxes(0, 1),
        "The ten test rows put into each y most confidently",
        "y",
        "most confident first",
    )
    return _save(figure, folder, "figure-3")


def figure_4(results: Results, folder: Path) -> list[Path]:
    """Confusion matrices of SSVAE, semi-unsupervised."""
    return _confusions(results, folder, "figure-4", "ssvae", ("semi-unsupervised",), ("mnist", "fashion-mnist", "har"))


def figure_5(results: Results, folder: Path) -> list[Path]:
    """Confusion matrices of GM-DGM, semi-unsupervised."""
    return _confusions(results, folder, "figure-5", "gmdgm", ("semi-unsupervised",), ("mnist", "fashion-mnist", "har"))


def appendix(results: Results, folder: Path) -> list[Path]:
    """Confusion matrices of both models on Fashion-MNIST, in all three regimes."""
    paths = []
    for model in ("ssvae", "gmdgm"):
        paths += _confusions(results, folder, f"appendix-{model}", model, REGIMES, ("fashion-mnist",))
    return paths


def _new_figure(width: float, height: float) -> "Figure":
    """A figure that belongs to no window and no global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=150)


def _array(
    results: Results, name: str, dataset: str, regime: str, n_components: int | None = None
) -> np.ndarray | None:
    """An array of an experiment; None where it is not done."""
    arrays = results.arrays(Experiment(results.preset, dataset, "ssvae", regime, 0, n_components))
    return None if arrays is None else arrays[name]


def _images(ax: "Axes", rows: np.ndarray | None, title: str, columns: str, lines: str) -> None:
    """Images (lines, columns, pixels) side by side, black on white."""
    ax.set_title(title, fontsize=9, loc="left")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel(f"{columns} →", fontsize=8)
    ax.set_ylabel(f"← {lines}", fontsize=8)
    if rows is None:
        _not_done(ax)
        return
    tiles = rows.reshape(*rows.shape[:2], *IMAGE_SHAPE)
    ax.imshow(tiles.swapaxes(1, 2).reshape(rows.shape[0] * IMAGE_SHAPE[0], -1), cmap="gray_r", vmin=0, vmax=255)


def _densities(ax: "Axes", entropy: np.ndarray, is_known: np.ndarray, title: str, style: str) -> None:
    """Density estimates, reflected at 0 because no entropy is below it."""
    points = np.linspace(0, np.log(5), 300)
    for chosen, name, colour in ((is_known, "SS classes 0–4", KNOWN), (~is_known, "US classes 5–9", NEW)):
        density = reflected_density(entropy[chosen], points)
        ax.plot(points, density, style, color=colour, linewidth=1.3, label=f"trained {title}; test rows of {name}")


def reflected_density(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Gaussian kernel density at `points`, the mass below 0 folded back."""
    values = values[:, None].astype(float)
    kernels = np.exp(-0.5 * ((points - values) / KDE_STD) ** 2) + np.exp(-0.5 * ((points + values) / KDE_STD) ** 2)
    return kernels.mean(axis=0) / (KDE_STD * np.sqrt(2 * np.pi))


def _confusions(
    results: Results, folder: Path, name: str, model: str, regimes: tuple[str, ...], datasets: tuple[str, ...]
) -> list[Path]:
    panels = [(dataset, regime) for dataset in datasets for regime in regimes]
    figure = _new_figure(8.2, 3.1 * len(panels))
    for ax, (dataset, regime) in zip(figure.subplots(len(panels), 1), panels, strict=True):
        title = f"{model_title(model)}, {regime}, {title_of(dataset)}"
        records = [record for record in results.group(dataset, model, regime).records if record["seed"] == 0]
        if records:
            _confusion(ax, records[0], title)
        else:
            ax.set_title(title, fontsize=10, loc="left")
            _not_done(ax)
    return _save(figure, folder, name)


def _confusion(ax: "Axes", record: Record, title: str) -> None:
    """True classes by components, each row of the picture a share of its class, in the order of `column_order`."""
    from matplotlib.colors import PowerNorm

    evaluation, classes = evaluation_of(record), recorded_classes(record)
    is_new = classes.is_new[classes.component_class]
    order = column_order(evaluation, is_new)
    shares = (evaluation.counts / np.maximum(evaluation.counts.sum(axis=1, keepdims=True), 1))[:, order]
    has_numbers = len(order) <= MAX_COLUMNS_WITH_NUMBERS
    ax.imshow(shares, cmap="Blues", norm=PowerNorm(0.5, 0, 1), aspect="auto")  # small shares are visible, too
    ax.set_title(f"{title}: {record['acc_many_to_one']:.1f} % many-to-one", fontsize=10, loc="left")
    ax.set_yticks(range(len(evaluation.classes)), [str(name) for name in evaluation.classes])
    ax.set_ylabel("true class", fontsize=8)
    ax.set_xlabel("component (blue: known, red: new)", fontsize=8)
    ax.set_xticks(range(len(order)), [str(evaluation.predicted[i]) for i in order], fontsize=7 if has_numbers else 4)
    for tick, new in zip(ax.get_xticklabels(), is_new[order], strict=True):
        tick.set_color(NEW if new else KNOWN)
    for row, column in np.argwhere(shares >= 0.05) if has_numbers else ():
        share = shares[row, column]
        colour = "white" if share > 0.3 else "black"
        ax.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=6, color=colour)


def _not_done(ax: "Axes") -> None:
    ax.text(0.5, 0.5, "this experiment is not done yet", transform=ax.transAxes, ha="center", va="center", fontsize=9)


def _save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.pdf"]
    figure.savefig(paths[0], metadata={"Software": None})
    figure.savefig(paths[1], metadata={"CreationDate": None})
    return paths
