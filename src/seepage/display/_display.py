"""Common base of all pictures: the figure, its style and its formats."""

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any, final

from seepage._python import Self
from seepage.display import _drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

# Comments repeat the labels of a picture, and groups have names that nothing refers to.
_NOISE = re.compile(r'<metadata>.*?</metadata>|<!--.*?-->| xmlns:xlink="[^"]*"|(?<=<g) id="[^"]*"', re.DOTALL)


@dataclass(eq=False)
class Display(ABC):
    """A picture: a `from_...` method of its kind chooses the numbers, and `plot` draws them.

    A new kind of picture defines its size and its drawing, in `_size` and `_draw`.
    """

    ax_: "_drawing.Axes | None" = field(init=False, repr=False, default=None)
    figure_: "Figure | SubFigure | None" = field(init=False, repr=False, default=None)

    @final
    def plot(self, ax: "_drawing.Axes | None" = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Display
            Itself, with what it was drawn on as `ax_` and `figure_`.
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
        return self._written("png", {}, dpi=160, facecolor="white")

    @final
    def svg(self, title: str) -> str:
        """Return the picture as an SVG element for a page, whose text color it takes.

        Parameters
        ----------
        title : str
            What it shows, for readers who do not see it.
        """
        drawn = self._written("svg", {"svg.fonttype": "none", "svg.hashsalt": title}, transparent=True).decode()
        inner = _NOISE.sub("", drawn[drawn.index("<svg") :]).replace("#000000", "currentColor")
        label = f'<svg role="img" aria-label="{escape(title)}" fill="currentColor"'
        return inner.replace("xlink:href", "href").replace("<svg", label, 1)

    def _written(self, kind: str, settings: Mapping[str, Any], **options: Any) -> bytes:
        """Return the picture in a format of matplotlib."""
        plt = _drawing.pyplot()
        from matplotlib.figure import Figure

        written = BytesIO()
        with plt.rc_context({**_drawing.STYLE, **settings}), warnings.catch_warnings():
            # A letter that the font lacks is drawn as a box.
            warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
            figure = Figure(figsize=self._size(), layout="constrained")
            self.plot(figure.subplots())
            figure.savefig(written, format=kind, **options)
        return written.getvalue()

    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Return the width and height of a figure of its own, in inches."""

    @abstractmethod
    def _draw(self, ax: "_drawing.Axes") -> None:
        """Draw on some axes, in the style of all pictures."""
