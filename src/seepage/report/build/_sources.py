"""What a leakage can tell, whether its people are in memory or in files."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from seepage._errors import InputError, UnansweredError
from seepage._tables import column_name
from seepage.leakage import Distribution, Leakage, People
from seepage.leakage.types import By, Kind


def distributions(leak: Leakage, kind: Kind) -> dict[str, Distribution]:
    """Return how each column of `examples` or `attributes` is distributed, alike in memory and in files."""
    return {name: known.sketched() for name, known in leak.information.distributions(kind).items()}


def deviations(leak: Leakage, prior: Any) -> dict[str, float]:
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


def groupings(leak: Leakage, groups: Any) -> Iterator[tuple[str, Mapping[Hashable, Distribution]]]:
    """Yield the name of each grouping of people, with the distribution of eta in each of its groups."""
    for name, by in _columns(leak, groups):
        yield name, {group: known.sketched() for group, known in leak.information.groups(by).items()}


def _columns(leak: Leakage, groups: Any) -> Iterator[tuple[str, By]]:
    if groups is None:
        if leak.people.grouping is not None:
            yield leak.people.grouping, None
        return
    if isinstance(groups, str):
        yield groups, groups
        return
    listed = isinstance(groups, list | tuple) and all(isinstance(name, str) for name in groups)
    if listed and len(groups) != leak.information.count:
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


def identifiers(people: People, rows: NDArray[Any]) -> list[str]:
    """Return the ids of some rows as text."""
    ids = people.ids
    return [str(row if ids is None else ids[row]) for row in rows.tolist()]
