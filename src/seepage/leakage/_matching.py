"""People of several releases: who is in which of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.leakage._people import Ids, People, PeopleInMemory

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Matching:
    """Everybody who is in some release."""

    people: People
    rows: tuple[NDArray[np.intp], ...]
    """Of each release, everybody's place in it; -1 for who is not in it."""

    @property
    def count(self) -> int:
        """Number of people."""
        return len(self.rows[0])

    @property
    def same(self) -> bool:
        """True if everybody is in every release, in the same order."""
        return all((at == np.arange(self.count)).all() for at in self.rows)

    def spread(self, release: int, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """Return what is known of the people of a release, for everybody: zero for who is not in it."""
        return spread(self.rows[release], values)


def spread(rows: NDArray[np.intp], values: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return values of some people, for everybody, by their places: zero for who has none (-1)."""
    found = np.zeros((len(rows), *values.shape[1:]), dtype=values.dtype)
    found[rows >= 0] = values[rows[rows >= 0]]
    return found


def same_values(blocks: Iterable[Mapping[str, NDArray[np.intp]]]) -> dict[str, NDArray[np.intp]]:
    """Return which of a person's values each attribute is, given that of each release.

    The same number has the same place in all releases; a category that two of them code by different numbers has those
    of both.
    """
    found: dict[str, NDArray[np.intp]] = {}
    width = 0
    for each in blocks:
        for name, block in each.items():
            more = len(block) - len(found.setdefault(name, np.empty(0, np.intp)))
            if more > 0:
                found[name] = np.append(found[name], np.arange(width, width + more))
                width += more
    return found


def match(people: Sequence[People], counts: Sequence[int], names: Sequence[str]) -> Matching:
    """Return who is in which release, by their ids; those of the first stand first.

    Parameters
    ----------
    people : sequence of People
        Those of each release.
    counts : sequence of int
        How many they are.
    names : sequence of str
        What the releases are called.
    """
    listed = [_ids(one, count) for one, count in zip(people, counts, strict=True)]
    if all(ids == listed[0] for ids in listed):
        return Matching(people[0], (np.arange(counts[0]),) * len(people))
    for one, name in zip(people, names, strict=True):
        if one.ids is None:
            raise InputError(
                f"The people of several releases are matched by their ids, and {name} has none. Give ids=, or rows as "
                "a pandas frame whose index names the people."
            )
    place: dict[object, int] = {}
    for every in listed:
        for person in every:
            place.setdefault(person, len(place))
    rows = []
    for every in listed:
        at = np.full(len(place), -1, dtype=np.intp)
        at[[place[person] for person in every]] = np.arange(len(every))
        rows.append(at)
    if not (np.sum([at >= 0 for at in rows], axis=0) > 1).any():
        raise InputError(
            f"Nobody of {names[0]} ({_few(listed[0])}) is in another release ({_few(listed[1])}). Name people alike in "
            "all of them: ids=."
        )
    first = people[0]
    return Matching(
        PeopleInMemory(_named(first, list(place)), first.library, getattr(first, "name", "id")), tuple(rows)
    )


def _named(first: People, ids: list[object]) -> Ids:
    """Return everybody's ids: an index where the first release has one, by which series are aligned."""
    if first.library == "pandas":
        import pandas as pd

        return pd.Index(ids, name=getattr(first.ids, "name", None))
    found = np.empty(len(ids), dtype=object)
    found[:] = ids
    return found


def _few(ids: list[object]) -> str:
    return ", ".join(map(repr, ids[:2])) + (", ..." if len(ids) > 2 else "")


def _ids(people: People, count: int) -> list[object]:
    return list(range(count)) if people.ids is None else list(np.asarray(people.ids, dtype=object))
