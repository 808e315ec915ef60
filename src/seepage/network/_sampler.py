"""Poisson sampling of batches: exact rates, at a cost proportional to the batch."""

import secrets
from collections.abc import Iterator

import numpy as np
from torch.utils.data import Sampler

from seepage.errors import InputError


class PoissonSampler(Sampler[list[int]]):
    """Draw each example into each batch independently, with exactly the same probability.

    Gives lists of indices, to be used as the `batch_sampler` of a DataLoader. The gaps between chosen examples are
    geometric, so a batch costs as much as it holds, however large the data set; and the rate is exact in float64, where
    comparing float32 random numbers with it (as is common) rounds rates below 1e-6 upwards.

    Parameters
    ----------
    count : int
        The number of examples.
    sample_rate : float
        The probability of each example to be in a batch.
    steps : int
        The number of batches.
    seed : int, optional
        For tests only: whoever knows the seed knows who was in each batch, and amplification by sampling is void. By
        default the randomness comes from the operating system's secure source.

    Examples
    --------
    >>> import seepage.network
    >>> sampler = seepage.network.PoissonSampler(1_000_000_000, sample_rate=1e-8, steps=3, seed=0)
    >>> [len(batch) for batch in sampler]
    [9, 9, 11]
    """

    def __init__(self, count: int, *, sample_rate: float, steps: int, seed: int | None = None) -> None:
        if count < 1:
            raise InputError(f"count must be the number of examples, at least 1, not {count!r}.")
        if not 0 < sample_rate <= 1:
            raise InputError(f"sample_rate must be a probability above 0, not {sample_rate!r}.")
        if steps < 0:
            raise InputError(f"steps must be the number of batches, not {steps!r}.")
        self.count = count
        self.sample_rate = float(sample_rate)
        self.steps = steps
        self.secret = seed is None
        self._random = np.random.default_rng(secrets.randbits(256) if seed is None else seed)

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(self.steps):
            yield self.draw().tolist()

    def draw(self) -> np.ndarray:
        """Return the indices of one batch, in increasing order."""
        if self.sample_rate == 1:
            return np.arange(self.count)
        expected = self.count * self.sample_rate
        found = np.empty(0, dtype=np.int64)
        last = -1
        # log1p keeps the rate exact where 1 - q would round it.
        against = np.log1p(-self.sample_rate)
        while last < self.count - 1:
            uniform = 1.0 - self._random.random(int(expected + 4 * np.sqrt(expected) + 8))
            gaps = np.floor(np.log(uniform) / against)
            # Gaps beyond the end all mean "no more"; capping them keeps the sum within integers.
            places = last + np.cumsum(np.minimum(gaps, self.count).astype(np.int64) + 1)
            found = np.concatenate([found, places])
            last = int(places[-1])
        return found[found < self.count]
