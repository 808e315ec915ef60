"""A written model as TOML, which R and others read too."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np


def text_of(table: Any, remarks: tuple[str, ...] = ()) -> str:
    """Return a table as TOML, which reads as the same table.

    Parameters
    ----------
    table : ModelTable
    remarks : tuple of str
        Lines of a comment before it.
    """
    lines = [f"# {remark}" for remark in remarks]
    tables: dict[str, Mapping[str, object]] = {}
    for field in fields(table):
        value = getattr(table, field.name)
        if isinstance(value, Mapping):
            if value:
                tables[field.name] = value
        elif field.default is MISSING or value != field.default:
            lines.append(f"{field.name} = {value_of(value)}")
    # Whatever follows the name of a table belongs to it: tables come last, and the longest at the end.
    for name in sorted(tables, key=lambda each: each == "coefficients"):
        lines += ["", f"[{name}]", *(f"{key_of(key)} = {value_of(value)}" for key, value in tables[name].items())]
    return "\n".join(lines) + "\n"


def key_of(name: object) -> str:
    """Return a name as a key, in quotes: it may hold spaces and dots."""
    return _text(str(name))


def value_of(value: object) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_of(name)} = {value_of(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_of, value)) + "]"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        # As many digits as tell a number from all others.
        return repr(float(value))
    return _text(str(value))


def _text(text: str) -> str:
    # JSON and TOML quote alike, but for one character that TOML wants to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
