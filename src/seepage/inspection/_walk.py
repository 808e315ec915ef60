"""Stand-ins taken apart: every array, list and table of numbers or words in them, and where it lies."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
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

# Fewer records are no table.
_TABLE = 20
_LONGEST_PATH = 200
_DEEPEST_NODE = 100
_LONGEST_SCALAR = 1 << 16
# Shorter bytes are keys and seeds.
_FEWEST_BYTES = 48
# Of memory, for each number and for each container that waits.
_SIZE_OF_NUMBER = 8
_SIZE_OF_NODE = 256
_TORCH = {"Double": "f8", "Float": "f4", "Half": "f2", "Long": "i8", "Int": "i4", "Short": "i2", "Char": "i1"}
_TORCH |= {"Byte": "u1", "Bool": "?", "BFloat16": "bfloat16"}


# The bytes of tensors by name, and the arrays that they were read as by name and type.
Storages = dict[Any, Any]


def walk(root: object, where: str, budget: Budget, storages: Storages | None = None) -> Iterator[Piece]:
    """Yield all that lies in stand-ins, each once.

    Parameters
    ----------
    root : object
        Stand-ins, or what JSON holds.
    where : str
        What the place is called.
    budget : Budget
    storages : dict, optional
        The bytes of tensors, by name; their arrays are added.
    """
    waiting: list[tuple[object, str]] = [(root, where)]
    # What was seen is kept, or another object could get its address.
    seen: dict[int, object] = {}
    short = 0
    while waiting:
        value, place = waiting.pop()
        budget.check()
        inner: list[tuple[object, str]] = []
        if isinstance(value, list | dict | Pairs | Thing | tuple | np.ndarray):
            if id(value) in seen:
                continue
            seen[id(value)] = value
        if isinstance(value, np.ndarray):
            yield StoredNumbers(place, value)
        elif isinstance(value, bytes | bytearray | memoryview):
            text = str(value[:_FEWEST_BYTES], "ascii", "replace")
            if len(value) >= _FEWEST_BYTES:
                yield Inner(place, memoryview(value))
            elif text.isprintable() and "\ufffd" not in text:
                yield Words(place, [text])
            else:
                short += 1
        elif isinstance(value, str):
            yield Words(place, [value])
        elif isinstance(value, Thing):
            yield Mention(place, value.kind)
            yield from _thing(value, place, {} if storages is None else storages, inner)
        elif isinstance(value, Pairs | dict):
            pairs = _pairs(value)
            if isinstance(value, dict) and isinstance(value.get("__loader__"), str):
                # How skops writes an object: what it is, and what it holds.
                yield Mention(place, f"{value.get('__module__')}.{value.get('__class__')}")
                waiting.append((_from_skops(value), place))
                continue
            yield from _gathered([key for key, _ in pairs], f"{place} (keys)", budget, inner)
            yield from _gathered([each for _, each in pairs], place, budget, inner, [key for key, _ in pairs])
        elif isinstance(value, list | tuple):
            table = _columns(value, budget)
            if table is None:
                yield from _gathered(value, place, budget, inner)
            else:
                for name, column in table:
                    yield from _gathered(column, _inside(place, name), budget, inner)
        # In the order of the file: small containers are rows of one table.
        waiting += reversed(inner)
    if short >= _TABLE:
        yield Unread(where, f"{short:,} runs of fewer than {_FEWEST_BYTES} bytes, such as dates")


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
    values: Sequence[object],
    where: str,
    budget: Budget,
    waiting: list[tuple[object, str]],
    keys: list[object] | None = None,
) -> Iterator[Piece]:
    """Yield the numbers and the words of a container, and put all else where it waits."""
    numbers: list[Any] = []
    texts: list[str] = []
    budget.pay(_SIZE_OF_NUMBER * len(values))
    for place, value in enumerate(values):
        if isinstance(value, Thing) and (scalar := _scalar(value)) is not None:
            value = scalar
        if isinstance(value, bool | int | float):
            numbers.append(value)
        elif isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == np.float64:
            # A run of floats of a list, or an array in it: the same values.
            budget.pay(value.nbytes)
            numbers.extend(value.tolist() if len(value) < _TABLE else [value])
        elif isinstance(value, str):
            texts.append(value)
        elif value is not None and not isinstance(value, NamedObject):
            budget.pay(_SIZE_OF_NODE)
            waiting.append((value, _inside(where, place if keys is None else keys[place])))
    if texts:
        yield Words(where, texts)
    if numbers:
        yield StoredNumbers(where, _joined(numbers))


def _joined(numbers: list[Any]) -> "NDArray[Any]":
    parts: list[Any] = []
    for is_run, group in groupby(numbers, lambda each: isinstance(each, np.ndarray)):
        values = list(group)
        parts += values if is_run else [np.array([_finite(each) for each in values])]
    return np.concatenate(parts)


def _finite(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _columns(values: "list[object] | tuple[object, ...]", budget: Budget) -> list[tuple[object, list[Any]]] | None:
    """Return records of the same fields by field, or None."""
    if len(values) < _TABLE:
        return None
    first = values[0]
    if isinstance(first, tuple | list):
        width = len(first)
        if width and all(isinstance(each, tuple | list) and len(each) == width for each in values):
            budget.pay(_SIZE_OF_NUMBER * width * len(values))
            return list(enumerate(map(list, zip(*values, strict=True))))
    if isinstance(first, Pairs | dict):
        budget.pay(_SIZE_OF_NUMBER * len(_pairs(first)) * len(values))
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


def _scalar(value: Thing) -> float | str | None:
    """Return the number or text that an object is, if it is one."""
    parts = value.made_from if isinstance(value.made_from, tuple) else ()
    try:
        if value.kind == "decimal.Decimal" and parts:
            return float(parts[0])
        if value.kind.endswith("multiarray.scalar") and len(parts) == 2:
            found = shaped(parts[1], dtype_of(parts[0]), ())
            return float(found) if found.dtype.kind in "biuf" else str(found) if found.dtype.kind == "U" else None
    except (ValueError, TypeError, StrangeFileError):
        pass
    return None


def _thing(value: Thing, where: str, storages: Storages, waiting: list[tuple[object, str]]) -> Iterator[Piece]:
    """Yield the numbers of an object, and put what else it holds where it waits."""
    if value.kind == "numpy.dtype":
        return
    try:
        if value.kind == "persistent":
            waiting.append((_storage(value, storages) if storages else value.made_from, where))
            return
        found = value.array if value.array is not None else _array(value, storages)
        if "_rebuild_tensor" in value.kind and found is not None and isinstance(value.made_from, tuple):
            # A view is stored with all numbers of which it shows some.
            numbers = _storage(value.made_from[0], storages)
            waiting += [(numbers, where)] if numbers is not None and numbers.size > found.size else []
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
            return
        waiting += [(value.made_from, where), (value.state, where), (value.items, where)]


def _array(value: Thing, storages: Storages) -> "NDArray[Any] | None":
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


def _tensor(parts: tuple[Any, ...], storages: Storages) -> "NDArray[Any] | None":
    numbers = _storage(parts[0], storages)
    return None if numbers is None else _strided(numbers, parts[1], parts[2], parts[3:4])


def _storage(value: object, storages: Storages) -> "NDArray[Any] | None":
    """Return all numbers that a file of torch stores for some tensors."""
    stored = value.made_from if isinstance(value, Thing) else ()
    if not isinstance(stored, tuple) or len(stored) < 3 or not isinstance(stored[1], NamedObject):
        return None
    name = stored[1].kind.rpartition(".")[2].removesuffix("Storage")
    data = storages.get(str(stored[2]))
    if data is None or name not in _TORCH:
        raise StrangeFileError("a tensor's numbers are not in the file, or of a type that is not known")
    if (str(stored[2]), name) not in storages:
        kind = np.dtype("u2" if _TORCH[name] == "bfloat16" else _TORCH[name])
        found = shaped(data, kind, (len(data) // kind.itemsize,))
        storages[str(stored[2]), name] = halves(found) if _TORCH[name] == "bfloat16" else found
    numbers: NDArray[Any] = storages[str(stored[2]), name]
    return numbers


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
