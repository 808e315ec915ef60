"""The style of pictures: for print at half a page, in gray, and for readers who do not see all colors."""

from math import log10
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from seepage.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import XAxis, YAxis

# Okabe and Ito (2008): told apart with every kind of color vision.
BLUE, ORANGE, GREEN, PINK, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
GRAY = "#666666"
# Line styles and markers say the same as the colors once more.
SERIES = (
    (BLUE, "-", "o"),
    (ORANGE, "--", "s"),
    (GREEN, "-.", "^"),
    (PINK, ":", "D"),
    (SKY, (0, (5, 1)), "v"),
    (RED, (0, (3, 1, 1, 1)), "P"),
)
STYLE: dict[str, float | bool] = {
    "axes.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "font.size": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    # A dollar sign in a name is a dollar sign.
    "text.parse_math": False,
}


def pyplot() -> ModuleType:
    """Return matplotlib's pyplot, or say what to install."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError(
            'Drawing needs matplotlib, which is not installed. Install it with: pip install "seepage[report]"'
        ) from None
    return pyplot


def guided(ax: "Axes", axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw faint lines to read values by, behind everything else."""
    ax.grid(axis=axis, color="0.91", linewidth=0.6)
    ax.set_axisbelow(True)


def listed(ax: "Axes", names: list[str]) -> None:
    """Name the rows of a picture, the first on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0, pad=8)


def logarithmic(axis: "XAxis | YAxis") -> None:
    """Make an axis logarithmic, with numbers as people write them."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = sorted(axis.get_view_interval())
    # A decade or less is common, and would have one label; three in each are drawn where there is room for them.
    place, inch = axis.axes.get_window_extent(), axis.axes.figure.dpi
    room = place.width / (0.38 * inch) if axis.axis_name == "x" else place.height / (0.2 * inch)
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if 3 * log10(high / low) < room else (1.0,)))
    axis.set_major_formatter(lambda value, _: short(value))
    axis.set_minor_formatter(NullFormatter())


def short(value: float, digits: int = 3) -> str:
    """Return a number in few characters."""
    return f"{float(f'{value:.{digits}g}'):g}"


def clipped(text: object, longest: int = 28) -> str:
    """Return a name that fits beside an axis."""
    shown = " ".join(str(text)[: longest + 1].split())
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
