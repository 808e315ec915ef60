"""How an outcome scatters, given the covariates, and what that moves: the noise before whoever knows all covariates."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers.rows import EqualRecords
from seepage.linear.printed._numbers import Numbers
from seepage.linear.rows import Batch

# Of a normal distribution: two to the power of its entropy, in deviations.
_VALUES = 4.13


@dataclass(frozen=True, eq=False)
class Modeled:
    """The scatter of outcomes that a model lets expect."""

    numbers: Numbers
    codes: Array | None
    """The codes of two classes, where the outcome is one of them."""
    dispersion: float = 1.0
    largest: float = np.inf
    """The deviation of the best guess: a curved truth scatters less than a line."""

    def deviation(self, batch: Batch) -> Array:
        """Return the deviation of each outcome, given the covariates."""
        geometry = self.numbers.geometry
        rows = geometry.frame.rows(batch)
        found = geometry.loss.derivatives(rows.margins(geometry.position), rows.labels)
        slope, curvature = found.label_slope[:, 0, 0], found.curvature[:, 0, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(slope != 0, np.maximum(curvature, 0.0) / slope**2, 0.0)
        return np.asarray(np.minimum(np.sqrt(variance * self.dispersion), self.largest))

    def moves(self, batch: Batch, places: NDArray[np.intp] | None = None) -> Array:
        """Return what one deviation of each outcome moves the numbers by."""
        label = self.numbers.slopes(batch, places).of(np.array([-1])).formed()[:, :, 0]
        return np.asarray(label * self.deviation(batch)[:, None])

    def squares(self, batch: Batch) -> Array:
        """Return the sum of the squared residuals that a dispersion is the mean of."""
        geometry = self.numbers.geometry
        rows = geometry.frame.rows(batch)
        return np.atleast_1d(geometry.loss.squares(rows.margins(geometry.position), rows.labels).square.sum())

    def bits(self, batch: Batch, *, step: float) -> Array:
        """Return the sum of the entropies of the outcomes; those that are no classes lie on a grid of such steps."""
        if self.codes is None:
            with np.errstate(divide="ignore"):
                return np.atleast_1d(np.maximum(np.log2(_VALUES * self.deviation(batch) / step), 0.0).sum())
        geometry = self.numbers.geometry
        rows = geometry.frame.rows(batch)
        found = geometry.loss.derivatives(rows.margins(geometry.position), rows.labels)
        low, high = self.codes[:, 0].tolist()
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = rows.labels[:, 0] - found.slope[:, 0] / found.label_slope[:, 0, 0]
        share = np.clip((mean - low) / (high - low), 1e-12, 1 - 1e-12)
        return np.atleast_1d(-(share * np.log2(share) + (1 - share) * np.log2(1 - share)).sum())


def modeled(numbers: Numbers, codes: Array | None, people: Any) -> tuple[float, Modeled] | None:
    """Return the mean entropy of an outcome given the covariates, in bits, and its scatter; None if not modeled.

    Parameters
    ----------
    numbers : Numbers
    codes : ndarray or None
        Of two classes.
    people : rows in memory or in files
    """
    geometry, loss = numbers.geometry, numbers.geometry.loss
    if geometry.public_label or loss.label_values != 1:
        return None
    found = Modeled(numbers, codes)
    if numbers.covariance.estimated and not loss.quadratic:
        return None
    if loss.estimates_dispersion:
        if not loss.quadratic:
            # Their dispersion is a mean of skewed squares, which move with outcomes otherwise than by their slopes:
            # attackers of gamma outcomes came to 0.66 of what would be said here.
            return None
        found = replace(found, dispersion=float(people.added(found.squares)[0]) / people.count)
    if codes is not None:
        return float(people.added(partial(found.bits, step=1.0))[0]) / people.count, found
    labels = people.listed(_label)
    if loss.quadratic:
        (guess,) = (each.guess for each in people.guesses.values() if each.is_label)
        found = replace(found, largest=guess.deviation)
    gaps = np.diff(np.unique(labels))
    bits = people.added(partial(found.bits, step=float(gaps.min()) if len(gaps) else 1.0))
    # Values that a rounding error sets apart are no finer grid: outcomes have no more without covariates.
    return min(float(bits[0]) / people.count, EqualRecords.of(labels[:, None]).bits), found


def _label(batch: Batch) -> Array:
    return np.asarray(batch.labels[:, 0])
