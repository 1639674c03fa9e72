"""From what a person has to a Dataset: tables, arrays, folders of images, and real sets by name.

read ──► tables (formats, delimited ──► cells, columns, labelling) ──► dataset
         arrays · images · idx · har · named (catalogue, download)
"""

from newfound.data.catalogue import NAMED, NamedSet
from newfound.data.dataset import MISSING_CATEGORY, UNLABELLED, Column, Dataset, Layout
from newfound.data.decisions import about_gaps, add_counts
from newfound.data.har import TrainTest
from newfound.data.named import cache_folder, fetch_named, find_named, load_named
from newfound.data.problems import DataError
from newfound.data.read import read_dataset
from newfound.data.tables import read_batches

__all__ = [
    "MISSING_CATEGORY",
    "NAMED",
    "UNLABELLED",
    "Column",
    "DataError",
    "Dataset",
    "Layout",
    "NamedSet",
    "TrainTest",
    "about_gaps",
    "add_counts",
    "cache_folder",
    "fetch_named",
    "find_named",
    "load_named",
    "read_batches",
    "read_dataset",
]
