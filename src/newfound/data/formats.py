"""The registry of table formats: which suffix is read by which format. A new format is one line here."""

from os import PathLike
from pathlib import Path

from newfound.data.csv_format import CSVFormat
from newfound.data.feather_format import FeatherFormat
from newfound.data.parquet_format import ParquetFormat
from newfound.data.table_format import TableFormat
from newfound.errors import DataError

FORMATS: dict[str, TableFormat] = {
    ".csv": CSVFormat(),
    ".csv.gz": CSVFormat(),
    ".tsv": CSVFormat(delimiter="\t"),
    ".tsv.gz": CSVFormat(delimiter="\t"),
    ".tab": CSVFormat(delimiter="\t"),
    ".parquet": ParquetFormat(),
    ".pq": ParquetFormat(),
    ".feather": FeatherFormat(),
    ".arrow": FeatherFormat(),
}


def file_suffix(path: Path) -> str:
    """As in FORMATS: ".parquet", ".csv.gz"."""
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]).lower()


def is_table(path: str | PathLike) -> bool:
    """Whether the suffix is that of a table file."""
    return file_suffix(Path(path)) in FORMATS and not Path(path).is_dir()


def streams(path: str | PathLike) -> bool:
    """Whether `read_batches` reads this file a block at a time; False for everything that is no table file."""
    return is_table(path) and FORMATS[file_suffix(Path(path))].streams


def format_of(path: Path) -> TableFormat:
    if not is_table(path):
        raise DataError(f"{path.name!r} is no table file. Give a file that ends in {', '.join(FORMATS)}.")
    return FORMATS[file_suffix(path)]
