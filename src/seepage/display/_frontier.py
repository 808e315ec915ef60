"""Accuracy against leakage."""

from dataclasses import dataclass

import narwhals as nw
import numpy as np

from seepage._tables import Array, Frame
from seepage.display import _drawing
from seepage.display._display import Display

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DOTS = (0, (1, 2))
_NOISES = {"standard_errors": "noise, in standard errors", "noise_scale": "noise scale"}
_SYMBOLS = {"r2": "R²", "d2": "D²"}


@dataclass(eq=False)
class FrontierDisplay(Display):
    """Score against floor, one line for each penalty or shape of noise, with the interval of a single draw as a band.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge().fit(X[:300], y[:300])
    >>> curve = seepage.release.frontier(model, X[:300], y[:300], X[300:], y[300:], draws=10)
    >>> curve.plot().ax_.get_ylabel()
    'R² on test data'
    """

    curves: dict[float | str, dict[str, Array]]
    attribute: str | None
    metric: str
    quantile: float
    confidence: float

    @classmethod
    def from_frame(
        cls, frame: Frame, *, attribute: str | None, metric: str, quantile: float = 1.0, confidence: float = 0.95
    ) -> "FrontierDisplay":
        """Take the frame of what `seepage.release.frontier` returned.

        Parameters
        ----------
        frame : data frame
            One row for each penalty and noise, and shape if it has a column of them.
        attribute : str or None
            What the floor is about; None for any direction.
        metric : str
            What the score is.
        quantile : float, default=1.0
            The share of people for whom the floor holds.
        confidence : float, default=0.95
            The share of draws that the interval covers.
        """
        return cls(_curves(frame), attribute, metric, quantile, confidence)

    @property
    def _noise(self) -> str:
        return next(name for name in _NOISES if name in next(iter(self.curves.values())))

    def _size(self) -> tuple[float, float]:
        return 4.8, 3.2

    def _draw(self, ax: "_drawing.Axes") -> None:
        from matplotlib import colormaps

        # Penalties are ordered, and so is the color map; it survives gray print and color blindness.
        several = len(self.curves) > 1
        colors = colormaps["viridis"](np.linspace(0.0, 0.8, len(self.curves))) if several else [_drawing.BLUE]
        sign = -1.0 if self.metric.startswith("neg_") else 1.0
        quantity = "error_floor" if "error_floor" in next(iter(self.curves.values())) else "success_rate"
        for (penalty, at), color, marker in zip(self.curves.items(), colors, _MARKERS * len(self.curves), strict=False):
            score, low, high, exact = (sign * at[name] for name in ("score", "score_low", "score_high", "exact_score"))
            name = penalty if isinstance(penalty, str) else f"penalty {_drawing.short(penalty, 2)}"
            name = name if several else "mean of draws"
            ax.fill_between(at[quantity], low, high, color=color, alpha=0.15, linewidth=0)
            ax.axhline(exact[0], color=color, linewidth=0.9, linestyle=_DOTS, zorder=1)
            ax.plot(at[quantity], score, color=color, marker=marker, markersize=4, linewidth=1.2, label=name)
        self._label_leakage(ax, quantity)
        self._label_score(ax)
        if not several:
            _number(ax, at[quantity], score, at[self._noise])
        self._explain(ax, numbers=not several)

    def _label_leakage(self, ax: "_drawing.Axes", quantity: str) -> None:
        who = "everyone" if self.quantile == 1 else f"{100 * self.quantile:.4g}% of people"
        name = None if self.attribute is None else _drawing.clipped(self.attribute)
        if quantity == "success_rate":
            ax.set_xlabel(f"Best attacker's success rate on {name}\n(at most, for {who})")
            return
        guess, unit = (f" of {name}", "its unit") if name else ("", "any direction")
        ax.set_xlabel(f"Standard error of any unbiased guess{guess}\n(at least, in {unit}, for {who})")
        _drawing.logarithmic(ax.xaxis)

    def _label_score(self, ax: "_drawing.Axes") -> None:
        name = self.metric.removeprefix("neg_").replace("_", " ")
        ax.set_ylabel(f"{_SYMBOLS.get(name, name[:1].upper() + name[1:])} on test data")
        if name in _SYMBOLS:
            # Below zero a constant does better; how much better is of no interest.
            highest = max(float(at["score_high"].max()) for at in self.curves.values())
            ax.set_ylim(max(ax.get_ylim()[0], -0.25), max(highest, 0.0) + 0.05)

    def _explain(self, ax: "_drawing.Axes", *, numbers: bool) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles, _ = ax.get_legend_handles_labels()
        handles.append(Patch(color="0.5", alpha=0.25, linewidth=0, label=f"{100 * self.confidence:.4g}% of draws"))
        handles.append(Line2D([], [], color="0.4", linewidth=0.9, linestyle=_DOTS, label="without noise"))
        if numbers:
            handles.append(Line2D([], [], linestyle="none", label=f"numbers: {_NOISES[self._noise]}"))
        ax.legend(handles=handles)


def _curves(frame: Frame) -> dict[float | str, dict[str, Array]]:
    """Return the columns of each penalty, or shape, in the order of the noise."""
    table = nw.from_native(frame, eager_only=True)
    numbers = [name for name in table.columns if name != "shape"]
    columns = {name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in numbers}
    keys: list[float | str] = columns["penalty"].tolist()
    if "shape" in table.columns:
        shapes, several = table["shape"].to_list(), len(set(keys)) > 1
        if several:
            shapes = [
                f"{one}, penalty {_drawing.short(key, 2)}" for one, key in zip(shapes, columns["penalty"], strict=True)
            ]
        keys = shapes
    found = {}
    for key in dict.fromkeys(keys):
        rows = np.array([i for i, each in enumerate(keys) if each == key])
        rows = rows[np.argsort(next(columns[name] for name in _NOISES if name in columns)[rows])]
        found[key] = {name: column[rows] for name, column in columns.items()}
    return found


def _number(ax: "_drawing.Axes", x: Array, y: Array, scales: Array) -> None:
    """Write the noise scales at their dots, on the side where the line is not, as far as there is room."""
    from matplotlib.transforms import Bbox

    dots = ax.transData.transform(np.column_stack([x, y])) * 72 / ax.figure.dpi
    rises = (x[-1] - x[0]) * (y[-1] - y[0]) > 0
    taken: list[Bbox] = []
    kept = []
    # The largest noise first: those dots are the farthest apart.
    for i in range(len(x) - 1, -1, -1):
        text = _drawing.short(scales[i], 2)
        width, height = 4.5 * len(text), 9.0
        # The first dot of a line that falls stands beside the axis.
        side, shift = ("left", 3.0) if rises else ("center", 0.0) if x[i] == x.min() else ("right", -3.0)
        left = dots[i, 0] + shift - width * {"left": 0.0, "center": 0.5, "right": 1.0}[side]
        box = Bbox.from_bounds(left, dots[i, 1] - 4 - height, width, height)
        if box.count_overlaps(taken) == 0:
            taken.append(box)
            kept.append((text, (x[i], y[i]), (shift, -4), side))
    for text, dot, away, side in reversed(kept):
        ax.annotate(text, dot, away, textcoords="offset points", ha=side, va="top", fontsize=7, color="0.3")
