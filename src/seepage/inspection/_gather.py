"""Stand-ins taken apart: numbers and texts by the path of keys to them, so that records are the rows of columns."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage.inspection._budget import Budget
from seepage.inspection._values import (
    Inner,
    Mention,
    NamedObject,
    Pairs,
    Piece,
    StoredNumbers,
    StrangeFileError,
    Thing,
    Unread,
    Words,
    dtype_of,
    shaped,
)

# Fewer records are no table, and more keys are values.
_TABLE = 20
_LONGEST_PATH = 200
# Shorter bytes are keys and seeds.
_FEWEST_BYTES = 48
# Addresses of objects in 64 bits are above the code of the process.
_LEAST_ADDRESS = 2**32
# Of memory, for each number and for each container that waits.
_SIZE_OF_NUMBER = 32
_SIZE_OF_NODE = 256
_NUMBERS = {bool, int, float}
_LISTS = {list, tuple}
_TORCH = {"Double": "f8", "Float": "f4", "Half": "f2", "Long": "i8", "Int": "i4", "Short": "i2", "Char": "i1"}
_TORCH |= {"Byte": "u1", "Bool": "?", "BFloat16": "bfloat16"}

# The bytes of tensors by name, and marks of those that were read.
Storages = dict[Any, Any]
_Waiting = list[tuple[object, str]]


@dataclass
class _Column:
    """The values at one path, in their order."""

    numbers: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    arrays: "list[NDArray[Any]]" = field(default_factory=list)

    def pieces(self, where: str) -> Iterator[Piece]:
        """Yield the values; arrays of one length are the rows of one table."""
        if self.texts:
            yield Words(where, self.texts)
        if self.numbers:
            yield StoredNumbers(where, np.array([_finite(value) for value in self.numbers]))
        rows = [array for array in self.arrays if array.dtype == np.float64 and array.ndim == 1]
        if len(rows) > 1 and len(rows) == len(self.arrays) and len({len(row) for row in rows}) == 1:
            yield StoredNumbers(where, np.stack(rows))
            return
        yield from (StoredNumbers(where, array) for array in self.arrays if array.size)


def gather(root: object, where: str, budget: Budget, storages: Storages | None = None) -> Iterator[Piece]:
    """Yield the numbers and texts of stand-ins by their path, and the bytes and classes in them.

    Parameters
    ----------
    root : object
        Stand-ins, or the values of JSON.
    where : str
        The name of the place.
    budget : Budget
    storages : dict, optional
        The bytes of tensors, by name; marks of those that were read are added.
    """
    waiting: _Waiting = [(root, where)]
    # Values stay here, or another one could get the address.
    visited: dict[int, object] = {}
    keys: set[tuple[object, ...]] = set()
    columns: dict[str, _Column] = defaultdict(_Column)
    short = 0
    while waiting:
        value, place = waiting.pop()
        budget.check()
        inner: _Waiting = []
        if isinstance(value, list | dict | Pairs | Thing | tuple | np.ndarray):
            if id(value) in visited:
                continue
            visited[id(value)] = value
        if isinstance(value, bool | int | float):
            columns[place].numbers.append(value)
        elif isinstance(value, str):
            columns[place].texts.append(value)
        elif isinstance(value, np.ndarray):
            columns[place].arrays.append(value)
        elif isinstance(value, bytes | bytearray | memoryview):
            text = str(value[:_FEWEST_BYTES], "ascii", "replace")
            if len(value) >= _FEWEST_BYTES:
                yield Inner(place, memoryview(value))
            elif text.isprintable() and "\ufffd" not in text:
                columns[place].texts.append(text)
            else:
                short += 1
        elif isinstance(value, Thing):
            yield Mention(place, value.kind)
            yield from _thing(value, place, {} if storages is None else storages, inner)
        elif isinstance(value, Pairs | dict):
            if isinstance(value, dict) and isinstance(value.get("__loader__"), str):
                # A class of skops, with its address in the memory of the process that wrote it.
                yield Mention(place, f"{value.get('__module__')}.{value.get('__class__')}")
                value = {name: content for name, content in value.items() if not _is_address(name, content)}
            _pairs(value, place, keys, inner, budget)
        elif isinstance(value, list | tuple):
            _list(value, place, columns, inner, budget)
        waiting += reversed(inner)
    for place, column in columns.items():
        yield from column.pieces(place)
    if short >= _TABLE:
        yield Unread(where, f"{short:,} runs of fewer than {_FEWEST_BYTES} bytes, such as dates")


def _is_address(name: object, content: object) -> bool:
    return name == "__id__" and isinstance(content, int) and content >= _LEAST_ADDRESS


def _pairs(
    value: "Pairs | dict[object, object]", place: str, keys: set[tuple[object, ...]], inner: _Waiting, budget: Budget
) -> None:
    """Put the values of a dictionary where they wait; the keys of many values of one type are values too."""
    pairs = value.pairs if isinstance(value, Pairs) else list(value.items())
    budget.pay(_SIZE_OF_NODE * len(pairs))
    names = [name for name, _ in pairs]
    types = {type(content) for _, content in pairs} - {type(None)}
    if not all(isinstance(name, str) for name in names):
        inner.append((names, f"{place} (keys)"))
    elif tuple(names) not in keys:
        keys.add(tuple(names))
        inner.append((names, f"{place} (keys)"))
    many = len(pairs) >= _TABLE and (types <= _NUMBERS or len(types) == 1)
    if many and types <= _NUMBERS:
        inner.append(([content for _, content in pairs], place))
    elif many:
        inner += [(content, _inside(place, "{}")) for _, content in pairs]
    else:
        inner += [
            (content, _inside(place, f".{str(name)[:40]}" if isinstance(name, str) else "")) for name, content in pairs
        ]


def _list(
    values: "list[Any] | tuple[Any, ...]", place: str, columns: dict[str, _Column], inner: _Waiting, budget: Budget
) -> None:
    """Take a list of numbers or texts whole, or put its values where they wait: short mixed lists are records."""
    budget.pay(_SIZE_OF_NUMBER * len(values))
    types = set(map(type, values)) - {type(None)}
    if types <= _NUMBERS | {np.ndarray} and types & _NUMBERS:
        # Arrays between numbers are runs of them.
        if np.ndarray in types:
            columns[place].arrays.append(np.concatenate([np.ravel(_finite(value)) for value in values]))
        else:
            columns[place].arrays.append(np.array([_finite(value) for value in values]))
    elif types == {str}:
        columns[place].texts += [value or "" for value in values]
    elif types <= _LISTS and len(values) >= _TABLE and (table := _matrix(values)) is not None:
        columns[place].arrays.append(table)
    else:
        budget.pay(_SIZE_OF_NODE * len(values))
        is_record = 1 < len(values) < _TABLE and len(types) > 1
        names = [f"[{i}]" if is_record else "[]" for i in range(len(values))]
        inner += [(value, _inside(place, name)) for name, value in zip(names, values, strict=True)]


def _matrix(rows: Sequence[Any]) -> "NDArray[Any] | None":
    if set(map(type, rows[0])) - _NUMBERS:
        return None
    try:
        return np.array(rows, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        return None


def _inside(place: str, name: str) -> str:
    return place + name if len(place) <= _LONGEST_PATH else place


def _finite(value: Any) -> Any:
    try:
        return value if isinstance(value, np.ndarray) else float("nan") if value is None else float(value)
    except OverflowError:
        return float("inf")


def _scalar(value: Thing) -> float | str | None:
    """Return the number or text of an object, if it is one."""
    parts = value.made_from if isinstance(value.made_from, tuple) else ()
    try:
        if value.kind == "decimal.Decimal" and parts:
            return float(parts[0])
        if value.kind.endswith("multiarray.scalar") and len(parts) == 2:
            array = shaped(parts[1], dtype_of(parts[0]), ())
            return float(array) if array.dtype.kind in "biuf" else str(array) if array.dtype.kind == "U" else None
    except (ValueError, TypeError, StrangeFileError):
        pass
    return None


def _thing(value: Thing, where: str, storages: Storages, waiting: _Waiting) -> Iterator[Piece]:
    """Put the array of an object, or else its parts, where they wait."""
    if value.kind == "numpy.dtype":
        return
    if (scalar := _scalar(value)) is not None:
        waiting.append((scalar, where))
        return
    array = None
    try:
        array = value.array if value.array is not None else _array(value, storages)
    except StrangeFileError as reason:
        yield Unread(where, str(reason))
    if array is not None and array.dtype.names:
        waiting += [(array[name], _inside(where, f".{name}")) for name in array.dtype.names]
    elif array is not None:
        waiting.append((array, where))
    elif (texts := _arrow_texts(value)) is not None:
        waiting.append((texts, where))
    else:
        waiting += [(value.made_from, where), (value.state, where), (value.items, where)]


def _array(value: Thing, storages: Storages) -> "NDArray[Any] | None":
    """Return the numbers of an array or of the storage of a tensor; None if an object is none."""
    kind, state = value.kind, value.state
    parts = value.made_from if isinstance(value.made_from, tuple) else ()
    if kind.endswith("multiarray._reconstruct") and isinstance(state, tuple) and len(state) == 5:
        dtype = dtype_of(state[2])
        return None if dtype.hasobject else shaped(state[4], dtype, state[1], fortran=bool(state[3]))
    if kind.endswith("numeric._frombuffer") and len(parts) == 4:
        return shaped(parts[0], dtype_of(parts[1]), parts[2], fortran=parts[3] == "F")
    if kind == "persistent" and storages:
        return _storage(parts, storages)
    if "_rebuild_tensor" in kind and len(parts) > 3 and isinstance(parts[0], Thing):
        # All numbers of the storage, of which the tensor may show some, in rows as long as the tensor's.
        numbers, sizes, steps = _storage(parts[0].made_from, storages), parts[2], parts[3]
        ends = [size for size, step in zip(sizes, steps, strict=True) if step == 1 and isinstance(size, int)]
        is_table = numbers is not None and ends and ends[-1] > 1 and numbers.size % ends[-1] == 0
        return numbers.reshape(-1, ends[-1]) if numbers is not None and is_table else numbers
    return None


def _storage(parts: object, storages: Storages) -> "NDArray[Any] | None":
    """Return all numbers that a file of torch stores for some tensors."""
    if not isinstance(parts, tuple) or len(parts) < 3 or not isinstance(parts[1], NamedObject):
        return None
    form, data = _TORCH.get(parts[1].kind.rpartition(".")[2].removesuffix("Storage")), storages.get(str(parts[2]))
    if data is None or form is None:
        raise StrangeFileError("a tensor's numbers are not in the file, or of a type that is not known")
    storages["read", str(parts[2])] = True
    return typed(data, form)


def typed(data: memoryview, form: str) -> "NDArray[Any]":
    """Return bytes as numbers of a type; those of bfloat16 are the upper halves of floats."""
    dtype = np.dtype("u2" if form == "bfloat16" else form)
    numbers = shaped(data, dtype, (len(data) // dtype.itemsize,))
    return (numbers.astype(np.uint32) << 16).view(np.float32) if form == "bfloat16" else numbers


def _arrow_texts(value: Thing) -> list[str] | None:
    """Return the texts of an array of Arrow, which lie in one piece with their places beside."""
    parts = value.made_from[0] if isinstance(value.made_from, tuple) and value.made_from else None
    if not value.kind.endswith("_restore_array") or not isinstance(parts, tuple) or len(parts) < 5:
        return None
    buffers: list[Any] = [
        each.made_from[0] if isinstance(each, Thing) and isinstance(each.made_from, tuple) and each.made_from else None
        for each in parts[4] or ()
    ]
    if len(buffers) != 3 or not all(isinstance(each, bytes | bytearray | memoryview) for each in buffers[1:]):
        return None
    count, kind = parts[1], str(getattr(parts[0], "made_from", ""))
    try:
        places = shaped(buffers[1], np.dtype("i8" if "large" in kind else "i4"), (int(count) + 1,)).tolist()
        return [str(buffers[2][a:b], "utf-8", "replace") for a, b in pairwise(places)]
    except (StrangeFileError, TypeError, ValueError):
        return None
