"""Numbers, words and encoded bytes in text: tables of lines, CSV, JSON."""

import binascii
import json
import re
from collections.abc import Generator, Iterator
from html import unescape
from itertools import groupby
from urllib.parse import unquote

import numpy as np

from seepage.inspection._arrow import arrow_pieces
from seepage.inspection._budget import Budget
from seepage.inspection._gather import gather
from seepage.inspection._values import Inner, Pairs, Piece, StoredNumbers, Unread, Words

# No digit can be read in two ways, so that a long row of them is read in linear time. A unit may follow; R writes whole
# numbers as 62L.
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3}|(?![eE][-+]\d))(?=[^\W\d_]*(?!\w))")
_DATE = re.compile(r"(?<!\d)[12]\d{3}-[01]\d-[0-3]\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?)?(?!\d)")
# Decimal commas, and thousands set apart by commas, apostrophes or narrow spaces.
_THOUSANDS = re.compile(r"(?<=\d)[,'\u2019\u00a0\u202f](?=\d{3}(?!\d))")
_NOTATIONS = ((re.compile(r"(?<=\d),(?=\d)"), "."), (_THOUSANDS, ""))
_ODD_NUMBER = re.compile(r"\d(?:[:/]\d|\.\d{3}[.,]\d|x[\da-f]|\.\d+(?:D[-+]|_)\d)")
# Longer than the base64 of a signature of 64 bytes.
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{89,}={0,2}")
_WRAPPED = re.compile(r"(?<=[A-Za-z0-9+/]{60})\r?\n(?=[A-Za-z0-9+/=])")
_ESCAPED = re.compile(r"\\(?:(?:u00|x)([2-7][0-9A-Fa-f])|[nrt])")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
_TAG = re.compile(r"<[^<>]{0,500}>")
# The end of a row of HTML, and of spreadsheets.
_ROW = re.compile(r"</(?:tr|row|table:table-row)>")
_TABLE = 20
# What a text is, its beginning says.
BEGINNING = 1 << 16
# As a table, text takes four times its bytes: so long is what the budget of a file holds.
_LONGEST_TEXT = 64 << 20
_LONGEST_JSON = 24 << 20
_BLOCK = 2 << 20


def decoded(data: memoryview, most: int = _LONGEST_TEXT) -> str | None:
    """Return bytes as text, if they are text; no more than some of them."""
    head = bytes(data[:4096])
    if b"\0\0" in head:
        return None
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
        if not cut and sum(each > 127 for each in head) > len(head) / 3:
            return None
        return str(data[:most], "utf-8" if cut else "latin-1", "replace")


def read_text(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the contents of text: JSON in one piece or a line each, a table with separators, or blocks of lines.

    Parameters
    ----------
    data : memoryview
    where : str
        What the place is called.
    budget : Budget
    """
    head = decoded(data, BEGINNING) or ""
    start = head[:100].lstrip()[:1]
    if start and start in "[{" and len(data) <= _LONGEST_JSON:
        found = _from_json(decoded(data) or "")
        if found is not None:
            yield from gather(found, where, budget)
            return
    if len(data) > _LONGEST_TEXT:
        yield Unread(where, f"of text only the first {_LONGEST_TEXT >> 20} MB are read")
    table = _separated(data, head) if len(data) <= _LONGEST_TEXT else None
    if table is not None:
        yield from arrow_pieces(table, where, budget)
        return
    text, at = decoded(data) or "", 0
    while at < len(text):
        stop = text.find("\n", at + _BLOCK, at + 2 * _BLOCK) + 1 or at + 2 * _BLOCK
        yield Words(where, [text[at:stop]])
        at = stop


def _from_json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line, object_pairs_hook=_object) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, object]]) -> object:
    """Return an object of JSON, whose keys may be repeated."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else Pairs([*pairs])


def read_words(piece: Words) -> Iterator[Piece]:
    """Yield the numbers and dates in texts, in each notation of decimals and thousands, and the bytes they encode.

    Parameters
    ----------
    piece : Words
    """
    # Notebooks write one text for each line.
    text = "".join(each if each.endswith("\n") else each + "\n" for each in piece.texts)
    plain = _unescaped(text)
    if plain != text:
        yield Inner(f"{piece.where} (encoded)", memoryview(plain.encode("utf-8", "replace")))
    if _ROW.search(text):
        text = _TAG.sub(" ", _ROW.sub("\n", text.replace("\n", " ")))
    numbers = yield from _numbers(text, piece.where)
    for separator, point in _NOTATIONS:
        if separator.search(text):
            yield from _numbers(separator.sub(point, text), piece.where)
    if dates := _DATE.findall(text):
        yield StoredNumbers(piece.where, np.array(dates, dtype="M8[ns]"))
    odd = len(_ODD_NUMBER.findall(_ENCODED.sub("", text)))
    if odd >= _TABLE and odd >= numbers / 4:
        yield Unread(piece.where, "numbers in a notation that is not read, such as dates and times")
    # Lines of one text may be one run; two texts are two.
    text = "".join(each if each.endswith("\n") else each + "\n\n" for each in piece.texts)
    for run in _ENCODED.findall(_WRAPPED.sub("", text)):
        # A line of dashes encodes nothing.
        if len(set(run)) > 2:
            yield Inner(f"{piece.where} (encoded)", memoryview(_decode(run)))


def _unescaped(text: str) -> str:
    """Return text without the escapes of URLs and JavaScript, and with the minus sign of plain text."""
    text = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else "\n", unescape(unquote(text)))
    return text.replace("\\/", "/").replace("\u2212", "-")


def _decode(run: str) -> bytes:
    if _HEXADECIMAL.fullmatch(run):
        return bytes.fromhex(run[: len(run) // 2 * 2])
    run = run.rstrip("=").translate(str.maketrans("-_", "+/"))
    return binascii.a2b_base64(run[: len(run) // 4 * 4])


def _numbers(text: str, where: str) -> Generator[Piece, None, int]:
    """Yield the numbers of a text, and each run of lines with as many numbers as a table; return their count."""
    found = [_NUMBER.findall(line) for line in text.splitlines()]
    runs = [(width, list(group)) for width, group in groupby(found, len)]
    tables = [np.array(rows, dtype=np.float64) for width, rows in runs if width and len(rows) >= _TABLE]
    every = np.array([float(each) for line in found for each in line])
    if len(every) > sum(each.size for each in tables):
        yield StoredNumbers(where, every)
    for each in tables:
        place = f"{where} (a table of {len(each):,} lines)"
        yield StoredNumbers(place, each) if each.shape[1] > 1 else StoredNumbers(where, each[:, 0])
    return len(every)


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
