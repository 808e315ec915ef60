"""Which attributes a release says most about."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seepage._errors import UnansweredError
from seepage.display import _drawing
from seepage.leakage import Leakage
from seepage.leakage.types import Prior
from seepage.meaning import variance_left
from seepage.report.build._sources import deviations, distributions

_SHARES = (0.5, 0.95, 1.0)
_LABELS = ("median person", "95% of people, at least", "most exposed")
_MARKS = ("o", "s", "D")


@dataclass(eq=False)
class AttributeDisplay:
    """Attributes ranked by what the release leaves unknown about them, as a share of their variance.

    Attributes
    ----------
    ax_, figure_
        What `plot` drew on.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import AttributeDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=20.0)
    >>> list(AttributeDisplay.from_leakage(leak, most=3).plot().left)  # the most exposed first
    ['s1', 's2', 's3']
    """

    left: dict[str, tuple[float, ...]]
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_leakage(cls, leak: Leakage, *, prior: Prior = "data", most: int = 12) -> "AttributeDisplay":
        """Rank the attributes that are numbers.

        Parameters
        ----------
        leak : Leakage
            What was measured.
        prior : "data" or mapping from attribute to variance, default="data"
            What is known before the release.
        most : int, default=12
            How many attributes to show.
        """
        known = deviations(leak, prior)
        if not known:
            raise UnansweredError("Attributes are ranked against what is known before: give prior, their variances.")
        eta = distributions(leak, "attributes")
        found = {
            name: tuple(float(variance_left(eta[name].quantile(share), deviation**2)) for share in _SHARES)
            for name, deviation in known.items()
        }
        ranked = sorted(found.items(), key=lambda item: item[1][::-1])
        return cls(dict(ranked[:most]))

    def plot(self, ax: Any = None) -> "AttributeDisplay":
        """Draw one row an attribute.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        with _drawing.drawing(ax, (4.8, 1.1 + 0.24 * len(self.left))) as ax:
            rows = np.arange(len(self.left))
            left = 100 * np.array(list(self.left.values()))
            ax.hlines(rows, left.min(axis=1), left.max(axis=1), color=_drawing.GRAY, linewidth=1.0, zorder=1)
            colors = ("white", _drawing.ORANGE, _drawing.RED)
            for values, label, mark, color in zip(left.T, _LABELS, _MARKS, colors, strict=True):
                edge = _drawing.BLUE if color == "white" else color
                ax.plot(
                    values, rows, mark, color=color, markeredgecolor=edge, markersize=5.5, label=label, clip_on=False
                )
            ax.set_yticks(rows, [_drawing.clipped(name) for name in self.left])
            ax.set_xlim(0, 100)
            ax.set_xlabel("variance left unknown, % (100: the release says nothing)")
            ax.grid(axis="x", color="0.9", linewidth=0.6)
            ax.set_axisbelow(True)
            ax.tick_params(axis="y", length=0)
            ax.set_ylim(len(rows) - 0.5, -0.5)
            # Names of attributes leave room on the left: the legend ends where the axis ends.
            place = {"loc": "lower right", "bbox_to_anchor": (1.03, 1.0), "ncols": 3}
            ax.legend(**place, handletextpad=0.1, columnspacing=0.8, fontsize=7.5)
        self.ax_, self.figure_ = ax, ax.figure
        return self
