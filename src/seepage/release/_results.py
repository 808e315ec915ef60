"""A table of results as journals print them: estimates with noise, and intervals that include it."""

import csv
import io
import math
import re
from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np
from scipy.stats import t as student

from seepage._tables import Array, Frame, default_library, frame
from seepage.errors import InputError

_NUMBERS = ("estimate", "standard error", "low", "high", "p")


@dataclass(frozen=True, eq=False)
class PublishedErrors:
    """Variances of published coefficients, each with noise of its own.

    Attributes
    ----------
    variances : ndarray of shape (coefficients,)
        What sampling adds to each, with relative noise; zero for a level that others are compared with.
    added : float
        The noise on each coefficient, in its standard errors.
    relative : float
        The noise on the logarithm of each variance.
    freedom : float
        The degrees of freedom of the residuals.
    """

    variances: Array
    added: float
    relative: float
    freedom: float

    @property
    def whole(self) -> Array:
        """The standard errors of sampling and noise together."""
        return np.asarray(np.sqrt(self.variances * (1.0 + self.added**2)))

    @property
    def degrees(self) -> float:
        """The degrees of freedom of a variance that scatters like these: a chi-squared one over them scatters by 2."""
        return 2.0 / (2.0 / max(self.freedom, 1.0) + self.relative**2)


@dataclass(frozen=True, eq=False, repr=False)
class ResultTable:
    """Estimates that carry noise, with standard errors, intervals and p-values that include it, if they were published.

    All of it may leave the house: it is made from what was published, and from nothing else.

    Attributes
    ----------
    terms : tuple of str
        What each coefficient belongs to.
    level : float
        How often intervals hold the coefficient.
    notes : tuple of str
        What a reader must know, in sentences.
    """

    terms: tuple[str, ...]
    estimates: Array
    errors: PublishedErrors | None
    level: float
    exponentiated: bool
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.level, bool) or not 0 < self.level < 1:
            raise InputError(f"level is how often intervals hold the coefficient, such as 0.95, not {self.level!r}.")

    @cached_property
    def columns(self) -> dict[str, list[str] | Array]:
        """The table, column by column: estimates, and what belongs to them if standard errors were published."""
        turned = np.exp if self.exponentiated else np.asarray
        found: dict[str, list[str] | Array] = {"term": list(self.terms), "estimate": turned(self.estimates)}
        if self.errors is None:
            return found
        error, degrees = self.errors.whole, self.errors.degrees
        error = np.where(error > 0, error, np.nan)
        reach = student.ppf(0.5 * (1.0 + self.level), degrees) * error
        found["standard error"] = error
        found["low"], found["high"] = turned(self.estimates - reach), turned(self.estimates + reach)
        found["p"] = np.asarray(2.0 * student.sf(np.abs(self.estimates) / error, degrees))
        return found

    def frame(self, library: str | None = None) -> Frame:
        """Return the table as a data frame, of pandas by default."""
        return frame(self.columns, default_library() if library is None else library)

    def to_csv(self) -> str:
        """Return the table as CSV, with all published digits."""
        found = io.StringIO()
        writer = csv.writer(found, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_plain(value) for value in row] for row in zip(*self.columns.values(), strict=True))
        return found.getvalue()

    def to_markdown(self) -> str:
        """Return the table as Markdown, its notes below."""
        head, *rows = self._cells
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---", *["---:"] * (len(head) - 1)], *rows)]
        return "\n".join([*lines, "", *self.notes, ""])

    def to_latex(self) -> str:
        """Return the table as a tabular of LaTeX, its notes below."""
        head, *rows = ([_in_latex(term), *map(_number_in_latex, cells)] for term, *cells in self._cells)
        body = [" & ".join(row) + r" \\" for row in rows]
        notes = _in_latex(" ".join(self.notes))
        begin = rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}"
        inner = [r"\hline", " & ".join(head) + r" \\", r"\hline", *body, r"\hline"]
        below = rf"\multicolumn{{{len(head)}}}{{p{{0.9\linewidth}}}}{{\footnotesize {notes}}} \\"
        return "\n".join([begin, *inner, below, r"\end{tabular}", ""])

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self._cells, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(row))
            for row in (list(zip(cells, widths, strict=True)) for cells in self._cells)
        ]
        return "\n".join([*(line.rstrip() for line in lines), "", *self.notes])

    def _repr_html_(self) -> str:
        head, *rows = ([escape(cell) for cell in row] for row in self._cells)
        top = "".join(f"<th>{cell}</th>" for cell in head)
        right = ' style="text-align: right"'
        body = "".join(
            f"<tr><td>{term}</td>{''.join(f'<td{right}>{cell}</td>' for cell in cells)}</tr>" for term, *cells in rows
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{notes}"

    def _is_reference(self, i: int) -> bool:
        """Return whether others are compared with this level: nothing was estimated there, and nothing has noise."""
        return self.estimates[i] == 0.0 and " = " in self.terms[i]

    @cached_property
    def _cells(self) -> list[list[str]]:
        """The table as people read it: as many decimals as the standard error has to two digits, or the estimate."""
        columns = self.columns
        rows = [["term", *_headings(self)]]
        for i, term in enumerate(self.terms):
            values = {name: float(columns[name][i]) for name in _NUMBERS if name in columns}
            if self._is_reference(i):
                rows.append([term, "reference", *[""] * (len(rows[0]) - 2)])
                continue
            error = values.get("standard error", abs(values["estimate"]) / 10)
            # That of a ratio is its interval's.
            places = _places((values["high"] - values["low"]) / 4 if self.exponentiated and "low" in values else error)
            cells = [_fixed(values["estimate"], places)]
            if "low" in values:
                cells.append(_fixed(error, _places(error)))
                cells.append(f"{_fixed(values['low'], places)} to {_fixed(values['high'], places)}")
                cells.append("<0.001" if values["p"] < 0.001 else f"{values['p']:.3f}")
            rows.append([term, *cells])
        return rows


def _headings(table: ResultTable) -> list[str]:
    estimate = "exp(estimate)" if table.exponentiated else "estimate"
    if table.errors is None:
        return [estimate]
    error = "standard error of the logarithm" if table.exponentiated else "standard error"
    return [estimate, error, f"{100 * table.level:g}% interval", "p"]


def _places(size: float) -> int:
    """Return how many decimals show two digits of a size."""
    if not math.isfinite(size) or size <= 0:
        return 3
    # 0.0997 is 0.10 to two digits, not 0.100.
    return min(max(1 - math.floor(math.log10(float(f"{size:.1e}"))), 0), 12)


def _fixed(value: float, places: int) -> str:
    # A number that rounds to nothing has no sign.
    return f"{round(value, places) + 0.0:.{places}f}"


def _plain(value: object) -> object:
    return repr(float(value)) if isinstance(value, float) and math.isfinite(value) else "" if value != value else value


_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "<": "$<$", ">": "$>$", "^": r"\^{}", "~": r"\~{}"}
)


def _in_latex(text: str) -> str:
    return text.translate(_LATEX)


def _number_in_latex(cell: str) -> str:
    """Return numbers with signs of mathematics: a hyphen is no minus."""
    return re.sub(r"-(?=\d)", "$-$", _in_latex(cell))
