"""What a leakage can tell, whether its people are in memory or in files."""

from collections.abc import Iterator, Mapping
from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from seepage._errors import InputError, UnansweredError
from seepage._tables import column_name
from seepage.leakage import Leakage
from seepage.leakage._distribution import Distribution
from seepage.leakage._groups import Sketched, Values
from seepage.leakage._information import Kind, Summarized
from seepage.leakage._leakage import Prior as Prior


def distributions(leak: Leakage, kind: Kind) -> dict[str, Distribution]:
    """Return how each column of `examples` or `attributes` is distributed."""
    information = leak.information
    if isinstance(information, Summarized):
        return dict(information.distributions(kind))
    columns = information.examples() if kind == "examples" else information.attributes()
    return {name: Distribution.of(values) for name, values in columns.items()}


def deviations(leak: Leakage, prior: Prior) -> dict[str, float]:
    """Return the standard deviation of each attribute before the release, where it is known."""
    if prior is None:
        return {}
    if isinstance(prior, str):
        if prior != "data":
            raise InputError(f'prior must be "data" or a mapping from attribute to variance, not {prior!r}.')
        try:
            known = leak.information.variances()
        except UnansweredError:
            return {}
    else:
        known = prior
        for name, variance in prior.items():
            if name not in leak.information.attribute_names:
                raise InputError(
                    f"There is no private attribute {name!r}. There are {list(leak.information.attribute_names)}."
                )
            if not variance > 0:
                raise InputError(f"The prior variance of {name!r} must be positive, not {variance!r}.")
    return {name: float(variance) ** 0.5 for name, variance in known.items() if variance > 0}


def groupings(leak: Leakage, groups: Any) -> Iterator[tuple[str, Mapping[Any, Distribution]]]:
    """Yield the name of each grouping of people, with the distribution of eta in each of its groups."""
    for name, labels in _columns(leak, groups):
        found = leak.by_group(labels)
        yield name, dict(zip(found.names, map(_distribution, found.groups), strict=True))


def _distribution(group: Any) -> Distribution:
    if isinstance(group, Sketched):
        return group.distribution
    assert isinstance(group, Values)
    return Distribution.of(group.values)


def _columns(leak: Leakage, groups: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(leak.information, Summarized):
        yield from _file_columns(leak, groups)
        return
    if groups is None:
        return
    if isinstance(groups, Mapping):
        yield from ((str(name), labels) for name, labels in groups.items())
        return
    frame = nw.from_native(groups, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        yield from ((str(name), frame[name]) for name in frame.columns)
        return
    if isinstance(groups, str):
        raise InputError(
            f"groups must hold the group of each of the {leak.information.count} people, not the name {groups!r}: "
            "the rows are in memory, so give the column itself."
        )
    yield column_name(groups, "group"), groups


def _file_columns(leak: Leakage, groups: Any) -> Iterator[tuple[str, str]]:
    if groups is None:
        # The column given to `measure`, if there was one.
        rows: Any = getattr(leak.information, "rows", None)
        column = rows.reader.roles.groups if rows is not None else None
        if column is not None:
            yield column, column
        return
    for column in [groups] if isinstance(groups, str) else list(groups):
        if not isinstance(column, str):
            raise InputError(f'People in files are grouped by columns of theirs: groups="column", not {column!r}.')
        yield column, column


def identifiers(leak: Leakage, rows: NDArray[Any]) -> list[str]:
    """Return the ids of some rows in memory as text."""
    ids = leak.people.ids
    return [str(row if ids is None else ids[row]) for row in rows.tolist()]
