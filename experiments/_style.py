"""How the figures look: for print at half a page, and for readers who do not see all colors."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

# Okabe and Ito (2008): told apart with every kind of color vision.
BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
)
GRAY = "#666666"
# In the order of lambda, or of iterations; markers say the same once more.
SERIES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PINK, "D"))

plt.rcParams.update(
    {
        "axes.labelsize": 9,
        "axes.linewidth": 0.6,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 9,
        "figure.constrained_layout.use": True,
        "font.size": 8,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.5,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
    }
)


def letter(axes: Axes, mark: str, title: str) -> None:
    """Head a panel with its letter and what it shows."""
    axes.set_title(f"({mark}) {title}", loc="left")
