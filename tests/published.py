"""Small files in the publishers' own formats."""

import gzip
import io
import struct
import zipfile

import numpy as np


def idx(shape, content=None, kind=0x08):
    header = bytes([0, 0, kind, len(shape)]) + b"".join(struct.pack(">I", n) for n in shape)
    return header + (bytes(int(np.prod(shape))) if content is None else content)


HAR = {
    "features.txt": "1 mean\n2 energy\n3 energy\n",
    "activity_labels.txt": "1 WALKING\n2 LAYING\n",
    "train/X_train.txt": " 1.0e-001 2 3\n 4 5 6\n",
    "train/y_train.txt": "2\n1\n",
    "train/subject_train.txt": "7\n8\n",
    "test/X_test.txt": " 7 8 9\n",
    "test/y_test.txt": "1\n",
    "test/subject_test.txt": "9\n",
}


def har_zip(changes=(), folder="UCI HAR Dataset/"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in (HAR | dict(changes)).items():
            if text is not None:
                archive.writestr(name if name.startswith(("/", "..", "C:")) else folder + name, text)
    return file.getvalue()


def write_sets(folder):
    """Data sets that are read as MNIST, Fashion-MNIST and HAR are, small enough for a test."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    images_28 = np.pad(np.kron(images.reshape(-1, 8, 8), np.ones((3, 3))), ((0, 0), (2, 2), (2, 2)))
    pixels = np.minimum(images_28 * 16, 255).astype(np.uint8)
    for name in ("mnist", "fashion-mnist"):
        (folder / name).mkdir(parents=True)
        for part, rows in (("train", slice(0, 500)), ("t10k", slice(500, 700))):
            content = pixels[rows].tobytes(), digits[rows].astype(np.uint8).tobytes()
            shapes = (len(content[1]), 28, 28), (len(content[1]),)
            for kind, bytes_, shape in zip(("images-idx3", "labels-idx1"), content, shapes, strict=True):
                (folder / name / f"{part}-{kind}-ubyte.gz").write_bytes(gzip.compress(idx(shape, bytes_)))
    (folder / "har").mkdir()
    (folder / "har" / "UCI HAR Dataset.zip").write_bytes(har_zip(six_activities()))


def six_activities(n_features=12):
    """The members of an archive in which every activity is a cloud of points of its own."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-0.7, 0.7, (6, n_features))
    members = {
        "features.txt": "".join(f"{i + 1} feature-{i}\n" for i in range(n_features)),
        "activity_labels.txt": "".join(f"{i + 1} ACTIVITY_{i}\n" for i in range(6)),
    }
    for part, n_rows in (("train", 300), ("test", 120)):
        y = np.arange(n_rows) % 6
        rows = centres[y] + 0.1 * rng.standard_normal((n_rows, n_features))
        members[f"{part}/X_{part}.txt"] = "".join(" ".join(f"{x:.4f}" for x in row) + "\n" for row in rows)
        members[f"{part}/y_{part}.txt"] = "".join(f"{label + 1}\n" for label in y)
        members[f"{part}/subject_{part}.txt"] = "".join(f"{i % 7}\n" for i in range(n_rows))
    return members
