"""A published model as TOML, which R and others read too."""

import json
from collections.abc import Mapping

import numpy as np


def text_of(model: Mapping[str, object], remarks: tuple[str, ...] = ()) -> str:
    """Return keys and values as TOML.

    Parameters
    ----------
    model : mapping
        Its values are numbers, texts, lists, and tables of these.
    remarks : tuple of str
        Lines of a comment before it.
    """
    lines = [f"# {remark}" for remark in remarks]
    tables = {name: value for name, value in model.items() if isinstance(value, Mapping)}
    lines += [f"{name} = {_value(value)}" for name, value in model.items() if name not in tables]
    # Whatever follows the name of a table belongs to it: tables come last.
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_text(str(key))} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_text(str(name))} = {_value(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
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
