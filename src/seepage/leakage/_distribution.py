"""Distribution of the values of many people."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array

Ranks = NDArray[np.integer] | Array

_RELATIVE_ERROR = 1e-3
_LOG_WIDTH = float(np.log((1 + _RELATIVE_ERROR) / (1 - _RELATIVE_ERROR)))
# A logarithm beyond that of every number: the bucket of those who are infinitely exposed.
_BEYOND = 710.0
# Beyond this many people a mean is normal to more digits than its interval has.
_DRAWN_ONE_BY_ONE = 500


@dataclass(frozen=True, eq=False)
class Distribution(ABC):
    """Count, moments, extremes and quantiles of values that are not negative."""

    relative_error: ClassVar[float]
    """No quantile is further from an observed value of its rank than this share of it."""

    count: int
    mean: float
    squares: float
    """Sum of the squared distances from the mean."""
    smallest: float
    largest: float
    zeros: int

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.squares / self.count))

    def quantile(self, share: float) -> float:
        """Return the value that a share of people do not exceed: between the two whose ranks are next to it."""
        place = share * (self.count - 1)
        low, high = self.ranked(np.array([np.floor(place), np.ceil(place)])).tolist()
        # Of people who are infinitely exposed, no difference is known.
        return float(low if low == high else low + (place - np.floor(place)) * (high - low))

    @abstractmethod
    def ranked(self, ranks: Ranks) -> Array:
        """Return the values of some ranks; the smallest has rank 0."""

    @abstractmethod
    def counted(self, edges: Array) -> NDArray[np.int64]:
        """Return how many positive values are between each edge and the next; the ends take in who is beyond them."""

    @abstractmethod
    def sketched(self) -> "Sketch":
        """Return the same to three digits, alike wherever the values are."""

    def statistics(self) -> dict[str, float]:
        """Return mean, median and largest value."""
        return {"mean": self.mean, "median": self.quantile(0.5), "max": self.largest}

    def resampled(self, random: np.random.Generator, resamples: int) -> dict[str, Array]:
        """Return each statistic in each bootstrap resample.

        Resamples of many people are not drawn. The k-th smallest of n values drawn from a distribution is its quantile
        at a share that is Beta(k, n + 1 - k) distributed, and the next larger one follows from it, so medians and
        maxima have the distribution they would have had; a mean of many values is normal.
        """
        n, middle = self.count, (self.count + 1) // 2
        if n <= _DRAWN_ONE_BY_ONE:
            drawn = self.ranked(random.integers(n, size=(resamples, n)))
            return {"mean": drawn.mean(axis=1), "median": np.median(drawn, axis=1), "max": drawn.max(axis=1)}
        lower = upper = random.beta(middle, n + 1 - middle, resamples)
        if n % 2 == 0:
            # The share above the next order statistic, given this one, is that of the largest of the n - k beyond it.
            upper = 1 - (1 - lower) * random.beta(n - middle, 1, resamples)
        shares = np.array([lower, upper, random.beta(n, 1, resamples)])
        low, high, top = self.ranked(np.floor(n * shares).clip(0, n - 1))
        mean = random.normal(self.mean, self.deviation / np.sqrt(n), resamples)
        return {"mean": mean, "median": (low + high) / 2, "max": top}


@dataclass(frozen=True, eq=False)
class Values(Distribution):
    """A distribution of which every value is in memory: all is exact."""

    relative_error: ClassVar[float] = 0.0

    values: Array

    @classmethod
    def of(cls, values: Array) -> "Values":
        """Return the distribution of an array."""
        return cls(*_moments(values), values)

    def quantile(self, share: float) -> float:
        # Without sorting all of them, where that can be.
        return float(np.quantile(self.values, share)) if self.largest < np.inf else super().quantile(share)

    @cached_property
    def _ascending(self) -> Array:
        return np.sort(self.values)

    def ranked(self, ranks: Ranks) -> Array:
        return self._ascending[ranks.astype(np.intp, copy=False)]

    def counted(self, edges: Array) -> NDArray[np.int64]:
        place = np.searchsorted(edges[1:-1], self.values[self.values > 0], side="right")
        return np.bincount(place, minlength=len(edges) - 1)

    def sketched(self) -> "Sketch":
        return Sketch.of(self.values)


@dataclass(frozen=True, eq=False)
class Sketch(Distribution):
    """A distribution in a size that does not grow with the number of values.

    Sketches of two sets of values add up to that of their union: counts and quantiles exactly so, whatever the order.
    Buckets of equal width in the logarithm bound the relative error of every quantile (the DDSketch of Masson, Rim and
    Lee, 2019).
    """

    relative_error: ClassVar[float] = _RELATIVE_ERROR

    buckets: NDArray[np.int64]
    """Buckets that hold a value, in ascending order."""
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, values: Array) -> "Sketch":
        """Return the sketch of an array."""
        positive = values[values > 0] if values.size and values.min() <= 0 else values
        index = np.ceil(np.minimum(np.log(positive), _BEYOND) / _LOG_WIDTH).astype(np.int64)
        first = int(index.min(initial=0))
        if index.size and int(index.max()) - first < 16 * index.size + 1024:
            tally = np.bincount(index - first)
            held = np.flatnonzero(tally)
            buckets, counts = held + first, tally[held]
        else:
            buckets, counts = np.unique(index, return_counts=True)
        return cls(*_moments(values), buckets, counts)

    def __add__(self, other: "Sketch") -> "Sketch":
        buckets, index = np.unique(np.concatenate([self.buckets, other.buckets]), return_inverse=True)
        counts = np.zeros(len(buckets), dtype=np.int64)
        np.add.at(counts, index, np.concatenate([self.counts, other.counts]))
        # Chan, Golub and LeVeque (1983): nothing cancels however alike the values are.
        count = self.count + other.count
        endless = max(self.mean, other.mean) == np.inf
        gap = np.nan if endless else other.mean - self.mean
        return Sketch(
            count=count,
            mean=np.inf if endless else self.mean + gap * other.count / count,
            squares=self.squares + other.squares + gap**2 * self.count * other.count / count,
            smallest=min(self.smallest, other.smallest),
            largest=max(self.largest, other.largest),
            zeros=self.zeros + other.zeros,
            buckets=buckets,
            counts=counts,
        )

    def ranked(self, ranks: Ranks) -> Array:
        # The middle of a bucket, in the sense that both its ends are equally far in relative terms.
        with np.errstate(over="ignore"):
            middles = 2 * np.exp(self.buckets * _LOG_WIDTH) / (1 + np.exp(_LOG_WIDTH))
        values = np.concatenate([[0.0], middles])
        reached = np.cumsum(np.concatenate([[self.zeros], self.counts]))
        found = values[np.searchsorted(reached, ranks, side="right").clip(0, len(values) - 1)]
        found = np.clip(found, self.smallest, self.largest)
        return np.where(ranks >= self.count - 1, self.largest, found)

    def counted(self, edges: Array) -> NDArray[np.int64]:
        # The middle of a bucket, in the logarithm.
        place = np.searchsorted(np.log(edges[1:-1]), (self.buckets - 0.5) * _LOG_WIDTH, side="right")
        return np.bincount(place, weights=self.counts, minlength=len(edges) - 1).astype(np.int64)

    def sketched(self) -> "Sketch":
        return self


def _moments(values: Array) -> tuple[int, float, float, float, float, int]:
    if not len(values):
        return 0, np.nan, 0.0, np.inf, -np.inf, 0
    # Somebody may be infinitely exposed.
    with np.errstate(invalid="ignore"):
        mean = float(values.mean())
        squares = float(values.var()) * len(values)
    return len(values), mean, squares, float(values.min()), float(values.max()), int((values <= 0).sum())
