"""Cells of printed tables as claims about people: a statistic of a variable in a group, and its printed digits.

A label adds terms: columns, levels, statistics. A cell is a template of numbers. The people decide what the labels of a
cell leave open: the first statistics that all of its numbers are roundings of.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import NamedTuple

from seepage.tables._grids import PrintedFile, Rows
from seepage.tables._labels import QUANTILES, Label, LabelTerm, Vocabulary
from seepage.tables._listed import TableNumber
from seepage.tables._statistics import Group, Recomputed, Subject, Truth

_NUMBER = re.compile(
    r"(?<![\w.,])([<>]=?\s*)?([-+]?(?:\d{1,3}(?:[, ']\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(\s*%)?"
)
_SIGNS = re.compile(r"[\s()\[\]{}*;:,=|±+/-]|\bto\b|\+/-|\^")
_COUNT = re.compile(r"\(?\bn\s*=\s*(\d[\d,.']*)\)?", re.IGNORECASE)
_SUPPRESSED = re.compile(
    r"<\s?=?\s?\d{1,3}(\s?\(.*\))?|[-*.#xscz]|\[(?:c|x|z|low)\]|n/?a|nan|none|null|\.\.+|", re.IGNORECASE
)
_ALONE = (("mean",), ("count",), ("sum",), ("sd",), ("se",), *((name,) for name in QUANTILES))
_OF_NUMBERS = {
    1: _ALONE,
    2: (("mean", "sd"), ("mean", "se"), ("q1", "q3"), ("min", "max"), ("lower", "upper")),
    3: (("median", "q1", "q3"), ("mean", "lower", "upper"), ("median", "min", "max"), ("count", "mean", "sd")),
}
_OF_LEVELS = {
    1: (("count",), ("percent",), ("missing",)),
    2: (("count", "percent"), ("percent", "count")),
    3: (("count", "percent", "missing"),),
}
# A printed number may be rounded, and was computed by another program.
_ROUNDED, _OTHER_PROGRAM = 0.5001, 1e-12


class PrintedDigits(NamedTuple):
    """A number as it is printed."""

    text: str
    value: float
    decimals: int
    is_bound: bool

    @classmethod
    def all_of(cls, text: str) -> "tuple[PrintedDigits, ...]":
        """Read the numbers in a text."""
        found = []
        for match in _NUMBER.finditer(text):
            plain = re.sub(r"[, ']", "", match[2])
            mantissa, _, exponent = plain.lower().partition("e")
            decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
            found.append(cls(mantissa, float(plain), decimals, bool(match[1])))
        return tuple(found)

    def is_near(self, truth: float, base: int = 0) -> bool:
        """Return whether it is a rounding of a number; trailing zeros may stand for digits that were rounded away."""
        if base:
            return self.value % base == 0 and abs(self.value - truth) <= base / 2
        zeros = len(self.text) - len(self.text.rstrip("0")) if self.decimals > 0 else 0
        whole = self.decimals if zeros < self.decimals else 0
        steps = {10.0**-self.decimals, 10.0**-whole}
        return any(abs(self.value - truth) <= _ROUNDED * step + _OTHER_PROGRAM * abs(truth) for step in steps)


class CellClaim(NamedTuple):
    """A printed number and the statistic that it is."""

    place: tuple[int, int]
    statistic: str
    subject: Subject
    truth: Truth
    decimals: int


class Contradiction(NamedTuple):
    """A printed number that is not the people's."""

    text: str
    statistic: str
    subject: Subject
    value: float


@dataclass(frozen=True, eq=False)
class PrintedCell:
    """Numbers of a cell and what its labels say of them."""

    place: tuple[int, int]
    numbers: tuple[PrintedDigits, ...]
    labels: tuple[Label, ...]
    statistics: tuple[str, ...] = ()
    """Those that the cell itself names."""

    @property
    def is_explained(self) -> bool:
        """Whether every word of its labels is known."""
        return not any(each.unknown for each in self.labels)


@dataclass(eq=False)
class TableReading:
    """Cells of a grid that were recomputed, and others.

    Attributes
    ----------
    claims : list of CellClaim
    contradictions : list of Contradiction
    compared : set of (int, int)
        Cells that are explained.
    suppressed : int
        How many cells print no number.
    """

    rows: Rows
    claims: list[CellClaim] = field(default_factory=list)
    contradictions: list[Contradiction] = field(default_factory=list)
    compared: set[tuple[int, int]] = field(default_factory=set)
    suppressed: int = 0


@dataclass(frozen=True, eq=False)
class TableReader:
    """A reader of tables about some people."""

    people: Recomputed
    vocabulary: Vocabulary
    of: tuple[str, ...]
    by: tuple[str, ...]
    statistics: tuple[str, ...] = ()
    """Those that a description names; none if it names none."""

    def read(self, file: PrintedFile) -> list[TableReading]:
        """Read the tables of a file."""
        return [self._grid(rows, decimal_comma=file.decimal_comma) for rows in file.grids]

    def _grid(self, rows: Rows, *, decimal_comma: bool) -> TableReading:
        found = TableReading(rows)
        cells = list(_Layout(self, rows, decimal_comma).cells(found))
        left = [cell for cell in cells if not self._claimed(cell, found)]
        counts = [n for cell in cells for n in cell.numbers if self._is_count(cell)]
        base = next((b for b in (10, 5) if counts and all(n.value % b == 0 for n in counts)), 0)
        forms = {len(cell.numbers) for cell in cells if cell not in left}
        for cell in left:
            if base and self._claimed(cell, found, base):
                continue
            contradiction = self._contradiction(cell)
            named = contradiction is not None and contradiction.subject.variable is not None
            if contradiction is not None and (named or self._explicit(cell) or len(cell.numbers) in forms):
                found.contradictions.append(contradiction)
                found.compared.add(cell.place)
        return found

    def _is_count(self, cell: PrintedCell) -> bool:
        explicit = self._explicit(cell)
        options = [each for each, _ in self._options(cell)]
        return explicit == ("count",) or (len(cell.numbers) == 1 and bool(options) and options[0] == ("count",))

    def _explicit(self, cell: PrintedCell) -> tuple[str, ...]:
        """Return the statistics that a cell or its labels name."""
        if cell.statistics:
            return cell.statistics
        named = (
            word
            for label in cell.labels
            for term in label.alternatives[0]
            if term.kind == "statistic"
            for word in term.name.split()
        )
        return tuple(dict.fromkeys(named))

    def _claimed(self, cell: PrintedCell, found: TableReading, base: int = 0) -> bool:
        for statistics, subject in self._options(cell):
            claims = [
                self._claim(cell, number, statistic, subject, base)
                for number, statistic in zip(cell.numbers, statistics, strict=True)
            ]
            if all(claims):
                found.claims += [each for each in claims if each is not None]
                found.compared.add(cell.place)
                return True
        return False

    def _claim(
        self, cell: PrintedCell, number: PrintedDigits, statistic: str, subject: Subject, base: int
    ) -> CellClaim | None:
        for truth in self.people.truths(statistic, subject):
            rounds = base if statistic == "count" else 0
            if number.is_near(truth.value, rounds):
                return CellClaim(cell.place, statistic, subject, truth, number.decimals + truth.shift)
        return None

    def _contradiction(self, cell: PrintedCell) -> Contradiction | None:
        if not cell.is_explained:
            return None
        for statistics, subject in self._options(cell):
            for number, statistic in zip(cell.numbers, statistics, strict=True):
                truth = next(self.people.truths(statistic, subject), None)
                if truth is None:
                    break
                if self._claim(cell, number, statistic, subject, 0) is None:
                    return Contradiction(number.text, statistic, subject, truth.value)
        return None

    def _options(self, cell: PrintedCell) -> Iterator[tuple[tuple[str, ...], Subject]]:
        """Yield the statistics and subjects that a cell may be about, the likeliest first."""
        size = len(cell.numbers)
        for labels in product(*(label.alternatives for label in cell.labels)):
            terms = [term for label in labels for term in label]
            named = cell.statistics or tuple(
                dict.fromkeys(word for term in terms if term.kind == "statistic" for word in term.name.split())
            )
            for subject in self._subjects(terms, named):
                is_number = subject.variable is not None and self.people.is_number(subject.variable)
                forms = (_OF_NUMBERS if is_number and subject.level is None else _OF_LEVELS).get(size, ())
                if len(named) >= size:
                    some = permutations(named, size) if len(named) < 5 else iter([named[:size]])
                    yield from ((each, subject) for each in some)
                    if "mean" in named and size == 1 and subject.variable is not None and not is_number:
                        yield ("percent",), subject
                else:
                    allowed = [each for each in forms if set(named) <= set(each)]
                    yield from ((each, subject) for each in allowed)
                    if not named and size == 1 and not is_number and subject.variable and subject.level is None:
                        yield from ((each, subject) for each in _ALONE)

    def _subjects(self, terms: Sequence[LabelTerm], named: Sequence[str]) -> Iterator[Subject]:
        levels: dict[str, set[object]] = {}
        for term in terms:
            if term.kind == "level":
                levels.setdefault(term.name, set()).add(term.value)
        if any(len(values) > 1 for values in levels.values()):
            return
        group = tuple((name, next(iter(levels[name]))) for name in self.by if name in levels)
        variables = [name for name in levels if name not in self.by]
        mentioned = [t.name for t in terms if t.kind == "column" and t.name not in (*self.by, *variables)]
        if len(variables) > 1 or len({*mentioned, *variables}) > 1:
            return
        if variables:
            yield Subject(variables[0], next(iter(levels[variables[0]])), group)
        elif mentioned:
            yield Subject(mentioned[0], None, group)
        else:
            yield Subject(None, None, group)
            if named or len(self.of) == 1:
                yield from (Subject(name, None, group) for name in self.of)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Heads, stubs and cells of a grid."""

    reader: TableReader
    rows: Rows
    decimal_comma: bool

    def cells(self, found: TableReading) -> Iterator[PrintedCell]:
        """Yield the cells with numbers; put down the labels that are explained."""
        heads, read = self._heads(), self.reader.vocabulary.read
        stubs = self._stubs(heads)
        columns = [[self._head(i, j, found) for i in range(heads) if self.rows[i][j]] for j in range(len(self.rows[0]))]
        numbered = [j for j in stubs if self._numbers_rows(j, heads)]
        above: dict[int, str] = {}
        heading: list[Label] = []
        for i, row in enumerate(self.rows[heads:], heads):
            here, labels = self._filled(row, [j for j in stubs if j not in numbered], above), []
            found.compared |= {(i, j) for j in numbered}
            for j, text in here.items():
                label = read(text, stubs[j])
                labels.append(label)
                if not label.unknown:
                    found.compared.add((i, j))
            places = [(j, text, self._parsed(text)) for j, text in enumerate(row) if j not in stubs]
            if not any(numbers for _, _, (numbers, _) in places):
                heading = labels
            if any(term.kind == "column" for label in labels for way in label.alternatives for term in way):
                context = labels
            else:
                context = [*heading, *labels] if heading is not labels else labels
            for j, text, (numbers, statistics) in places:
                if numbers and not any(each.is_bound for each in numbers):
                    yield PrintedCell((i, j), numbers, (*context, *columns[j]), statistics)
                elif _SUPPRESSED.fullmatch(text):
                    found.suppressed += bool(text)
                    found.compared.add((i, j))
                elif not numbers and not read(text).unknown:
                    found.compared.add((i, j))

    def _heads(self) -> int:
        """Return how many rows are heads."""
        count, levels = 1, self.reader.vocabulary.read
        for row in self.rows[1:]:
            texts = [text for text in row if text]
            first = levels(row[0]).alternatives[0] if row[0] else ()
            is_name = len(first) == 1 and first[0].kind == "column"
            is_levels = is_name and all(
                any(t.kind == "level" and t.name == first[0].name for way in levels(x).alternatives for t in way)
                for x in texts[1:]
            )
            if not is_levels and any(self._parsed(text)[0] for text in row):
                break
            if not is_levels and not is_name and row[0]:
                # A heading of the body has its label first.
                break
            count += 1
        return min(count, len(self.rows) - 1) or 1

    def _head(self, i: int, j: int, found: TableReading) -> Label:
        """Read a head; a number of people in it is compared with that of its group."""
        text = self.rows[i][j]
        counted = _COUNT.search(text)
        label = self.reader.vocabulary.read(_COUNT.sub(" ", text))
        if counted is None:
            if not label.unknown:
                found.compared.add((i, j))
            return label
        (number,) = PrintedDigits.all_of(counted[1])
        cell = PrintedCell((i, j), (number,), (label,), ("count",))
        if not self.reader._claimed(cell, found):
            contradiction = self.reader._contradiction(cell)
            if contradiction is not None:
                found.contradictions.append(contradiction)
        return label

    def _stubs(self, heads: int) -> dict[int, str | None]:
        """Return the columns of labels, with the column of the people that their head names."""
        found: dict[int, str | None] = {}
        for j in range(len(self.rows[0])):
            terms = [
                term
                for i in range(heads)
                for term in self.reader.vocabulary.read(self.rows[i][j]).alternatives[0]
                if self.rows[i][j]
            ]
            names = [term.name for term in terms if term.kind == "column"]
            body = [row[j] for row in self.rows[heads:] if row[j]]
            plain = all(term.kind in ("column", "word") for term in terms)
            if names and plain and names[-1] in (*self.reader.by,) and len(names) == 1:
                found[j] = names[-1]
            elif self._numbers_rows(j, heads):
                found[j] = None
            elif body and not any(self._parsed(text)[0] for text in body) and not all(map(_SUPPRESSED.fullmatch, body)):
                found[j] = names[-1] if len(names) == 1 and plain else None
        return found

    def _numbers_rows(self, j: int, heads: int) -> bool:
        if self.rows[0][j] not in ("", "index", "Unnamed: 0"):
            return False
        body = [row[j] for row in self.rows[heads:]]
        return any(body == [str(i + first) for i in range(len(body))] for first in (0, 1)) and len(body) > 1

    def _filled(self, row: Sequence[str], places: Sequence[int], above: dict[int, str]) -> dict[int, str]:
        """Return the labels of a row; a blank one before another is that of the row above."""
        last = max((j for j in places if row[j]), default=-1)
        for j in places:
            if row[j] or j > last:
                above[j] = row[j]
        return {j: above[j] for j in places if above.get(j)}

    def _parsed(self, text: str) -> tuple[tuple[PrintedDigits, ...], tuple[str, ...]]:
        """Return the numbers of a cell, and the statistics that it names; no numbers of a text."""
        plain = re.sub(r"(?<=\d)\.(?=\d{3}\b)", "", text) if self.decimal_comma else text
        plain = re.sub(r"(?<=\d),(?=\d)", ".", plain) if self.decimal_comma else plain
        plain = re.sub(r"(?<=[\d.])\s*-\s*(?=[\d.+-])", " to ", plain)
        numbers = PrintedDigits.all_of(plain)
        rest = _SIGNS.sub(" ", _NUMBER.sub(" ", plain))
        label = self.reader.vocabulary.read(rest)
        statistics = [t.name for t in label.alternatives[0] if t.kind == "statistic"]
        if not numbers or label.unknown or any(t.kind not in ("statistic", "word") for t in label.alternatives[0]):
            return (), ()
        percents = ["percent" if match[3] else "" for match in _NUMBER.finditer(plain)]
        if any(percents) and len(percents) == 2 and not statistics:
            statistics = [each or "count" for each in percents]
        elif percents == ["percent"]:
            statistics = ["percent"]
        elif len(statistics) < len(numbers):
            statistics = []
        return numbers, tuple(statistics)


def numbers_of(claims: Iterable[CellClaim], people: Recomputed) -> list[TableNumber]:
    """Return the numbers that claims publish, without those that follow from others."""
    found = dict.fromkeys(number for claim in claims for number in claim.truth.published)
    levels = {number.column for number in found if number.level is not None}
    listed: dict[TableNumber, None] = {}
    for number in found:
        if number.column in levels and number.level is None and number.statistic != "count":
            # Of a category whose levels are counted.
            assert number.column is not None
            shares = (
                TableNumber("mean", number.column, each, number.cell) for each in people.levels(number.column)[1:]
            )
            listed |= dict.fromkeys(shares)
        elif number.statistic == "count" and number.column is not None and people.present(number.column).all():
            listed[number._replace(column=None)] = None
        else:
            listed[number] = None
    decimals: dict[TableNumber, int] = {}
    for claim in claims:
        decimals |= {each: max(claim.decimals, decimals.get(each, 0)) for each in claim.truth.published}
    cells = [people.groups(by) for by in dict.fromkeys(number.by for number in listed)]
    return [each for each in listed if not _follows(each, listed, cells, people, decimals.get(each, 0))]


def _follows(
    number: TableNumber,
    listed: Collection[TableNumber],
    cells: Sequence[Sequence[Group]],
    people: Recomputed,
    decimals: int,
) -> bool:
    """Return whether a number follows from others: a share from its count, a margin from its cells, the last level.

    Where values are missing, a margin also depends on the number of people in each cell who have one. It is kept if one
    of them more moves its last digit.
    """
    is_complete = number.column is None or bool(people.present(number.column).all())
    if number.statistic in ("mean", "sd") and number.level is None and not is_complete:
        x = people.values(Subject(number.column, None, number.cell))
        is_complete = len(x) > 1 and bool(x.std() / len(x) < 10.0**-decimals)

    def needed(cell: Group, names: Sequence[str]) -> Iterator[TableNumber]:
        for name in names:
            if name == "count":
                yield TableNumber("count", None if is_complete else number.column, None, cell)
            else:
                yield number._replace(statistic=name, cell=cell)

    if number.level is not None and number.statistic == "mean":
        return all(each in listed for each in needed(number.cell, ("sum", "count")))
    bases = {"mean": ("mean", "count"), "sd": ("sd", "mean", "count")}.get(number.statistic, (number.statistic,))
    for groups in cells:
        inside = [cell for cell in groups if set(number.cell) < set(cell)]
        if inside and all(each in listed for cell in inside for each in needed(cell, bases)):
            return True
    if number.level is None or number.column is None or number.level != people.levels(number.column)[-1]:
        return False
    others = (number._replace(level=level) for level in people.levels(number.column)[:-1])
    return all(each in listed for each in (*others, *needed(number.cell, ("count",))))
