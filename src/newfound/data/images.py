"""A folder of images, all of one size: labels from its sub-folders, or from a CSV of files and labels beside them."""

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from newfound.data import decisions
from newfound.data.cells import text
from newfound.data.dataset import UNLABELLED, Dataset, Layout, conform, pixel_names
from newfound.data.formats import FORMATS, TableFile, Wanted, ending_of
from newfound.data.labelling import Labelling, labels_of_array
from newfound.data.problems import DataError, check_one_of, count, some

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
UNLABELLED_FOLDER = re.compile(r"unlabel+ed", re.IGNORECASE)  # both spellings
LABELS_FILE = "labels.csv"
GREY, COLOUR = ("1", "L"), ("RGB", "RGBA", "P", "PA", "LA", "CMYK", "YCbCr", "HSV", "LAB")


def read_images(folder: str | PathLike, labels: str | PathLike | None = None, layout: Layout | None = None) -> Dataset:
    """A Dataset of bytes, one row an image; its path inside the folder is its id."""
    folder = Path(folder)
    paths, n_other = find_images(folder)
    names = [path.relative_to(folder).as_posix() for path in paths]
    labels_file = Path(labels) if labels is not None else folder / LABELS_FILE
    if labels is not None or labels_file.is_file():
        codes, label, says = _labels_from_file(names, labels_file), "label", f"{labels_file.name!r} labels"
    else:
        codes, label, says = _labels_from_folders(names), "folder", "The sub-folders label"
    own_label = label if (codes.codes != UNLABELLED).any() else None
    shape = _one_shape(paths, folder, layout)
    grey = "grey values" if len(shape) == 2 else "red, green and blue"
    dataset = Dataset(
        X=_pixels(paths, shape),
        y=codes.codes,
        class_names=codes.class_names,
        feature_names=pixel_names(shape),
        row_ids=np.array(names, dtype=str),
        kind="images",
        image_shape=shape,
        label=own_label,
        decisions=[
            f"Read {count(len(names), 'image')} of {shape[1]} × {shape[0]} pixels (width × height) as {grey}.",
            *decisions.about_labels(own_label, codes.codes, codes.class_names, codes.n_minus_one, says),
            *([f"Passed over {count(n_other, 'file that is', 'files that are')} no image."] if n_other else []),
        ],
    )
    return dataset if layout is None else conform(dataset, layout)


def find_images(folder: Path) -> tuple[list[Path], int]:
    """The images in the folder and below, in the order of their names, and how many other files there are."""
    visible = [p for p in sorted(folder.rglob("*")) if not any(s.startswith(".") for s in p.relative_to(folder).parts)]
    files = [path for path in visible if path.is_file() and path.name != LABELS_FILE]
    images = [path for path in files if path.suffix.lower() in ENDINGS]
    if not images:
        raise DataError(
            f"The folder {folder.name!r} holds no images ({', '.join(ENDINGS)}). Give a folder with one sub-folder for "
            f"each label and one named 'unlabelled', or with images and a {LABELS_FILE} of files and labels."
        )
    return images, len(files) - len(images)


def _labels_from_folders(names: Sequence[str]) -> Labelling:
    tops = [name.split("/")[0] if "/" in name else "" for name in names]
    return labels_of_array(["" if UNLABELLED_FOLDER.fullmatch(top) else top for top in tops], len(names), "the folders")


def _labels_from_file(names: Sequence[str], path: Path) -> Labelling:
    """Labels of the named images; an image the file does not name has none."""
    if not path.is_file():
        raise DataError(
            f"There is no file {str(path)!r} with labels. Give the path of a CSV with columns file and label."
        )
    if ending_of(path) not in FORMATS:
        raise DataError(f"{path.name!r} must be a table (such as a CSV) with columns file and label.")
    table = TableFile(path)
    for column in ("file", "label"):
        check_one_of(column, table.names, "column", table.where)
    cells = table.read(Wanted(["file", "label"], text={"file", "label"}))
    files, labels = (text(column).to_pylist() for column in cells.columns)
    pairs = {(file or "").replace("\\", "/"): label for file, label in zip(files, labels, strict=True)}
    if len(pairs) < cells.num_rows:
        raise DataError(f"{path.name!r} names the same file more than once. Give each file one row.")
    absent = sorted(pairs.keys() - set(names))
    if absent:
        raise DataError(
            f"{path.name!r} names {count(len(absent), 'file that is', 'files that are')} not in the folder: "
            f"{some(absent)}. Write the paths as they are inside the folder (such as {names[0]!r}), "
            f"or take these rows out."
        )
    return labels_of_array([pairs.get(name) for name in names], len(names), "label")


def _one_shape(paths: Sequence[Path], folder: Path, layout: Layout | None) -> tuple[int, ...]:
    """Height and width that all images share, and 3 where any of them has colours."""
    from PIL import Image

    first: tuple[Path, tuple[int, int]] | None = None
    has_colour = layout is not None and len(layout.image_shape or ()) == 3
    for path in paths:
        try:
            with Image.open(path) as image:  # reads the header only
                size, mode = image.size, image.mode
        except (OSError, Image.DecompressionBombError) as error:
            _refuse_image(path, error)
        if mode not in GREY + COLOUR:
            raise DataError(f"{path.name!r} has more than 8 bits for a pixel (mode {mode}). Save it with 8 bits.")
        first = first or (path, size)
        if size != first[1]:
            raise DataError(
                f"Images must all be of one size: {first[0].relative_to(folder).as_posix()!r} is {_size(first[1])}, "
                f"but {path.relative_to(folder).as_posix()!r} is {_size(size)}. Scale or crop them to one size."
            )
        has_colour = has_colour or mode in COLOUR
    assert first is not None
    return (first[1][1], first[1][0], 3) if has_colour else (first[1][1], first[1][0])


def _pixels(paths: Sequence[Path], shape: tuple[int, ...]) -> np.ndarray:
    from PIL import Image

    X = np.empty((len(paths), int(np.prod(shape))), np.uint8)
    mode = "RGB" if len(shape) == 3 else "L"
    for row, path in zip(X, paths, strict=True):
        try:
            with Image.open(path) as image:
                row[:] = np.asarray(image.convert(mode)).ravel()
        except (OSError, SyntaxError, ValueError) as error:
            _refuse_image(path, error)
    return X


def _refuse_image(path: Path, error: Any) -> NoReturn:
    raise DataError(f"{path.name!r} cannot be read as an image ({error}). Save it again, or take it out.") from None


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} × {size[1]}"
