"""Attributes ranked by the variance that remains."""

from dataclasses import dataclass

import numpy as np

from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import UnansweredError
from seepage.leakage import Leakage, before, deviations
from seepage.leakage.types import Prior

_SHARES = (0.5, 0.95, 1.0)
_MARKS = (
    ("median person", "o", "none", _drawing.BLUE),
    ("95% of people, at least", "s", _drawing.ORANGE, _drawing.ORANGE),
    ("most exposed", "D", _drawing.RED, _drawing.RED),
)


@dataclass(eq=False)
class AttributeDisplay(Display):
    """Attributes ranked by what the release leaves unknown about them, as a share of their variance.

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

    @classmethod
    def from_leakage(cls, leak: Leakage, *, prior: Prior = "data", most: int = 12) -> "AttributeDisplay":
        """Rank the attributes that are numbers.

        Parameters
        ----------
        leak : Leakage
            What was measured.
        prior : "data" or mapping from attribute to variance, default="data"
            What is known before the release, as for `Leakage.remaining_variance`.
        most : int, default=12
            How many attributes to show.
        """
        known = deviations(leak.information, prior)
        if not known:
            raise UnansweredError("Attributes are ranked against what is known before: give prior, their variances.")
        eta = leak.information.distributions("attributes")
        found = {}
        for name in known:
            prior_of = before(leak.information, prior, name)
            assert prior_of is not None
            found[name] = tuple(prior_of.left([eta[name].quantile(share) for share in _SHARES]).tolist())
        ranked = sorted(found.items(), key=lambda item: item[1][::-1])
        return cls(dict(ranked[:most]))

    def _size(self) -> tuple[float, float]:
        return 4.8, 1.1 + 0.24 * len(self.left)

    def _draw(self, ax: "_drawing.Axes") -> None:
        left = 100 * np.array(list(self.left.values()))
        rows = np.arange(len(left))
        ax.hlines(rows, left.min(axis=1), left.max(axis=1), color=_drawing.GRAY, linewidth=1.0, zorder=1)
        for place, (values, (label, mark, fill, edge)) in enumerate(zip(left.T, _MARKS, strict=True)):
            # A ring around a mark leaves the mark to see, where two fall together.
            ax.plot(
                values, rows, mark, color=edge, mfc=fill, markersize=5.5, zorder=5 - place, label=label, clip_on=False
            )
        _drawing.listed(ax, [_drawing.clipped(name) for name in self.left])
        _drawing.guided(ax, "x")
        ax.set_xlim(0, 100)
        ax.set_xlabel("variance left unknown, % (100: the release says nothing)")
        # Names of attributes leave room on the left: the legend ends where the axis ends.
        ax.legend(
            loc="lower right",
            bbox_to_anchor=(1.03, 1.0),
            ncols=3,
            handletextpad=0.1,
            columnspacing=0.8,
            fontsize=7.5,
        )
