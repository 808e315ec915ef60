"""Error floors release after release, and the guarantee of a ledger."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from seepage._tables import Array
from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import InputError


@dataclass(eq=False)
class BalanceDisplay(Display):
    r"""How near an unbiased guess can come after each release, and the promise that must hold for everybody.

    Examples
    --------
    >>> from seepage.display import BalanceDisplay
    >>> floors = [[20.0, 30.0, 50.0], [12.0, 20.0, 31.0]]
    >>> shown = BalanceDisplay.from_history(floors, releases=["score", "refresh"], attribute="age", promise=10.0)
    >>> shown.plot().ax_.get_ylabel()
    'standard error of any\nunbiased guess of age'
    """

    floors: Array
    releases: tuple[str, ...]
    attribute: str
    promise: float
    refused: Array | None

    @classmethod
    def from_history(
        cls,
        floors: ArrayLike,
        *,
        releases: Sequence[str],
        attribute: str,
        promise: float,
        refused: ArrayLike | None = None,
    ) -> "BalanceDisplay":
        """Take what `Ledger.history` returns of one attribute.

        Parameters
        ----------
        floors : array-like of shape (releases, people)
            The error floor of each person after each release.
        releases : sequence of str
            What each release is called.
        attribute : str
            What the floors are about.
        promise : float
            The floor that nobody may fall below.
        refused : array-like of shape (people,), optional
            The floors after one more release, which was refused; its name is then the last of `releases`.
        """
        found = np.asarray(floors, dtype=np.float64)
        named = len(found) + (refused is not None)
        if found.ndim != 2 or not len(found) or len(releases) != named:
            raise InputError(
                f"floors has a row for each release and a column for each person; its shape is {found.shape}, and "
                f"{len(releases)} releases are named{', the last of them refused' if refused is not None else ''}."
            )
        after = None if refused is None else np.asarray(refused, dtype=np.float64)
        return cls(found, tuple(releases), attribute, float(promise), after)

    def _size(self) -> tuple[float, float]:
        return 5.6, 3.2

    def _draw(self, ax: "_drawing.Axes") -> None:
        # Of whom nothing was released yet, a guess has no error; the band ends at the largest that there is.
        known = self.floors[np.isfinite(self.floors)]
        low, middle, high = np.quantile(self.floors, [0.05, 0.5, 0.95], axis=1, method="lower")
        high, least = np.minimum(high, known.max(initial=self.promise)), self.floors.min(axis=1)
        at = np.arange(len(self.floors))
        ax.fill_between(at, low, high, color=_drawing.BLUE, alpha=0.15, linewidth=0, label="90% of people")
        ax.plot(at, middle, color=_drawing.BLUE, marker="o", markersize=4, label="the median person")
        ax.plot(at, least, color=_drawing.ORANGE, marker="s", markersize=4, label="the most exposed person")
        ax.axhline(
            self.promise, color=_drawing.GRAY, linestyle=(0, (4, 2)), linewidth=1.2, label="promised to everybody"
        )
        if self.refused is not None:
            worst = float(self.refused.min())
            ax.plot(
                [at[-1], at[-1] + 1], [least[-1], worst], color=_drawing.RED, linestyle=(0, (1, 1.5)), linewidth=1.2
            )
            ax.plot(at[-1] + 1, worst, "x", color=_drawing.RED, markersize=7, markeredgewidth=1.8, label="refused")
        ax.set_xlim(-0.3, len(self.releases) - 0.7)
        ax.set_xticks(
            range(len(self.releases)), [_drawing.clipped(name, 20).replace(" ", "\n") for name in self.releases]
        )
        ax.set_ylabel(f"standard error of any\nunbiased guess of {_drawing.clipped(self.attribute)}")
        _drawing.logarithmic(ax.yaxis)
        _drawing.guided(ax, "y")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
