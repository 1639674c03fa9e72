"""Mutations that know a little about the format, so that what is made gets further than the first check."""

import gzip
import io
import json
import random
import struct
import warnings
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

NUMBERS = (0, 1, 2, 127, 128, 255, 256, 65_535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
TOKENS = (
    *(b"", b"NA", b"nan", b"NaN", b"inf", b"-inf", b"1e400", b"-1", b"-0", b"0x10", b"1e-400", b"9" * 400, b"?"),
    *(b'"', b'""', b"'", b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3\x28"),
    *(b"\xed\xa0\x80", "²".encode(), "٣".encode(), "½".encode(), "−1".encode(), "\u2028".encode(), "é".encode()),
    *(b"=1+1", b"@x", b"[red]", b"[/]", b"{}", b"%", b"20%", b"1,5", b"1.000,5", b"$ 5", b"5 kg", b"yes", b"true"),
    *(b"2024-02-30", b"0000-00-00", b"9999-12-31", b"12/31/1999", b"31.12.1999", b"23:59:60", b"1-9", b"9-1", b" "),
    *(b"__index_level_0__", b"species", b"label", b"--label", b"--json", b"[1, 2]", b"../../x", b"a" * 5_000),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2**31,
        2**63 - 1,
        2**63,
        2**64,
        10**10,
        10**30,
        -(2**63) - 1,
        1.5,
        1e30,
        2e30,
        1e300,
    ),
    *(
        {"~": "nan"},
        {"~": "inf"},
        {"~": "-inf"},
        "",
        "x",
        "-1",
        "nan",
        "auto",
        "../x",
        "a" * 1_000,
        "\ud800",
        "\0",
        "²",
    ),
    *([], [[]], {}, [0], [None], [-1], [10**9], {"a": {}}, [0] * 1_000, ["x"] * 3, [[1, 2], [3]]),
)


def mutated(kind: str, data: bytes, others: Sequence[bytes], rng: random.Random, at_most: int) -> bytes:
    """A few mutations of one kind, one after the other."""
    try:
        made = MUTATORS[kind](data, others, rng)
    except Exception:  # it is no longer of its format
        made = some_bytes(data, others, rng)
    return made[:at_most]


def some_bytes(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        data = _one_of_bytes(data, others, rng)
    return data


def _one_of_bytes(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    to = min(len(data), at + rng.choice((1, 1, 2, 4, 8, 64)))
    match rng.randrange(9):
        case 0:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at] + data[to:]
        case 2:
            return data[:to] + data[at:]
        case 3:
            return data[:at]
        case 4:
            return data[:at] + rng.choice(TOKENS) + data[at:]
        case 5:
            number, width = rng.choice(NUMBERS), rng.choice("BHIQ")
            packed = struct.pack(rng.choice("<>") + width, number % 2 ** (8 * struct.calcsize("<" + width)))
            return data[:at] + packed + data[at + len(packed) :]
        case 6:
            other = rng.choice(others) if others else data
            start = rng.randrange(len(other) + 1)
            return data[:at] + other[start:]
        case 7:
            return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :] if at < len(data) else data
        case _:
            return data[:at] + rng.randbytes(to - at) + data[to:]


def some_text(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Cells and lines are replaced, repeated and left out."""
    if rng.random() < 0.3:
        return some_bytes(data, others, rng)
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        i = rng.randrange(len(lines))
        match rng.randrange(5):
            case 0:
                lines[i : i + 1] = []
            case 1:
                lines[i:i] = [lines[i]] * rng.choice((1, 2, 50))
            case 2:
                lines.sort(key=lambda _: rng.random())
            case _:
                for mark in (b",", b";", b"\t"):
                    if mark in lines[i]:
                        cells = lines[i].split(mark)
                        column = rng.randrange(len(cells))
                        token = rng.choice(TOKENS)
                        if rng.random() < 0.2:  # the whole column
                            lines = [_with_cell(line, mark, column, token) for line in lines]
                        else:
                            lines[i] = _with_cell(lines[i], mark, column, token)
                        break
        lines = lines or [b""]
    return b"\n".join(lines)


def _with_cell(line: bytes, mark: bytes, column: int, token: bytes) -> bytes:
    cells = line.split(mark)
    if column < len(cells):
        cells[column] = token
    return mark.join(cells)


def some_words(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    words = data.split(b"\n")
    i = rng.randrange(len(words))
    match rng.randrange(5):
        case 0:
            words[i] = rng.choice(TOKENS).replace(b"\n", b"")
        case 1:
            words[i:i] = [rng.choice(rng.choice(others).split(b"\n"))] if others else []
        case 2:
            del words[i]
        case 3:
            words[i] = some_bytes(words[i], (), rng).replace(b"\n", b"")
        case _:
            words[i:] = rng.choice(others).split(b"\n")[i:] if others else []
    return b"\n".join(words)


def inside_gzip(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return some_bytes(data, others, rng)
    with gzip.open(io.BytesIO(data)) as file:
        content = file.read(1 << 20)
    return gzip.compress(some_text(content, [], rng), compresslevel=1, mtime=0)


def inside_zip(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """A member is changed, left out, named otherwise, packed otherwise; or the archive itself is."""
    if rng.random() < 0.4:
        return some_bytes(data, others, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist() if info.file_size < 1 << 20]
    i = rng.randrange(len(members))
    name, content = members[i]
    match rng.randrange(6):
        case 0:
            members[i] = (name, some_text(content, [], rng))
        case 1:
            members[i] = (
                name,
                inside_npy(content, [], rng) if content[:6] == b"\x93NUMPY" else some_bytes(content, [], rng),
            )
        case 2:
            del members[i]
        case 3:
            members[i] = (
                rng.choice((f"../{name}", f"/{name}", f"C:{name}", "", "x.npy", name.upper(), "y.npy")),
                content,
            )
        case 4:
            members.append((name, members[rng.randrange(len(members))][1]))
        case _:
            inner = name.endswith(".zip") and rng.random() < 0.8
            members[i] = (name, inside_zip(content, [], rng) if inner else bytes(rng.choice((10, 10**6))))
    return _zipped(members, rng)


def _zipped(members: list[tuple[str, bytes]], rng: random.Random) -> bytes:
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w") as archive:
        warnings.simplefilter("ignore")  # of names that occur twice
        for name, part in members:
            kind = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
            archive.writestr(zipfile.ZipInfo(name), part, kind)
    return content.getvalue()


def inside_npy(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Another dtype, order or shape in the header."""
    if rng.random() < 0.5:
        return some_bytes(data, others, rng)
    dtypes = (
        "<f8",
        ">f4",
        "<f2",
        "|b1",
        "|u1",
        "|i1",
        "<u8",
        "<U3",
        "<U999999999",
        "|S0",
        "|V8",
        "<M8[s]",
        "|O",
        "<c16",
        "",
    )
    shapes = (
        "()",
        "(0,)",
        "(4,)",
        "(2, 2)",
        "(1, 2, 2)",
        "(0, 5)",
        f"({2**40}, 4)",
        "(-1, 4)",
        f"({2**63},)",
        "(2.0, 2)",
        "(True, 2)",
    )
    header = (
        f"{{'descr': '{rng.choice(dtypes)}', 'fortran_order': {rng.random() < 0.2}, 'shape': {rng.choice(shapes)}, }}"
    )
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data[128:]


def some_table(write: str) -> Callable[..., bytes]:
    """Half of all are bytes of a file; the others are whole files of columns of any type."""

    def make(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
        if rng.random() < 0.75:
            return some_bytes(data, others, rng)
        import pyarrow as pa
        import pyarrow.parquet as pq
        from pyarrow import feather

        table = _table(pa, rng)
        content = io.BytesIO()
        try:
            if write == "parquet":
                pq.write_table(table, content)
            else:
                feather.write_feather(table, content, compression="uncompressed")
        except pa.ArrowException:
            return some_bytes(data, others, rng)
        return content.getvalue()

    return make


def _table(pa: Any, rng: random.Random) -> Any:
    n = rng.choice((0, 1, 2, 9, 30))
    kinds = (
        *(pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.binary()),
        *(pa.date32(), pa.timestamp("ns", "UTC"), pa.time64("us"), pa.duration("s"), pa.decimal128(38, 10), pa.null()),
        *(pa.list_(pa.float64()), pa.list_(pa.string()), pa.struct([("u", pa.int8())]), pa.list_(pa.int8(), 2)),
        *(pa.dictionary(pa.int8(), pa.string()), pa.map_(pa.string(), pa.int8()), pa.date64(), pa.string_view()),
    )
    names = [
        "species",
        *rng.choices(("a", "b", " b", "", "é", "[x]", "id", "x1", "x2", "x3", "=1"), k=rng.randrange(5)),
    ]
    columns = [_column(pa, rng.choice(kinds), n, rng) for _ in names]
    return pa.Table.from_arrays(columns, names=names)


def _column(pa: Any, kind: Any, n: int, rng: random.Random) -> Any:
    values = [
        rng.choice((None, 0, 1, -1, 2**62, 1.5, 1e300, "x", "NA", "", b"\xff", True, [1.0], [], [1, 2], {"u": 1}))
        for _ in range(n)
    ]
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    fitting = [v for v in values if _fits(pa, v, kind)] or [None]
    try:
        return pa.array([rng.choice(fitting) for _ in range(n)], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.nulls(n, kind)


def _fits(pa: Any, value: Any, kind: Any) -> bool:
    try:
        pa.array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def some_json(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """A value somewhere in it is another one, missing, or deep."""
    if rng.random() < 0.1:
        return some_bytes(data, others, rng)
    tree = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder: list[Any] = [tree]
        _change(holder, 0, rng)
        tree = holder[0]
    return json.dumps(tree).encode()


def _change(holder: Any, key: Any, rng: random.Random) -> None:
    value = holder[key]
    if isinstance(value, (dict, list)) and value and rng.random() < 0.9:
        _change(value, rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value)), rng)
        return
    match rng.randrange(6):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder["other"] = value
        case 2 if isinstance(holder, list) and len(holder) > 1:
            del holder[key]
        case 3 if isinstance(holder, list):
            holder.extend([value] * rng.choice((1, 3, 100)))
        case 4 if isinstance(value, (int, float)) and not isinstance(value, bool):
            holder[key] = value * rng.choice((-1, 0, 2, 1_000, 10**6)) + rng.choice((0, 1, -1, 0.5))
        case _:
            holder[key] = rng.choice(VALUES)


def of_numbered(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """The first byte stays; what follows is JSON, lines of JSON, or bytes."""
    first, rest = data[:1], data[1:]
    if rest[:1] in (b"{", b"["):
        return first + some_json(rest, [], rng)
    return first + some_bytes(rest, [], rng)


MUTATORS: dict[str, Callable[[bytes, Sequence[bytes], random.Random], bytes]] = {
    "bytes": some_bytes,
    "text": some_text,
    "words": some_words,
    "gzip": inside_gzip,
    "zip": inside_zip,
    "npy": inside_npy,
    "json": some_json,
    "numbered": of_numbered,
    "parquet": some_table("parquet"),
    "feather": some_table("feather"),
}


def encoded(value: Any) -> Any:
    """JSON without numbers that are not finite: {"~": "nan"} in their place."""
    return value


def decoded(value: Any) -> Any:
    if isinstance(value, dict):
        return (
            float(value["~"])
            if value.keys() == {"~"} and value["~"] in ("nan", "inf", "-inf")
            else {name: decoded(of) for name, of in value.items()}
        )
    return [decoded(of) for of in value] if isinstance(value, list) else value
