"""An attack beside the bound that it should not pass."""

from dataclasses import dataclass

import narwhals as nw
import numpy as np

from seepage._tables import Array, Frame
from seepage.display import _drawing
from seepage.display._display import Display


@dataclass(eq=False)
class AttackDisplay(Display):
    """One dot a person: what an attack achieved against what it could at best, with the bound as a line.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import AttackDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> leak = seepage.measure(Ridge(alpha=0.1).fit(X, y), X, y, noise_scale=1.0)
    >>> found = seepage.verify(leak, seepage.attacks.MembershipScore(), trials=50)
    >>> AttackDisplay.from_frame(found.frame, quantity=found.quantity).plot().ax_.get_ylabel()
    'success rate of the attack'
    """

    bound: Array
    attack: Array
    quantity: str
    """An error, which stays above the bound, or a success rate, which stays below."""

    @classmethod
    def from_frame(cls, frame: Frame, *, quantity: str) -> "AttackDisplay":
        """Take the frame of what `seepage.verify` returned.

        Parameters
        ----------
        frame : data frame
            The result and the bound of each person.
        quantity : str
            What is compared: an error, or a success rate.
        """
        table = nw.from_native(frame, eager_only=True)
        names = ("floor", "error") if "floor" in table.columns else ("best", "success")
        bound, attack = (np.asarray(table[name].to_numpy(), dtype=np.float64) for name in names)
        return cls(bound, attack, quantity)

    def _size(self) -> tuple[float, float]:
        return 3.8, 3.4

    def _draw(self, ax: "_drawing.Axes") -> None:
        seen = np.isfinite(self.bound) & np.isfinite(self.attack)
        bound, attack = self.bound[seen], self.attack[seen]
        ends = np.array([min(bound.min(), attack.min()), max(bound.max(), attack.max())])
        ax.scatter(bound, attack, 9, _drawing.BLUE, alpha=0.5, linewidths=0, label="one person")
        ax.plot(ends, ends, color=_drawing.RED, linewidth=1.4, label="the bound")
        errors = self.quantity.endswith("error")
        if errors and ends[0] > 0 and ends[1] / ends[0] > 5:
            _drawing.logarithmic(ax.xaxis)
            _drawing.logarithmic(ax.yaxis)
        ax.set_xlabel(f"{self.quantity}, {'floor' if errors else 'at best'}")
        ax.set_ylabel(f"{self.quantity} of the attack")
        ax.legend(loc="lower right" if errors else "upper left")
