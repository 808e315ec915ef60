"""Printed numbers compared with those of a fit.

An entry matches as a whole: all of its numbers are roundings of numbers of one term, every slot has numbers of one
kind, and no term is there twice. A slot where most numbers are of no kind belongs to another model, or to nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from seepage._facts import Assumption, given
from seepage._near import several
from seepage.errors import InputError
from seepage.linear.written._numbers import COEFFICIENT, EXPONENTIATED, FittedNumbers, TableTerm, says_only
from seepage.linear.written._printed import PrintedEntry, PrintedTable, Slot

Mask = NDArray[np.bool_]
# A program that stops iterating is so far from the fit, next to what a standard error moves.
_ITERATED = 1e-5


class MismatchError(InputError):
    """Printed numbers are not those of the fit."""


@dataclass(frozen=True)
class MatchedNumber:
    """A cell, and what it was compared with."""

    row: int
    column: int
    kind: str
    decimals: int
    """Those of a coefficient that say as much."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Printed numbers next to those of a fit.

    Attributes
    ----------
    matched : tuple of MatchedNumber
    relabelled : tuple of int
        The rows whose numbers are those of a term that their label does not name.
    differing : tuple of (int, int, str, float)
        Cells of rows that name a term and do not print its numbers: row, column, what is printed, what the fit has.
    """

    table: PrintedTable
    matched: tuple[MatchedNumber, ...]
    relabelled: tuple[int, ...]
    differing: tuple[tuple[int, int, str, float], ...]
    texts: frozenset[tuple[int, int]]
    """Heads and labels that say nothing but what the numbers are."""

    @property
    def decimals(self) -> int:
        """The decimals of coefficients and standard errors that would say as much as all that is printed."""
        return max(each.decimals for each in self.matched)

    def compared(self, *, errors: bool = True) -> set[tuple[int, int]]:
        """Return the cells that were compared; of coefficients alone if no standard errors were measured."""
        plain = (COEFFICIENT, EXPONENTIATED)
        left = {(each.row, each.column) for each in self.matched if not errors and each.kind not in plain}
        return ({(each.row, each.column) for each in self.matched} | self.texts) - left

    @cached_property
    def left(self) -> tuple[tuple[int, int], ...]:
        """The cells that were compared with nothing."""
        compared = self.compared()
        cells = [(i, j) for i, row in enumerate(self.table.rows) for j, cell in enumerate(row) if cell]
        return tuple(cell for cell in cells if cell not in compared)

    def check(self) -> None:
        """Refuse numbers that are not those of the fit."""
        path, rows = self.table.path, {each.row for each in self.matched}
        others = {row for row, *_ in self.differing}
        if len(rows) <= len(others) or not rows:
            raise MismatchError(
                f"{path} is not the table of these people: {len(rows)} of its rows match the fit to them, and "
                f"{len(others) or 'no others'} name its terms. Were other people, weights or another formula used?"
            )
        if self.differing:
            row, column, printed, fitted = self.differing[0]
            raise MismatchError(
                f"{path}: row {row + 1}, column {column + 1} prints {printed}, and the fit to these people has "
                f"{fitted:.6g} ({len(self.differing)} cells differ). Were other people, weights, ties, levels or "
                "another outcome used?"
            )

    @property
    def remarks(self) -> tuple[Assumption, ...]:
        """What is to be said of the comparison."""
        names, matched = {"path": self.table.path.name}, {"matched": given(len(self.matched), "d")}
        said = Assumption("written", "{matched} numbers of {path} are those of the fit to these rows.", matched, names)
        if not self.left:
            return (said,)
        names["cells"] = several([f"row {i + 1} column {j + 1}" for i, j in self.left])
        left = "Compared with nothing, and not counted, in {path}: {cells}."
        return said, Assumption("written", left, names=names)


def compare(table: PrintedTable, fitted: FittedNumbers, count: int, names: Sequence[str]) -> Comparison:
    """Compare a printed table with a fit.

    Parameters
    ----------
    table : PrintedTable
    fitted : FittedNumbers
    count : int
        The number of rows, which tables print too.
    names : sequence of str
        The columns of the rows, which heads may name.
    """
    tried = []
    for repeats in (False, True):
        entries = tuple(table.entries(repeats=repeats))
        slots = sorted({slot for entry in entries for slot in entry.numbers}, key=lambda slot: (slot.line, slot.column))
        near = {slot: _near(entries, slot, fitted) for slot in slots}
        tried += [
            _Matching.of(table, entries, fitted, near, anchor, kind)
            for anchor in slots
            for kind in (COEFFICIENT, EXPONENTIATED)
        ]
    return max(tried, key=lambda each: each.score).comparison(count, names)


def _near(entries: Sequence[PrintedEntry], slot: Slot, fitted: FittedNumbers) -> Mask:
    """Return the numbers that each entry may have printed in a slot, shape (entries, kinds, terms)."""
    values, steps = (np.array([each[i] for each in fitted.kinds.values()]) for i in (0, 1))
    slack, found = _ITERATED * steps + 1e-12 * abs(values), np.zeros((len(entries), *values.shape), dtype=bool)
    for i, entry in enumerate(entries):
        if slot in entry.numbers:
            found[i] = entry.numbers[slot].near(values, slack) & np.isfinite(slack)
    return found


@dataclass(frozen=True, eq=False)
class _Matching:
    """Entries as terms, with kinds of slots."""

    table: PrintedTable
    entries: tuple[PrintedEntry, ...]
    fitted: FittedNumbers
    kinds: dict[Slot, str]
    whole: Mask
    """The terms that each entry may be of, shape (entries, terms)."""
    misses: dict[Slot, Mask]
    """The terms that each entry cannot be of because of what a slot holds."""
    anchor: Slot

    @classmethod
    def of(
        cls,
        table: PrintedTable,
        entries: tuple[PrintedEntry, ...],
        fitted: FittedNumbers,
        near: dict[Slot, Mask],
        anchor: Slot,
        kind: str,
    ) -> "_Matching":
        """Return the kinds of all slots if one has numbers of a kind."""
        called = list(fitted.kinds)
        fits, kinds = np.asarray(near[anchor][:, called.index(kind)]), {anchor: kind}
        there = {slot: np.array([slot in entry.numbers for entry in entries]) for slot in near}
        for slot in near:
            inside = there[slot] & fits.any(axis=1)
            is_below = slot.line > 0 and slot.column != anchor.column
            if slot in kinds or not inside.any() or (is_below and all(slot.column != each.column for each in kinds)):
                continue
            counts = np.logical_or.reduce(near[slot] & fits[:, None], axis=2)[inside].sum(axis=0)
            name = called[int(counts.argmax())]
            # Another column of the same kind is one of another model, unless it is the same throughout.
            if counts.max() == inside.sum() or (2 * counts.max() > inside.sum() and name not in kinds.values()):
                kinds[slot] = name
        misses = {slot: there[slot][:, None] & ~near[slot][:, called.index(each)] for slot, each in kinds.items()}
        whole = there[anchor][:, None] & ~np.logical_or.reduce([*misses.values()])
        return cls(table, entries, fitted, kinds, np.asarray(whole), misses, anchor)

    @cached_property
    def labelled(self) -> Mask:
        """The terms that the label of each entry contains."""
        labelled = [
            [term.is_labelled(entry.label, entry.heading) for term in self.fitted.terms] for entry in self.entries
        ]
        return np.array(labelled, dtype=bool)

    @cached_property
    def pairs(self) -> dict[int, int]:
        """The term of each entry that matches, no term twice."""
        if not self.entries:
            return {}
        rows, terms = linear_sum_assignment(-2.0 * self.whole - (self.whole & self.labelled))
        return {int(i): int(j) for i, j in zip(rows, terms, strict=True) if self.whole[i, j]}

    @cached_property
    def score(self) -> tuple[int, int]:
        """How many numbers match in rows with the right label, and in others."""
        sizes = {i: sum(slot in self.kinds for slot in self.entries[i].numbers) for i in self.pairs}
        right = sum(size for i, size in sizes.items() if self.labelled[i, self.pairs[i]])
        return right, sum(sizes.values())

    def comparison(self, count: int, names: Sequence[str]) -> Comparison:
        """Return what matched, and what did not."""
        matched, relabelled, texts = [], [], set()
        known: dict[int, TableTerm] = {}
        for i, j in self.pairs.items():
            entry = self.entries[i]
            rows = {number.row for number in entry.numbers.values()}
            if not self.labelled[i, j]:
                relabelled.append(min(rows))
                continue
            known |= dict.fromkeys(rows, self.fitted.terms[j])
            for slot, number in entry.numbers.items():
                if slot in self.kinds:
                    slope = self.fitted.kinds[self.kinds[slot]].slopes[j]
                    finer = 0 if not slope > 1 else int(np.ceil(np.log10(slope) - 1e-6))
                    decimals = number.decimals + finer
                    matched.append(MatchedNumber(number.row, slot.column, self.kinds[slot], decimals))
        # A cell with two numbers is compared if both are.
        others = {
            (slot.column, number.row)
            for entry in self.entries
            for slot, number in entry.numbers.items()
            if slot not in self.kinds
        }
        matched = [each for each in matched if (each.column, each.row) not in others]
        columns, first = {each.column for each in matched}, min((each.row for each in matched), default=0)
        for i, row in enumerate(self.table.rows):
            has_count = i > first and i not in known and str(count) in row
            for j, cell in enumerate(row):
                is_head = i < first and (j in columns or j < min(columns)) and says_only(cell, names)
                is_label = i in known and j not in columns and says_only(cell, (*known[i].columns, *known[i].levels))
                if (
                    is_head
                    or is_label
                    or (j == 0 and i in self.table.numbered)
                    or (has_count and (cell == str(count) or says_only(cell, ())))
                ):
                    texts.add((i, j))
        return Comparison(self.table, tuple(matched), tuple(relabelled), tuple(self._differing()), frozenset(texts))

    def _differing(self) -> Iterator[tuple[int, int, str, float]]:
        """Yield the cells of entries that name a term and do not print its numbers."""
        for i, entry in enumerate(self.entries):
            if i in self.pairs or self.anchor not in entry.numbers or not self.labelled[i].any():
                continue
            taken = {j for at, j in self.pairs.items() if self.labelled[at, j]}
            free = [j for j in np.flatnonzero(self.labelled[i]) if j not in taken]
            if not free:
                continue
            misses = {j: [slot for slot in self.kinds if self.misses[slot][i, j]] for j in free}
            term = min(free, key=lambda j: len(misses[j]))
            for slot in misses[term]:
                number = entry.numbers[slot]
                fitted = float(self.fitted.kinds[self.kinds[slot]].values[term])
                yield number.row, slot.column, self.table.rows[number.row][slot.column], fitted
