"""What a published scale tells beside the coefficients: the attacker's posterior, by formulas of ridge regression.

The attacker knows everybody but the age of one person, holds all ages between 5 and 95 for equally likely, and reruns
everything with each: the fit, the noise that is needed, and how its scale is made. Of the posterior that is left it is
asked how often its deviation is below the promised one: from the coefficients alone, and with the scale besides. The
scale is calibrated for the values that people have, and rounded up.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FLOORS = np.array([15.0, 4.0])
AGES = np.linspace(5, 95, 31)
GRID = np.sort([digit * 10.0**power for power in range(-6, 6) for digit in (1, 2, 5)])


def _needed(designs: Array, labels: Array) -> tuple[Array, Array]:
    """Return coefficients of each data set, and the noise that everybody in it needs."""
    penalty = np.diag([1.0, 1.0, 0.0])
    inverse = np.linalg.inv(np.einsum("dni,dnj->dij", designs, designs) + penalty)
    theta = np.einsum("dij,dnj,n->di", inverse, designs, labels)
    residual = np.einsum("dni,di->dn", designs, theta) - labels
    u = np.einsum("dij,dnj->dni", inverse, designs)
    moves = [inverse[:, None, :, j] * residual[..., None] + u * theta[:, None, None, j] for j in range(2)]
    sizes = [floor * np.linalg.norm(each, axis=2) for floor, each in zip(FLOORS, moves, strict=True)]
    return theta, np.max(sizes, axis=0)


def _step(needed: Array) -> NDArray[np.intp]:
    return np.searchsorted(GRID, needed * (1 - 1e-12))


@dataclass(frozen=True)
class Left:
    """How often the posterior is narrower than promised: by coefficients alone, and with the scale."""

    alone: float
    together: float


def left(count: int, worlds: int, *, draws: int = 20) -> Left:
    """Attack publications of drawn data.

    Parameters
    ----------
    count : int
        People in each.
    worlds : int
        Data sets.
    draws : int, default=20
        Publications of each.
    """
    spreads: dict[str, list[float]] = {"alone": [], "together": []}
    for world in range(worlds):
        random = np.random.default_rng(world + 1000)
        design = np.column_stack([random.normal(50, 15, count), random.normal(25, 4, count), np.ones(count)])
        design[:, 0] = design[:, 0].clip(0, 100)
        labels = 0.3 * design[:, 0] + design[:, 1] + random.normal(0, 3, count)
        truth = int(random.integers(len(AGES)))
        each = np.repeat(design[None], len(AGES), axis=0)
        each[:, 0, 0] = AGES
        theta, needs = _needed(each, labels)
        needed = needs.max(axis=1)
        for _ in range(draws):
            step = int(_step(needed[truth : truth + 1])[0])
            by_scale = (_step(needed) == step).astype(float)
            seen = theta[truth] + GRID[step] * random.normal(size=3)
            likely = np.exp(-0.5 * np.square((theta - seen) / GRID[step]).sum(axis=1))
            for name, weights in {"alone": likely, "together": likely * by_scale}.items():
                share = weights / weights.sum()
                spreads[name].append(float(np.sqrt(share @ np.square(AGES - share @ AGES))))
    return Left(*(float(np.mean(np.array(spreads[name]) < FLOORS[0])) for name in ("alone", "together")))


def attacked_scale(most: int) -> None:
    """Print how often a scale leaves less than was promised, in so many data sets of 60 people and fewer of 300."""
    for count, worlds in ((60, most), (300, max(most // 8, 1))):
        found = left(count, worlds)
        print(
            f"scale: {count} people, {worlds * 20:,} publications, calibrated and rounded up: narrower than promised "
            f"in {100 * found.together:.1f}% ({100 * found.alone:.1f}% by the coefficients alone)",
            flush=True,
        )
