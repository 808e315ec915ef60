"""Errors of guesses by attackers who know more and more of the other people."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers import SamplingLeakage
from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import InputError

# Points of the curves.
_POINTS = 16


@dataclass(eq=False)
class AttackerKnowledgeDisplay(Display):
    """The error of a guess of one attribute against the share of the other people whose records are known.

    A line for the median person, one in twenty and the worst; the hatched part is not assessed.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import AttackerKnowledgeDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> X = X[["age", "bmi"]]
    >>> leak = seepage.measure(LinearRegression().fit(X, y), X, y)
    >>> AttackerKnowledgeDisplay.from_leakage(leak, "bmi", unit="kg/m²").plot().ax_.get_ylabel()
    'error of a guess of bmi (kg/m²)'
    """

    attribute: str
    unit: str | None
    shares: Array
    """The shares of the other people whose records are known."""
    errors: NDArray[np.float64]
    """Of the median person, one in twenty and the worst, shape (shares, 3)."""
    baseline: float
    """The error of a guess without the release."""
    assessed: float
    """The largest share that is assessed."""

    @classmethod
    def from_leakage(
        cls, leak: SamplingLeakage, attribute: str, *, unit: str | None = None
    ) -> "AttackerKnowledgeDisplay":
        """Ask the release of attackers who know more and more.

        Parameters
        ----------
        leak : SamplingLeakage
            What was measured without noise.
        attribute : str
            A private attribute that is a number.
        unit : str, optional
            The attribute's unit.
        """
        if not isinstance(leak, SamplingLeakage):
            raise InputError(
                "Known records are about a measurement without noise: seepage.measure(model, X, y), or with "
                "known_records=."
            )
        information = leak.information
        if attribute not in information.printed.deviations:
            raise InputError(
                f"{attribute!r} is not among the private attributes that are numbers: "
                f"{list(information.printed.deviations)}."
            )
        others = information.crowd.count - 1
        most = max(int(np.floor(others - information.claims.fewest)), 0)
        known = np.unique(np.linspace(0, most, _POINTS).astype(int))
        errors = np.full((len(known), 3), np.nan)
        for row, count in enumerate(known.tolist()):
            found = information.against(count).error_of(attribute)
            found = found[~np.isnan(found)]
            if len(found):
                errors[row] = np.quantile(found, [0.5, 0.05, 0.0], method="inverted_cdf")
        baseline = information.printed.baseline[attribute]
        return cls(attribute, unit, known / others, errors, baseline, most / others)

    def _size(self) -> tuple[float, float]:
        return 4.8, 3.0

    def _draw(self, ax: "_drawing.Axes") -> None:
        lines = (("median person", "-"), ("one in twenty", "--"), ("worst", ":"))
        for column, (label, style) in enumerate(lines):
            ax.plot(100 * self.shares, self.errors[:, column], color=_drawing.BLUE, linestyle=style, label=label)
        ax.axhline(self.baseline, color=_drawing.GRAY, linewidth=1.0, label="baseline")
        ends = 100 * self.assessed, 100
        ax.axvspan(*ends, facecolor="none", edgecolor=_drawing.GRAY, alpha=0.4, hatch="//", linewidth=0.0)
        ax.text(
            sum(ends) / 2,
            0.5 * self.baseline,
            "not assessed",
            ha="center",
            va="center",
            rotation=90,
            fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 2.0},
        )
        ax.set_xlim(0, 100)
        ax.set_ylim(0, 1.15 * self.baseline)
        ax.set_xlabel("% of the other people whose records are known")
        unit = "in its own unit" if self.unit is None else self.unit
        ax.set_ylabel(f"error of a guess of {_drawing.clipped(self.attribute)} ({unit})")
        _drawing.guided(ax)
        ax.legend(loc="lower left")
