"""What a run says of the classes that were discovered: how many, how they were found, how sure it is of them."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from newfound.classes import Classes
from newfound.discovery import ClassTree
from newfound.runs.columnar import Columns
from newfound.wording import and_list, count, percent

MIN_AGREEMENT = 0.98  # of predictions with what was discovered
N_MOVES = 3  # in a sentence
FOUND_BY = {
    "mixture": "Found by a mixture of Gaussians, because the table is small.",
    "graph": "Found on the graph of neighbours.",
}


@dataclass(frozen=True)
class Discovered:
    """The answer, and what it rests on, in a few words and numbers."""

    n_new: int
    n_new_range: tuple[int, int]  # the least and the most there could be
    is_given: bool  # whether the number was asked for
    has_labels: bool
    method: str | None  # "mixture" or "graph"; None where nothing was discovered
    n_rows: int
    n_unsure: int  # rows whose class is not more probable than all others together
    closest: list[str]  # the two new classes that would be one if there were one class fewer
    divisible: str | None  # the new class that would be two if there were one more
    agreement: float  # share of rows that are predicted as what was discovered for them
    moves: list[tuple[str, str, int]]  # discovered as, predicted as, rows; most rows first

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Discovered":
        low, high = stored["n_new_range"]
        return cls(**stored | {"n_new_range": (low, high), "moves": [tuple(move) for move in stored["moves"]]})


def summarise_discovery(model: Any, table: Columns) -> Discovered:
    """From a fitted model and the table of its rows (`discovered_columns`)."""
    fitted = model.fitted_
    discovered, predicted = table["discovered_class"], table["class"]
    closest, divisible = near_and_wide(fitted.tree, fitted.classes)
    return Discovered(
        n_new=model.n_new_,
        n_new_range=model.n_new_range_,
        is_given=model.n_new == model.n_new_,
        has_labels=fitted.classes.n_known > 0,
        method=fitted.method,
        n_rows=len(predicted),
        n_unsure=int((~table["is_sure"]).sum()),
        closest=closest,
        divisible=divisible,
        agreement=float(np.mean(discovered == predicted)),
        moves=_moves(discovered, predicted),
    )


def discovered_columns(model: Any) -> Columns:
    """Of every row that was fitted on: its class as it was discovered, and whether that is sure."""
    return {"discovered_class": model.labels_.astype(str), "is_sure": model.is_sure_}


def near_and_wide(tree: ClassTree | None, classes: Classes) -> tuple[list[str], str | None]:
    """Which two new classes the tree would join next, and which one it would divide."""
    components = np.array(classes.new_components, dtype=int)
    if tree is None or len(components) == 0:
        return [], None
    own = tree.among(components - (classes.n_components - tree.n_fragments))
    position = classes.component_class[components]
    held = [{int(i)} for i in position]  # by each node: the classes of its fragments
    closest: list[str] = []
    divisible = None
    for a, b in own.children.tolist():
        held.append(held[a] | held[b])
        if len(held[-1]) == 1:  # the last such join parts the widest class
            divisible = str(classes.names[next(iter(held[-1]))])
        elif not closest and len(held[a]) == len(held[b]) == 1:
            closest = [str(classes.names[i]) for i in sorted(held[-1])]
    return closest if classes.is_new.sum() > 2 else [], divisible  # two have no choice


def _moves(discovered: np.ndarray, predicted: np.ndarray) -> list[tuple[str, str, int]]:
    differ = discovered != predicted
    pairs, n_rows = np.unique(np.stack([discovered[differ], predicted[differ]]), axis=1, return_counts=True)
    order = np.argsort(-n_rows, kind="stable")
    return [(str(pairs[0, i]), str(pairs[1, i]), int(n_rows[i])) for i in order]


# ---- in plain words --------------------------------------------------------------------------------------------------


def headline(found: Discovered) -> str:
    """The answer first: "5 new classes (could be 4 to 6)"."""
    low, high = found.n_new_range
    could_be = f" (could be {low} to {high})" if low < high else ""
    new = "new " if found.has_labels else ""  # where no row has a label, there is nothing to be new beside
    number = count(found.n_new, f"{new}class", f"{new}classes") if found.n_new else "No new class"
    return f"{number}, as asked for" if found.is_given else f"{number}{could_be}"


def sentences(found: Discovered) -> list[str]:
    """How it was found, and how sure it is."""
    return [*_method(found), *_unsure(found), *_tree(found), *_agreement(found)]


def evidence_sentence(evidence: dict[str, float] | None) -> str:
    """\"It would hold about 14 labels if it were known, and holds none (the chance of so few: 2e-06).\"."""
    if evidence is None:
        return ""
    n_close = round(evidence["labels_held"])  # labelled rows of known classes that could as well be of this one
    close = f", though {count(n_close, 'labelled row is', 'labelled rows are')} close by" if n_close else ""
    would = f"It would hold {labels_expected(evidence)} if it were known, and holds none{close}"
    return f"{would} (the chance of so few: {chance(evidence)})."


def labels_expected(evidence: dict[str, float]) -> str:
    expected = evidence["labels_expected"]
    return "less than one label" if expected < 0.95 else f"about {count(round(expected), 'label')}"


def chance(evidence: dict[str, float]) -> str:
    """\"2e-06\", \"0.2\"; below a millionth of a millionth nobody needs the number."""
    return f"{evidence['p_value']:.1g}" if evidence["p_value"] >= 1e-12 else "<1e-12"


def _method(found: Discovered) -> list[str]:
    if found.method is None or not found.n_new:
        return []
    is_guess = not found.has_labels and not found.is_given
    guess = " No row has a label, so the number is less certain than it would be with some." if is_guess else ""
    return [f"{FOUND_BY[found.method]}{guess}"]


def _unsure(found: Discovered) -> list[str]:
    if not found.n_unsure:
        return []
    share = percent(found.n_unsure / found.n_rows)
    verb = "is not sure of its" if found.n_unsure == 1 else "are not sure of their"
    return [f"{count(found.n_unsure, 'row')} ({share}) {verb} class."]


def _tree(found: Discovered) -> list[str]:
    pair = and_list(f"“{name}”" for name in found.closest)
    classes = "new classes" if found.has_labels else "classes"
    near = f"Among the {classes}, {pair} are closest to each other." if found.closest else ""
    has_choice = found.divisible is not None and found.n_new > 1
    wide = f"If one of them should be two classes, it is “{found.divisible}”." if has_choice else ""
    return [*filter(None, (near, wide))]


def _agreement(found: Discovered) -> list[str]:
    """Only where it is worth a look: what was discovered and what is predicted should be the same."""
    if found.agreement >= MIN_AGREEMENT:
        return []
    where = and_list(f"“{a}” as “{b}” ({count(n, 'row')})" for a, b, n in found.moves[:N_MOVES])
    most = "mostly " if len(found.moves) > N_MOVES else ""
    start = f"The model predicts {percent(1 - found.agreement)} of the rows as another class than was discovered"
    return [f"{start}: {most}{where}."]
