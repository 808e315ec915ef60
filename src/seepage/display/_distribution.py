"""Distributions of eta, by group."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage.display import _drawing
from seepage.display._display import Display
from seepage.leakage import Distribution, Leakage, grid, groupings, histogram
from seepage.leakage.types import By

Array = NDArray[np.float64]

_MOST_OVERLAID = 2
# How high the highest ridge is, of the distance between two.
_RIDGE = 0.85


@dataclass(eq=False)
class DistributionDisplay(Display):
    """Histograms of eta over a logarithmic axis, with the means: of two groups overlaid, of more below each other.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import DistributionDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
    >>> DistributionDisplay.from_leakage(leak, groups=X["sex"]).plot().ax_.get_xscale()
    'log'
    """

    groups: dict[Hashable, Distribution]
    title: str | None

    @classmethod
    def from_leakage(cls, leak: Leakage, *, groups: By = None) -> "DistributionDisplay":
        """Take the distribution of eta from a leakage.

        Parameters
        ----------
        leak : Leakage
            What was measured.
        groups : array-like of shape (n,), optional
            The group of each person; for people in files, a column.
        """
        for name, found in groupings(leak.information, groups):
            largest = sorted(found.items(), key=lambda item: -item[1].count)[: len(_drawing.SERIES)]
            return cls(dict(largest), name)
        return cls({"everyone": leak.information.distributions("examples")["eta"]}, None)

    def _size(self) -> tuple[float, float]:
        return 4.8, 3.0 if len(self.groups) <= _MOST_OVERLAID else 0.9 + 0.5 * len(self.groups)

    def _draw(self, ax: "_drawing.Axes") -> None:
        edges = grid(list(self.groups.values()))
        # Where nobody's eta is above zero, there is nothing to draw on a logarithmic axis.
        groups = self.groups if len(edges) else {}
        if len(groups) > _MOST_OVERLAID:
            self._draw_ridges(ax, edges)
        else:
            self._draw_overlaid(ax, groups, edges)
        _drawing.logarithmic(ax.xaxis)
        ax.set_xlabel("eta (further right: more exposed)")

    def _draw_overlaid(self, ax: "_drawing.Axes", groups: dict[Hashable, Distribution], edges: Array) -> None:
        for (name, known), (color, style, _) in zip(groups.items(), _drawing.SERIES, strict=False):
            density = histogram(known, edges).density()
            label = f"{_drawing.clipped(name)} (mean {_drawing.short(known.mean)})"
            ax.stairs(density, edges, color=color, alpha=0.12, fill=True)
            ax.stairs(density, edges, color=color, linestyle=style, linewidth=1.4, label=label)
            place = int(np.clip(np.searchsorted(edges, known.mean) - 1, 0, len(edges) - 2))
            ax.vlines(known.mean, 0, density[place], color=color, linestyle=style, linewidth=1.0)
            ax.plot(known.mean, 0, marker="^", color=color, markersize=7, clip_on=False, zorder=5)
        # Areas are one; how high that makes a curve is nothing to read.
        ax.set(ylim=(0, None), yticks=[], ylabel="share of people")
        ax.legend(title=None if self.title is None else _drawing.clipped(self.title), alignment="left")

    def _draw_ridges(self, ax: "_drawing.Axes", edges: Array) -> None:
        heights = [histogram(known, edges).density() for known in self.groups.values()]
        highest = max(float(height.max()) for height in heights) or 1.0
        names = []
        for place, ((name, known), height) in enumerate(zip(self.groups.items(), heights, strict=True)):
            # Downwards on an axis whose first row is on top.
            top = place - _RIDGE * height / highest
            ax.stairs(top, edges, baseline=place, color=_drawing.BLUE, alpha=0.3, fill=True)
            ax.stairs(top, edges, baseline=place, color=_drawing.BLUE, linewidth=1.0)
            ax.plot(known.mean, place, marker="^", color=_drawing.RED, markersize=6, clip_on=False, zorder=5)
            names.append(f"{_drawing.clipped(name)} (mean {_drawing.short(known.mean)})")
        _drawing.guided(ax, "x")
        _drawing.listed(ax, names)
        ax.set_ylim(len(names) - 0.8, -1.0)
        ax.spines["left"].set_visible(False)
        if self.title is not None:
            ax.set_title(_drawing.clipped(self.title), loc="left")
