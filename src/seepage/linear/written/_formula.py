"""A formula as R and statsmodels write it, as the columns that it names and the coefficients that it has.

    ill ~ age + log(dose) + ward       cbind(ill, well) ~ age * sex       Surv(week, died) ~ age + strata(site)

A category has a coefficient for each of its values but the first, or but the one that C(ward, Treatment("east")) or
relevel(ward, "east") names.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from seepage._near import several
from seepage.errors import InputError, UnsupportedError
from seepage.linear.written._terms import Known, in_r, seems_missing

_CALL = re.compile(r"(?P<name>[A-Za-z_.][\w.]*)\((?P<inside>.*)\)")
_COLUMN = re.compile(r"`[^`]+`|[^\W\d][\w.]*|\.[\w.]*")
_CATEGORY = ("factor", "as.factor", "C")
_REFERENCE = re.compile(r"""(?:(?:ref|reference)\s*=\s*)?(["']?)(?P<value>[^"']+)\1""")
_EXAMPLE = '"ill ~ age + log(dose) + ward"'


@dataclass(frozen=True)
class ParsedFormula:
    """What a formula says; names of columns are as they stand in it."""

    text: str
    outcome: tuple[str, ...]
    time: str | None = None
    status: str | None = None
    strata: tuple[str, ...] = ()
    offset: str | None = None
    products: tuple[tuple[str, ...], ...] = ()
    """The factors of each term, in order."""
    intercept: bool = True

    @classmethod
    def of(cls, text: str) -> "ParsedFormula":
        """Read a formula."""
        left, tilde, right = text.partition("~")
        if not tilde or not left.strip() or not right.strip():
            raise InputError(f"The formula is {text!r}. It has the outcome, a tilde, and terms: {_EXAMPLE}.")
        found = cls(text, (_bare(left),))
        if match := _CALL.fullmatch(left.strip()):
            inside = tuple(_bare(part) for part in _split(match["inside"], ","))
            if match["name"] == "Surv" and len(inside) in (1, 2):
                found = cls(text, inside[::-1], time=inside[0], status=inside[1] if len(inside) == 2 else None)
            elif match["name"] == "cbind" and len(inside) == 2:
                found = cls(text, inside)
            else:
                raise UnsupportedError(
                    f"The outcome of {text!r} is {left.strip()!r}, which is no column. Make that column before; what "
                    "is read besides is cbind(successes, failures) and Surv(time, status)."
                )
        for sign, term in _signed(right):
            found = found._with(sign, term)
        return found

    def _with(self, sign: str, term: str) -> "ParsedFormula":
        if term in ("0", "1"):
            return replace(self, intercept=(term == "1") == (sign == "+"))
        if sign == "-":
            raise UnsupportedError(
                f"The formula {self.text!r} takes {term!r} away again. Write the terms that are left; only - 1, for no "
                "intercept, is read."
            )
        if match := _CALL.fullmatch(term):
            inside = _bare(match["inside"])
            if match["name"] == "strata":
                return replace(self, strata=(*self.strata, *(_bare(part) for part in _split(match["inside"], ","))))
            if match["name"] == "offset":
                if self.offset is not None:
                    raise UnsupportedError(f"The formula {self.text!r} has two offsets: add them up in one column.")
                return replace(self, offset=inside)
        factors = _split(term, "*")
        for part in (part for each in factors for part in _split(each, ":")):
            if not _COLUMN.fullmatch(part) and not _CALL.fullmatch(part):
                raise UnsupportedError(
                    f"The formula {self.text!r} has {part!r}, which is no column and no function of one. Signs have a "
                    "meaning of their own in a formula: a power or a ratio of numbers stands in I(), such as I(age^2)."
                )
        found = list(self.products)
        # a * b is a + b + a:b, and every product of some of more than two.
        for size in range(1, len(factors) + 1):
            found += [tuple(_split(":".join(some), ":")) for some in combinations(factors, size)]
        return replace(self, products=tuple(dict.fromkeys(found)))

    def coefficients(self, known: Known) -> Iterator[tuple[str, str | None]]:
        """Yield the name of each coefficient, and the level of a category that it is of.

        Parameters
        ----------
        known : Known
            The rows, which say what is a category and which values it has.
        """
        if self.intercept and self.time is None:
            yield "(Intercept)", None
        others = {*self.outcome, *self.strata, self.offset}
        products = [
            (name,) if part == (".",) else part
            for part in self.products
            for name in (known.names if part == (".",) else [""])
            if part != (".",) or name not in others
        ]
        categories = {part for each in products for part in each if self._category(part, known) is not None}
        there = {frozenset(each) for each in products}
        for each in dict.fromkeys(products):
            for part in each:
                rest = frozenset(each) - {part}
                if part in categories and rest and rest not in there:
                    # R and statsmodels have a coefficient for every value then, the first one too.
                    without = ":".join(other for other in each if other != part)
                    raise UnsupportedError(
                        f"The formula {self.text!r} has {':'.join(each)!r} and not {without!r} by itself, which codes "
                        f"the category {part!r} in another way. Write {'*'.join(each)!r}."
                    )
            yield from self._levels(each, known)
        if not self.intercept and categories:
            raise UnsupportedError(
                f"The formula {self.text!r} has a category and no intercept, which codes the category in another way. "
                "Leave the intercept in: the fitted values are the same."
            )

    def _levels(self, factors: Sequence[str], known: Known) -> Iterator[tuple[str, str | None]]:
        names = [""]
        for part in factors:
            column = self._category(part, known)
            if column is None:
                choices = [part]
            elif len(factors) == 1:
                yield from ((column, str(value)) for value in self._compared(part, column, known))
                return
            else:
                choices = [f"{in_r(column)}[T.{value}]" for value in self._compared(part, column, known)]
            names = [f"{start}:{choice}" if start else choice for start in names for choice in choices]
        yield from ((name, None) for name in names)

    def _compared(self, part: str, column: str, known: Known) -> list[Hashable]:
        """Return the values of a category that have a coefficient: all but the one that they are compared with."""
        values = known.values(column)
        if nothing := "".join(map(seems_missing, values)):
            raise InputError(
                f"The formula {self.text!r} takes {column!r} for a category. {nothing}A value that is really called so "
                "needs another name."
            )
        coded = _coded(part)
        if coded is None or not coded.how:
            return values[1:]
        given = _REFERENCE.fullmatch(coded.how)
        base = known.level(column, given["value"]) if given else None
        if base is None:
            raise InputError(
                f"The formula {self.text!r} says {coded.how!r} of {column!r}. What is read there is a value that the "
                f"others are compared with, one of {several(values)}: C({in_r(column)}, "
                f"Treatment({str(values[-1])!r})), or relevel({in_r(column)}, {str(values[-1])!r}) as R has it."
            )
        return [value for value in values if value != base]

    def _category(self, part: str, known: Known) -> str | None:
        """Return the column whose values a factor tells apart; None if it is a number."""
        if (coded := _coded(part)) is not None:
            known.check(coded.column, f"A category of the formula {self.text!r}")
            return coded.column
        column = _bare(part)
        return column if column in known.names and not known.is_number(column) else None


@dataclass(frozen=True)
class _Coded:
    """A column that a formula takes for a category, and what it says about the value that others are compared with."""

    column: str
    how: str


def _coded(part: str) -> _Coded | None:
    match = _CALL.fullmatch(part)
    if not match or match["name"] not in (*_CATEGORY, "relevel"):
        return None
    column, *how = _split(match["inside"], ",")
    inner = _CALL.fullmatch(column)
    if match["name"] == "relevel" and inner and inner["name"] in _CATEGORY:
        column = inner["inside"]
    elif match["name"] != "relevel" and len(how) == 1:
        contrasts = _CALL.fullmatch(how[0])
        told = contrasts and contrasts["name"] == "Treatment"
        how = [contrasts["inside"] if contrasts and told else f"coded as {how[0]}"]
    return _Coded(_bare(column), ", ".join(how))


def _bare(name: str) -> str:
    return name.strip().strip("`")


def _split(text: str, at: str) -> list[str]:
    """Cut a text at a sign that stands in no parentheses and no quotes."""
    found, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == "`"
        depth += (letter in "([") - (letter in ")]")
        if letter == at and depth == 0 and not quoted:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found]


def _signed(text: str) -> Iterator[tuple[str, str]]:
    """Yield the terms of a sum, each with its sign."""
    for i, plus in enumerate(_split(text, "+")):
        first, *minus = _split(plus, "-")
        if first:
            yield "+", first
        elif not (i == 0 and minus):
            raise InputError(f"A sum of the formula has nothing between two signs: {text.strip()!r}.")
        for term in minus:
            yield "-", term
