"""The people whom a request is about: one table, read once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seepage._near import did_you_mean, several
from seepage._tables import Array, Data, Frame, Table, read_frame
from seepage._where import comparisons, holds, kept
from seepage.errors import InputError

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")
# A value of fewer people is theirs; numbers that chance explains as well as this are nobody's.
_FEW, _CHANCE = 10, 0.05


@dataclass(frozen=True, eq=False)
class RequestPeople:
    """Rows of people, one each, and the column that says who they are."""

    table: Table
    ids: str

    @classmethod
    def of(cls, people: Data, ids: str) -> "RequestPeople":
        """Take a data frame, or read one from a CSV or Parquet file."""
        data = read_frame(Path(people), "people=") if isinstance(people, str | Path) else people
        table = Table.of(data)
        if not table.is_frame:
            raise InputError(
                f"people is a data frame, or the path of a CSV or Parquet file; {type(people).__name__} was given."
            )
        if ids not in table.names:
            raise InputError(
                f"ids is {ids!r}, which is no column of the people. {did_you_mean(ids, table.names)}Name the column "
                f"that says who each row is; the columns are: {several(list(table.names))}."
            )
        return cls(table, ids)

    def __len__(self) -> int:
        return len(self.table)

    def rows(self, where: str | None) -> NDArray[np.intp]:
        """Return the places of those whom a filter keeps; refuse a value that nobody has, which may be any text."""
        for part in comparisons(where):
            if re.search("[!=]=", part) and not holds(part.replace("!=", "=="), self.table).any():
                raise InputError(f"where holds {part!r}, and nobody in the data has this value: leave it out.")
        return kept(where, self.table)

    def frame(self, rows: NDArray[np.intp]) -> Frame:
        """Return some of them."""
        return self.table.native if len(rows) == len(self.table) else self.table.picked(rows)

    @cached_property
    def deviations(self) -> dict[str, float]:
        """The standard deviation of each column of numbers."""
        found = {}
        for name in self.table.names:
            column = self.table.column(name)
            if column.dtype.kind in "iuf":
                known: Array = column[~np.isnan(column.astype(np.float64))].astype(np.float64)
                found[name] = float(known.std(ddof=1)) if len(known) > 1 else 0.0
        return found

    def single_values(self, texts: Sequence[str]) -> Iterator[tuple[str, str, int]]:
        """Yield the numbers in texts that are values of fewer than ten people, with their column and the people.

        Numbers of a column count if hardly any others with as many digits are values of it.
        """
        numbers = {
            (float(each), len(each.partition(".")[2]))
            for text in texts
            for each in _NUMBER.findall(text.replace(",", ""))
        }
        for name in self.deviations if numbers else ():
            column = self.table.column(name).astype(np.float64)
            known: Array = column[~np.isnan(column)]
            hits, chance = [], 1.0
            for value, decimals in numbers:
                rounded = np.round(known, decimals)
                count, distinct = int((rounded == value).sum()), np.unique(rounded)
                if 0 < count < _FEW:
                    chance *= min(len(distinct) / ((distinct[-1] - distinct[0]) * 10.0**decimals + 1), 1.0)
                    hits.append((f"{value:.{decimals}f}", name, count))
            if chance < _CHANCE:
                yield from hits
