"""Numbers, words and encoded bytes in text: tables of lines, CSV, JSON."""

import base64
import binascii
import contextlib
import json
import re
from collections.abc import Generator, Iterator
from html import unescape
from itertools import groupby
from typing import Any
from urllib.parse import unquote

import numpy as np

from seepage.inspection._budget import Budget
from seepage.inspection._gather import gather
from seepage.inspection._tables import arrow_pieces, paid_table
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
# Other encodings of bytes: base85 and ASCII85 without blanks, lines of uuencode, and a number of 4 or 8 bytes a line.
_BASE85 = re.compile(r"(?<![^\s\"'<>])[0-9A-Za-z!#$%&()*+\-;<=>?@^_`{|}~]{89,}(?![^\s\"'<>])")
_ASCII85 = re.compile(r"(?:^[!-uz]{60,}\n){2,}(?:[!-uz]{1,}$)?", re.MULTILINE)
_UUENCODED = re.compile(r"^begin [0-7]{3,4} .*\n((?:[ -`]{2,62}\n)+)", re.MULTILINE)
_LINES_OF_BYTES = re.compile(r"(?:^(?:[0-9A-Fa-f]{8}){1,2}\n){20,}", re.MULTILINE)
_PATH = re.compile(r"\bd=[\"']([^\"']{20,})[\"']")
_COMMAND = re.compile(r"[A-DF-Za-df-z]|(?<![eE])(?=-)")
_WRAPPED = re.compile(r"(?<=[A-Za-z0-9+/]{60})\r?\n(?=[A-Za-z0-9+/=])")
_ESCAPED = re.compile(r"\\(?:(?:u00|x)([2-7][0-9A-Fa-f])|[nrt])")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
_TAG = re.compile(r"<[^<>]{0,500}>")
# The end of a row of HTML, and of spreadsheets.
_ROW = re.compile(r"</(?:tr|row|table:table-row)>")
_TABLE = 20
_LETTERS = 50
_BEGINNING = 1 << 16
_LONGEST_JSON = 24 << 20
_BLOCK = 2 << 20


def encoding_of(data: memoryview) -> str | None:
    """Return the encoding of bytes, if they are text, by their beginning."""
    head = bytes(data[:4096])
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if b"\0\0" in head:
        return None
    for start, name in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if head.startswith(start):
            return name
    if sum(byte < 9 or 13 < byte < 32 for byte in head) > len(head) / 100 or b"\0" in head:
        return None
    try:
        # A character may be cut at the end; in older encodings every byte is one.
        head[: max(len(head) - 4, 1)].decode()
    except UnicodeDecodeError as reason:
        if reason.end < len(head) - 8 or len(head) < 16:
            return None if sum(byte > 127 for byte in head) > len(head) / 3 else "latin-1"
    return "utf-8"


def read_text(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the contents of text: JSON in one piece or a line each, a table with separators, or blocks of lines.

    Parameters
    ----------
    data : memoryview
    where : str
        The name of the place.
    budget : Budget
    """
    encoding = encoding_of(data) or "latin-1"
    if encoding in ("utf-16", "utf-32"):
        # Blocks of bytes may cut its characters.
        budget.require(4 * len(data))
        data, encoding = memoryview(str(data, encoding, "replace").encode()), "utf-8"
    head = str(data[:_BEGINNING], encoding, "replace").lstrip("\ufeff")
    if head.lstrip()[:1] in ("[", "{"):
        is_json = yield from _json(data, encoding, where, budget)
        if is_json:
            return
    table = None if encoding == "latin-1" else _separated(data, head, budget)
    if table is not None:
        yield from arrow_pieces(table, where, budget)
        return
    yield from (Words(where, [block]) for block in _text_blocks(data, encoding, budget))


def _text_blocks(data: memoryview, encoding: str, budget: Budget) -> Iterator[str]:
    """Yield text in blocks of whole lines."""
    at, left = 0, b""
    while at < len(data):
        budget.check()
        block = left + bytes(data[at : at + _BLOCK])
        at += _BLOCK
        end = (block.rfind(b"\n") + 1 if at < len(data) else 0) or len(block)
        block, left = block[:end], block[end:]
        yield str(block, encoding, "replace")


def _json(data: memoryview, encoding: str, where: str, budget: Budget) -> Generator[Piece, None, bool]:
    """Yield the values of JSON, in one piece or a line each; return whether it is JSON."""
    text = str(data, encoding, "replace") if len(data) <= _LONGEST_JSON else ""
    # Many small values take more memory than their text.
    if text and 200 * text.count("{") + 72 * text.count("[") + 64 * text.count(",") < budget.bytes_left:
        with contextlib.suppress(ValueError, RecursionError):
            yield from gather(json.loads(text, object_pairs_hook=_object), where, budget)
            return True
    is_json = False
    for block in _text_blocks(data, encoding, budget):
        try:
            values = [json.loads(line, object_pairs_hook=_object) for line in block.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            if not is_json:
                return False
            yield Words(where, [block])
            continue
        is_json = True
        yield from gather(values, where, budget)
    return True


def _object(pairs: list[tuple[str, object]]) -> object:
    """Return an object of JSON, whose keys may be repeated."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else Pairs([*pairs])


def blocks_of(piece: Words) -> Iterator[Words]:
    """Yield the texts in blocks that are not too long to be searched."""
    texts, size = list[str](), 0
    for text in piece.texts:
        for part in (text[at : at + _BLOCK] for at in range(0, max(len(text), 1), _BLOCK)):
            if size + len(part) > _BLOCK:
                yield Words(piece.where, texts)
                texts, size = [], 0
            texts.append(part)
            size += len(part)
    yield Words(piece.where, texts)


def read_words(piece: Words) -> Iterator[Piece]:
    """Yield the numbers and dates in texts, in each notation of decimals and thousands, and the bytes they encode.

    Parameters
    ----------
    piece : Words
    """
    # Notebooks write one text for each line.
    text = "".join(text if text.endswith("\n") else text + "\n" for text in piece.texts)
    plain = _unescaped(text)
    if plain != text:
        yield Inner(f"{piece.where} (encoded)", memoryview(plain.encode("utf-8", "replace")))
    text = _PATH.sub(lambda path: _COMMAND.sub(" ", path[1]), text)
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
    text = "".join(part if part.endswith("\n") else part + "\n\n" for part in piece.texts)
    for content in _encoded(text):
        yield Inner(f"{piece.where} (encoded)", memoryview(content))


def _encoded(text: str) -> Iterator[bytes]:
    """Yield the bytes that runs of letters in a text encode."""
    for run in _ENCODED.findall(_WRAPPED.sub("", text)):
        # A line of dashes encodes nothing.
        if len(set(run)) > 2:
            yield _decode(run)
    for run in _LINES_OF_BYTES.findall(text):
        # Lines of decimal digits are numbers.
        if re.search("[A-Fa-f]", run):
            yield bytes.fromhex(run)
    for run in _UUENCODED.findall(text):
        with contextlib.suppress(binascii.Error):
            yield b"".join(map(binascii.a2b_uu, run.splitlines()))
    for pattern, decode in ((_BASE85, base64.b85decode), (_ASCII85, base64.a85decode)):
        for run in pattern.findall(text):
            # Words and rules have fewer letters.
            if len(set(run)) >= _LETTERS and not _ENCODED.fullmatch(run):
                with contextlib.suppress(ValueError):
                    yield decode(run)


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


def _separated(data: memoryview, text: str, budget: Budget) -> Any:
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
        reader = csv.open_csv(pa.BufferReader(pa.py_buffer(data)), parse_options=csv.ParseOptions(delimiter=mark))
        return paid_table(reader, reader.schema, budget)
    except (pa.ArrowException, ValueError):
        return None
