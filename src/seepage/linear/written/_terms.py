"""What a coefficient belongs to, read from its name: R's own names, those of Stata, and those of patsy.

    age   log(dose)   I(age^2)   wardnorth   factor(ward)2   age:sexmale     R
    2.ward   c.age#c.age   1.sex#c.age   _cons                              Stata
    ward[T.north]   C(ward)[T.north]   np.log(dose)   I(age ** 2)           patsy

A name does not always say where a column ends and a level begins: the rows decide, by the values that they have.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, product

from seepage._near import did_you_mean, several
from seepage._tables import Column, missing_in
from seepage.errors import InputError, UnsupportedError
from seepage.linear.written._toml import key_of

INTERCEPTS = ("(Intercept)", "Intercept", "intercept", "_cons", "const")
"""What the constant is called."""
# What R and numpy call functions whose slope is known, and what numpy calls them.
FUNCTIONS = {name: name for name in ("log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "sin", "cos", "tan")}
FUNCTIONS |= {"tanh": "tanh", "atan": "arctan", "asinh": "arcsinh", "square": "square", "reciprocal": "reciprocal"}

# What files write for a value that is not there.
_NOTHING = ("NA", "", "NaN", "nan", "NULL", ".")
_STATA = re.compile(r"(?P<level>\d+)(?P<base>b|bn|o)?\.(?P<column>.+)")
_STATA_NUMBER = re.compile(r"(?P<omitted>co|c|o)\.(?P<column>.+)")
_BRACKETS = re.compile(r"(?P<column>.+?)\[(T\.)?(?P<level>.*)\]")
_FACTOR = re.compile(r"(as\.)?(factor|character|C)\((?P<column>[^,()]+)(,[^()]*(\([^()]*\))?[^()]*)?\)(?P<level>.*)")
_ORDERED = re.compile(r"(?P<column>.+?)(\.L|\.Q|\.C|\^\d+)")
# Ways to cut a name that are tried double with each.
_MOST_FACTORS = 8
_WAY_OUT = "Make its column before the fit, and fit with that column by its name"


@dataclass(frozen=True)
class WrittenFactor:
    """A column as it enters a term: as it is, through a function, or as whether it has one value."""

    column: str
    function: str | None = None
    """As numpy calls it."""
    level: Hashable = None


@dataclass(frozen=True)
class WrittenTerm:
    """A product of powers of factors, times a number; of none for the constant."""

    powers: tuple[tuple[WrittenFactor, int], ...] = ()
    scale: float = 1.0

    @classmethod
    def of(cls, factor: WrittenFactor) -> "WrittenTerm":
        """Return the term of one factor."""
        return cls(((factor, 1),))

    def times(self, other: "WrittenTerm") -> "WrittenTerm":
        """Return the product of two terms."""
        powers: Counter[WrittenFactor] = Counter()
        for each, power in (*self.powers, *other.powers):
            # An indicator is its own square.
            powers[each] = 1 if each.level is not None else powers[each] + power
        return WrittenTerm(tuple(sorted(powers.items(), key=repr)), self.scale * other.scale)

    @property
    def columns(self) -> list[str]:
        """The columns that it is made of."""
        return list(dict.fromkeys(factor.column for factor, _ in self.powers))

    @property
    def is_product_of_levels(self) -> bool:
        """Whether it is a category times something else."""
        return len(self.powers) > 1 and any(factor.level is not None for factor, _ in self.powers)

    @property
    def alone(self) -> WrittenFactor | None:
        """The one factor that it is, if it is one."""
        if len(self.powers) == 1 and self.powers[0][1] == 1 and self.scale == 1:
            return self.powers[0][0]
        return None


@dataclass(frozen=True, eq=False)
class Known:
    """The columns of the rows, and which values each has."""

    names: Sequence[str]
    column: Callable[[str], Column]
    """Returns all values of one."""
    is_number: Callable[[str], bool]
    """Returns whether one holds numbers, or true and false."""
    seen: dict[str, list[Hashable]] = field(default_factory=dict)
    """The values of those that somebody asked about."""

    def values(self, name: str) -> list[Hashable]:
        """Return the values that a column has, each once and in order."""
        if name not in self.seen:
            column = self.column(name)
            found = set(column[~missing_in(column)].tolist())
            self.seen[name] = sorted(found, key=lambda value: (str(type(value)), value))
        return self.seen[name]

    def level(self, name: str, text: str) -> Hashable:
        """Return the value of a column that is written so, if there is one."""
        return next((value for value in self.values(name) if text in _written(value)), None)

    def check(self, name: str, role: str) -> None:
        """Refuse a column that is not there."""
        if name not in self.names:
            raise InputError(f"{role} is {name!r}, which is no column of the rows. {self.instead(name)}")

    def instead(self, name: str) -> str:
        """Return which columns there are, the nearest first; and why there may be one alone."""
        packed = next((other for other in self.names if len(self.names) < 3 and (";" in other or "\t" in other)), None)
        if packed is not None:
            return (
                f"There is one column, {packed[:60]!r}: the file is separated by something else than commas. Write it "
                "with commas and decimal points (write.csv, not write.csv2), or as Parquet."
            )
        return f"{did_you_mean(name, self.names)}The columns are: {several(list(self.names))}."


def seems_missing(value: Hashable) -> str:
    """Return what to do about a value that seems to say that there is none, and nothing of any other."""
    if value not in _NOTHING:
        return ""
    return f"{value!r} seems to stand for a missing value: write it as such (Parquet does), or drop those rows. "


def _written(value: Hashable) -> tuple[str, ...]:
    """Return how a value may be written in the name of a coefficient."""
    if isinstance(value, bool):
        return ("TRUE", "True", "true", "1") if value else ("FALSE", "False", "false", "0")
    if isinstance(value, float) and value.is_integer():
        return (str(int(value)), str(value))
    return (str(value),)


def term_of(name: str, known: Known) -> WrittenTerm | None:
    """Return what a coefficient belongs to; None for a level that Stata lists as the base.

    Parameters
    ----------
    name : str
        Of the coefficient.
    known : Known
        The rows.
    """
    if name in INTERCEPTS and name not in known.names:
        return WrittenTerm()
    # A name may hold a colon itself.
    whole = _column(name, known) or _prefixed(name, known)
    if whole is not None:
        return whole
    parts = list(_parts(name))
    try:
        return _product([part for part, _ in parts], name, known)
    except (InputError, UnsupportedError):
        for joined in _joined(parts):
            with suppress(InputError, UnsupportedError):
                return _product(joined, name, known)
        raise


def _product(parts: Sequence[str], name: str, known: Known) -> WrittenTerm | None:
    found = WrittenTerm()
    for part in parts:
        each = _single(part, name, known)
        if each is None:
            return None
        found = found.times(each)
    return found


def level_of(column: str, text: str, known: Known) -> WrittenTerm:
    """Return the term of one value of a category."""
    if column not in known.names:
        raise InputError(f"There is a coefficient of {column!r} = {text!r}. {known.instead(column)}")
    value = known.level(column, text)
    if value is None:
        raise _nobody(column, text, known)
    return _indicator(column, value)


def _indicator(column: str, value: Hashable) -> WrittenTerm:
    # True and false are numbers as they are.
    return WrittenTerm.of(WrittenFactor(column) if value is True else WrittenFactor(column, level=value))


def _nobody(column: str, text: str, known: Known) -> InputError:
    values = [str(value) for value in known.values(column)]
    return InputError(
        f"There is a coefficient of {column!r} = {text!r}, a value that nobody has in these rows. "
        f"{did_you_mean(text, values)}The values are: {several(values)}."
    )


def _column(name: str, known: Known) -> WrittenTerm | None:
    bare = name[1:-1] if len(name) > 2 and name[0] == name[-1] == "`" else name
    return WrittenTerm.of(WrittenFactor(bare)) if bare in known.names else None


def _prefixed(name: str, known: Known) -> WrittenTerm | None:
    """Return the level that a name is, written behind its column as R does."""
    found = []
    for column in known.names:
        for start in (column, f"`{column}`"):
            if name.startswith(start) and len(name) > len(start):
                value = known.level(column, name[len(start) :])
                found += [] if value is None else [(column, value)]
    if len(found) > 1:
        both = " or ".join(f"{column} = {value!r}" for column, value in found)
        column, value = found[0]
        raise InputError(
            f"The coefficient {name!r} may be of {both}. Write which: {key_of(column)} = {{ {key_of(value)} = ... }} "
            "below [coefficients]."
        )
    return _indicator(*found[0]) if found else None


def _parts(name: str) -> Iterator[tuple[str, str]]:
    """Yield the factors of a product, each with what separates it from the next: a colon, or Stata's hash."""
    depth, quoted, part = 0, False, ""
    for letter in name:
        quoted ^= letter == "`"
        depth += (letter in "([") - (letter in ")]")
        if letter in ":#" and depth == 0 and not quoted:
            yield part, letter
            part = ""
        else:
            part += letter
    yield part, ""


def _joined(parts: Sequence[tuple[str, str]]) -> Iterator[list[str]]:
    """Yield other ways to cut a product, for levels that hold a colon themselves; the finest first."""
    if len(parts) > _MOST_FACTORS:
        return
    for cuts in sorted(product((True, False), repeat=len(parts) - 1), key=sum, reverse=True):
        found = [parts[0][0]]
        for cut, (_, between), (part, _) in zip(cuts, parts, parts[1:], strict=False):
            if cut:
                found.append(part)
            else:
                found[-1] += between + part
        yield found


def _single(part: str, name: str, known: Known) -> WrittenTerm | None:
    part = part.strip()
    found = _column(part, known) or _prefixed(part, known)
    if found is not None:
        return found
    if (match := _STATA.fullmatch(part)) and match["column"] in known.names:
        if match["base"] is not None:
            return None
        return level_of(match["column"], match["level"], known)
    if (match := _STATA_NUMBER.fullmatch(part)) and match["column"] in known.names:
        return None if match["omitted"] != "c" else WrittenTerm.of(WrittenFactor(match["column"]))
    if (match := _BRACKETS.fullmatch(part)) and (column := _called(match["column"], known)) is not None:
        return level_of(column, match["level"], known)
    if (match := _FACTOR.fullmatch(part)) and (column := _called(match["column"], known)) is not None:
        return level_of(column, match["level"], known)
    quotes = tuple(re.findall(r"`([^`]+)`", part))
    numbers = count()
    text = re.sub(r"`[^`]+`", lambda _: f"_quoted{next(numbers)}", part)
    try:
        tree = ast.parse(text.replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _strange(part, name, known) from None
    try:
        return _expression(tree, quotes, known)
    except (_StrangeError, RecursionError):
        raise _strange(part, name, known) from None


def _called(text: str, known: Known) -> str | None:
    """Return the column that something like C(ward) is about."""
    match = re.fullmatch(r"(?:C|factor|as\.factor)\(([^,()]+)(,.*)?\)", text)
    bare = (match[1] if match else text).strip().strip("`")
    return bare if bare in known.names else None


class _StrangeError(Exception):
    """An expression is no product of powers of functions of single columns."""


def _expression(tree: ast.expr, quotes: tuple[str, ...], known: Known) -> WrittenTerm:
    """Return an expression as a term."""
    if isinstance(tree, ast.Name | ast.Attribute):
        name = ast.unparse(tree)
        name = dict(zip((f"_quoted{i}" for i in count()), quotes, strict=False)).get(name, name)
        if name not in known.names:
            raise _StrangeError
        return WrittenTerm.of(WrittenFactor(name))
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float) and not isinstance(tree.value, bool):
        return WrittenTerm(scale=float(tree.value))
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return _expression(tree.operand, quotes, known).times(WrittenTerm(scale=-1.0))
    if isinstance(tree, ast.BinOp):
        return _operation(tree, quotes, known)
    if isinstance(tree, ast.Call) and len(tree.args) == 1 and not tree.keywords:
        function = ast.unparse(tree.func).removeprefix("np.").removeprefix("numpy.")
        if function == "Q" and isinstance(tree.args[0], ast.Constant) and tree.args[0].value in known.names:
            return WrittenTerm.of(WrittenFactor(str(tree.args[0].value)))
        inner = _expression(tree.args[0], quotes, known)
        if function == "I":
            return inner
        alone = inner.alone
        if function in FUNCTIONS and alone is not None and alone.function is None and alone.level is None:
            return WrittenTerm.of(WrittenFactor(alone.column, FUNCTIONS[function]))
    raise _StrangeError


def _operation(tree: ast.BinOp, quotes: tuple[str, ...], known: Known) -> WrittenTerm:
    left, right = (_expression(each, quotes, known) for each in (tree.left, tree.right))
    if isinstance(tree.op, ast.Mult):
        return left.times(right)
    if isinstance(tree.op, ast.Div) and not right.powers and right.scale != 0:
        return left.times(WrittenTerm(scale=1 / right.scale))
    if isinstance(tree.op, ast.Div) and not left.powers and right.alone is not None and right.alone.function is None:
        return WrittenTerm.of(WrittenFactor(right.alone.column, "reciprocal")).times(left)
    if isinstance(tree.op, ast.Pow) and not right.powers and right.scale in range(1, 21):
        found = left
        for _ in range(int(right.scale) - 1):
            found = found.times(left)
        return found
    raise _StrangeError


def in_r(column: str) -> str:
    """Return a column as R writes it in a formula."""
    return column if re.fullmatch(r"[A-Za-z.][A-Za-z0-9._]*", column) else f"`{column}`"


def _strange(part: str, name: str, known: Known) -> InputError | UnsupportedError:
    """Return why a name means nothing here, and the way out."""
    whole = f"The coefficient {name!r}" + (f", in it {part!r}," if part != name else "")
    if (match := _ORDERED.fullmatch(part)) and match["column"] in known.names:
        return UnsupportedError(
            f"{whole} is of a polynomial contrast of an ordered factor. Fit with indicators of its levels instead: "
            f"factor({in_r(match['column'])}, ordered = FALSE); the fitted values are the same."
        )
    if "(" in part:
        columns = [column for column in known.names if re.search(rf"\b{re.escape(column)}\b", part)]
        if not columns:
            return InputError(f"{whole} names no column of the rows. {known.instead(part)}")
        return UnsupportedError(
            f"{whole} is of a term that cannot be read from its name. {_WAY_OUT}. What can be read: columns, their "
            f"levels, {', '.join(list(FUNCTIONS)[:7])} of a column, powers as "
            f"I({in_r(columns[0])}^2), and products of these."
        )
    column = max((each for each in known.names if part.startswith(each)), key=len, default=None)
    if column is not None and not known.is_number(column):
        return _nobody(column, part[len(column) :], known)
    return InputError(f"{whole} is of no column of the rows, and of no value of one. {known.instead(part)}")
