"""Sensitivity and usable information of the layers of a network, side by side."""

from dataclasses import dataclass

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Frame
from seepage.display import _drawing
from seepage.display._display import PanelDisplay
from seepage.errors import InputError

_COLORS = (_drawing.BLUE, _drawing.GREEN)


@dataclass(frozen=True, eq=False)
class _Panel:
    title: str
    values: Array
    error: Array


@dataclass(eq=False)
class LayerDisplay(PanelDisplay):
    """One or two panels over the layers of one network, as in figure 1 of Mo, Borovykh et al. (2021).

    A layer is a dot with its error (two standard errors), the first layer on top.

    Examples
    --------
    >>> import seepage.network
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    >>> x, y = torch.randn(50, 3), torch.randint(0, 2, (50,))
    >>> found = seepage.network.layer_sensitivity(model, torch.nn.CrossEntropyLoss(), x, y)
    >>> display = seepage.display.LayerDisplay.from_frames(sensitivity=found).plot()
    >>> display.axes_.shape
    (1, 1)
    """

    names: tuple[str, ...]
    panels: tuple[_Panel, ...]

    @classmethod
    def from_frames(cls, *, sensitivity: Frame = None, usable_information: Frame = None) -> "LayerDisplay":
        """Choose what to show.

        Parameters
        ----------
        sensitivity : data frame, optional
            What `layer_sensitivity` returned.
        usable_information : data frame, optional
            What `usable_information` returned.
        """
        given = {"sensitivity": sensitivity, "usable_information": usable_information}
        frames = {key: nw.from_native(value, eager_only=True) for key, value in given.items() if value is not None}
        if not frames:
            raise InputError("Give sensitivity, usable_information or both.")
        listed = {key: [str(name) for name in found["name"].to_list()] for key, found in frames.items()}
        names, *others = listed.values()
        if any(other != names for other in others):
            raise InputError(f"The frames are not about the same layers: {listed}.")
        return cls(tuple(names), tuple(_panel(key, found) for key, found in frames.items()))

    def _size(self) -> tuple[float, float]:
        return 1.2 + 2.4 * len(self.panels), 0.9 + 0.24 * len(self.names)

    def _shape(self) -> tuple[int, int]:
        return 1, len(self.panels)

    def _draw_panels(self, axes: NDArray[np.object_]) -> None:
        rows = np.arange(len(self.names))
        for ax, panel, color in zip(axes[0], self.panels, _COLORS, strict=False):
            error = np.where(np.isfinite(panel.error), panel.error, 0.0)
            ax.errorbar(panel.values, rows, xerr=error, fmt="o", color=color, markersize=4.5, elinewidth=1.1, capsize=2)
            ax.axvline(0.0, color=_drawing.GRAY, linewidth=0.8, linestyle=":")
            ax.set_xlabel(panel.title)
            _drawing.guided(ax, "y")
        _drawing.listed(axes[0, 0], [_drawing.clipped(name) for name in self.names])


_TITLES = {"sensitivity": "sensitivity", "usable_information": "usable information (bits)"}


def _panel(key: str, found: nw.DataFrame[Frame]) -> _Panel:
    error = 2 * np.asarray(found["standard_error"].to_numpy(), dtype=np.float64)
    return _Panel(_TITLES[key], np.asarray(found[key].to_numpy(), dtype=np.float64), error)
