"""Several models of people in files: outputs that are filters of one table are looked at in the same passes over it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage.errors import InputError, UnansweredError
from seepage.execution.storage import Files, FileStore, Filter, Unit
from seepage.linear.files import FileRows, PeopleInFiles, Where
from seepage.linear.information import WARM

Result = TypeVar("Result")
Sums = TypeVar("Sums")
# Rows that are worked on at once: their matrices stay in a core's cache.
_ROWS = 1024
_BATCH = 2**17
# Outputs whose bits are written into one number, beside a number for each row.
_OUTPUTS = 32


@dataclass(frozen=True, eq=False)
class SharedTable:
    """One table, and which rows of it each output is about."""

    parts: tuple[FileRows, ...]
    files: Files
    """The rows that are in one of them."""
    inside: NDArray[np.bool_]
    """Shape (rows, outputs)."""

    @classmethod
    def of(cls, parts: Mapping[str, FileRows]) -> "SharedTable":
        """Find out who is in which output, by the columns that filters look at."""
        each, names = tuple(parts.values()), tuple(parts)
        whole = [part.files.whole or part.files for part in each]
        for name, files in zip(names, whole, strict=True):
            if files.paths != whole[0].paths or files.known() != whole[0].known():
                raise UnansweredError(
                    f"{names[0]} and {name} are about rows of different files, where it is not known who is the same "
                    "person. Read the rows into memory, and name people alike: seepage.measure(model, frame, y, "
                    "ids=...)."
                )
        filters = tuple(part.files.where for part in each)
        each_filter = dict.fromkeys(None if each is None else str(each) for each in filters)
        union = None if None in each_filter else " or ".join(map(str, each_filter))
        if all(one == filters[0] for one in filters):
            files = each[0].files
            return cls(each, files, np.ones((files.count, len(each)), dtype=bool))
        files = whole[0] if union is None else whole[0].filtered(Where(union))
        runs = replace(each[0], files=files).each(_Inside(files.store, filters), "who is in which output")
        units = [unit for run in runs for unit in run]
        if union is not None:
            files = files.counted([len(unit) for unit in units])
        inside = np.concatenate(units)
        if not (inside.sum(axis=1) > 1).any():
            raise InputError(
                f"Nobody of {names[0]} (where={str(filters[0])!r}) is in another release (where={str(filters[1])!r}): "
                "each of them tells what it tells by itself."
            )
        return cls(each, files, inside)

    @property
    def people(self) -> PeopleInFiles:
        """Whoever is in one of the outputs."""
        roles = [part.reader.roles for part in self.parts]
        ids = next((each.ids for each in roles if each.ids is not None), None)
        groups = next((each.groups for each in roles if each.groups is not None), None)
        return PeopleInFiles(self.files, ids, groups)

    @cached_property
    def rows(self) -> tuple[NDArray[np.intp], ...]:
        """Of each output the place in it of everybody; -1 for who is not in it."""
        return tuple(np.where(one, np.cumsum(one) - 1, -1) for one in self.inside.T)


@dataclass(frozen=True, eq=False)
class _Inside:
    """Finds out which filters rows meet."""

    preload: ClassVar[str] = WARM

    store: FileStore
    filters: tuple[Filter | None, ...]

    def __call__(self, run: Sequence[Unit]) -> list[NDArray[np.bool_]]:
        columns = list(dict.fromkeys(name for each in self.filters if each for name in each.columns))
        return [self._of(unit, columns) for unit in run]

    def _of(self, unit: Unit, columns: Sequence[str]) -> NDArray[np.bool_]:
        batches = self.store.kept(unit, columns, _BATCH)
        found = [
            np.column_stack([np.ones(len(batch), bool) if each is None else each(batch) for each in self.filters])
            for batch in batches
        ]
        return np.concatenate([np.zeros((0, len(self.filters)), dtype=bool), *found])
