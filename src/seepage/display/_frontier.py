"""The picture of a frontier: what accuracy is left at which leakage."""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from seepage._tables import Frame
from seepage.display import _drawing

Array = NDArray[np.float64]

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DOTS = (0, (1, 2))
_SYMBOLS = {"r2": "R²", "d2": "D²"}


def draw(frame: Frame, ax: Any, *, attribute: str | None, metric: str, quantile: float, confidence: float) -> Any:
    """Draw the frame of a `Frontier` and return the axes."""
    with _drawing.drawing(ax, (4.8, 3.2)) as ax:
        _draw(frame, ax, attribute, metric, quantile, confidence)
    return ax


def _draw(frame: Frame, ax: Any, attribute: str | None, metric: str, quantile: float, confidence: float) -> None:
    from matplotlib import colormaps

    curves = _curves(frame)
    quantity = "error_floor" if "error_floor" in next(iter(curves.values())) else "success_rate"
    # Penalties are ordered, and so is the color map; it survives gray print and color blindness.
    several = len(curves) > 1
    colors = colormaps["viridis"](np.linspace(0.0, 0.8, len(curves))) if several else [_drawing.BLUE]
    sign = -1.0 if metric.startswith("neg_") else 1.0
    for (penalty, at), color, marker in zip(curves.items(), colors, _MARKERS * len(curves), strict=False):
        score, low, high, exact = (sign * at[name] for name in ("score", "score_low", "score_high", "exact_score"))
        name = f"penalty {_drawing.short(penalty, 2)}" if several else "mean of draws"
        ax.fill_between(at[quantity], low, high, color=color, alpha=0.15, linewidth=0)
        ax.axhline(exact[0], color=color, linewidth=0.9, linestyle=_DOTS, zorder=1)
        ax.plot(at[quantity], score, color=color, marker=marker, markersize=4, linewidth=1.2, label=name)
        if not several:
            below = {"xytext": (-2, -10), "textcoords": "offset points", "ha": "center", "fontsize": 7, "color": "0.3"}
            for x, y, scale in zip(at[quantity], score, at["noise_scale"], strict=True):
                ax.annotate(_drawing.short(scale, 2), (x, y), **below)
    _label_leakage(ax, quantity, attribute, quantile)
    _label_score(ax, metric, max(at["score_high"].max() for at in curves.values()))
    _explain(ax, confidence, numbers=not several)


def _curves(frame: Frame) -> dict[float, dict[str, Array]]:
    """Return the columns of each penalty, in the order of the noise."""
    table = nw.from_native(frame, eager_only=True)
    columns = {name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in table.columns}
    found = {}
    for penalty in dict.fromkeys(columns["penalty"].tolist()):
        rows = np.flatnonzero(columns["penalty"] == penalty)
        rows = rows[np.argsort(columns["noise_scale"][rows])]
        found[penalty] = {name: column[rows] for name, column in columns.items()}
    return found


def _label_leakage(ax: Any, quantity: str, attribute: str | None, quantile: float) -> None:
    who = "everyone" if quantile == 1 else f"{100 * quantile:.4g}% of people"
    if quantity == "success_rate":
        ax.set_xlabel(f"Best attacker's success rate on {attribute}\n(at most, for {who})")
        return
    guess, unit = (f" of {attribute}", "its unit") if attribute else ("", "any direction")
    ax.set_xlabel(f"Standard error of any unbiased guess{guess}\n(at least, in {unit}, for {who})")
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_xscale("log")
    # A decade or less is common, and would have one label.
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(lambda x, _: _drawing.short(x, 2))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _label_score(ax: Any, metric: str, highest: float) -> None:
    name = metric.removeprefix("neg_").replace("_", " ")
    ax.set_ylabel(f"{_SYMBOLS.get(name, name[:1].upper() + name[1:])} on test data")
    if name in _SYMBOLS:
        # Below zero a constant does better; how much better is of no interest.
        ax.set_ylim(max(ax.get_ylim()[0], -0.25), max(highest, 0.0) + 0.05)


def _explain(ax: Any, confidence: float, *, numbers: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles, _ = ax.get_legend_handles_labels()
    handles.append(Patch(color="0.5", alpha=0.25, linewidth=0, label=f"{100 * confidence:.4g}% of draws"))
    handles.append(Line2D([], [], color="0.4", linewidth=0.9, linestyle=_DOTS, label="without noise"))
    if numbers:
        handles.append(Line2D([], [], linestyle="none", label="numbers: noise scale"))
    ax.legend(handles=handles)
