"""Printed tables compared with the people whom they are about."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._near import did_you_mean, several
from seepage._tables import Table
from seepage.errors import InputError
from seepage.tables._aggregate import WORDS
from seepage.tables._claims import CellClaim, TableReader, numbers_of
from seepage.tables._grids import Rows, read_grids
from seepage.tables._labels import QUANTILES, Vocabulary
from seepage.tables._listed import NumberTable
from seepage.tables._statistics import Recomputed, Subject

_KNOWN = ("count", "mean", "sum", "sd", "share", "percent", "se", *QUANTILES)
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class PrintedNumbers:
    """Numbers of a table about some people.

    Attributes
    ----------
    claims : tuple of CellClaim
        The numbers that are the people's.
    contradictions : tuple of str
        Others, in sentences.
    not_checked : tuple of str
        Columns, rows and texts that hold something else.
    texts : tuple of str
        What stands in these.
    """

    people: Recomputed
    claims: tuple[CellClaim, ...]
    contradictions: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    rounded: bool = True

    @property
    def table(self) -> NumberTable | None:
        """The table of these numbers; None if they say nothing of anybody."""
        numbers = numbers_of(self.claims, self.people)
        return NumberTable(numbers=numbers, where=self.people.where) if numbers else None

    @property
    def digits(self) -> int | None:
        """The decimals of the numbers."""
        return max((claim.decimals for claim in self.claims), default=None) if self.rounded else None

    def single_values(self) -> Iterator[tuple[str, int]]:
        """Yield the quantiles, and how many people each is the value of: the fewest first."""
        found = sorted((c for c in self.claims if c.truth.holders), key=lambda claim: claim.truth.holders)
        yield from ((claim.subject.words(claim.statistic), claim.truth.holders) for claim in found)

    def cells_of(self, attribute: str, rows: NDArray[np.intp]) -> Iterator[tuple[int, str]]:
        """Yield the numbers about a column that some people are in: how many people it is from, and its name."""
        for subject, statistic in {claim.subject: claim.statistic for claim in self.claims}.items():
            people = self.people.people(subject.group)
            if attribute in (subject.variable, *dict(subject.group)) and people[rows].any():
                count = int(people.sum())
                yield count, f"{subject.words(statistic)}, from {count:,} {'person' if count == 1 else 'people'}"

    def statistics(self) -> str:
        """Name what is printed, such as "mean and count of pay by sex"."""
        found = dict.fromkeys(claim.statistic for claim in self.claims)
        of = dict.fromkeys(c.subject.variable for c in self.claims if c.subject.variable is not None)
        by = dict.fromkeys(name for claim in self.claims for name, _ in claim.subject.group)
        parts = (("", found), (" of ", of), (" by ", by))
        return "".join(f"{word}{' and '.join(names)}" for word, names in parts if names)


def printed_numbers(path: Path, says: Mapping[str, Any], people: Table, where: str | None) -> PrintedNumbers:
    """Read a table and compare its numbers with those of people.

    Parameters
    ----------
    path : Path
    says : mapping
        Its variables (`of`), the columns of its groups (`by`), and perhaps its `statistics`.
    people : Table
        All of them.
    where : str or None
        The people it is about.
    """
    of, by, statistics = _described(says, people)
    recomputed = Recomputed(people, where)
    vocabulary = Vocabulary.of(people, (*of, *by))
    file = read_grids(path)
    readings = TableReader(recomputed, vocabulary, of, by, statistics).read(file)
    claims, contradictions, left, texts = list[CellClaim](), list[str](), list[str](), list[str]()
    for reading in readings:
        claims += reading.claims
        contradictions += [
            f"{each.subject.words(each.statistic)} is {each.text} in it, and {each.value:.6g} of these people"
            for each in reading.contradictions
        ]
        texts += [each.text for each in reading.contradictions]
        left += not_compared(reading.rows, reading.compared)
        texts += texts_of(reading.rows, reading.compared)
    notes = [text for text in file.texts if not vocabulary.explains(text)]
    left += [f"the text {_short(text)!r}" for text in notes]
    return PrintedNumbers(recomputed, tuple(claims), tuple(contradictions), tuple(left), (*texts, *notes))


def described_numbers(says: Mapping[str, Any], people: Table, where: str | None) -> PrintedNumbers:
    """Return the numbers of a table that is described and not printed."""
    of, by, statistics = _described(says, people)
    recomputed, claims = Recomputed(people, where), []
    for group, name, statistic in product(recomputed.groups(by), (None, *of), statistics or ("count", "mean")):
        if (name is None) == (statistic == "count"):
            subject = Subject(name, None, group)
            truth = next(recomputed.truths(statistic, subject), None)
            claims += [] if truth is None else [CellClaim((0, 0), statistic, subject, truth, 0)]
    return PrintedNumbers(recomputed, tuple(claims), rounded=False)


def named_columns(path: Path, people: Table, without: str) -> tuple[list[str], list[str]]:
    """Return the columns that the labels of a file name, and those of which they name levels."""
    names = [name for name in people.names if name != without]
    vocabulary = Vocabulary.of(people, names)
    mentioned, levels = dict[str, None](), dict[str, None]()
    for rows in read_grids(path).grids:
        for label in (
            vocabulary.read(cell) for i, row in enumerate(rows) for cell in (row if i < 2 else row[:2]) if cell
        ):
            for term in (term for way in label.alternatives for term in way):
                mentioned |= {term.name: None} if term.kind == "column" and term.name != without else {}
                levels |= {term.name: None} if term.kind == "level" else {}
    return [name for name in names if name in mentioned or name in levels], [name for name in names if name in levels]


def _described(says: Mapping[str, Any], people: Table) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    of, by, statistics = (says.get(key, ()) for key in ("of", "by", "statistics"))
    for key, names in (("of", of), ("by", by), ("statistics", statistics)):
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise InputError(f'{key} is a list of names: {key} = ["{names}"].')
    for name in (*of, *by):
        if name not in people.names:
            raise InputError(
                f"There is no column {name!r}. {did_you_mean(name, people.names)}The columns are: "
                f"{several(list(people.names))}."
            )
        if name in of and name in by:
            raise InputError(f"{name!r} is in of and in by: within a group everybody has the same. Name it once.")
    for name in statistics:
        if name not in _KNOWN:
            same = WORDS.get(name.lower())
            meant = f" Did you mean {same!r}?" if same else ""
            raise InputError(f"{name!r} is none of the statistics {several(list(_KNOWN))}.{meant}")
    return tuple(of), tuple(by), tuple(statistics)


def not_compared(rows: Rows, compared: Collection[tuple[int, int]], head: int = 0) -> list[str]:
    """Return the columns and the rows that hold a cell which was compared with nothing.

    Parameters
    ----------
    rows : list of list of str
        All cells of the file.
    compared : collection of (int, int)
        Row and column of the others.
    head : int
        The row that names the columns.
    """
    left = [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell and (i, j) not in compared]
    partly = {i for i, _ in compared}
    columns = sorted({j for i, j in left if i in partly})
    names = dict(enumerate(rows[head]))
    found = [f"column {j + 1} ({_short(names.get(j, ''))!r})" for j in columns]
    return found + [f"row {i + 1}" for i in sorted({i for i, _ in left if i not in partly})]


def texts_of(rows: Rows, compared: Collection[tuple[int, int]]) -> list[str]:
    """Return the texts of cells that were compared with nothing."""
    return [cell for i, row in enumerate(rows) for j, cell in enumerate(row) if cell and (i, j) not in compared]


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
