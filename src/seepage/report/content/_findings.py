"""What a reader with three minutes should know."""

from collections.abc import Collection, Sequence

from seepage._facts import Number, personal
from seepage.report._document import (
    CategoryAttribute,
    Contrast,
    EtaSpread,
    Findings,
    Grouping,
    NumberAttribute,
)

_MOST_ATTRIBUTES = 4


def findings(
    attributes: Sequence[NumberAttribute | CategoryAttribute],
    everyone: EtaSpread,
    groupings: Sequence[Grouping],
    *,
    first: Collection[str],
) -> Findings:
    """Return what to say first: the attributes that the policy names, then the most exposed ones."""
    told = [entry for entry in attributes if entry.silence is None]
    told.sort(key=lambda entry: (entry.name not in first, -_exposure(entry)))
    return Findings(
        tuple(entry.name for entry in told[: max(_MOST_ATTRIBUTES, min(len(first), 8))]),
        None if everyone.high is None else _times(everyone.high, everyone.median),
        None if everyone.largest is None else _times(everyone.largest, everyone.median),
        tuple(found for grouping in groupings if (found := _contrast(grouping)) is not None),
    )


def _exposure(entry: NumberAttribute | CategoryAttribute) -> float:
    """Return how much is given away, from 0 to 1; 0 where there is nothing to compare with."""
    if isinstance(entry, CategoryAttribute):
        return 2 * entry.rates[-1].success_rate.value - 1
    left = entry.floors[-1].remaining_variance
    return 0.0 if left is None else 1 - left.value


def _contrast(grouping: Grouping) -> Contrast | None:
    known = [group for group in grouping.groups if group.eta.interval is not None and group.eta.median is not None]
    if len(known) < 2:
        return None
    most, least = known[0], known[-1]
    assert most.eta.interval is not None
    assert least.eta.interval is not None
    assert most.eta.median is not None
    if most.eta.interval[0].value <= least.eta.interval[1].value:
        return Contrast(grouping.name, most.name, least.name, None)
    times = _times(most.eta.median, least.eta.median)
    # Nothing is any number of times nothing.
    return None if times is None else Contrast(grouping.name, most.name, least.name, times)


def _times(value: Number, unit: Number | None) -> Number | None:
    """Return how many times one number is of another, to two digits."""
    return personal(float(f"{value.value / unit.value:.2g}")) if unit is not None and unit.value else None
