"""What no guess can beat, beside what is known without the release."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seepage._errors import InputError
from seepage.display import _drawing
from seepage.leakage import Distribution, Leakage
from seepage.leakage.types import Prior
from seepage.meaning import unbiased_floor, van_trees_floor
from seepage.report.build._sources import deviations, distributions


@dataclass(eq=False)
class FloorDisplay:
    """The error floor of one attribute over all people, against the prior.

    One curve is the floor of unbiased guesses, which goes beyond the prior where the release says little; the other
    that of any guess by somebody who knows the prior (van Trees), which does not.

    Attributes
    ----------
    ax_, figure_
        What `plot` drew on.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import FloorDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
    >>> FloorDisplay.from_leakage(leak, "bmi", unit="kg/m²").plot().ax_.get_xlabel()
    'smallest error of a guess of bmi (kg/m²)'
    """

    attribute: str
    unit: str | None
    eta: Distribution
    deviation: float | None
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_leakage(
        cls, leak: Leakage, attribute: str, *, prior: Prior = "data", unit: str | None = None
    ) -> "FloorDisplay":
        """Choose the attribute.

        Parameters
        ----------
        leak : Leakage
            What was measured.
        attribute : str
            A private attribute that is a number.
        prior : "data" or mapping from attribute to variance, default="data"
            What is known before the release; None for nothing.
        unit : str, optional
            The attribute's unit.
        """
        found = distributions(leak, "attributes")
        if attribute not in found or attribute in leak.information.categorical:
            numbers = [name for name in found if name not in leak.information.categorical]
            raise InputError(f"{attribute!r} is not among the private attributes that are numbers: {numbers}.")
        return cls(attribute, unit, found[attribute], deviations(leak, prior).get(attribute))

    def _ends(self) -> tuple[float, float]:
        """Return the errors to show: from the smallest floor to where nothing is left to see."""
        low, high = (float(unbiased_floor(self.eta.quantile(share))) for share in (1.0, 0.05))
        if not np.isfinite(high):
            high = 100 * low
        if self.deviation is not None:
            low, high = min(low, self.deviation), max(min(high, 30 * self.deviation), 3 * self.deviation)
        return low / 1.25, 1.25 * high

    def plot(self, ax: Any = None) -> "FloorDisplay":
        """Draw the share of people below each floor.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        with _drawing.drawing(ax, (4.8, 3.0)) as ax:
            count = self.eta.count
            ranks = np.unique(np.linspace(0, count - 1, min(count, 400)).round())
            eta = self.eta.ranked(ranks)[::-1]
            share = 100 * (np.arange(len(ranks)) + 1) / len(ranks)
            ax.step(unbiased_floor(eta), share, where="post", color=_drawing.BLUE, label="unbiased guess")
            if self.deviation is not None:
                floor = van_trees_floor(eta, self.deviation**2)
                ax.step(floor, share, where="post", color=_drawing.RED, linestyle="--", label="guess with the prior")
                ax.axvline(self.deviation, color=_drawing.GRAY, linewidth=1.0, linestyle=":", label="prior alone")
            ax.set_xlim(*self._ends())
            _drawing.logarithmic(ax.xaxis)
            ax.set_ylim(0, 100)
            ax.set_ylabel("% of people whose floor is lower")
            unit = "its unit" if self.unit is None else self.unit
            ax.set_xlabel(f"smallest error of a guess of {_drawing.clipped(self.attribute)} ({unit})")
            ax.grid(color="0.92", linewidth=0.6)
            ax.set_axisbelow(True)
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
