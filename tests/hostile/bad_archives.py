"""The archive of HAR, damaged: what must be said of it."""

import io
import zipfile
from typing import Any

from bad_files import changed, encrypted, huge, zipped

GOOD: dict[str, Any] = {"features.txt": "1 a\n2 b\n", "activity_labels.txt": "1 WALKING\n2 SITTING\n"}
for part in ("train", "test"):
    GOOD |= {f"{part}/X_{part}.txt": " 1.5 2\n 3 4\n", f"{part}/y_{part}.txt": "1\n2\n"}
    GOOD |= {f"{part}/subject_{part}.txt": "7\n8\n"}
INNER = zipped(GOOD)


def but(**parts: Any) -> bytes:
    """The good archive with some members changed; "_" in a name is "/" , and None leaves one out."""
    changes = {name.replace("__", "/") + ".txt": content for name, content in parts.items()}
    return zipped({name: content for name, content in (GOOD | changes).items() if content is not None})


def deep(n: int) -> bytes:
    content = INNER
    for _ in range(n):
        content = zipped({"UCI HAR Dataset.zip": content})
    return content


def unknown_packing() -> bytes:
    content = io.BytesIO(INNER)
    with zipfile.ZipFile(content) as archive:
        at = archive.infolist()[0].header_offset
    made = changed(INNER, at + 8, b"\x63")
    return changed(made, made.find(b"PK\x01\x02") + 10, b"\x63")


ARCHIVES: dict[str, tuple[bytes, str]] = {
    "no zip": (b"hello", "is not a complete zip file of HAR"),
    "a zip cut short": (INNER[:-50], "is not a complete zip file of HAR"),
    "an empty zip": (zipped({}), "is not the HAR archive: it has no features.txt"),
    "a zip with a password": (encrypted(INNER), "is encrypted. Unpack it with its password"),
    "a zip that lies": (huge(INNER), "announces 4 GB, but .* cannot hold that"),
    "a zip packed in an unknown way": (unknown_packing(), "is not a complete zip file of HAR"),
    "three zips one in the other": (deep(2), "is not the HAR archive: it has no features.txt"),
    "a path outside": (
        zipped(GOOD | {"../evil.txt": "x"}),
        "holds a file with a path outside its folder, '../evil.txt'",
    ),
    "a path from the root": (zipped(GOOD | {"/etc/x": "x"}), "holds a file with a path outside its folder, '/etc/x'"),
    "a path on a drive": (zipped(GOOD | {"C:/x": "x"}), "holds a file with a path outside its folder, 'C:/x'"),
    "no labels": (but(train__y_train=None), "is not the HAR archive: it has no train/y_train.txt"),
    "a label without a name": (but(train__y_train="1\n9\n"), "has the label 9, which activity_labels.txt lacks"),
    "fewer labels than rows": (but(train__y_train="1\n"), "has 2 rows of features, 1 label and 2 subjects"),
    "a word among numbers": (but(train__X_train="1 2\n3 x\n"), "holds something other than numbers"),
    "numbers that fill no row": (but(train__X_train="1 2 3\n"), "has 3 numbers, which do not fill rows of 2"),
    "numbers that are not finite": (but(train__X_train="1 nan\n3 4\n"), "holds numbers that are not finite"),
    "subjects that are no numbers": (but(train__subject_train="a\nb\n"), "must hold a whole number a line, got 'a'"),
    "features without a number": (but(features="a\nb\n"), "must hold lines of a number and a name, got 'a'"),
    "no features at all": (but(features=""), "must hold lines of a number and a name, got nothing"),
    "two activities of one name": (but(activity_labels="1 A\n2 A\n"), "must give each number a name of its own"),
    "names that are no text": (but(features=b"1 \xff\n2 b\n"), "is not a complete zip file of HAR .*utf-8"),
}
