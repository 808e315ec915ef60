"""For whom an output is: a filter in words, such as "age >= 65 and sex == F", of which nothing is run."""

import ast
import operator
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from datetime import time as clock
from decimal import Decimal
from numbers import Real
from types import UnionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption
from seepage._near import did_you_mean, several
from seepage._tables import Column, Table, missing_in
from seepage.errors import InputError

_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_PART = re.compile(
    r"\s*(?P<name>.+?)(?:\s*(?P<test>>=|<=|==|!=|>|<|=)\s*|\s+(?P<word>not\s+in|in|is\s+not(?=\s+missing)|is(?=\s+missing))\s+)(?P<value>.+?)\s*",
    re.IGNORECASE,
)
# A word or a bracket that joins comparisons, or a comparison.
_TOKEN = re.compile(
    r"""(\s(?:and|or)(?=[\s(])|[()])|((?:"[^"]*"|'[^']*'|\bin\s*\([^)]*\)|(?!\s(?:and|or)[\s(])[^()])+)""",
    re.IGNORECASE,
)
_WORDS = {"true": True, "false": False, "1": True, "0": False}
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
    found = holds(where, table)
    if not found.any():
        raise InputError(f"where={where!r} keeps nobody of {len(table):,} people.")
    return np.flatnonzero(found)


def holds(where: str | None, table: Table, column: str | None = None) -> NDArray[np.bool_]:
    """Return the rows, perhaps none, that a filter keeps; with `column`, by its comparisons of that column alone."""
    tree, parts = _parsed(where)

    def rows(node: ast.expr) -> NDArray[np.bool_]:
        if isinstance(node, ast.BoolOp):
            join = np.logical_or if isinstance(node.op, ast.Or) else np.logical_and
            return np.asarray(join.reduce([rows(value) for value in node.values]), dtype=bool)
        part = "" if isinstance(node, ast.Constant) else parts[ast.unparse(node)]
        is_kept = not part or (column is not None and column not in columns_of(part))
        return np.ones(len(table), dtype=bool) if is_kept else _holds(part, table)

    return rows(tree)


def comparisons(where: str | None) -> tuple[str, ...]:
    """Return the comparisons that a filter is made of."""
    return tuple(_parsed(where)[1].values())


def columns_of(where: str | None) -> tuple[str, ...]:
    """Return the columns that a filter looks at."""
    found = map(_PART.fullmatch, comparisons(where))
    return tuple(dict.fromkeys(_called(each) for each in found if each is not None))


def for_whom(where: str | None) -> tuple[Assumption, ...]:
    """Say that it is known who meets a filter."""
    about = "It is about people with {where}; that somebody is one of them is known."
    return () if where is None else (Assumption("people", about, names={"where": where}),)


def equalities(where: str | None) -> dict[str, bool]:
    """Return the columns of which a filter asks one value, which is known of whoever is in it.

    True stands for a filter that asks nothing else, so that whoever is not in it has another value.
    """
    tree, parts = _parsed(where)
    both = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    # People who meet one of two filters, or have another value, may have any of several.
    matches = [_PART.fullmatch(parts[each.id]) for each in both if isinstance(each, ast.Name)]
    return {_called(each): len(both) == 1 for each in matches if each is not None and each["test"] in ("==", "=")}


def _called(part: re.Match[str]) -> str:
    return part["name"].strip("`\"'")


def _parsed(where: object) -> tuple[ast.expr, dict[str, str]]:
    """Return a filter as a tree of names, and the comparison of each name."""
    if not isinstance(where, str | None):
        raise InputError(f"where is a filter in words, {_EXAMPLE}, not {where!r}.")
    parts: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        if match[1] or not match[2].strip():
            return match[0].lower()
        parts[f"c{len(parts)}"] = match[2].strip()
        return f" {[*parts][-1]} "

    try:
        return ast.parse("1" if where is None else _TOKEN.sub(named, where).strip(), mode="eval").body, parts
    except (SyntaxError, RecursionError, MemoryError):
        raise InputError(f"where={where!r} cannot be read: join comparisons by and, or, and brackets.") from None


def _holds(part: str, table: Table) -> NDArray[np.bool_]:
    found = _PART.fullmatch(part)
    if found is None:
        raise InputError(f"where holds {part!r}, which is no comparison of a column with a value, {_EXAMPLE}.")
    name, test, written = _called(found), found["test"], found["value"]
    word = " ".join((found["word"] or "").lower().split())
    if name not in table.names:
        raise InputError(
            f"where names {name!r}, which is no column of the people. {did_you_mean(name, table.names)}Their columns "
            f"are: {several(list(table.names))}."
        )
    column = table.column(name)
    # Whose value is missing is neither equal nor unequal to another.
    held = ~missing_in(column)
    if word.startswith("is"):
        return held if word == "is not" else ~held
    if word:
        listed = written.strip("()[] ").split(",")
        same = np.any([_holds(f"`{name}` == {each.strip()}", table) for each in listed], axis=0)
        return np.asarray(same if word == "in" else held & ~same, dtype=bool)
    values, value = _alike(column[held], written, name)
    if test not in ("==", "=", "!=") and isinstance(value, bool | str):
        raise InputError(f"where holds {part!r}, and {name!r} is neither a number nor a date: compare it by == or !=.")
    held[held] = np.asarray(_TESTS[test](values, value), dtype=bool)
    return held


def _alike(values: Column, written: str, name: str) -> tuple[Column, object]:
    """Return the values of a column, none of them missing, and the one that they are compared with, as one type."""
    bare = written.strip("\"'")
    kinds = {type(value) for value in values.tolist()} if values.dtype == object else {values.dtype.type}
    if _all(kinds, bool | np.bool_):
        if bare.lower() not in _WORDS:
            raise InputError(f"where compares {name!r}, which is true or false, with {written!r}, which is neither.")
        return values, _WORDS[bare.lower()]
    if _all(kinds, Real | Decimal | np.number) and not _all(kinds, np.timedelta64):
        if (number := _number(bare)) is None:
            raise InputError(f"where compares a column of numbers with {written!r}, which is none.")
        return values.astype(float) if values.dtype == object else values, number
    if _all(kinds, date | np.datetime64):
        if (time := _time(bare)) is None:
            raise InputError(f"where compares dates of {name!r} with {written!r}, which is none: write 2026-11-01.")
        # In nanoseconds, a date such as 9999-12-31 has no room.
        return np.array([*map(_in_utc, values)] if values.dtype == object else values, "M8[us]"), time
    if any(issubclass(kind, bytes | timedelta | np.timedelta64 | clock) for kind in kinds):
        raise InputError(
            f"where compares {name!r}, which holds {' and '.join(sorted(kind.__name__ for kind in kinds))}: only "
            "numbers, text, dates, and true and false are compared."
        )
    # As they are written: beside words a number is one, and an identifier of another type is its text.
    return values.astype(str) if kinds != {str} and values.dtype == object else values, bare


def _all(kinds: Collection[type], wanted: type | UnionType) -> bool:
    return bool(kinds) and all(issubclass(kind, wanted) for kind in kinds)


def _number(written: str) -> float | None:
    """Return a number: a whole one with all of its digits."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(written)
    return None


def _time(written: str) -> np.datetime64 | None:
    """Return a time; one without a zone is in UTC, as the times of a column with zones are compared."""
    with suppress(ValueError):
        return np.datetime64(_in_utc(datetime.fromisoformat(written)), "us")
    return None


def _in_utc(time: date) -> date:
    if isinstance(time, datetime) and time.tzinfo is not None:
        return time.astimezone(timezone.utc).replace(tzinfo=None)
    return time
