"""Frozen dataclasses as JSON and back: what is read is whole, and of the types that it says, or refused."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from seepage.errors import InputError

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Record = TypeVar("Record")

_LARGEST = 1e300
_WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


def to_json(value: object) -> Json:
    """Return what a record holds, as JSON knows it; an entry that has its default is left out."""
    if isinstance(value, Enum):
        return to_json(value.value)
    if is_dataclass(value):
        entries = {each.name: (getattr(value, each.name), each.default) for each in fields(value)}
        return {name: to_json(entry) for name, (entry, default) in entries.items() if entry != default}
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [to_json(each) for each in value]
    return cast(Json, value)


def fingerprint_of(entries: Mapping[str, object]) -> str:
    """Return 128 bits of the SHA-256 of some entries, in any order, for people to compare."""
    digits = hashlib.sha256(
        json.dumps(entries, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    ).hexdigest()[:32]
    return " ".join(digits[start : start + 4] for start in range(0, 32, 4))


def from_json(kind: type[Record], value: Json) -> Record:
    """Return a record from JSON; whatever is missing, unknown or of another type is refused by its place."""
    return cast(Record, _read(kind, value, ""))


def _read(kind: object, value: Json, place: str) -> object:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (other,) = (each for each in arguments if each is not NoneType)
        return None if value is None else _read(other, value, place)
    if origin is Literal:
        return _one_of(arguments, value, place)
    if origin is tuple:
        return _sequence(arguments, value, place)
    if origin is not None:
        return {key: _read(arguments[1], each, f"{place}.{key}") for key, each in _object(value, place).items()}
    assert isinstance(kind, type)
    if issubclass(kind, Enum):
        return kind(_one_of(tuple(each.value for each in kind), value, place))
    return _record(kind, value, place) if is_dataclass(kind) else _scalar(kind, value, place)


def _record(kind: type, value: Json, place: str) -> object:
    hints, found = _hints(kind), _object(value, place)
    needed = {each.name for each in fields(kind) if each.default is MISSING}
    for name in sorted((needed - found.keys()) | (found.keys() - hints.keys())):
        raise _wrong(place, f"{'have' if name in hints else 'not have'} the entry {name[:60]!r}")
    entries = {name: _read(hints[name], each, f"{place}.{name}") for name, each in found.items()}
    try:
        return kind(**entries)
    except ValueError as reason:
        # What the record itself refuses.
        raise _wrong(place, f"be possible: {reason}") from None


@cache
def _hints(kind: type) -> dict[str, object]:
    known = get_type_hints(kind)
    return {each.name: known[each.name] for each in fields(kind)}


def _object(value: Json, place: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _wrong(place, "have named entries", value)
    return value


def _sequence(kinds: tuple[object, ...], value: Json, place: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise _wrong(place, "be a list", value)
    each = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
    if len(each) != len(value):
        raise _wrong(place, f"have {len(each)} entries, not {len(value)}")
    return tuple(_read(kind, one, f"{place}[{i}]") for i, (kind, one) in enumerate(zip(each, value, strict=True)))


def _one_of(known: tuple[object, ...], value: Json, place: str) -> object:
    # True is 1 for Python, and not for JSON.
    if not any(type(value) is type(each) and value == each for each in known):
        raise _wrong(place, f"be one of {list(known)}", value)
    return value


def _scalar(kind: type, value: Json, place: str) -> object:
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise _wrong(place, f"be {_WORDS[kind]}", value)
    # Comparing refuses what is not a number as well; a whole number may be too large to become one of floating point.
    if kind is float and not abs(cast(float, value)) <= _LARGEST:
        raise _wrong(place, "be a finite number", value)
    return value


def _wrong(place: str, must: str, value: object = ...) -> InputError:
    said = "" if value is ... else f", not {str(value)[:60]!r}"
    return InputError(f"{place.lstrip('.') or 'it'} must {must}{said}.")
