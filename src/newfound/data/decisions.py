"""What becomes of every column of a table, by what it holds and by what the user says about it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from newfound.data.columns import infer_column, placed
from newfound.data.file_labels import labels_of_column
from newfound.data.number_blocks import join_numbered
from newfound.data.row_names import names_every_row, unrelated_numbers, why_no_feature
from newfound.data.schema import Column, Dropped
from newfound.data.table_sources import check_column
from newfound.errors import DataError
from newfound.labels import Labels


class Choice(NamedTuple):
    """What a user says about the columns of a table."""

    label: str | None = None
    id: str | None = None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    group: str | None = None


def column_of_row_names(table: Any, names: Sequence[str], choice: Choice) -> str | None:
    """The first column that says by its name that it names the rows, and does."""
    free = without(names, [*choice.categorical, *choice.numeric])
    return next((name for name in free if names_every_row(name, table.column(name))), None)


def decided(table: Any, names: Sequence[str], choice: Choice) -> tuple[list[Column], list[Dropped]]:
    """What becomes of every column: first of each for itself, then of those that belong together or to nothing."""
    found: list[Column | Dropped] = []
    for name in names:
        why = None if name in (*choice.numeric, *choice.categorical) else why_no_feature(name, table.column(name))
        declared = "categorical" if name in choice.categorical else "numeric" if name in choice.numeric else ""
        found.append(Dropped(name, why) if why else infer_column(name, table.column(name), declared))
    dropped = [each for each in found if isinstance(each, Dropped)]
    columns = placed(join_numbered([each for each in found if isinstance(each, Column)], table))
    return _without_unrelated(table, columns, dropped, choice)


def _without_unrelated(
    table: Any, columns: list[Column], dropped: list[Dropped], choice: Choice
) -> tuple[list[Column], list[Dropped]]:
    doubtful = [column for column in columns if column.name not in choice.numeric]
    unrelated = unrelated_numbers(doubtful, table, columns, labels_of(table, choice.label))
    names = {each.name for each in unrelated}
    return placed([column for column in columns if column.name not in names]), [*dropped, *unrelated]


def labels_of(table: Any, label: str | None, declared: Sequence[str] = ()) -> Labels:
    if label is None:
        return Labels.none(table.num_rows, declared)
    return labels_of_column(table.column(label), label, declared)


def check_choice(opened: Any, choice: Choice) -> None:
    if len(opened.names) < 2:
        raise DataError(
            f"{opened.where} has only one column, {opened.names[0]!r}. A table needs two or more, separated by commas, "
            f"tabs, semicolons or bars. If your file uses another separator, save it again with commas."
        )
    chosen = [("label column", choice.label), ("id column", choice.id), ("group column", choice.group)]
    chosen += [("column to ignore", name) for name in choice.ignore]
    chosen += [("categorical column", name) for name in choice.categorical]
    chosen += [("numeric column", name) for name in choice.numeric]
    for what, name in chosen:
        if name is not None:
            check_column(name, opened, what)
    single = [name for name in (choice.label, choice.id, choice.group, *choice.ignore) if name is not None]
    repeated = {name for name in single if single.count(name) > 1} | (
        {*choice.numeric} & {*choice.categorical, *single}
    )
    if repeated:
        raise DataError(
            f"Column {repeated.pop()!r} is named twice. Name it once: in `label`, `id`, `group`, `ignore`, "
            f"`categorical` or `numeric`."
        )


def without(names: Sequence[str], others: Sequence[str | None]) -> list[str]:
    excluded = set(others)
    return [name for name in names if name not in excluded]
