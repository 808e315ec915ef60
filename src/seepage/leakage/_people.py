"""Row identifiers, groups and output frames."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Column, Frame, Listed, Table, column_name, column_values, default_library, frame, is_missing
from seepage.errors import InputError, UnansweredError
from seepage.leakage.types import By, Who

if TYPE_CHECKING:
    import pandas as pd

Ids: TypeAlias = "pd.Index | Column | None"
"""Ids of the rows; None if rows are only numbered."""


class People(ABC):
    """Row identifiers, and the library of their frames."""

    @property
    @abstractmethod
    def ids(self) -> Ids:
        """Ids of the rows."""

    @property
    @abstractmethod
    def library(self) -> str:
        """The library of their frames."""

    @property
    @abstractmethod
    def grouping(self) -> str | None:
        """The name of the groups that are compared unless others are asked for."""

    @abstractmethod
    def frame(self, columns: Mapping[str, Column]) -> Frame:
        """Return a frame with one row per person."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> "People":
        """Return some of the people, by index; a person may stand there several times."""

    @abstractmethod
    def labels(self, by: By) -> Column:
        """Return the group of each person."""

    @abstractmethod
    def chosen(self, ids: Listed) -> Who:
        """Return some people by their ids, as `Information.joint` takes them."""


@dataclass(frozen=True, eq=False)
class PeopleInMemory(People):
    """People whose rows are in memory.

    Attributes
    ----------
    ids : pandas index, ndarray or None
        What the rows are called; None for 0, 1, 2, ...
    library : str
        The library of their frames.
    """

    ids: Ids = None
    library: str = ""
    name: str = "id"
    """Name of the ids."""
    table: Table | None = None
    """The rows as they were given, whose columns people can be grouped and chosen by."""
    others: Mapping[str, Column] = field(default_factory=dict)
    """Such columns beside the table: the labels, and the groups if they were given by themselves."""
    grouping: str | None = None
    person: NDArray[np.intp] | None = None
    """Person of each row of the table, by place among the ids, if some people have several rows."""

    def __post_init__(self) -> None:
        if not self.library:
            object.__setattr__(self, "library", default_library())

    @classmethod
    def of(cls, table: Table, *, ids: Listed = None, groups: By = None, y: Listed = None) -> "PeopleInMemory":
        """Keep the ids given, or the pandas index of the table, and what else is known of the rows."""
        others = {} if y is None else {column_name(y, "label"): column_values(y)}
        grouping = groups if isinstance(groups, str) else None
        if groups is not None and grouping is None:
            grouping = column_name(groups, "group")
            others[grouping] = _listed(groups, len(table), "groups=")
        library = table.library or default_library()
        if ids is None:
            _refuse_repeated(table.index)
            found = cls(table.index, library, table=table, others=others, grouping=grouping)
        else:
            names, person = _merged(_listed(ids, len(table), "ids="))
            found = cls(names, library, table=table, others=others, grouping=grouping, person=person)
        if grouping is not None:
            found.labels(grouping)
        return found

    def frame(self, columns: Mapping[str, Column]) -> Frame:
        """Return a frame with one row per person; pandas carries the ids as its index, others as a column."""
        if self.library == "pandas":
            import pandas as pd

            if self.ids is None:
                return pd.DataFrame(dict(columns))
            index = self.ids if isinstance(self.ids, pd.Index) else pd.Index(self.ids, name=self.name)
            return pd.DataFrame(dict(columns), index=index)
        count = len(next(iter(columns.values()))) if columns else 0
        ids = np.arange(count) if self.ids is None else self.ids
        return frame({self.name: ids, **columns}, self.library)

    def take(self, rows: NDArray[np.intp]) -> "PeopleInMemory":
        return PeopleInMemory(rows if self.ids is None else self.ids[rows], self.library, self.name)

    def labels(self, by: By) -> Column:
        if by is None:
            if self.grouping is None:
                raise InputError(
                    'Which groups? Name a column, by_group("column"), give a label for each person, or measure with '
                    "groups=."
                )
            by = self.grouping
        return self._column(by) if isinstance(by, str) else self._aligned(by, "by_group")

    def chosen(self, ids: Listed) -> Who:
        wanted = [ids] if isinstance(ids, str) else column_values(ids).tolist()
        named = self.ids
        if named is None:
            count = 0 if self.table is None else len(self.table)
            named = np.arange(count)
        place = {each: i for i, each in enumerate(named.tolist())}
        mask = np.zeros(len(place), dtype=np.bool_)
        for each in wanted:
            if each not in place:
                raise InputError(f"Nobody is called {each!r}. The ids are those of the frames: {_few(named)}.")
            mask[place[each]] = True
        return mask

    def mask(self, who: Who, count: int) -> NDArray[np.bool_] | None:
        """Return which people are meant; None if everyone is."""
        if who is None:
            return None
        if isinstance(who, Mapping):
            mask = np.ones(count, dtype=np.bool_)
            for name, wanted in who.items():
                values = wanted if isinstance(wanted, list | tuple | set | frozenset | np.ndarray) else [wanted]
                # As objects, so that the number 3 is not the text "3".
                mask &= np.isin(self._column(name).astype(object), np.array([*values, None], dtype=object)[:-1])
            if not mask.any():
                raise InputError(f"Nobody has {dict(who)!r}: nothing can be said about nobody.")
            return mask
        given = self._aligned(who, "joint_information_loss")
        if given.dtype != np.bool_ or given.shape != (count,):
            raise InputError(
                f"joint_information_loss needs True or False for each of the {count} people, not {given.dtype} of "
                f"shape {given.shape}."
            )
        if not given.any():
            raise InputError(
                "joint_information_loss was given an empty set of people: nothing can be said about nobody."
            )
        return np.asarray(given, dtype=np.bool_)

    def _aligned(self, given: object, what: str) -> Column:
        """Return a value for each person in their order; a pandas series says itself whose each value is."""
        values = column_values(given)
        if hasattr(given, "iloc"):
            values = self._by_index(given, values, what)
        if self.person is not None and values.shape == self.person.shape:
            values = self._of_people(values, what)
        return values

    def _by_index(self, given: Any, values: Column, what: str) -> Column:
        import pandas as pd

        index = given.index
        of_rows = None if self.table is None else self.table.index
        named = [pd.Index(each) for each in (self.ids, of_rows) if each is not None]
        # Rows without an index of their own are only numbered; people of several releases are named by an index.
        numbered = of_rows is None and not isinstance(self.ids, pd.Index) and index.equals(pd.RangeIndex(len(index)))
        strange = len(index) not in map(len, named)
        if numbered or strange or any(index.equals(each) for each in named):
            # What is too long or too short is refused by whoever asked.
            return values
        for each in named:
            if len(index) == len(each) and index.is_unique and each.is_unique and index.isin(each).all():
                return np.asarray(given.reindex(each).to_numpy())
        raise InputError(
            f"{what} was given a pandas series whose index is not that of the people ({_few(index)}, and "
            f"{_few(named[0])}), so whose each value is cannot be said. Give it the same index, or pass its values "
            "alone, in the order of the rows: .to_numpy()."
        )

    def _of_people(self, values: Column, what: str) -> Column:
        """Return the value that all rows of each person have in common."""
        assert self.person is not None
        assert self.ids is not None
        first = np.unique(self.person, return_index=True)[1]
        differ = values != values[first][self.person]
        if np.any(differ):
            who = self.ids[self.person[int(np.argmax(differ))]]
            raise InputError(
                f"{what}: the rows of person {who!r} differ. Give one value for each of {len(first)} people."
            )
        return values[first]

    def _column(self, name: str) -> Column:
        values = self._row_column(name)
        return values if self.person is None else self._of_people(values, f"The column {name!r}")

    def _row_column(self, name: str) -> Column:
        if name in self.others:
            return self.others[name]
        if self.table is None:
            raise UnansweredError(
                f"These people have no column {name!r}: only what was computed about them is known. Give a label for "
                "each person."
            )
        if name not in self.table.names:
            raise InputError(f"There is no column {name!r}. There are {[*self.table.names, *self.others]}.")
        return self.table.column(name)


def _refuse_repeated(index: "pd.Index | None") -> None:
    """Refuse a pandas index that names two rows alike: they may be strangers."""
    if index is None or index.is_unique:
        return
    twice = index[index.duplicated()][0]
    raise InputError(
        f"The index of X holds {twice!r} more than once, as it does after pd.concat: that may be one person or two. If "
        "each row is a person, reset it first: X.reset_index(drop=True). If rows with one label are one person's, say "
        "so with ids=X.index."
    )


def _merged(ids: Column) -> tuple[Column, NDArray[np.intp] | None]:
    """Return each id once, in the order of the rows, and whose each row is, if somebody has several."""
    listed = ids.tolist()
    if any(is_missing(each) for each in listed):
        raise InputError("ids= lacks the id of somebody. Give every row one.")
    place = {each: i for i, each in enumerate(dict.fromkeys(listed))}
    if len(place) == len(listed):
        return ids, None
    person = np.array([place[each] for each in listed], dtype=np.intp)
    return ids[np.unique(person, return_index=True)[1]], person


def _few(index: "pd.Index | Column") -> str:
    listed = [repr(each) for each in index[:3].tolist()]
    return ", ".join(listed) + (", ..." if len(index) > 3 else "")


def _listed(values: object, count: int, what: str) -> Column:
    listed = column_values(values)
    if listed.ndim != 1 or len(listed) != count:
        raise InputError(f"{what} must name each of the {count} rows of X once; it has shape {listed.shape}.")
    return listed
