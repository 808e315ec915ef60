"""The most exposed people, and through which attributes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seepage._tables import Array
from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import InputError
from seepage.leakage import Leakage


@dataclass(eq=False)
class MostExposedDisplay(Display):
    """A heat map of the most exposed people and their attributes: personal data, and not for publication.

    The color says how many times better an attribute is known than that of the median person, the number what the
    smallest error of an unbiased guess is, in the attribute's unit; categories have none. People are numbered, the most
    exposed first.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import MostExposedDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
    >>> MostExposedDisplay.from_leakage(leak, count=5, attributes=["age", "bmi"]).plot().ratios.shape
    (5, 2)
    """

    names: list[str]
    ratios: Array
    floors: Array

    @classmethod
    def from_leakage(
        cls, leak: Leakage, *, count: int = 12, attributes: Sequence[str] | None = None
    ) -> "MostExposedDisplay":
        """Choose the people with the largest eta.

        Parameters
        ----------
        leak : Leakage
            What was measured, about people in memory.
        count : int, default=12
            How many people.
        attributes : sequence of str, optional
            Which attributes; by default the ten that set these people apart most.
        """
        eta, columns = leak.information.examples()["eta"], leak.information.attributes()
        people = np.argsort(-eta, kind="stable")[:count]
        ratios = {}
        for name in columns if attributes is None else attributes:
            if name not in columns:
                raise InputError(f"There is no private attribute {name!r}. There are {list(columns)}.")
            median = float(np.median(columns[name]))
            ratios[name] = columns[name][people] / median if median > 0 else np.ones(len(people))
        names = list(ratios)
        if attributes is None:
            names = sorted(names, key=lambda name: -float(ratios[name].mean()))[:10]
        with np.errstate(divide="ignore"):
            floors = np.array([1 / columns[name][people] for name in names]).T
        floors[:, [name in leak.information.categorical for name in names]] = np.nan
        return cls(names, np.array([ratios[name] for name in names]).T, floors)

    def _size(self) -> tuple[float, float]:
        people, attributes = self.ratios.shape
        return 1.9 + 0.52 * attributes, 1.1 + 0.24 * people

    def _draw(self, ax: "_drawing.Axes") -> None:
        from matplotlib.colors import LogNorm

        people, attributes = self.ratios.shape
        # Whoever is less exposed than the median person is as light as they.
        seen = np.maximum(self.ratios, 1.0)
        norm = LogNorm(1.0, max(2.0, float(seen.max())))
        image = ax.imshow(seen, cmap="Blues", norm=norm, aspect="auto")
        for i in range(people):
            for j in range(attributes):
                dark = norm(seen[i, j]) > 0.6
                text = "" if np.isnan(self.floors[i, j]) else f"±{_thousands(self.floors[i, j])}"
                ax.text(j, i, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
        names = [_drawing.clipped(name, 18) for name in self.names]
        ax.set_xticks(range(attributes), names, rotation=35, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(people), [str(i + 1) for i in range(people)])
        ax.set_ylabel("person, by eta")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        bar = ax.figure.colorbar(image, ax=ax, pad=0.02, aspect=25)
        bar.set_label("times the median person")
        _drawing.logarithmic(bar.ax.yaxis)
        bar.outline.set_visible(False)


def _thousands(value: float) -> str:
    if not np.isfinite(value):
        return "∞"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size * 0.995:
            return f"{_drawing.short(value / size, 2)}{letter}"
    return _drawing.short(value, 2)
