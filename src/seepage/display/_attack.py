"""An attack beside the bound that it should not pass."""

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage.display import _drawing

Array = NDArray[np.float64]


@dataclass(eq=False)
class AttackDisplay:
    """One dot a person: what an attack achieved against what it could at best, with the bound as a line.

    Attributes
    ----------
    ax_, figure_
        What `plot` drew on.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import AttackDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> leak = seepage.measure(Ridge(alpha=0.1).fit(X, y), X, y, noise_scale=1.0)
    >>> found = seepage.verify(leak, seepage.attacks.MembershipScore(), trials=50)
    >>> AttackDisplay.from_verification(found).plot().ax_.get_ylabel()
    'success rate of the attack'
    """

    bound: Array
    attack: Array
    quantity: str
    """An error, which stays above the bound, or a success rate, which stays below."""
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_verification(cls, found: Any) -> "AttackDisplay":
        """Take what `seepage.verify` returned.

        Parameters
        ----------
        found : Verification
            An attack's result beside the bound.
        """
        if not hasattr(found, "frame"):
            raise InputError(f"from_verification needs what seepage.verify returned, not {type(found).__name__}.")
        table = nw.from_native(found.frame, eager_only=True)
        names = ("floor", "error") if "floor" in table.columns else ("best", "success")
        bound, attack = (np.asarray(table[name].to_numpy(), dtype=np.float64) for name in names)
        return cls(bound, attack, found.quantity)

    def plot(self, ax: Any = None) -> "AttackDisplay":
        """Draw the scatter.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        with _drawing.drawing(ax, (3.8, 3.4)) as ax:
            seen = np.isfinite(self.bound) & np.isfinite(self.attack)
            bound, attack = self.bound[seen], self.attack[seen]
            ends = np.array([min(bound.min(), attack.min()), max(bound.max(), attack.max())])
            style = {"color": _drawing.BLUE, "alpha": 0.5, "linewidths": 0, "rasterized": len(bound) > 2000}
            ax.scatter(bound, attack, s=9, label="one person", **style)
            ax.plot(ends, ends, color=_drawing.RED, linewidth=1.4, label="the bound")
            errors = self.quantity.endswith("error")
            if errors and ends[0] > 0 and ends[1] / ends[0] > 5:
                _drawing.logarithmic(ax.xaxis)
                _drawing.logarithmic(ax.yaxis)
            ax.set_xlabel(f"{self.quantity}, {'floor' if errors else 'at best'}")
            ax.set_ylabel(f"{self.quantity} of the attack")
            ax.legend(loc="lower right" if errors else "upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self
