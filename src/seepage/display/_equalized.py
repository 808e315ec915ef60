"""Before and after equalizing."""

from dataclasses import dataclass

import numpy as np

from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import InputError
from seepage.leakage import Distribution, Leakage
from seepage.leakage.types import Kind


@dataclass(eq=False)
class EqualizedDisplay(Display):
    """The exposure of everybody, from the least to the most exposed person, before and after equalizing.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import EqualizedDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> before = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0)
    >>> equal = seepage.release.EqualizedLeakage(Ridge(), noise_scale=1.0).fit(X, y)
    >>> EqualizedDisplay.from_leakages(before, equal.leakage_).plot().ax_.get_ylabel()
    'eta'
    """

    before: Distribution
    after: Distribution
    quantity: str

    @classmethod
    def from_leakages(cls, before: Leakage, after: Leakage, *, quantity: str = "eta") -> "EqualizedDisplay":
        """Take two measurements of the same people.

        Parameters
        ----------
        before, after : Leakage
            Of the plain and of the equalized model: `EqualizedLeakage.leakage_`.
        quantity : str, default="eta"
            What was equalized: "eta", "dfil", or an attribute.
        """
        kind: Kind = "examples" if quantity in ("eta", "dfil") else "attributes"
        found = [leak.information.distributions(kind) for leak in (before, after)]
        if any(quantity not in columns for columns in found):
            raise InputError(f"quantity must be 'eta', 'dfil' or one of {list(found[0])}, not {quantity!r}.")
        return cls(found[0][quantity], found[1][quantity], quantity)

    def _size(self) -> tuple[float, float]:
        return 4.8, 3.0

    def _draw(self, ax: "_drawing.Axes") -> None:
        for known, name, (color, style, _) in (
            (self.before, "before", _drawing.SERIES[0]),
            (self.after, "after", _drawing.SERIES[1]),
        ):
            ranks = np.unique(np.linspace(0, known.count - 1, min(known.count, 500)).round())
            spread = known.deviation / known.mean
            label = f"{name}: mean {_drawing.short(known.mean)}, spread {_drawing.short(100 * spread, 2)}%"
            across = 100 * (ranks + 0.5) / known.count
            ax.plot(across, known.ranked(ranks), color=color, linestyle=style, label=label)
        _drawing.logarithmic(ax.yaxis)
        ax.set_xlim(0, 100)
        ax.set_xlabel("people, from the least to the most exposed (%)")
        named = self.quantity in ("eta", "dfil")
        ax.set_ylabel(self.quantity if named else f"eta of {_drawing.clipped(self.quantity)}")
        _drawing.guided(ax, "y")
        ax.legend(loc="upper left")
