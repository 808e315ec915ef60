"""Statistics of people that a cell may print, recomputed, and the numbers that publish them."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column, Table, missing_in
from seepage._where import holds
from seepage.tables._listed import TableNumber

Group = tuple[tuple[str, Hashable], ...]
_SHARES = {"median": 0.5, "q1": 0.25, "q3": 0.75, "min": 0.0, "max": 1.0}
_NORMAL = 1.959963984540054


class Subject(NamedTuple):
    """A variable, perhaps one of its levels, and a group of people."""

    variable: str | None
    level: Hashable | None
    group: Group

    def words(self, statistic: str) -> str:
        """Name one of its statistics."""
        of = "" if self.variable is None else f" of {self.variable}"
        level = "" if self.level is None else f" = {self.level}"
        cell = " and ".join(str(value) for _, value in self.group)
        return f"{statistic}{of}{level}{f' in {cell}' if cell else ''}"


class Truth(NamedTuple):
    """A statistic of the people.

    Attributes
    ----------
    value : float
    published : tuple of TableNumber
        The numbers that whoever reads it knows.
    holders : int
        The people who have this value themselves; 0 of a statistic of all of them.
    shift : int
        Decimals that a share has more than its percentage.
    """

    value: float
    published: tuple[TableNumber, ...]
    holders: int = 0
    shift: int = 0


@dataclass(frozen=True, eq=False)
class Recomputed:
    """Statistics of the people whom a filter keeps."""

    table: Table
    where: str | None = None
    _columns: dict[str, Column] = field(default_factory=dict)
    _masks: dict[object, NDArray[np.bool_]] = field(default_factory=dict)
    _values: dict[Subject, Array] = field(default_factory=dict)

    @cached_property
    def _inside(self) -> NDArray[np.bool_]:
        return holds(self.where, self.table)

    def column(self, name: str) -> Column:
        """Return a column, its missing values as None or NaN."""
        if name not in self._columns:
            self._columns[name] = self.table.column(name)
        return self._columns[name]

    def is_number(self, name: str) -> bool:
        """Return whether a column holds numbers, of more than two values."""
        column = self.column(name)
        known = column[~missing_in(column)]
        return known.dtype.kind in "iuf" and len(np.unique(known[:4096])) > 2

    def levels(self, name: str) -> list[Hashable]:
        """Return the values of a category."""
        column = self.column(name)
        known = column[~missing_in(column)]
        return list(np.unique(known.astype(str) if known.dtype == object else known).tolist())

    def groups(self, by: Sequence[str]) -> list[Group]:
        """Return the groups by some columns that hold somebody."""
        found = (tuple(zip(by, key, strict=True)) for key in product(*map(self.levels, by)))
        return [group for group in found if self.people(group).any()]

    def people(self, group: Group) -> NDArray[np.bool_]:
        """Return the people of a group."""
        if group not in self._masks:
            found = self._inside if not group else self.people(group[:-1]) & self._having(*group[-1])
            self._masks[group] = found
        return self._masks[group]

    def _having(self, name: str, value: Hashable) -> NDArray[np.bool_]:
        key = (name, value)
        if key not in self._masks:
            column = self.column(name)
            same = column.astype(str) == value if column.dtype == object and isinstance(value, str) else column == value
            self._masks[key] = np.asarray(same, dtype=bool) & self.present(name)
        return self._masks[key]

    def present(self, name: str) -> NDArray[np.bool_]:
        """Return the people whose value of a column is not missing."""
        key = ("present", name)
        if key not in self._masks:
            self._masks[key] = ~missing_in(self.column(name))
        return self._masks[key]

    def values(self, subject: Subject) -> Array:
        """Return the numbers of a group, sorted."""
        key = Subject(subject.variable, None, subject.group)
        if key not in self._values:
            assert subject.variable is not None
            some = self.people(subject.group) & self.present(subject.variable)
            column = self.column(subject.variable)[some]
            self._values[key] = np.sort(column.astype(np.float64)) if column.dtype.kind in "biuf" else np.empty(0)
        return self._values[key]

    def truths(self, statistic: str, subject: Subject) -> Iterator[Truth]:
        """Yield what a statistic may mean, the most common meaning first."""
        name, level, group = subject
        if statistic in ("count", "share", "percent", "missing"):
            yield from self._counted(statistic, subject)
            return
        if name is None or level is not None:
            return
        x = self.values(subject)
        if statistic == "mean" and (not len(x) or {*self.levels(name)} <= {0, 1}):
            yield from self._counted("share", subject)
        if not len(x):
            return
        if statistic in _SHARES:
            at = _SHARES[statistic] * (len(x) - 1)
            low, high = x[int(np.floor(at))], x[int(np.ceil(at))]
            holders = min(int((x == each).sum()) for each in (low, high))
            for value in dict.fromkeys((low + (high - low) * (at % 1.0), low, high)):
                yield Truth(float(value), (), max(holders, 1))
            return
        size, mean = len(x), float(x.mean())
        sd = float(x.std(ddof=1)) if size > 1 else np.nan
        error = sd / np.sqrt(size)
        value, bases = {
            "mean": (mean, ("mean",)),
            "sum": (float(x.sum()), ("sum",)),
            "sd": (sd, ("sd",)),
            "se": (error, ("sd", "count")),
            "lower": (mean - _NORMAL * error, ("mean", "sd", "count")),
            "upper": (mean + _NORMAL * error, ("mean", "sd", "count")),
        }[statistic]
        yield Truth(value, tuple(number for base in bases for number in self._number(base, name, group)))
        if statistic in ("lower", "upper") and size > 2:
            from scipy.stats import t

            width = float(t.ppf(0.975, size - 1)) * error * (1 if statistic == "upper" else -1)
            yield Truth(mean + width, tuple(number for base in bases for number in self._number(base, name, group)))

    def _number(self, base: str, name: str, group: Group) -> list[TableNumber]:
        """Return a statistic of a column; of a category the shares of its levels, from which it follows."""
        if base == "count":
            return [TableNumber("count", None if self.present(name).all() else name, None, group)]
        if self.is_number(name):
            return [TableNumber(base, name, None, group)]
        return [TableNumber("mean", name, level, group) for level in self.levels(name)[1:]]

    def _counted(self, statistic: str, subject: Subject) -> Iterator[Truth]:
        name, level, group = subject
        people = self.people(group)
        size = int(people.sum())
        if statistic == "missing":
            if name is not None:
                gone = int((people & ~self.present(name)).sum())
                yield Truth(gone, ())
                yield Truth(100.0 * gone / max(size, 1), ())
            return
        known = size if name is None else int((people & self.present(name)).sum())
        if name is not None and level is None:
            if not self.is_number(name):
                for each in reversed(self.levels(name)):
                    yield from self._counted(statistic, Subject(name, each, group))
            if statistic == "count":
                yield Truth(known, tuple(self._number("count", name, group)))
            return
        if name is None:
            count, published = size, TableNumber("count", None, None, group)
            wider = [some for k in range(len(group) - 1, -1, -1) for some in combinations(group, k)]
            wholes = [(int(self.people(some).sum()), TableNumber("count", None, None, some)) for some in wider]
        else:
            count, published = int((people & self._having(name, level)).sum()), TableNumber("sum", name, level, group)
            wholes = [(known, TableNumber("mean", name, level, group)), (size, TableNumber("mean", name, level, group))]
            wider = [some for k in range(len(group) - 1, -1, -1) for some in combinations(group, k)]
            for some in wider if statistic != "count" else ():
                # Of everybody with this level, the share that is in the group.
                inside = int((self.people(some) & self._having(name, level)).sum())
                wholes.append((inside, TableNumber("sum", name, level, some)))
        if statistic == "count":
            yield Truth(count, (published,))
            return
        for i, (whole, number) in enumerate(wholes):
            if whole:
                numbers = (number,) if name is not None and i < 2 else (published, number)
                yield Truth(count / whole, numbers)
                yield Truth(100.0 * count / whole, numbers, shift=2)
