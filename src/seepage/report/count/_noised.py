"""The numbers of a page with their noise, on the grid on which they are shown."""

from dataclasses import dataclass
from math import exp, log, log10

import numpy as np
from numpy.typing import NDArray

from seepage._noise import GaussianNoise
from seepage.report.count._contents import SHARES, Contents

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NoisedGroup:
    """A group that is shown: about how many people it has, and about how many times as exposed as everyone they are."""

    grouping: str
    name: str
    count: float
    times: float


@dataclass(frozen=True)
class Noised:
    """What is left of a page's numbers after noise and grid."""

    floors: dict[str, tuple[float, ...]]
    """Of each attribute, one a share of people."""
    groups: tuple[NoisedGroup, ...]


def noised(contents: Contents, values: Array) -> Noised:
    """Draw the noise once, by OpenDP, and go to the grid, which is all that is kept.

    Parameters
    ----------
    contents : Contents
        What the numbers are.
    values : ndarray
        The numbers on the log scale, as `Contents.values` returns them.
    """
    # Imported here: whoever reads a report needs no scikit-learn.
    from seepage.release.noising import drawn

    # In units of the noise its scale is one; going back is post-processing.
    found = (contents.noise * drawn(values / contents.noise, GaussianNoise(scale=1.0))).tolist()
    size, groups = len(SHARES), contents.groups
    floors = {
        # What holds for more people is not more: putting noised numbers in order is free.
        name: tuple(sorted(map(nearest_on_grid, map(exp, found[size * i : size * (i + 1)])), reverse=True))
        for i, name in enumerate(contents.attributes)
    }
    rest = found[size * len(contents.attributes) :]
    times = rest[: len(groups)] if contents.attributes else [0.0] * len(groups)
    counts = rest[-len(groups) :] if groups else []
    return Noised(
        floors,
        tuple(
            NoisedGroup(group.grouping, group.name, nearest_on_grid(exp(count)), nearest_on_grid(exp(ratio)))
            for group, ratio, count in zip(groups, times, counts, strict=True)
            if contents.is_shown(count)
        ),
    )


def nearest_on_grid(value: float) -> float:
    """Return which of 1, 2 and 5 times powers of ten is nearest on the log scale."""
    decade = int(np.floor(log10(value)))
    steps = [float(f"{digit}e{power}") for power in (decade - 1, decade, decade + 1) for digit in (1, 2, 5)]
    return min(steps, key=lambda step: abs(log(step / value)))
