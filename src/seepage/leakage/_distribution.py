"""How values are distributed, in a size that does not grow with their number."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_RELATIVE_ERROR = 1e-3
_LOG_WIDTH = float(np.log((1 + _RELATIVE_ERROR) / (1 - _RELATIVE_ERROR)))


@dataclass(frozen=True, eq=False)
class Distribution:
    """Count, mean, extremes, and a histogram of the logarithm of values that are not negative.

    Distributions of two sets of values add up to that of their union: counts and quantiles exactly so, whatever the
    order. Buckets of equal width in the logarithm bound the relative error of every quantile (the DDSketch of Masson,
    Rim and Lee, 2019).

    Attributes
    ----------
    count : int
        The number of values.
    smallest, largest : float
        Exact.
    """

    relative_error: ClassVar[float] = _RELATIVE_ERROR
    """No quantile is further from an observed value of its rank than this share of it."""

    count: int
    total: float
    squares: float
    """Sum of the squared values."""
    smallest: float
    largest: float
    zeros: int
    buckets: NDArray[np.int64]
    """Which buckets hold a value, in ascending order."""
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, values: Array) -> "Distribution":
        """Return the distribution of an array."""
        positive = values[values > 0] if values.size and values.min() <= 0 else values
        index = np.ceil(np.log(positive) / _LOG_WIDTH).astype(np.int64)
        first = int(index.min(initial=0))
        if index.size and int(index.max()) - first < 16 * index.size + 1024:
            tally = np.bincount(index - first)
            held = np.flatnonzero(tally)
            buckets, counts = held + first, tally[held]
        else:
            buckets, counts = np.unique(index, return_counts=True)
        return cls(
            count=len(values),
            total=float(values.sum()),
            squares=float(values @ values),
            smallest=float(values.min(initial=np.inf)),
            largest=float(values.max(initial=-np.inf)),
            zeros=len(values) - len(positive),
            buckets=buckets,
            counts=counts,
        )

    def __add__(self, other: "Distribution") -> "Distribution":
        buckets, index = np.unique(np.concatenate([self.buckets, other.buckets]), return_inverse=True)
        counts = np.zeros(len(buckets), dtype=np.int64)
        np.add.at(counts, index, np.concatenate([self.counts, other.counts]))
        return Distribution(
            count=self.count + other.count,
            total=self.total + other.total,
            squares=self.squares + other.squares,
            smallest=min(self.smallest, other.smallest),
            largest=max(self.largest, other.largest),
            zeros=self.zeros + other.zeros,
            buckets=buckets,
            counts=counts,
        )

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(max(self.squares / self.count - self.mean**2, 0.0)))

    def quantile(self, share: float) -> float:
        """Return the value of a rank, within `relative_error` of an observed one."""
        return float(self.ranked(np.floor(np.array(share * (self.count - 1)))))

    def ranked(self, rank: Array) -> Array:
        """Return the values of some ranks; the smallest has rank 0."""
        # The middle of a bucket, in the sense that both its ends are equally far in relative terms.
        middles = 2 * np.exp(self.buckets * _LOG_WIDTH) / (1 + np.exp(_LOG_WIDTH))
        values = np.concatenate([[0.0], middles])
        reached = np.cumsum(np.concatenate([[self.zeros], self.counts]))
        found = values[np.searchsorted(reached, rank, side="right").clip(0, len(values) - 1)]
        found = np.clip(found, self.smallest, self.largest)
        return np.where(rank >= self.count - 1, self.largest, found)
