"""How exposure is distributed, by group."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seepage.display import _drawing
from seepage.leakage import Distribution, Leakage
from seepage.report._edition import Edition
from seepage.report.build._histogram import grid, histogram
from seepage.report.build._sources import distributions, groupings

_WHOLE = Edition("internal", 2)


@dataclass(eq=False)
class DistributionDisplay:
    """Histograms of eta over a logarithmic axis, one line a group, with the means.

    Attributes
    ----------
    ax_, figure_
        What `plot` drew on.

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

    groups: dict[Any, Distribution]
    title: str | None
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_leakage(cls, leak: Leakage, *, groups: Any = None) -> "DistributionDisplay":
        """Take the distribution of eta from a leakage.

        Parameters
        ----------
        leak : Leakage
            What was measured.
        groups : array-like of shape (n,), optional
            The group of each person; for people in files, a column.
        """
        for name, found in groupings(leak, groups):
            largest = sorted(found.items(), key=lambda item: -item[1].count)[: len(_drawing.SERIES)]
            return cls(dict(largest), name)
        return cls({"everyone": distributions(leak, "examples")["eta"]}, None)

    def plot(self, ax: Any = None) -> "DistributionDisplay":
        """Draw the histograms.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        with _drawing.drawing(ax, (4.8, 3.0)) as ax:
            edges = grid(list(self.groups.values()), _WHOLE)
            for (name, known), (color, style, _) in zip(self.groups.items(), _drawing.SERIES, strict=False):
                drawn = histogram(known, edges, _WHOLE)
                if drawn is None:
                    continue
                label = f"{_drawing.clipped(name)} (mean {_drawing.short(known.mean)})"
                ax.stairs(drawn.density(), edges, color=color, alpha=0.12, fill=True)
                ax.stairs(drawn.density(), edges, color=color, linestyle=style, linewidth=1.4, label=label)
                place = int(np.clip(np.searchsorted(edges, known.mean) - 1, 0, len(edges) - 2))
                ax.vlines(known.mean, 0, drawn.density()[place], color=color, linestyle=style, linewidth=1.0)
                ax.plot(known.mean, 0, marker="^", color=color, markersize=7, clip_on=False, zorder=5)
            _drawing.logarithmic(ax.xaxis)
            ax.set_ylim(bottom=0)
            ax.set_xlabel("eta (further right: more exposed)")
            ax.set_ylabel("share of people per decade")
            ax.legend(title=None if self.title is None else _drawing.clipped(self.title), alignment="left")
        self.ax_, self.figure_ = ax, ax.figure
        return self
