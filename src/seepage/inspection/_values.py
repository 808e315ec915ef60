"""What stands for the objects of a file: names and what they hold, never the objects themselves."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False, slots=True)
class NamedObject:
    """A class or function that a file names; nothing is imported because of it."""

    kind: str


@dataclass(eq=False, slots=True)
class Thing:
    """An object: what it says it is, what it was made from, and its state."""

    kind: str
    made_from: object = ()
    state: object = None
    items: list[object] = field(default_factory=list)
    array: "NDArray[Any] | None" = None
    """Its numbers, once they are known."""


@dataclass(eq=False, slots=True)
class Pairs:
    """A dictionary, whose keys may be anything."""

    pairs: list[tuple[object, object]] = field(default_factory=list)

    def get(self, key: str) -> object:
        """Return the entry of a key, or None."""
        return next((value for name, value in self.pairs if name == key), None)


@dataclass(frozen=True, eq=False)
class StoredNumbers:
    """Numbers that lie together in a file."""

    where: str
    array: "NDArray[Any]"


@dataclass(frozen=True, eq=False)
class Words:
    """Texts that lie together in a file."""

    where: str
    texts: list[str]


@dataclass(frozen=True, eq=False)
class Mention:
    """An object of a class."""

    where: str
    kind: str


@dataclass(frozen=True, eq=False)
class Inner:
    """Bytes in a file that are read as a file of their own."""

    where: str
    data: memoryview


@dataclass(frozen=True, eq=False)
class Unread:
    """A part that was not read, and the reason; its bytes are searched for values and ids."""

    where: str
    why: str
    data: memoryview | None = None


Piece = StoredNumbers | Words | Mention | Inner | Unread


class StrangeFileError(Exception):
    """A file is not what it seems to be, or asks for more than it may."""


_SIMPLE = frozenset("biufcSUVMmO?")


def dtype_of(value: object, depth: int = 0) -> np.dtype[Any]:
    """Return the type of an array from the stand-in of one, made of letters that are checked."""
    if isinstance(value, np.dtype):
        return value
    if not isinstance(value, Thing) or not value.kind.endswith("dtype") or depth > 3:
        raise StrangeFileError("an array is of no type")
    code = value.made_from[0] if isinstance(value.made_from, tuple) and value.made_from else None
    state = value.state if isinstance(value.state, tuple) else ()
    if len(state) >= 6 and isinstance(state[3], tuple) and isinstance(state[4], Pairs):
        return _structured(state, depth)
    if not isinstance(code, str) or not 1 < len(code) <= 12 or code[0] not in _SIMPLE or not code[1:].isdecimal():
        raise StrangeFileError("an array is of a type that is not known")
    order = state[1] if len(state) > 1 and state[1] in ("<", ">", "|", "=") else "<"
    if code[0] == "O":
        return np.dtype(object)
    try:
        if code[0] in "SUV" and len(state) > 5 and isinstance(state[5], int) and 0 <= state[5] < 2**20:
            size = state[5] // 4 if code[0] == "U" else state[5]
            return np.dtype(f"{order}{code[0]}{size}")
        return np.dtype(f"{order}{code}")
    except (TypeError, ValueError):
        raise StrangeFileError("an array is of a type that is not known") from None


def _structured(state: tuple[Any, ...], depth: int) -> np.dtype[Any]:
    names, fields = state[3], dict(_known(state[4].pairs))
    try:
        parts = [(dtype_of(fields[name][0], depth + 1), int(fields[name][1])) for name in names]
        return np.dtype(
            {
                "names": list(names),
                "formats": [part for part, _ in parts],
                "offsets": [place for _, place in parts],
                "itemsize": int(state[5]),
            }
        )
    except (KeyError, TypeError, ValueError, IndexError):
        raise StrangeFileError("an array of records is of a type that is not known") from None


def _known(pairs: Iterable[tuple[object, object]]) -> Iterable[tuple[str, Any]]:
    return ((key, value) for key, value in pairs if isinstance(key, str) and isinstance(value, tuple))


def shaped(data: object, dtype: np.dtype[Any], shape: object, *, fortran: bool = False) -> "NDArray[Any]":
    """Return bytes as an array, if there are enough of them."""
    if not isinstance(data, bytes | bytearray | memoryview) or dtype.hasobject or dtype.itemsize == 0:
        raise StrangeFileError("an array holds no numbers")
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    if not all(isinstance(each, int) and 0 <= each < 2**40 for each in sizes) or len(sizes) > 32:
        raise StrangeFileError("an array has no shape")
    count = 1
    for each in sizes:
        count *= each
    if count * dtype.itemsize > len(data):
        raise StrangeFileError("an array is longer than its bytes")
    return np.frombuffer(data, dtype, count).reshape(sizes, order="F" if fortran else "C")
