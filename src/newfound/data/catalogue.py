"""The published data sets newfound knows by name: what they are, where they are published, how they are read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from newfound.data import preprocessing_log
from newfound.data.dataset import Dataset, TrainTest
from newfound.data.download import check_content
from newfound.data.har_reader import read_har
from newfound.data.idx_reader import read_idx_images
from newfound.data.schema import pixel_names
from newfound.labels import Labels
from newfound.wording import count

DIGITS = [str(digit) for digit in range(10)]
GARMENTS = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class RemoteFile(NamedTuple):
    """A file of a data set: where it is published, and the check that it is the right one."""

    name: str
    check: Callable[[Path], object]
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class NamedSet:
    """What is known about a data set before it is read."""

    name: str
    title: str
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    licence: str
    read: Callable[[Sequence[Path]], TrainTest]  # from its files, in their order
    files: tuple[RemoteFile, ...] = ()
    system_folders: tuple[str, ...] = ()  # where a package of the operating system may have put the files


def _idx_files(bases: Sequence[str], *checksums: str) -> tuple[RemoteFile, ...]:
    """The SHA-256 is of what is inside the gzip, since each publisher and mirror compresses it differently."""
    names = [f"{part}-{what}-ubyte.gz" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1")]
    return tuple(
        RemoteFile(name, check_content(sha256), tuple(base + name for base in bases))
        for name, sha256 in zip(names, checksums, strict=True)
    )


def _read_idx(paths: Sequence[Path], class_names: list[str]) -> TrainTest:
    train_images, train_labels, test_images, test_labels = paths
    return TrainTest(
        read_idx_images(train_images, train_labels, class_names), read_idx_images(test_images, test_labels, class_names)
    )


def _read_har(paths: Sequence[Path]) -> TrainTest:
    return read_har(paths[0])


def _read_digits(paths: Sequence[Path]) -> TrainTest:
    """Comes with scikit-learn, without a split: a fixed, stratified quarter of it is the test part."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    whole = Dataset(
        X=np.rint(bunch.data * (255 / 16)).astype(np.uint8),
        labels=Labels.of_distinct(DIGITS, bunch.target, declared=DIGITS),
        feature_names=pixel_names((8, 8)),
        row_ids=np.arange(len(bunch.data)),
        kind="images",
        image_shape=(8, 8),
        label_column="label",
    )
    parts = train_test_split(whole.row_ids, test_size=0.25, stratify=whole.labels.codes, random_state=0)
    return TrainTest(*(_digits_part(whole.take(np.sort(rows))) for rows in parts))


def _digits_part(part: Dataset) -> Dataset:
    log = [
        f"Read {count(len(part), 'image')} of 8 × 8 pixels; their values 0 to 16 were scaled to 0 to 255.",
        *preprocessing_log.about_labels("label", part.labels, "scikit-learn"),
    ]
    return replace(part, log=log)


_SETS = (
    NamedSet(
        "digits",
        "Optical recognition of handwritten digits, the copy in scikit-learn",
        *(1347, 450, 64, 10),
        licence="CC BY 4.0",
        read=_read_digits,
    ),
    NamedSet(
        "mnist",
        "MNIST handwritten digits",
        *(60_000, 10_000, 784, 10),
        licence="CC BY-SA 3.0",
        read=partial(_read_idx, class_names=DIGITS),
        files=_idx_files(
            (
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
                "http://yann.lecun.com/exdb/mnist/",  # the publisher's own, which seldom answers
            ),
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    NamedSet(
        "fashion-mnist",
        "Fashion-MNIST, images of clothing",
        *(60_000, 10_000, 784, 10),
        licence="MIT",
        read=partial(_read_idx, class_names=GARMENTS),
        files=_idx_files(
            (
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
            ),
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        system_folders=("/usr/share/dataset-fashion-mnist",),  # Debian's package of that name
    ),
    NamedSet(
        "har",
        "Human Activity Recognition Using Smartphones (Anguita et al., ESANN 2013)",
        *(7352, 2947, 561, 6),
        licence="CC BY 4.0 at the publisher; its README of 2012 says no commercial use",
        read=_read_har,
        files=(
            RemoteFile(
                "UCI HAR Dataset.zip",
                # The archive now nests this zip in another one, whose checksum is not known here. So the check reads
                # all of it: members have a CRC, and features, labels and subjects must agree.
                read_har,
                (
                    "https://archive.ics.uci.edu/static/public/240/human+activity+recognition+using+smartphones.zip",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/00240/UCI%20HAR%20Dataset.zip",
                    "https://d396qusza40orc.cloudfront.net/getdata%2Fprojectfiles%2FUCI%20HAR%20Dataset.zip",
                ),
            ),
        ),
    ),
)
NAMED = {known.name: known for known in _SETS}
