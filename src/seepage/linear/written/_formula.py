"""A formula as R writes it, read by patsy.

    ill ~ age + log(dose) + ward       cbind(ill, well) ~ age * sex       Surv(week, died) ~ age + strata(site)

patsy runs what it reads: nothing but columns, numbers and the functions below is handed to it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._near import did_you_mean, several
from seepage._tables import Frame
from seepage.errors import InputError, MissingExtraError, UnsupportedError
from seepage.linear.columns import Formula

Array = NDArray[np.float64]

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in ("log", "log1p", "log2", "log10", "exp", "expm1", "sqrt")},
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "tanh", "square", "reciprocal")},
    "atan": np.arctan,
    "asinh": np.arcsinh,
}
_CODINGS = ("Treatment", "Sum", "Helmert", "Poly")
_CALLED = {name: name for name in (*FUNCTIONS, *_CODINGS, "C", "I", "Q", "relevel")}
_CALLED |= {"factor": "C", "as.factor": "C", **{f"np.{name}": name for name in FUNCTIONS}}
_TOKEN = re.compile(
    r"""(?P<text>"[^"]*"|'[^']*')|`(?P<ticked>[^`]+)`|(?P<name>(?:[^\W\d]|\.(?!\d))[\w.]*)(?P<call>\s*\()?"""
    r"""|(?P<rest>\*\*|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|[-+*/^:()~,=]|\s+)|(?P<strange>.)""",
    re.DOTALL,
)
_OTHER_POWER = re.compile(r"(?:\^|\*\*)(?!\s*(?:1?\d|20)\b(?!\s*(?:\^|\*\*|\.)))")
_CALL = re.compile(r"(?P<name>[A-Za-z_.][\w.]*)\((?P<inside>.*)\)", re.DOTALL)
_NOTHING = ("NA", "", "NaN", "nan", "NULL", ".")


@dataclass(frozen=True)
class TableFormula:
    """The columns that a formula names, and its right side."""

    text: str
    outcome: tuple[str, ...]
    """Of a Cox model the status, if there is one, and the time."""
    time: str | None = None
    strata: tuple[str, ...] = ()
    offsets: tuple[str, ...] = ()
    terms: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, text: str) -> "TableFormula":
        """Read a formula."""
        left, tilde, right = text.partition("~")
        if not tilde or not left.strip() or not right.strip():
            raise InputError(
                f'The formula is {text!r}. It has the outcome, a tilde, and terms: "ill ~ age + log(dose) + ward".'
            )
        if _OTHER_POWER.search(right):
            raise UnsupportedError(f"The formula {text!r} has a power that is no whole number from 1 to 20.")
        outcome: tuple[str, ...] = (_bare(left),)
        time = None
        if match := _CALL.fullmatch(left.strip()):
            outcome = tuple(_bare(part) for part in _split(match["inside"], ","))
            if match["name"] == "Surv" and len(outcome) < 3:
                outcome, time = outcome[::-1], outcome[0]
            elif match["name"] != "cbind" or len(outcome) != 2:
                raise UnsupportedError(
                    f"The outcome of {text!r} is {left.strip()!r}, which is no column. Make that column before; or "
                    "write cbind(successes, failures) or Surv(time, status)."
                )
        inside: dict[str, list[str]] = {"strata": [], "offset": [], "": []}
        for term in _split(right, "+"):
            match = _CALL.fullmatch(term)
            name = match["name"] if match and match["name"] in inside else ""
            inside[name].append(match["inside"] if match and name else term)
        strata = tuple(_bare(part) for each in inside["strata"] for part in _split(each, ","))
        return cls(text, outcome, time, strata, tuple(inside["offset"]), tuple(inside[""]) or ("1",))

    def used(self, names: Sequence[str]) -> list[str]:
        """Return the columns that the formula names; refuse others than these."""
        for name in (*self.outcome, *self.strata):
            self._check(name, names)
        _, used = self._translate(" + ".join((*self.terms, *self.offsets)), names)
        if both := [name for name in self.outcome if name in used]:
            raise InputError(f"{both[0]!r} is the outcome of {self.text!r} and one of its terms: leave it out there.")
        return list(dict.fromkeys([*used, *self.outcome, *self.strata]))

    def design(self, frame: Frame, names: Sequence[str]) -> Formula:
        """Return the right side as a step before a model."""
        matrix = self._matrix(" + ".join(self.terms), frame, names)
        found = Formula(matrix.design_info, frame)
        if not found.terms:
            raise InputError(f"The formula {self.text!r} has no term but the constant: it tells of nobody's columns.")
        for name, levels in (item for term in found.terms for item in term.levels.items()):
            if nothing := [level for level in levels if level in _NOTHING]:
                raise InputError(
                    f"{name!r} holds {nothing[0]!r}, which seems to stand for a missing value: write it as such "
                    "(Parquet does), drop those rows, or give the value another name."
                )
        with np.errstate(all="ignore"):
            made = found.transform(frame)
        if not np.isfinite(made).all():
            row, column = np.argwhere(~np.isfinite(made))[0]
            term = next(term for term in found.terms if column + (found.intercept is not None) in term.columns)
            values = ", ".join(f"{name} = {frame[name].iloc[row]}" for name in term.numbers)
            raise InputError(
                f"{term.code!r} is {made[row, column]} in a row with {values}. Such a row cannot have been part of "
                "the fit: leave it out."
            )
        return found

    def offset(self, frame: Frame, names: Sequence[str]) -> Array | None:
        """Return what is added to each margin, if something is."""
        if not self.offsets:
            return None
        found = np.sum([self._matrix(f"0 + I({each})", frame, names)[:, 0] for each in self.offsets], axis=0)
        if not np.isfinite(found).all():
            raise InputError(f"The offset of {self.text!r} is not finite in every row.")
        return np.asarray(found, dtype=np.float64)

    def _matrix(self, text: str, frame: Frame, names: Sequence[str]) -> Any:
        try:
            import patsy
        except ImportError:
            raise MissingExtraError(
                'Formulas are read with patsy. Install it with: pip install "seepage[statsmodels]"'
            ) from None
        translated, _ = self._translate(text, names)
        try:
            known = patsy.EvalEnvironment([{**FUNCTIONS, "relevel": _relevel}])
            with np.errstate(all="ignore"):
                return patsy.dmatrix(translated, frame, known, NA_action="raise")
        except (patsy.PatsyError, SyntaxError, TypeError, ValueError, RecursionError) as reason:
            raise InputError(f"The formula {self.text!r} cannot be read: {str(reason).splitlines()[0]}.") from None

    def _translate(self, text: str, names: Sequence[str]) -> tuple[str, list[str]]:
        """Return a part of the formula as patsy writes it, and the columns in it; refuse what has no meaning here."""
        made, used = [], []
        for match in _TOKEN.finditer(text):
            name, called = match["ticked"] or match["name"], match["call"]
            if match["strange"]:
                raise UnsupportedError(f"The formula {self.text!r} has a {match['strange']!r}, which is not read here.")
            if called and match["name"] not in names:
                if name not in _CALLED:
                    raise UnsupportedError(
                        f"The formula {self.text!r} has {name}(), which is not read here. Make its column before; or "
                        f"write {several([*FUNCTIONS, 'I', 'factor', 'relevel'], 20)}."
                    )
                made.append(f"{_CALLED[name]}(")
            elif name == "." and "." not in names:
                others = [each for each in names if each not in (*self.outcome, *self.strata)]
                used += others
                made.append(f"({' + '.join(map(_quoted, others))})")
            elif name in ("ref", "reference", *_CODINGS) and name not in names:
                made.append(name)
            elif name:
                self._check(name, names)
                used.append(name)
                made.append(_quoted(name) + (called or ""))
            else:
                made.append({"^": "**"}.get(match[0], match[0]))
        return "".join(made), used

    def _check(self, name: str, names: Sequence[str]) -> None:
        if name in names:
            return
        packed = [other for other in names if len(names) < 3 and (";" in other or "\t" in other)]
        if packed:
            raise InputError(
                f"There is one column, {packed[0][:60]!r}: the file is separated by something else than commas. Write "
                "it with commas and decimal points (write.csv, not write.csv2), or as Parquet."
            )
        raise InputError(
            f"The formula {self.text!r} has {name!r}, which is no column of the rows. {did_you_mean(name, names)}The "
            f"columns are: {several(list(names))}."
        )


def _relevel(values: Any, ref: object) -> Any:
    """Return a category whose values are compared with one of them, as R writes it."""
    from patsy.builtins import C, Treatment

    levels = dict.fromkeys(np.asarray(getattr(values, "data", values)).tolist())
    return C(values, Treatment(next((level for level in levels if str(level) == str(ref)), ref)))


def _quoted(name: str) -> str:
    plain = name.isidentifier() and not iskeyword(name) and name not in _CALLED and not name.startswith("_")
    return name if plain else f"Q({name!r})"


def _bare(name: str) -> str:
    return name.strip().strip("`")


def _split(text: str, at: str) -> list[str]:
    """Cut a text at a sign that stands in no parentheses and no quotes."""
    found, depth, quote = [""], 0, ""
    for letter in text:
        if letter in "`\"'" and quote in ("", letter):
            quote = "" if quote else letter
        depth += (letter in "([") - (letter in ")]")
        if letter == at and depth == 0 and not quote:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found]
