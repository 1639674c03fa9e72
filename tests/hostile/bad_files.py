# ruff: noqa: E501  (tables: a line for each)
"""Files that are damaged, lie or are not what they seem: for each a name, how it is made, and what must be said of it."""

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from pyarrow import feather

Made = tuple[Path, dict[str, Any]]  # a source, and options of read_dataset
Make = Callable[[Path], Made]
ROWS = "a,b,species\n" + "".join(f"{i}.5,{i},{'xy'[i % 2]}\n" for i in range(20))


def file(name: str, content: bytes | str, **options: Any) -> Make:
    """A file of this name and content."""

    def make(folder: Path) -> Made:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder / name, options

    return make


def csv(content: bytes | str, **options: Any) -> Make:
    return file("t.csv", content, **options)


def written(write: Callable[..., Any], *args: Any, **options: Any) -> bytes:
    content = io.BytesIO()
    write(*args, content, **options) if args else write(content, **options)
    return content.getvalue()


def parquet(table: pa.Table, **options: Any) -> bytes:
    return written(pq.write_table, table, **options)


def npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=True)
    return content.getvalue()


def npy_header(text: str, content: bytes = b"") -> bytes:
    header = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def header(descr: str = "<f8", shape: str = "(2, 2)", content: bytes = bytes(32)) -> bytes:
    return npy_header(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}", content)


def zipped(members: dict[str, bytes | str], packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", packed) as archive:
        for name, part in members.items():
            archive.writestr(zipfile.ZipInfo(name), part, packed)
    return content.getvalue()


def changed(content: bytes, at: int, put: bytes) -> bytes:
    at = at % len(content)
    return content[:at] + put + content[at + len(put) :]


def encrypted(content: bytes) -> bytes:
    """A zip whose members say that they are encrypted, in both places."""
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(mark)
        while place >= 0:
            content = changed(content, place + at, b"\x01")
            place = content.find(mark, place + 4)
    return content


def huge(content: bytes) -> bytes:
    """A zip whose list of members says that the first is of 4 GB."""
    return changed(content, content.find(b"PK\x01\x02") + 24, b"\xfe\xff\xff\xff")


def picture(kind: str = "png", size: tuple[int, int] = (5, 4), mode: str = "L", **options: Any) -> bytes:
    content = io.BytesIO()
    Image.new(mode, size).save(content, kind, **options)
    return content.getvalue()


def folder_of(pictures: dict[str, bytes | str], **options: Any) -> Make:
    def make(folder: Path) -> Made:
        for name, content in pictures.items():
            path = folder / "images" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder / "images", options

    return make


TABLE = pa.table({"a": np.arange(20) / 2, "b": np.arange(20), "species": ["x", "y"] * 10})
CHECKED = parquet(TABLE, write_page_checksum=True, compression="none", use_dictionary=False)
FEATHER = written(feather.write_feather, TABLE, compression="uncompressed")
ONE_BIT = changed(CHECKED, CHECKED.find(np.float64(3.5).tobytes()), np.float64(4.5).tobytes())
LISTS = pa.table({"a": [1.0, 2.0], "species": [["x"], ["y"]]})
NPZ = written(np.savez, X=np.eye(4))
NPZ_PACKED = written(np.savez_compressed, X=np.eye(4))
IDX = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2]) + bytes(range(8))
TIFF = picture("tiff", (8, 8))
BIG_IHDR = b"IHDR" + struct.pack(">IIBBBBB", 9_000, 9_000, 8, 0, 0, 0, 0)
BIG_PNG = changed(picture("png", (8, 8)), 12, BIG_IHDR + struct.pack(">I", zlib.crc32(BIG_IHDR)))
TIFF_134M = TIFF.replace(struct.pack("<HHI", 256, 4, 1) + struct.pack("<I", 8), struct.pack("<HHII", 256, 4, 1, 16384))
TIFF_134M = TIFF_134M.replace(struct.pack("<HHII", 257, 4, 1, 8), struct.pack("<HHII", 257, 4, 1, 8192))

TABLES: dict[str, tuple[Make, str]] = {
    "an empty CSV": (csv(""), "'t.csv' is empty. Give a file with a header"),
    "blank lines": (csv("\n\n  \n"), "'t.csv' is empty"),
    "a header only": (csv("a,b\n"), "has a header but no rows. Give at least one row"),
    "one column": (csv("a\n1\n2\n"), "has only one column, 'a'"),
    "another separator": (csv("a b c\n1 2 3\n"), "has only one column, 'a b c'. .*save it again with commas"),
    "no header": (csv("1.5,2.5\n3,4\n"), "seems to have no header: its first row is '1.5' and '2.5'"),
    "two columns of one name": (csv("a,a,b\n1,2,3\n"), "more than one column named 'a'"),
    "two columns without a name": (csv(",,a,b\n1,2,3,4\n5,6,7,9\n"), "More than one column is named ''"),
    "a short row": (csv(ROWS + "1,2\n"), "Row 21 of the data has 2 cells, but the header has 3"),
    "a long row": (csv(ROWS + "1,2,3,4\n"), "Row 21 of the data has 4 cells, but the header has 3"),
    "a lone quote": (csv(ROWS + '1,"2,x\n'), "cannot be read as a table|has 2 cells|Row 21"),
    "Latin-1": (csv(ROWS.encode() + b"1,2,\xe9\n"), "is not UTF-8 text: line 22 holds the byte 0xe9"),
    "UTF-16": (csv(ROWS.encode("utf-16")), "is not UTF-8 text: line 1 holds the byte 0xff"),
    "a surrogate": (csv(ROWS.encode() + b"1,2,\xed\xa0\x80\n"), "is not UTF-8 text"),
    "a picture called CSV": (csv(picture()), "is not UTF-8 text: line 1 holds the byte 0x89"),
    "a header of one long cell": (
        csv("x" * 200_000 + ",b\n1,2\n"),
        r"The header of 't.csv' cannot be read \(field larger",
    ),
    "no label column": (csv(ROWS, label="kind"), "There is no label column 'kind' in 't.csv'. It has 'a', 'b'"),
    "nearly the label column": (csv(ROWS, label="specie"), "Did you mean 'species'"),
    "no id column": (csv(ROWS, id="x"), "There is no id column 'x'"),
    "no column to ignore": (csv(ROWS, ignore=["x"]), "There is no column to ignore 'x'"),
    "no categorical column": (csv(ROWS, categorical=["x"]), "There is no categorical column 'x'"),
    "no numeric column": (csv(ROWS, numeric=["x"]), "There is no numeric column 'x'"),
    "no group column": (csv(ROWS, group="x"), "There is no group column 'x'"),
    "a column named twice": (csv(ROWS, label="a", id="a"), "Column 'a' is named twice. Name it once"),
    "fractions as labels": (csv(ROWS, label="a"), "labels in 'a' are numbers with fractions, such as 0.5"),
    "labels beside a table": (csv(ROWS, labels=[1]), "a table has its labels in a column. Name that column in `label`"),
    "text as numbers": (csv(ROWS, numeric=["species"]), "named in `numeric`, but none of its cells is a number"),
    "nothing but the label": (csv("e,species\n,x\n,y\n", label="species"), "has no features: no column is left"),
    "features of another length": (csv(ROWS, features=np.eye(3)), "`features` holds 3 rows, but 't.csv' has 20"),
    "features that are no matrix": (
        csv(ROWS, features=np.zeros(20)),
        "`features` must be a matrix with a row of numbers",
    ),
    "features of text": (csv(ROWS, features=np.array([["a"]] * 20)), "`features` must be a matrix .* got <U1"),
    "features that are not there": (csv(ROWS, features="no.npy"), "There is no file 'no.npy'. Check the path"),
    "a gzip cut short": (file("t.csv.gz", gzip.compress(ROWS.encode())[:30]), "'t.csv.gz' cannot be read"),
    "a gzip in capitals cut short": (file("t.csv.GZ", gzip.compress(ROWS.encode())[:30]), "'t.csv.GZ' cannot be read"),
    "no gzip": (file("t.csv.gz", ROWS), "'t.csv.gz' cannot be read .*Not a gzipped file"),
    "a text file": (file("t.txt", ROWS), "If it is a table, rename it to .csv"),
    "a spreadsheet": (file("t.xlsx", b"PK\x03\x04"), "Open it in the spreadsheet and save the sheet as CSV"),
    "JSON": (file("t.json", "[]"), "has no format that newfound reads. .*Save it as a table"),
    "a pickle": (file("t.pkl", b"\x80\x04."), "newfound does not unpickle: save it as Parquet"),
    "an archive": (file("t.zip", NPZ), "has no format that newfound reads. .*Unpack it first"),
    "a file without a suffix": (file("table", ROWS), "'table' has no format that newfound reads"),
    "an empty Parquet file": (file("t.parquet", b""), "'t.parquet' is empty"),
    "Parquet cut short": (file("t.parquet", CHECKED[:-9]), "'t.parquet' is not a complete Parquet file"),
    "CSV called Parquet": (file("t.parquet", ROWS), "'t.parquet' is not a complete Parquet file"),
    "one number changed in a page": (file("t.parquet", ONE_BIT), "not a complete Parquet file: .*checksum|CRC"),
    "Parquet with a damaged footer": (
        file("t.parquet", changed(CHECKED, -700, b"\xff" * 400)),
        "not a complete Parquet file",
    ),
    "a list as label": (
        file("t.parquet", parquet(LISTS), label="species"),
        "The labels in 'species' are values of type list<.*>; expected integers or text. Name another column",
    ),
    "a record as label": (
        file("t.parquet", parquet(pa.table({"a": [1.0, 2.0], "s": [{"u": 1}, {"u": 2}]})), label="s"),
        "The labels in 's' are values of type struct",
    ),
    "bytes as label": (
        file("t.parquet", parquet(pa.table({"a": [1.0, 2.0], "s": [b"\xff", b"x"]})), label="s"),
        "The labels in 's' are values of type binary",
    ),
    "Parquet without rows": (file("t.parquet", parquet(TABLE[:0])), "has a header but no rows"),
    "Parquet without columns": (file("t.parquet", parquet(pa.table({}))), "'t.parquet' has no columns. Give a table"),
    "an empty Feather file": (file("t.feather", b""), "'t.feather' is empty"),
    "Feather cut short": (file("t.feather", FEATHER[:-20]), "'t.feather' is not a complete Feather file"),
    "Feather with wild offsets": (
        file("t.feather", FEATHER.replace(np.arange(21, dtype="<i4").tobytes(), np.full(21, 2**30, "<i4").tobytes())),
        "'t.feather' is not a complete Feather file: .*[Oo]ffset",
    ),
    "CSV called Feather": (file("t.feather", ROWS), "'t.feather' is not a complete Feather file"),
}

ARRAYS: dict[str, tuple[Make, str]] = {
    "an empty npy": (file("t.npy", b""), "'t.npy' is not a complete NumPy file"),
    "CSV called npy": (file("t.npy", ROWS), "is not a NumPy file, and newfound does not unpickle"),
    "an npy of objects": (file("t.npy", npy(np.array([{}], dtype=object))), "newfound does not unpickle"),
    "a pickle called npy": (file("t.npy", b"\x80\x04N."), "newfound does not unpickle"),
    "an npy cut short": (file("t.npy", npy(np.eye(4))[:-8]), "its header announces 128 bytes, but 120 follow"),
    "an npy that lies": (file("t.npy", header(shape=f"({2**40}, 4)")), "its header announces 35,184,372,088,832 bytes"),
    "an npy of 2^63 rows": (file("t.npy", header(shape=f"({2**63}, 1)")), "is not a complete NumPy file"),
    "an npy of -1 rows": (file("t.npy", header(shape="(-1, 4)")), r"its header announces the shape \(-1, 4\)"),
    "an npy of a fraction of rows": (file("t.npy", header(shape="(2.5, 2)")), "is not a complete NumPy file"),
    "an npy of no known type": (file("t.npy", header(descr="<q9")), "is not a complete NumPy file"),
    "an npy of long text": (file("t.npy", header(descr="<U99999999")), "its header announces .* bytes, but 32 follow"),
    "an npy with a deep header": (file("t.npy", npy_header("(" * 100)), "is not a complete NumPy file"),
    "an npy with code for a header": (
        file("t.npy", npy_header("__import__('os').getcwd()")),
        "not a complete NumPy file",
    ),
    "an npy of another version": (file("t.npy", b"\x93NUMPY\x09\x00" + bytes(200)), "is not a complete NumPy file"),
    "an npy of text": (file("t.npy", npy(np.array([["a", "b"]]))), "must hold numbers, got <U1"),
    "an npy of complex numbers": (file("t.npy", npy(np.eye(2) * 1j)), "must hold numbers, got complex128"),
    "an npy of dates": (file("t.npy", npy(np.zeros((2, 2), "M8[s]"))), "must hold numbers, got datetime64"),
    "an npy of records": (file("t.npy", npy(np.zeros(2, [("a", "f4")]))), "must hold numbers, got"),
    "an npy of one dimension": (file("t.npy", npy(np.zeros(3))), r"must have rows and columns, got the shape \(3,\)"),
    "an npy without rows": (
        file("t.npy", npy(np.zeros((0, 3)))),
        r"must have rows and columns, got the shape \(0, 3\)",
    ),
    "an npy of float images": (file("t.npy", npy(np.zeros((2, 3, 3)))), "images must be .* in uint8. Flatten"),
    "an npy whose column is missing": (file("t.npy", npy(np.full((3, 1), np.nan))), "All values are missing in 'x0'"),
    "an npz cut short": (file("t.npz", NPZ[:-60]), "'t.npz' is not a complete NumPy file"),
    "an npz without X": (file("t.npz", zipped({"Z.npy": npy(np.eye(2))})), "has no array named 'X'. It has 'Z'"),
    "an npz without anything": (file("t.npz", zipped({})), "has no array named 'X'"),
    "an npz of objects": (file("t.npz", zipped({"X.npy": npy(np.array([None]))})), "newfound does not unpickle"),
    "an npz of a text": (file("t.npz", zipped({"X.npy": "hello"})), "not a NumPy file|not a complete NumPy file"),
    "an npz with a password": (file("t.npz", encrypted(NPZ)), "The array 'X' of 't.npz' is encrypted. Unpack it"),
    "an npz that lies": (file("t.npz", huge(NPZ_PACKED)), "announces 4 GB, but .* bytes cannot hold that"),
    "an npz in which an array lies": (
        file("t.npz", zipped({"X.npy": header(shape=f"({2**36}, 4)")})),
        "its header announces 2,199,023,255,552 bytes, but 32 follow",
    ),
    "an npz with a flipped bit": (
        file("t.npz", changed(NPZ, NPZ.find(bytes(16)) + 3, b"\x07")),
        "not a complete NumPy file",
    ),
    "an npz with bytes to spare": (file("t.npz", zipped({"X.npy": npy(np.eye(2)) + b"x"})), "more bytes follow than"),
    "y of another length": (
        file("t.npz", zipped({"X.npy": npy(np.eye(3)), "y.npy": npy(np.zeros(2, int))})),
        r"labels 'y' must be one for each of the 3 rows, got an array of shape \(2,\)",
    ),
    "names of another length": (
        file("t.npz", zipped({"X.npy": npy(np.eye(3)), "feature_names.npy": npy(np.array(["a"]))})),
        "has 3 columns but 1 feature_names",
    ),
    "ids of another length": (
        file("t.npz", zipped({"X.npy": npy(np.eye(3)), "row_ids.npy": npy(np.array([1]))})),
        "has 3 rows but 1 row_ids",
    ),
    "fractions as y": (
        file("t.npz", zipped({"X.npy": npy(np.eye(2)), "y.npy": npy(np.array([0.5, 1]))})),
        "labels in 'y' are numbers with fractions, such as 0.5",
    ),
    "labels that are not there": (file("t.npy", npy(np.eye(2)), labels="no.npy"), "There is no file 'no.npy'"),
    "columns of an array": (file("t.npy", npy(np.eye(2)), label="a"), "only tables have named columns"),
    "groups of an array": (file("t.npy", npy(np.eye(2)), group="a"), "There is no group column 'a'"),
    "an empty IDX": (file("t.idx", b""), "'t.idx' is not an IDX file: it starts with nothing"),
    "CSV called IDX": (file("t.idx", ROWS), "'t.idx' is not an IDX file: it starts with 61 2c 62 2c"),
    "IDX of no known type": (file("t.idx", changed(IDX, 2, b"\x07")), "'t.idx' is not an IDX file"),
    "IDX of 200 dimensions": (file("t.idx", changed(IDX, 3, b"\xc8")), "'t.idx' is not an IDX file"),
    "IDX that ends in its header": (file("t.idx", IDX[:9]), "'t.idx' ends inside its header"),
    "IDX cut short": (file("t.idx", IDX[:-1]), "announces 2 × 2 × 2 values, 8 bytes, but 7 follow"),
    "IDX with bytes to spare": (file("t.idx", IDX + b"x"), "8 bytes, but more follow"),
    "IDX that lies": (file("t.idx", changed(IDX, 4, b"\xff" * 8)), "but 8 follow. Download or copy it again"),
    "IDX of numbers": (file("t.idx", changed(IDX, 2, b"\x09")), "must hold images of bytes"),
    "IDX of labels": (file("t.idx", bytes([0, 0, 8, 1, 0, 0, 0, 2, 1, 2])), r"must hold images of bytes.*shape \(2,\)"),
    "IDX gzipped and cut short": (file("t-idx3-ubyte.gz", gzip.compress(IDX)[:-9]), "is cut short or damaged"),
}

IMAGES: dict[str, tuple[Make, str]] = {
    "a folder without images": (folder_of({"readme.md": "x"}), "The folder 'images' holds no images"),
    "an image that is text": (folder_of({"a/i.png": "hello"}), "'i.png' cannot be read as an image .*Save it again"),
    "an empty image": (folder_of({"a/i.png": b""}), "'i.png' cannot be read as an image"),
    "a PNG cut short": (folder_of({"a/i.png": picture(size=(64, 64))[:60]}), "'i.png' cannot be read as an image"),
    "a JPEG cut short": (folder_of({"a/i.jpg": picture("jpeg", (64, 64))[:300]}), "'i.jpg' cannot be read as an image"),
    "a GIF cut short": (folder_of({"a/i.gif": picture("gif")[:20]}), "'i.gif' cannot be read as an image"),
    "a BMP cut short": (folder_of({"a/i.bmp": picture("bmp")[:40]}), "'i.bmp' cannot be read as an image"),
    "a WebP cut short": (folder_of({"a/i.webp": picture("webp")[:20]}), "'i.webp' cannot be read as an image"),
    "a PNG that announces 81 million pixels": (
        folder_of({"a/i.png": BIG_PNG}),
        "'i.png' announces 9,000 × 9,000 pixels; expected at most 67,108,864 in all",
    ),
    "a TIFF that announces 134 million pixels": (
        folder_of({"a/i.tiff": TIFF_134M}),
        "'i.tiff' announces 16,384 × 8,192 pixels; expected at most 67,108,864 in all. Save it again",
    ),
    "16 bits for a pixel": (
        folder_of({"a/i.png": picture(mode="I;16")}),
        "has more than 8 bits for a pixel .mode I",
    ),
    "floats for pixels": (
        folder_of({"a/i.tiff": picture("tiff", mode="F")}),
        "has more than 8 bits for a pixel .mode F",
    ),
    "images of two sizes": (
        folder_of({"a/1.png": picture(), "a/2.png": picture(size=(4, 5))}),
        "Images must all be of one size: 'a/1.png' is 5 × 4, but 'a/2.png' is 4 × 5. Scale or crop",
    ),
    "an image size of 0": (folder_of({"a/1.png": picture()}, image_size=0), "`image_size` must be a whole number"),
    "an image size in words": (
        folder_of({"a/1.png": picture()}, image_size="big"),
        "`image_size` must be .* got 'big'",
    ),
    "labels without a file column": (
        folder_of({"1.png": picture(), "labels.csv": "name,label\n1.png,x\n"}),
        "There is no column 'file' in 'labels.csv'",
    ),
    "labels without a label column": (
        folder_of({"1.png": picture(), "labels.csv": "file,class\n1.png,x\n"}),
        "There is no column 'label' in 'labels.csv'",
    ),
    "labels of other files": (
        folder_of({"1.png": picture(), "labels.csv": "file,label\n2.png,x\n"}),
        "names 1 file that is not in the folder: '2.png'",
    ),
    "labels that name a file twice": (
        folder_of({"1.png": picture(), "labels.csv": "file,label\n1.png,x\n1.png,y\n"}),
        "names the same file more than once",
    ),
    "labels that are an image": (folder_of({"1.png": picture(), "labels.csv": picture()}), "is not UTF-8 text"),
    "labels that are not there": (
        folder_of({"1.png": picture()}, labels="no.csv"),
        "There is no file 'no.csv' with labels",
    ),
    "labels that are no table": (
        folder_of({"1.png": picture(), "l.png": picture()}, labels=__file__),
        "must be a table",
    ),
    "columns of images": (folder_of({"1.png": picture()}, label="a"), "only tables have named columns"),
}
