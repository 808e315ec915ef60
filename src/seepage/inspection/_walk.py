"""Stand-ins taken apart: every array, list and table of numbers or words in them, and where it lies."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage.inspection._standins import (
    Mention,
    NamedObject,
    Opaque,
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

# Fewer records are no table.
_TABLE = 20
_LONGEST_PATH = 200
_DEEPEST_NODE = 100
_LONGEST_SCALAR = 1 << 16
# Shorter bytes are keys and seeds.
_FEWEST_BYTES = 48
_TORCH = {"Double": "f8", "Float": "f4", "Half": "f2", "Long": "i8", "Int": "i4", "Short": "i2", "Char": "i1"}
_TORCH |= {"Byte": "u1", "Bool": "?", "BFloat16": "bfloat16"}


def walk(root: object, where: str, storages: Mapping[str, memoryview] | None = None) -> Iterator[Piece]:
    """Yield all that lies in stand-ins, each once.

    Parameters
    ----------
    root : object
        Stand-ins, or what JSON holds.
    where : str
        What the place is called.
    storages : mapping, optional
        The bytes of tensors, by name.
    """
    waiting: list[tuple[object, str]] = [(root, where)]
    # What was seen is kept, or another object could get its address.
    seen: dict[int, object] = {}
    while waiting:
        value, place = waiting.pop()
        if isinstance(value, list | dict | Pairs | Thing | tuple):
            if id(value) in seen:
                continue
            seen[id(value)] = value
        if isinstance(value, np.ndarray):
            yield StoredNumbers(place, value)
        elif isinstance(value, bytes | bytearray | memoryview):
            if len(value) >= _FEWEST_BYTES:
                yield Opaque(place, memoryview(value))
        elif isinstance(value, str):
            yield Words(place, [value])
        elif isinstance(value, Thing):
            yield Mention(place, value.kind)
            yield from _thing(value, place, storages or {}, waiting)
        elif isinstance(value, Pairs | dict):
            pairs = _pairs(value)
            if isinstance(value, dict) and isinstance(value.get("__loader__"), str):
                # How skops writes an object: what it is, and what it holds.
                yield Mention(place, f"{value.get('__module__')}.{value.get('__class__')}")
                waiting.append((_from_skops(value), place))
                continue
            yield from _gathered([key for key, _ in pairs], f"{place} (keys)", [])
            yield from _gathered([each for _, each in pairs], place, waiting, [key for key, _ in pairs])
        elif isinstance(value, list | tuple):
            table = _columns(value)
            if table is None:
                yield from _gathered(value, place, waiting)
            else:
                for name, column in table:
                    yield from _gathered(column, _inside(place, name), waiting)


def _from_skops(node: Any, depth: int = 0) -> Any:
    """Return what a node holds: its lists as lists and its scalars as themselves, all else as it stands."""
    if not isinstance(node, dict) or "__loader__" not in node or depth > _DEEPEST_NODE:
        return node
    content = node.get("content")
    if node["__loader__"] == "JsonNode" and isinstance(content, str):
        try:
            return json.loads(content[:_LONGEST_SCALAR])
        except ValueError:
            return content
    if isinstance(content, list):
        return [_from_skops(each, depth + 1) for each in content]
    rest = content if isinstance(content, dict) else {key: each for key, each in node.items() if key[:2] != "__"}
    if "__loader__" in rest:
        return _from_skops(rest, depth + 1)
    return {key: _from_skops(each, depth + 1) for key, each in rest.items()}


def _gathered(
    values: Iterable[object], where: str, waiting: list[tuple[object, str]], keys: list[object] | None = None
) -> Iterator[Piece]:
    """Yield the numbers and the words of a container, and put all else where it waits."""
    numbers: list[Any] = []
    texts: list[str] = []
    for place, value in enumerate(values):
        if isinstance(value, Thing) and (number := _number(value)) is not None:
            numbers.append(number)
        elif isinstance(value, bool | int | float):
            numbers.append(value)
        elif isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == np.float64:
            # A run of floats of a list, or an array in it: the same values.
            numbers.extend(value.tolist() if len(value) < _TABLE else [value])
        elif isinstance(value, str):
            texts.append(value)
        elif value is not None and not isinstance(value, NamedObject):
            waiting.append((value, _inside(where, place if keys is None else keys[place])))
    if texts:
        yield Words(where, texts)
    if numbers:
        yield StoredNumbers(where, _joined(numbers))


def _joined(numbers: list[Any]) -> "NDArray[Any]":
    parts: list[Any] = []
    loose: list[float] = []
    for each in numbers:
        if isinstance(each, np.ndarray):
            parts += [np.array(loose, dtype=np.float64), each]
            loose = []
        else:
            loose.append(_finite(each))
    return np.concatenate([*parts, np.array(loose, dtype=np.float64)]) if parts else np.array(loose)


def _finite(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _columns(values: "list[object] | tuple[object, ...]") -> list[tuple[object, list[Any]]] | None:
    """Return records of the same fields by field, or None."""
    if len(values) < _TABLE:
        return None
    first = values[0]
    if isinstance(first, tuple | list):
        width = len(first)
        if width and all(isinstance(each, tuple | list) and len(each) == width for each in values):
            return list(enumerate(map(list, zip(*values, strict=True))))
    if isinstance(first, Pairs | dict):
        pairs = [_pairs(each) for each in values if isinstance(each, Pairs | dict)]
        names = [key for key, _ in pairs[0]]
        if len(pairs) == len(values) and names and all([key for key, _ in each] == names for each in pairs):
            return [(name, [each[i][1] for each in pairs]) for i, name in enumerate(names)]
    return None


def _pairs(value: "Pairs | dict[object, object]") -> list[tuple[object, object]]:
    return value.pairs if isinstance(value, Pairs) else list(value.items())


def _inside(where: str, key: object) -> str:
    if len(where) > _LONGEST_PATH:
        return where
    if isinstance(key, str):
        return f"{where}.{key[:40]}" if where else key[:40]
    return f"{where}[{key}]" if isinstance(key, int) else where


def _number(value: Thing) -> float | None:
    """Return the number that an object is, if it is one."""
    parts = value.made_from if isinstance(value.made_from, tuple) else ()
    try:
        if value.kind == "decimal.Decimal" and parts:
            return float(parts[0])
        if value.kind.endswith("multiarray.scalar") and len(parts) == 2:
            found = shaped(parts[1], dtype_of(parts[0]), ())
            return float(found) if found.dtype.kind in "biuf" else None
    except (ValueError, TypeError, StrangeFileError):
        pass
    return None


def _thing(
    value: Thing, where: str, storages: Mapping[str, memoryview], waiting: list[tuple[object, str]]
) -> Iterator[Piece]:
    """Yield the numbers of an object, and put what else it holds where it waits."""
    if value.kind in ("numpy.dtype", "persistent"):
        return
    try:
        found = value.array if value.array is not None else _array(value, storages)
    except StrangeFileError as reason:
        yield Unread(where, str(reason))
        found = None
    if found is not None and found.dtype.names:
        for name in found.dtype.names:
            yield StoredNumbers(_inside(where, name), found[name])
    elif found is not None:
        yield StoredNumbers(where, found)
    else:
        texts = _arrow_texts(value)
        if texts is not None:
            yield Words(where, texts)
        waiting += [(value.made_from, where), (value.state, where), (value.items, where)]


def _array(value: Thing, storages: Mapping[str, memoryview]) -> "NDArray[Any] | None":
    """Return the array that an object is, if it is one of numbers."""
    kind, state = value.kind, value.state
    parts = value.made_from if isinstance(value.made_from, tuple) else ()
    if kind.endswith("multiarray._reconstruct") and isinstance(state, tuple) and len(state) == 5:
        dtype = dtype_of(state[2])
        return None if dtype.hasobject else shaped(state[4], dtype, state[1], fortran=bool(state[3]))
    if kind.endswith("numeric._frombuffer") and len(parts) == 4:
        return shaped(parts[0], dtype_of(parts[1]), parts[2], fortran=parts[3] == "F")
    if "_rebuild_tensor" in kind and len(parts) > 2:
        return _tensor(parts, storages)
    return None


def _tensor(parts: tuple[Any, ...], storages: Mapping[str, memoryview]) -> "NDArray[Any] | None":
    stored, offset, size = parts[0].made_from if isinstance(parts[0], Thing) else (), parts[1], parts[2]
    if not isinstance(stored, tuple) or len(stored) < 3 or not isinstance(stored[1], NamedObject):
        return None
    name = stored[1].kind.rpartition(".")[2].removesuffix("Storage")
    data = storages.get(str(stored[2]))
    if data is None or name not in _TORCH or not isinstance(offset, int):
        raise StrangeFileError("a tensor's numbers are not in the file, or of a type that is not known")
    code = "u2" if _TORCH[name] == "bfloat16" else _TORCH[name]
    found = _strided(shaped(data, np.dtype(code), (len(data) // np.dtype(code).itemsize,)), offset, size, parts[3:4])
    return halves(found) if _TORCH[name] == "bfloat16" else found


def _strided(numbers: "NDArray[Any]", offset: int, size: object, strides: tuple[Any, ...]) -> "NDArray[Any]":
    """Return a part of some numbers in the order that is said, if all of it is among them."""
    steps = strides[0] if strides else ()
    if not isinstance(size, tuple) or not isinstance(steps, tuple) or len(size) != len(steps):
        raise StrangeFileError("a tensor has no shape")
    if not all(isinstance(each, int) and 0 <= each < 2**40 for each in (offset, *size, *steps)):
        raise StrangeFileError("a tensor has no shape")
    last = offset + sum((count - 1) * step for count, step in zip(size, steps, strict=True))
    if 0 in size:
        return numbers[:0]
    # Numbers that are repeated by steps of zero are not more than there are.
    if last >= len(numbers) or np.prod([float(each) for each in size]) > len(numbers):
        raise StrangeFileError("a tensor is longer than its bytes")
    places = tuple(step * numbers.itemsize for step in steps)
    return np.lib.stride_tricks.as_strided(numbers[offset:], size, places, writeable=False)


def halves(found: "NDArray[Any]") -> "NDArray[Any]":
    """Return numbers of bfloat16, which are the upper halves of floats."""
    return (found.astype(np.uint32) << 16).view(np.float32)


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
