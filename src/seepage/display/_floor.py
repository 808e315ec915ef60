"""The smallest errors of guesses, beside what is known without the release."""

from dataclasses import dataclass

import numpy as np

from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import InputError
from seepage.leakage import Distribution, Leakage, PriorKnowledge, before, deviations
from seepage.leakage.types import Prior
from seepage.meaning import unbiased_floor


@dataclass(eq=False)
class FloorDisplay(Display):
    """The error floor of one attribute over all people, against the prior.

    One curve is the floor of unbiased guesses, which goes beyond the prior where the release says little; the other
    that of guesses by somebody who knows the prior, which does not: see `Leakage.error_floor`.

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
    prior: PriorKnowledge | None

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
            What is known before the release, as for `Leakage.error_floor`; None for nothing.
        unit : str, optional
            The attribute's unit.
        """
        found = leak.information.distributions("attributes")
        if attribute not in found or attribute in leak.information.categorical:
            numbers = [name for name in found if name not in leak.information.categorical]
            raise InputError(f"{attribute!r} is not among the private attributes that are numbers: {numbers}.")
        known = attribute in deviations(leak.information, prior)
        return cls(attribute, unit, found[attribute], before(leak.information, prior, attribute) if known else None)

    def _ends(self) -> tuple[float, float]:
        """Return the errors to show: from the smallest floor to where nothing is left to see."""
        low, high = (float(unbiased_floor(self.eta.quantile(share))) for share in (1.0, 0.05))
        if not np.isfinite(high):
            high = 100 * low
        if self.prior is not None:
            deviation = self.prior.deviation
            low, high = min(low, deviation), max(min(high, 30 * deviation), 3 * deviation)
        return low / 1.25, 1.25 * high

    def _size(self) -> tuple[float, float]:
        return 4.8, 3.0

    def _draw(self, ax: "_drawing.Axes") -> None:
        count = self.eta.count
        ranks = np.unique(np.linspace(0, count - 1, min(count, 400)).round())
        eta = self.eta.ranked(ranks)[::-1]
        share = 100 * (np.arange(len(ranks)) + 1) / len(ranks)
        ax.step(unbiased_floor(eta), share, where="post", color=_drawing.BLUE, label="unbiased guess")
        if self.prior is not None:
            floor = self.prior.floor(eta)
            ax.step(floor, share, where="post", color=_drawing.RED, linestyle="--", label="guess with the prior")
            ax.axvline(self.prior.deviation, color=_drawing.GRAY, linewidth=1.0, linestyle=":", label="prior alone")
        ax.set_xlim(*self._ends())
        _drawing.logarithmic(ax.xaxis)
        ax.set_ylim(0, 100)
        ax.set_ylabel("% of people whose floor is lower")
        unit = "in its own unit" if self.unit is None else self.unit
        ax.set_xlabel(f"smallest error of a guess of {_drawing.clipped(self.attribute)} ({unit})")
        _drawing.guided(ax)
        ax.legend()
