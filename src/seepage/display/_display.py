"""What every picture has in common: where it is drawn, and what it leaves behind."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from seepage._python import Self
from seepage.display import _drawing
from seepage.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

# Of pictures in files.
_DPI = 160


@dataclass(eq=False)
class Display(ABC):
    """A picture: what it shows is chosen by a `from_...` method of its kind, and `plot` draws it.

    A new kind of picture says how large it is and how it is drawn, in `_size` and `_draw`; all else is here.
    """

    ax_: "_drawing.Axes | None" = field(init=False, repr=False, default=None)
    figure_: "Figure | SubFigure | None" = field(init=False, repr=False, default=None)

    @final
    def plot(self, ax: "_drawing.Axes | None" = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. A picture of several panels puts them in the place of the axes.

        Returns
        -------
        Display
            Itself, with what it was drawn on as `ax_` and `figure_`, and the panels, if there are several, as `axes_`.
        """
        plt = _drawing.pyplot()
        with plt.rc_context(_drawing.STYLE):
            if ax is None:
                _, ax = plt.subplots(figsize=self._size(), layout="constrained")
            self._draw(ax)
            ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @final
    def png(self) -> bytes:
        """Return the picture as PNG, for a file; nothing is shown on a screen."""
        plt = _drawing.pyplot()
        from matplotlib.figure import Figure

        written = BytesIO()
        with plt.rc_context(_drawing.STYLE), warnings.catch_warnings():
            # A letter that the font lacks is drawn as a box.
            warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
            figure = Figure(figsize=self._size(), layout="constrained")
            self.plot(figure.subplots())
            figure.savefig(written, format="png", dpi=_DPI, facecolor="white")
        return written.getvalue()

    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Return the width and height of a figure of its own, in inches."""

    @abstractmethod
    def _draw(self, ax: "_drawing.Axes") -> None:
        """Draw on some axes, in the style of all pictures."""


@dataclass(eq=False)
class PanelDisplay(Display):
    """A picture of several panels."""

    axes_: NDArray[np.object_] | None = field(init=False, repr=False, default=None)

    @final
    def _draw(self, ax: "_drawing.Axes") -> None:
        place = ax.get_subplotspec()
        if place is None:
            raise InputError("A picture of several panels needs axes in a grid, such as pyplot.subplots() makes.")
        ax.set_axis_off()
        rows, columns = self._shape()
        self.axes_ = place.subgridspec(rows, columns).subplots(sharey="row", squeeze=False)
        self._draw_panels(self.axes_)

    @abstractmethod
    def _shape(self) -> tuple[int, int]:
        """Return how many panels are below and beside each other."""

    @abstractmethod
    def _draw_panels(self, axes: NDArray[np.object_]) -> None:
        """Draw on the panels, an array of axes."""
