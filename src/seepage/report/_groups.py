"""Groups of people, and the spread of eta in each."""

from collections.abc import Hashable, Mapping, Sequence
from math import sqrt

from seepage.leakage import Distribution
from seepage.pages import NOTHING, Grid, Item, Section, name, number
from seepage.report._rounding import at_most, down, middle, near, plain, up

# Two-sided 95% of a normal distribution.
_NORMAL = 1.959964
_HEADS = ("group", "people", "median eta", "95% interval", "95% of people", "mean", "largest")


def median_interval(known: Distribution) -> tuple[float, float] | None:
    """Return a 95% interval of the median, by ranks: it assumes nothing of the distribution."""
    reach = _NORMAL / 2 / sqrt(known.count)
    if reach >= 0.5:
        return None
    return down(middle(known, 0.5 - reach)), up(middle(known, 0.5 + reach))


def groups_section(called: str, groups: Mapping[Hashable, Distribution]) -> Section:
    """Return the groups, the most exposed first."""
    known = {str(group): values.sketched() for group, values in groups.items()}
    ranked = sorted(known.items(), key=lambda item: -middle(item[1], 0.5))
    rows = [[name(group), *_cells(values)] for group, values in ranked]
    table = Grid.of("Exposure by group, the most exposed first", _HEADS, rows)
    return Section(f"Groups by {name(called)}", _contrast(called, ranked), (table,), is_personal=True)


def _cells(known: Distribution) -> list[Item]:
    interval = median_interval(known)
    return [
        Item(f"{known.count:,}", known.count),
        plain(near(middle(known, 0.5))),
        Item(NOTHING) if interval is None else Item(" to ".join(map(number, interval))),
        plain(up(at_most(known, 0.95))),
        plain(near(known.mean)),
        plain(up(known.largest)),
    ]


def _contrast(called: str, ranked: Sequence[tuple[str, Distribution]]) -> tuple[str, ...]:
    """Compare the most and the least exposed group, unless the difference may be chance."""
    known = [(group, values, interval) for group, values in ranked if (interval := median_interval(values))]
    if len(known) < 2:
        return ()
    (most, high, (low_end, _)), (least, low, (_, high_end)) = known[0], known[-1]
    if low_end <= high_end:
        return (f"Groups by {name(called)} are about equally exposed: differences of their medians are within chance.",)
    median = middle(low, 0.5)
    if not median:
        return ()
    times = float(f"{middle(high, 0.5) / median:.2g}")
    return (
        f"By {name(called)}, “{name(most)}” is most exposed: its median eta is {number(times)} times that of "
        f"“{name(least)}”.",
    )
