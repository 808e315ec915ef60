"""One look at some people, at given weights: what a step there tells about them, along random directions.

The numbers of `step_information` and those of an accountant's visits both come from here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from seepage.network._categories import Category, GradientGaps, apart
from seepage.network._checks import undisturbed
from seepage.network._directions import Directions
from seepage.network._probe import Probe, differentiable, size_of
from seepage.network._records import Batch
from seepage.network._step import Mechanism

Array = NDArray[np.float64]
Tensor = torch.Tensor


@dataclass(frozen=True, eq=False)
class Look:
    """What was seen: three numbers of each person for each direction of each group, whatever the step will be."""

    products: list[list[Tensor]]
    """By group and direction, shape (3, people)."""
    sizes: Array
    """How many values each person has in each group, padding left out, shape (people, groups)."""
    counts: dict[str, Array]
    """How many of them are in each input and embedding, by name."""
    apart: list[GradientGaps]
    """How far categories are from others, one for each."""

    def information(self, mechanism: Mechanism) -> tuple[Array, Array]:
        """Return what a step tells, with and without credit for secret sampling, shape (groups, directions, people)."""
        pairs = [[mechanism.information(each) for each in group] for group in self.products]
        value, plain = (np.array([[pair[i] for pair in group] for group in pairs]) for i in range(2))
        return value, plain

    def squared_distances(self, mechanism: Mechanism) -> Array:
        """Return those of all values of all categories, one after the other, in units of the noise."""
        return np.concatenate([each.squared(mechanism) for each in self.apart], axis=1)


def look(
    probe: Probe,
    batch: Batch,
    directions: Directions,
    times: int,
    categories: Sequence[Category] = (),
    seed: int = 0,
) -> Look:
    """Look at the people of a batch, along so many directions of each group; and at what they could be.

    `seed` is that of dropout, where categories are compared.
    """
    groups = range(len(directions.names))
    with differentiable():
        products = [[probe.products(batch, directions.along(group)) for _ in range(times)] for group in groups]
    people = size_of(batch)
    counts = probe.counts(people)
    sizes = np.tile(np.asarray(directions.sizes(probe.values), dtype=np.float64), (people, 1))
    if probe.private:
        sizes[:, 0] = sum(counts.values())
    with undisturbed():
        gaps = [apart(probe, batch, category, seed) for category in categories]
    return Look(products, sizes, counts, gaps)
