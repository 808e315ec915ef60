"""The cells of a printed table: CSV with any separator, or text whose columns are apart."""

import csv
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from seepage.errors import InputError

_NUMBER = r"[<>]?\s*[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BETWEEN = re.compile(r"(?<=[\d.])\s*(?:-|to)\s*(?=[-+.\d])")
# What may stand around numbers: brackets, stars, and an equals sign.
_AROUND = re.compile(r"[\s()\[\]{}*;,=|$%]|\bp\b|\bci\b|0", re.IGNORECASE)


@dataclass(frozen=True)
class Slot:
    """A place where each entry of a table has a number of one kind."""

    line: int
    """How far below the line with the label."""
    column: int
    part: int
    shape: str
    """The signs around."""


@dataclass(frozen=True)
class PrintedNumber:
    """A number, and how far it may be from the one that was printed."""

    row: int
    value: float
    decimals: int
    bound: str
    """"<" or ">" before it, or nothing."""

    def near(self, values: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """Return which numbers may have been printed so, with some slack for programs that iterate."""
        if self.bound:
            return values < self.value if self.bound == "<" else values > self.value
        return abs(values - self.value) <= 0.5000001 * 10.0**-self.decimals + slack


@dataclass(frozen=True)
class PrintedEntry:
    """A labelled row of a table, and the rows without a label below it."""

    label: str
    heading: str
    """The last row above that has no numbers."""
    numbers: dict[Slot, PrintedNumber]


@dataclass(frozen=True, eq=False)
class PrintedTable:
    """The cells of a printed table."""

    path: Path
    rows: list[list[str]]
    comma: bool
    """Whether decimals have a comma."""

    @classmethod
    def read(cls, path: Path) -> "PrintedTable":
        """Read a table from a file."""
        text = read_text(path)
        lines = [line for line in text.splitlines() if line.strip()]
        separators = [mark for mark in ";\t," if sum(mark in line for line in lines) * 2 > len(lines)]
        if separators:
            rows = list(csv.reader(text.splitlines(), delimiter=separators[0]))
        else:
            rows = [
                re.split(r"\s{2,}|\s*\|\s*", line.strip() if "|" in line else line.rstrip())
                for line in text.splitlines()
            ]
        cells = [[_cell(cell) for cell in row] for row in rows]
        marks = [sum(bool(re.search(rf"\d{mark}\d", cell)) for row in cells for cell in row) for mark in (",", r"\.")]
        found = cls(path, cells, marks[0] > marks[1])
        if not any(entry.numbers for entry in found.entries(repeats=False)):
            raise InputError(f"{path} has no numbers: it must hold the table as it was printed, as CSV.")
        return found

    @cached_property
    def numbered(self) -> frozenset[int]:
        """The rows whose first cell is their number."""
        found = frozenset(i for i, row in enumerate(self.rows) if row and row[0] == str(i))
        return found if len(found) > 1 else frozenset()

    def entries(self, *, repeats: bool) -> list[PrintedEntry]:
        """Return the labelled rows with numbers.

        Parameters
        ----------
        repeats : bool
            Whether a label that is there again is that of one entry, as in a table with a row for each statistic.
        """
        found: list[PrintedEntry] = []
        heading, line, before = "", 0, [""]
        for i, row in enumerate(self.rows):
            numbers, texts = {}, []
            for column, cell in enumerate(row):
                here = self._numbers(cell)
                texts += [cell] if here is None and cell else []
                if column == 0 and i in self.numbered:
                    continue
                for part, (shape, number) in enumerate(here or ()):
                    numbers[column, part, shape] = PrintedNumber(i, *number)
            if not numbers:
                heading = " ".join(texts)
                continue
            again = repeats and len(texts) > 1 and texts[:-1] == before[:-1] and bool(found)
            if (texts and not again) or not found:
                line = 0
                found.append(PrintedEntry(" ".join(texts), heading, {}))
            else:
                line += 1
            before = texts or before
            found[-1].numbers.update({Slot(line, *place): number for place, number in numbers.items()})
        return found

    def _numbers(self, cell: str) -> list[tuple[str, tuple[float, int, str]]] | None:
        """Return the numbers in a cell with the signs around them; None of a text."""
        text = re.sub(r"(?<=\d),(?=\d)", ".", cell) if self.comma else cell
        text = _BETWEEN.sub(" ; ", text)
        shape = re.sub(_NUMBER, "0", text)
        if _AROUND.sub("", shape) or "0" not in shape:
            return None
        signs = re.sub(r"[\s*]", "", shape)
        return [(signs, _parsed(number)) for number in re.findall(_NUMBER, text)]


def read_text(path: Path) -> str:
    """Return the text of a file; say why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as reason:
        said = reason.strerror if isinstance(reason, OSError) else "it is not UTF-8"
        raise InputError(f"{path} cannot be read: {said}.") from None


def _cell(text: str) -> str:
    # esttab keeps spreadsheets from guessing: ="0.041***".
    return re.sub(r'^="?|"$', "", text.strip().replace("\u2212", "-").replace("\u00a0", " ")).strip()


def _parsed(text: str) -> tuple[float, int, str]:
    bound = text[0] if text[0] in "<>" else ""
    mantissa, _, exponent = text.removeprefix(bound).replace(",", "").strip().lower().partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return float(f"{mantissa}e{exponent or 0}"), decimals, bound
