"""Dates and times as numbers: days since the first, and day of the week and hour as points on a circle.

Days of the week and hours are the sine and cosine of an angle, because Monday follows Sunday. Times with a zone become
UTC. Numbers are never read as dates: neither 20240105 nor the serial numbers of a spreadsheet.
"""

from typing import Any, NamedTuple

import numpy as np

from newfound._internal.words import DataError
from newfound.tables.cells import cell_type, text
from newfound.tables.dataset import Column, DatePart

DAY = 86_400.0
TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))? ?(?P<half>[AaPp]\.?[Mm]\.?)?"
    r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2}))?"
)
WEEKDAY = r"(?:(?:[Mm]on|[Tt]ue|[Ww]ed|[Tt]hu|[Ff]ri|[Ss]at|[Ss]un)[a-z]*\.?,? )?"
MONTH = r"(?P<month>[A-Za-z]{3,9})\.?"
ORDERS = {
    "year first": r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
    "day first": r"(?P<day>\d{1,2})[-/.](?P<month>\d{1,2})[-/.](?P<year>\d{4}|\d{2})",
    "month first": r"(?P<month>\d{1,2})[-/.](?P<day>\d{1,2})[-/.](?P<year>\d{4}|\d{2})",
    "day, month by name": rf"{WEEKDAY}(?P<day>\d{{1,2}})[- .]{{1,2}}{MONTH}[-, ]{{1,2}}(?P<year>\d{{4}}|\d{{2}})",
    "month by name, day": rf"{WEEKDAY}{MONTH} (?P<day>\d{{1,2}}),? (?P<year>\d{{4}})",
    "time only": "",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
AMBIGUOUS = {"day first", "month first"}  # if every row can be read either way


class DatesFound(NamedTuple):
    """The orders of day, month and year by which most cells can be read, and the number of these cells."""

    orders: list[str]
    n_cells: int


def find_dates(words: Any) -> DatesFound:
    counts = {order: int(np.isfinite(_parsed(words, order)).sum()) for order in ORDERS}
    most = max(counts.values())
    return DatesFound([order for order, n in counts.items() if n == most], most)


def infer_date(name: str, cells: Any, order: str) -> Column | None:
    """A column of the parts that vary, with its first day; None if every cell is missing."""
    present = seconds(cells, order)
    present = present[np.isfinite(present)]
    if len(present) == 0:
        return None
    days = np.floor(present / DAY)
    start = np.datetime64(int(days.min()), "D")
    dates = days.astype("datetime64[D]")
    is_monthly = bool((dates == dates.astype("datetime64[M]").astype("datetime64[D]")).all())
    varies: dict[DatePart, bool] = {
        "days": order != "time only",
        "weekday": order != "time only" and not is_monthly and len(np.unique(days % 7)) > 1,
        "hour": len(np.unique(present % DAY)) > 1,
    }
    parts = tuple(part for part, does in varies.items() if does) or ("hour",)
    column = Column(name, "date", parts=parts, date_order=order, start="" if order == "time only" else str(start))
    medians = np.median(_features(present, column), axis=0).astype(np.float32)
    return column.replace(fill_value=tuple(medians.tolist()))


def date_features(cells: Any, column: Column, first_row: int) -> np.ndarray:
    """(n, features) with NaN where a cell is missing; the error for a cell that is not a date names its row."""
    found = seconds(cells, column.date_order)
    if cell_type(cells.type) in ("text", "categorical") and not column.allows_text:
        words = text(cells)
        wrong = np.flatnonzero(np.isnan(found) & np.asarray(words.is_valid()))
        if len(wrong):
            raise DataError(
                f"Column {column.name!r} holds dates or times ({column.date_order}), but row "
                f"{first_row + wrong[0] + 1:,} of the data has {words[int(wrong[0])].as_py()!r}. Correct or empty that "
                f"cell."
            )
    return _features(found, column)


def seconds(cells: Any, order: str) -> np.ndarray:
    """Seconds since 1970 in UTC, or since midnight for times without a date; NaN where missing."""
    import pyarrow as pa

    if cell_type(cells.type) in ("text", "categorical"):
        return _parsed(text(cells), order)
    if pa.types.is_time(cells.type):
        micro = cells.cast(pa.time64("us"), safe=False).cast(pa.int64())
    else:
        micro = cells.cast(pa.timestamp("us", getattr(cells.type, "tz", None)), safe=False).cast(pa.int64())
    return np.asarray(micro.cast(pa.float64(), safe=False).to_numpy(), float) / 1e6


def _features(found: np.ndarray, column: Column) -> np.ndarray:
    start = np.datetime64(column.start or "1970-01-01", "D").astype(int) * DAY
    columns = {
        "days": lambda: [(found - start) / DAY],
        "weekday": lambda: _circle((np.floor(found / DAY) + 3) % 7 / 7),  # 1970 began on a Thursday; Monday is 0
        "hour": lambda: _circle(found % DAY / DAY),
    }
    return np.stack([values for part in column.parts for values in columns[part]()], axis=1)


def _circle(share: np.ndarray) -> list[np.ndarray]:
    return [np.sin(2 * np.pi * share), np.cos(2 * np.pi * share)]


def _parsed(words: Any, order: str) -> np.ndarray:
    """Seconds since 1970 of texts in this order; NaN for all others."""
    import pyarrow.compute as pc

    date = ORDERS[order]
    pattern = f"^{date}(?:(?:[T ]|, ){TIME})?$" if date else f"^{TIME}$"
    found = pc.extract_regex(words, pattern)
    if found.null_count == len(found):  # true of most columns of text, and the rest is slow
        return np.full(len(found), np.nan)
    part = {name: pc.struct_field(found, name) for name in ("hour", "minute", "second", "half", "zone")}
    found_at = _time_of_day(part) + (_midnight(found) if date else 0.0)
    return np.where(np.asarray(found.is_valid()), found_at, np.nan)


def _midnight(found: Any) -> np.ndarray:
    """Seconds since 1970 of year, month and day; NaN if there is no such day."""
    import pyarrow as pa
    import pyarrow.compute as pc

    year, day = (_floats(pc.struct_field(found, name)) for name in ("year", "day"))
    year = np.where(year < 69, year + 2000, np.where(year < 100, year + 1900, year))
    words = pc.struct_field(found, "month")
    names = pc.utf8_lower(pc.utf8_slice_codeunits(words, 0, 3))
    by_name = _floats(pc.index_in(names, value_set=pa.array(MONTHS, pa.large_string())))
    month = np.where(np.isnan(by_name), _floats(words), by_name + 1)
    is_month = np.isfinite(year + month + day) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    months = np.where(is_month, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(float)
    length = (months + 1).astype("datetime64[D]").astype(float) - first
    return np.where(is_month & (day <= length), (first + day - 1) * DAY, np.nan)


def _time_of_day(part: dict[str, Any]) -> np.ndarray:
    """Seconds after midnight in UTC; 0 if a date has no time."""
    import pyarrow.compute as pc

    hour, minute, second = (np.nan_to_num(_floats(part[name])) for name in ("hour", "minute", "second"))
    half = pc.utf8_lower(pc.utf8_slice_codeunits(part["half"], 0, 1))
    is_half, is_afternoon = _flags(pc.not_equal(half, "")), _flags(pc.equal(half, "p"))
    hour = np.where(is_half, hour % 12 + 12 * is_afternoon, hour)
    zone = pc.extract_regex(part["zone"], r"^(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})?$")
    hours, minutes = (np.nan_to_num(_floats(pc.struct_field(zone, name))) for name in ("hours", "minutes"))
    ahead = np.where(_flags(pc.equal(pc.struct_field(zone, "sign"), "-")), -1, 1) * (60 * hours + minutes)  # of UTC
    is_time = (hour < 24) & (minute < 60) & (second < 61)
    return np.where(is_time, 3600 * hour + 60 * minute + second - 60 * ahead, np.nan)


def _flags(cells: Any) -> np.ndarray:
    return np.asarray(cells.fill_null(False))


def _floats(words: Any) -> np.ndarray:
    """NaN for text that is not a number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(words.type):
        return np.asarray(words.cast(pa.float64()).to_numpy(), float)
    digits = pc.replace_substring(words, ",", ".")
    is_number = pc.fill_null(pc.match_substring_regex(digits, r"^\d+(\.\d+)?$"), False)
    numbers = pc.if_else(is_number, digits, pa.scalar(None, digits.type)).cast(pa.float64())
    return np.asarray(numbers.to_numpy(), float)
