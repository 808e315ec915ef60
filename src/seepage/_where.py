"""For whom an output is: a filter in words, such as "age >= 65 and sex == F", of which nothing is run."""

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._near import did_you_mean, several
from seepage._tables import Column, Table
from seepage.errors import InputError

_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_PART = re.compile(r"\s*(?P<name>.+?)\s*(?P<test>>=|<=|==|!=|>|<|=)\s*(?P<value>.+?)\s*")
_EXAMPLE = 'such as "age >= 65" or "sex == F"'


def kept(where: str | None, table: Table) -> NDArray[np.intp]:
    """Return the places of the people whom a filter keeps.

    Parameters
    ----------
    where : str or None
        Comparisons of a column with a value, joined by "and" and "or"; "and" binds closer, as everywhere. None keeps
        everybody.
    table : Table
        The people.
    """
    if where is None:
        return np.arange(len(table))
    if not isinstance(where, str):
        raise InputError(f"where is a filter in words, {_EXAMPLE}, not {where!r}.")
    if "(" in where or ")" in where:
        raise InputError(f"where={where!r} has brackets, which are not read: write it with and and or alone.")
    found = np.zeros(len(table), dtype=bool)
    for either in _split(where, "or"):
        both = np.ones(len(table), dtype=bool)
        for part in _split(either, "and"):
            both &= _holds(part, table)
        found |= both
    if not found.any():
        raise InputError(f"where={where!r} keeps nobody of {len(table):,} people.")
    return np.flatnonzero(found)


def equalities(where: str | None) -> dict[str, bool]:
    """Return the columns of which a filter asks one value, which is known of whoever is in it.

    True stands for a filter that asks nothing else, so that whoever is not in it has another value.
    """
    found, either = dict[str, bool](), _split(where or "", "or")
    # Whoever meets one of two filters, or has another value, may have any of several.
    parts = _split(either[0], "and") if len(either) == 1 else []
    for part in parts:
        match = _PART.fullmatch(part)
        if match is not None and match["test"] == "==":
            found[match["name"].strip("`\"'")] = len(parts) == 1
    return found


def _split(text: str, word: str) -> list[str]:
    return re.split(rf"\s+{word}\s+", text, flags=re.IGNORECASE)


def _holds(part: str, table: Table) -> NDArray[np.bool_]:
    found = _PART.fullmatch(part)
    if found is None:
        raise InputError(
            f"where holds {part!r}, which is no comparison of a column with a value, {_EXAMPLE}. Several are joined by "
            '" and " or " or ".'
        )
    name, test, written = found["name"].strip("`\"'"), found["test"], found["value"]
    if test == "=":
        raise InputError(f"where holds {part!r}: two values are compared by ==.")
    if name not in table.names:
        raise InputError(
            f"where names {name!r}, which is no column of the people. {did_you_mean(name, table.names)}Their columns "
            f"are: {several(list(table.names))}."
        )
    column = table.column(name)
    value = _value(written, column)
    if test not in ("==", "!=") and not isinstance(value, float):
        raise InputError(f"where holds {part!r}, and {name!r} is no number: compare it by == or !=.")
    held = np.asarray(_TESTS[test](column, value), dtype=bool)
    # Whose value is missing is neither equal nor unequal to another.
    return np.asarray(held & ~np.asarray(column != column, dtype=bool))


def _value(written: str, column: Column) -> object:
    """Return a value as a column has it."""
    bare = written.strip("\"'")
    if column.dtype.kind == "b":
        words = {"true": True, "false": False, "1": True, "0": False}
        if bare.lower() in words:
            return words[bare.lower()]
    if column.dtype.kind in "iuf":
        try:
            return float(bare)
        except ValueError:
            raise InputError(f"where compares a column of numbers with {written!r}, which is none.") from None
    return bare
