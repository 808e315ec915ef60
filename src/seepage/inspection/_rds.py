"""R's RDS and RData, as R writes them by default: one value after the other, in XDR."""

import struct
from collections.abc import Iterator

import numpy as np

from seepage.inspection._budget import Budget
from seepage.inspection._values import Mention, Piece, StoredNumbers, StrangeFileError, Unread, Words

_DEEPEST = 200
_SIZE_OF_VALUE = 128
_FIXED = {10: ">i4", 13: ">i4", 14: ">f8", 15: ">c16", 24: "u1"}
# Nothing follows these: NULL, the environments that everybody has, the missing argument.
_EMPTY = (254, 253, 252, 251, 250, 247, 242, 241)


def is_rds(data: memoryview) -> bool:
    """Return whether bytes, once unpacked, begin as R's files do."""
    head = bytes(data[:7])
    return head.startswith((b"X\n\x00\x00", b"RDX2\nX\n", b"RDX3\nX\n"))


def read_rds(data: memoryview, where: str, budget: Budget) -> Iterator[Piece]:
    """Yield the vectors in a file of R, and the classes it names.

    Parameters
    ----------
    data : memoryview
    where : str
        What the place is called.
    budget : Budget
    """
    reader = _Reader(data, budget)
    why = ""
    try:
        reader.at = 7 if data[0] == ord("R") else 2
        version = reader.integer()
        reader.take(8)
        if version == 3:
            reader.take(reader.integer())
        reader.value(where, 0)
        why = "something else follows its value" if reader.at < len(data) else ""
    except StrangeFileError as reason:
        why = str(reason)
    except (struct.error, RecursionError, ValueError, IndexError):
        why = "it is cut off or damaged"
    yield from reader.found
    if why:
        yield Unread(where, f"as a file of R: {why}", data)


class _Reader:
    def __init__(self, data: memoryview, budget: Budget) -> None:
        self.data, self.budget, self.at = data, budget, 0
        self.found: list[Piece] = []
        self.symbols: list[str] = []

    def take(self, count: int) -> memoryview:
        if count < 0 or self.at + count > len(self.data):
            raise StrangeFileError("it is cut off")
        self.at += count
        return self.data[self.at - count : self.at]

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def length(self) -> int:
        count = self.integer()
        return count if count != -1 else (self.integer() << 32) + (self.integer() & 0xFFFFFFFF)

    def value(self, where: str, depth: int) -> object:
        """Read a value; return the text it is, or its texts, if it is of text."""
        self.budget.pay(_SIZE_OF_VALUE)
        if depth > _DEEPEST:
            raise StrangeFileError("it lies too deep")
        flags = self.integer()
        kind, has_attributes, has_tag = flags & 0xFF, flags & 0x200, flags & 0x400
        if kind in _EMPTY:
            return None
        if kind == 255:
            place = flags >> 8 or self.integer()
            return self.symbols[place - 1] if 0 < place <= len(self.symbols) else None
        if kind == 1:
            name = self.value(where, depth + 1)
            self.symbols.append(name if isinstance(name, str) else "")
            return name
        if kind == 9:
            count = self.integer()
            return "" if count == -1 else str(self.take(count), "utf-8", "replace")
        if kind in (4, 248, 249):
            self.integer()
            self.symbols.append("")
            for _ in range(4 if kind == 4 else self.integer()):
                self.value(where, depth + 1)
            return None
        if kind in (2, 3, 5, 6, 239, 240):
            self._chain(where, depth, kind, bool(has_attributes), bool(has_tag))
            return None
        if kind == 238:
            # A vector that is computed: what it is, from what.
            for part in ("class", "state", "attributes"):
                self.value(f"{where}" if part == "state" else f"{where} ({part})", depth + 1)
            return None
        found = self._vector(where, depth, kind)
        if has_attributes:
            self.value(where, depth + 1)
        return found

    def _chain(self, where: str, depth: int, kind: int, attributes: bool, tagged: bool) -> None:
        """Read a list of pairs, one after the other and not each in the one before."""
        while True:
            if attributes:
                self.value(where, depth + 1)
            tag = self.value(where, depth + 1) if tagged else None
            inner = self.value(f"{where}.{tag}" if isinstance(tag, str) else where, depth + 1)
            if tag == "class" and isinstance(inner, list):
                self.found += [Mention(where, f"R {each}") for each in inner]
            self.budget.pay(_SIZE_OF_VALUE)
            start = self.at
            flags = self.integer()
            if flags & 0xFF != kind or kind == 3:
                self.at = start
                self.value(where, depth + 1)
                return
            attributes, tagged = bool(flags & 0x200), bool(flags & 0x400)

    def _vector(self, where: str, depth: int, kind: int) -> object:
        if kind in _FIXED:
            dtype = np.dtype(_FIXED[kind])
            count = self.length()
            self.found.append(StoredNumbers(where, np.frombuffer(self.take(count * dtype.itemsize), dtype)))
            return None
        if kind == 16:
            texts = [self.value(where, depth + 1) for _ in range(self.length())]
            self.found.append(Words(where, [each for each in texts if isinstance(each, str)]))
            return texts
        if kind in (19, 20):
            for i in range(self.length()):
                self.value(f"{where}[[{i + 1}]]", depth + 1)
            return None
        if kind == 25:
            return None
        raise StrangeFileError("it holds code or pointers")
