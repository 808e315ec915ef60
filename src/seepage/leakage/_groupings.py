"""The ways in which people are grouped, each with its name."""

from collections.abc import Hashable, Iterator, Mapping

import narwhals as nw

from seepage._tables import Column, column_name
from seepage.leakage._distribution import Distribution
from seepage.leakage._groups import refuse_numbers
from seepage.leakage._information import GatheredInformation, Information
from seepage.leakage.types import By


def groupings(information: Information, groups: object) -> Iterator[tuple[str, Mapping[Hashable, Distribution]]]:
    """Yield the name of each way of grouping people, with the distribution of eta in each of its groups.

    Parameters
    ----------
    information : Information
        What was measured.
    groups : str, array-like of shape (n,), frame, mapping from name to array-like, or list of str, optional
        Columns, or labels of each person; by default the groups that were given to `measure`, if any.
    """
    for name, by in _columns(information, groups):
        found = information.groups(by)
        refuse_numbers(found)
        yield name, found


def labels_by_group(information: GatheredInformation, groups: object) -> Iterator[tuple[str, Column]]:
    """Yield the name of each way of grouping people, with the group of each person.

    Parameters
    ----------
    information : GatheredInformation
        What was measured.
    groups : object
        As `groupings` takes them.
    """
    for name, by in _columns(information, groups):
        yield name, information.labels(by)


def _columns(information: Information, groups: object) -> Iterator[tuple[str, By]]:
    if groups is None:
        if information.people.grouping is not None:
            yield information.people.grouping, None
        return
    if isinstance(groups, str):
        yield groups, groups
        return
    if (
        isinstance(groups, list | tuple)
        and len(groups) != information.count
        and all(isinstance(name, str) for name in groups)
    ):
        yield from ((name, name) for name in groups)
        return
    if isinstance(groups, Mapping):
        yield from ((str(name), labels) for name, labels in groups.items())
        return
    frame = nw.from_native(groups, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        yield from ((str(name), frame[name]) for name in frame.columns)
        return
    yield column_name(groups, "group"), groups
