"""From what a person has to a Dataset: tables, arrays, folders of images, and published data sets by name.

read ──► table_reader ──► table_folder ──► table_sources (joined_features) ──► formats ──► csv_format · …
     │        ├─► sampled_table ──► sampling: of a source too large to be held, a sample of its rows
     │        ├─► decisions ──► columns (number_format · dates · number_blocks) · row_names · column_relations
     │        └─► encoding, file_labels ──────────────────────────────────────────┐
     ├─► array_reader · image_reader · idx_reader ────────────────────────────────┼──► dataset (schema)
     └─► named ──► catalogue (har_reader, idx_reader), download ──────────────────┘

`preprocessing_log` says in sentences how a source was read; `own_rows` gives a user's columns back unchanged (of CSV,
`csv_records`). A table format is one file `…_format.py` and one line in `formats.FORMATS`.
"""

from newfound.data.catalogue import NAMED, NamedSet
from newfound.data.dataset import Dataset, Population, TrainTest, align
from newfound.data.formats import FORMATS, streams
from newfound.data.named import cache_folder, fetch_named, find_named, load_named
from newfound.data.own_rows import own_table
from newfound.data.preprocessing_log import about_missing, add_counts
from newfound.data.read import read_dataset
from newfound.data.sampling import rows_at_a_time
from newfound.data.schema import MISSING_CATEGORY, Column, Schema
from newfound.data.table_folder import is_table_folder
from newfound.data.table_reader import read_batches
from newfound.errors import DataError

__all__ = [
    "FORMATS",
    "MISSING_CATEGORY",
    "NAMED",
    "Column",
    "DataError",
    "Dataset",
    "NamedSet",
    "Population",
    "Schema",
    "TrainTest",
    "about_missing",
    "add_counts",
    "align",
    "cache_folder",
    "fetch_named",
    "find_named",
    "is_table_folder",
    "load_named",
    "own_table",
    "read_batches",
    "read_dataset",
    "rows_at_a_time",
    "streams",
]
