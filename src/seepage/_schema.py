"""Documents held against the JSON schema that ships with them.

A reader needs to know that a document is whole before it trusts any entry, and where it is not. The part of JSON Schema
that our own schemas use is small; a keyword outside it is refused, so that no rule is ever passed over.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from seepage.errors import InputError

Rules = Mapping[str, Any]
"""A JSON schema, or a part of one."""

_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "null": type(None),
    "number": (int, float),
    "object": dict,
    "string": str,
}
_WITHOUT_RULES = frozenset({"$schema", "$id", "$defs", "title", "description"})
_RULES = frozenset(
    {"$ref", "additionalProperties", "const", "enum", "exclusiveMinimum", "items", "maxItems", "maximum", "minItems"}
    | {"minimum", "oneOf", "pattern", "properties", "required", "type"}
)
# Deeper than any document of ours, and far from where Python gives up.
_DEEPEST = 100


def read_document(path: str | os.PathLike[str], schema: Path, what: str) -> dict[str, Any]:
    """Read a JSON document that follows a schema; refuse one that does not, with the place where it fails.

    Parameters
    ----------
    path : path
        The document.
    schema : Path
        The file of its schema.
    what : str
        What the document should be, for the message: "certificate", "report".
    """
    name = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_number)
    except FileNotFoundError:
        raise InputError(f"There is no file {name!r}.") from None
    except OSError as reason:
        raise InputError(f"{name!r} cannot be read: {reason.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{name!r} is not text in UTF-8, so it is no {what}.") from None
    except RecursionError:
        raise InputError(f"{name!r} is nested too deeply, so it is no {what}.") from None
    except _TwiceError as reason:
        raise InputError(f"{name!r} is no {what}: it has two entries {reason.args[0]!r}.") from None
    except ValueError:
        raise InputError(f"{name!r} is not JSON, so it is no {what}.") from None
    rules = _schema(schema)
    wanted = rules["properties"]["schema"]["const"]
    given = found.get("schema") if isinstance(found, dict) else None
    if given != wanted:
        raise InputError(f"{name!r} has the schema {given!r}; this version of seepage reads {wanted!r}.")
    fault = next(faults(found, rules), None)
    if fault is not None:
        raise InputError(f"{name!r} is no {what}: {fault}")
    return dict(found)


def faults(document: object, schema: Rules) -> Iterator[str]:
    """Yield what is wrong with a document, each with its place."""
    yield from _faults(document, schema, schema, "", 0)


class _TwiceError(ValueError):
    """An object has two entries of one name: readers would disagree about which one counts."""


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise _TwiceError(name)
        found[name] = value
    return found


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not JSON.")


@cache
def _schema(path: Path) -> Rules:
    found: Rules = json.loads(path.read_text(encoding="utf-8"))
    return found


def _faults(value: object, rules: Rules, root: Rules, place: str, depth: int) -> Iterator[str]:
    unknown = set(rules) - _RULES - _WITHOUT_RULES
    assert not unknown, f"The schema has rules that are not checked: {sorted(unknown)}."
    here = place or "it"
    if depth > _DEEPEST:
        yield f"{here[:80]} is nested too deeply."
        return
    if "$ref" in rules:
        yield from _faults(value, root["$defs"][rules["$ref"].removeprefix("#/$defs/")], root, place, depth + 1)
    if "type" in rules:
        kinds = [rules["type"]] if isinstance(rules["type"], str) else rules["type"]
        if not any(_is(value, kind) for kind in kinds):
            yield f"{here} must be {' or '.join(kinds)}, not {_shown(value)}."
            return
    if "const" in rules and not _same(value, rules["const"]):
        yield f"{here} must be {_shown(rules['const'])}, not {_shown(value)}."
    if "enum" in rules and not any(_same(value, one) for one in rules["enum"]):
        yield f"{here} must be one of {', '.join(map(_shown, rules['enum']))}, not {_shown(value)}."
    if "oneOf" in rules:
        others = [list(_faults(value, one, root, place, depth + 1)) for one in rules["oneOf"]]
        if sum(not found for found in others) != 1:
            # The alternative that came nearest says most.
            nearest = min((found for found in others if found), key=len, default=[])
            yield nearest[0] if nearest and all(others) else f"{here} is {_shown(value)}, which fits no form."
    if isinstance(value, dict):
        yield from _object_faults(value, rules, root, place, depth)
    elif isinstance(value, list):
        if not rules.get("minItems", 0) <= len(value) <= rules.get("maxItems", len(value)):
            yield f"{here} has {len(value)} items."
        entries = (_faults(v, rules["items"], root, f"{place}[{i}]", depth + 1) for i, v in enumerate(value))
        yield from chain.from_iterable(entries) if "items" in rules else ()
    elif isinstance(value, str):
        # In Python a dollar sign lets a line break pass.
        if "pattern" in rules and re.search(re.sub(r"\$$", r"\\Z", rules["pattern"]), value) is None:
            yield f"{here} is {_shown(value)}, which is not in its form."
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high = rules.get("minimum", -float("inf")), rules.get("maximum", float("inf"))
        # What is not a number fails every comparison.
        if not low <= value <= high or not value > rules.get("exclusiveMinimum", -float("inf")):
            yield f"{here} is {value}, which is out of its range."


def _object_faults(value: dict[str, object], rules: Rules, root: Rules, place: str, depth: int) -> Iterator[str]:
    known, more = rules.get("properties", {}), rules.get("additionalProperties", True)
    for name in rules.get("required", ()):
        if name not in value:
            yield f"the entry {_joined(place, name)!r} is missing."
    for name, entry in value.items():
        path = _joined(place, name)
        if name in known:
            yield from _faults(entry, known[name], root, path, depth + 1)
        elif more is False:
            yield f"the entry {path[:80]!r} is unknown."
        elif more is not True:
            yield from _faults(entry, more, root, path, depth + 1)


def _joined(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _is(value: object, kind: str) -> bool:
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _same(value: object, wanted: object) -> bool:
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
