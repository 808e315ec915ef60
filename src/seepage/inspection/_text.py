"""Numbers and words in text: tables of lines, CSV, JSON."""

import json
import re
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from seepage.inspection._standins import Piece, StoredNumbers, Unread, Words
from seepage.inspection._walk import walk

# Possessive: a long row of digits is read once.
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d{1,3}+)?+(?!\w)")
_WORD = re.compile(r"[\w.@+-]{2,64}")
_PATH = re.compile(r"(?:/home/|/Users/|[A-Z]:\\+Users\\+|/mnt/|\\\\)[\w.@ -]{1,64}")
_TAG = re.compile(r"<[^<>]{0,500}>")
_TABLE = 20
# What a text is, its beginning says.
BEGINNING = 1 << 16
_LONGEST_TEXT = 32 << 20
_LONGEST_JSON = 24 << 20
# More texts are looked at once each, not in their order.
_MOST_TEXTS = 500_000


def decoded(data: memoryview, most: int = _LONGEST_TEXT) -> str | None:
    """Return bytes as text, if they are text; no more than some of them."""
    head = bytes(data[:4096])
    for start, name in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if head.startswith(start):
            return str(data[:most], name, "replace")
    if sum(each < 9 or 13 < each < 32 for each in head) > len(head) / 100 or b"\0" in head:
        return None
    try:
        return str(data[:most], "utf-8")
    except UnicodeDecodeError as reason:
        # A character may be cut where it ends; in older encodings every byte is one.
        cut = reason.start >= min(len(data), most) - 4
        return str(data[:most], "utf-8" if cut else "latin-1", "replace")


def read_text(data: memoryview, where: str) -> Iterator[Piece]:
    """Yield what text holds: JSON, a table with separators, or lines with numbers in them."""
    head = decoded(data, BEGINNING) or ""
    start = head[:100].lstrip()[:1]
    if start and start in "[{" and len(data) <= _LONGEST_JSON:
        try:
            found = json.loads(decoded(data) or "")
        except (ValueError, RecursionError):
            pass
        else:
            for piece in walk(found, where):
                yield piece
                if isinstance(piece, Words):
                    # Outputs of notebooks are tables in texts.
                    yield from (each for each in lines(_unbroken(piece.texts), where) if len(piece.texts) < 10_000)
            return
    table = _separated(data, head)
    if table is not None:
        yield from arrow_pieces(table, where)
        return
    if len(data) > _LONGEST_TEXT:
        yield Unread(where, "of text without separators only the first 32 MB are read")
    yield from lines(decoded(data) or "", where)


def _unbroken(texts: list[str]) -> str:
    """Return texts as one: notebooks write one for each line."""
    return "".join(each if each.endswith("\n") else each + "\n" for each in texts)


def lines(text: str, where: str) -> Iterator[Piece]:
    """Yield the words of a text, its numbers, and each run of lines with as many numbers as a table."""
    if "<tr" in text:
        text = _TAG.sub(" ", text.replace("\n", " ").replace("</tr>", "\n"))
    words = list(dict.fromkeys(_WORD.findall(text)))
    paths = list(dict.fromkeys(_PATH.findall(text)))
    if words or paths:
        yield Words(where, [*words, *paths])
    found = [_NUMBER.findall(line) for line in text.splitlines()]
    every = np.array([float(each) for line in found for each in line])
    if len(every):
        yield StoredNumbers(where, every)
    for width, group in groupby(found, len):
        rows = list(group)
        if width and len(rows) >= _TABLE:
            yield StoredNumbers(f"{where} (a table of {len(rows):,} lines)", np.array(rows, dtype=np.float64))


def _separated(data: memoryview, text: str) -> object:
    """Return a table of Arrow, if there are separators, as many in each of the first lines."""
    import pyarrow as pa
    from pyarrow import csv

    first = text.splitlines()[:5]
    if len(first) < 3:
        return None
    for mark in ",;\t|":
        if first[0].count(mark) and len({line.count(mark) for line in first[:-1]}) == 1:
            break
    else:
        return None
    try:
        return csv.read_csv(pa.py_buffer(data), parse_options=csv.ParseOptions(delimiter=mark))
    except (pa.ArrowException, ValueError):
        return None


def arrow_pieces(table: object, where: str) -> Iterator[Piece]:
    """Yield the columns of a table of Arrow."""
    import pyarrow as pa
    from pyarrow import compute, types

    assert isinstance(table, pa.Table)
    yield Words(f"{where} (names of columns)", [str(each) for each in table.column_names])
    for name, column in zip(table.column_names, table.columns, strict=True):
        place, kind = f"{where}.{str(name)[:40]}", column.type
        if types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if types.is_decimal(kind) or types.is_boolean(kind):
            column, kind = column.cast(pa.float64()), pa.float64()
        if types.is_temporal(kind) and not types.is_interval(kind):
            yield StoredNumbers(place, column.cast(pa.int64() if kind.bit_width == 64 else pa.int32()).to_numpy())
        elif types.is_integer(kind) or types.is_floating(kind):
            yield StoredNumbers(place, np.asarray(column.to_numpy()))
        elif types.is_string(kind) or types.is_large_string(kind):
            texts = column if len(column) <= _MOST_TEXTS else compute.unique(column)
            yield Words(place, [each or "" for each in texts.to_pylist()])
        elif not types.is_null(kind):
            yield from walk(column.slice(0, _MOST_TEXTS).to_pylist(), place)
