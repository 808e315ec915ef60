"""The layers of a network side by side: sensitivity, usable information, and what an attack makes of them."""

from dataclasses import dataclass

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._tables import Array, Frame
from seepage.display import _drawing
from seepage.display._display import PanelDisplay
from seepage.errors import InputError

_COLORS = (_drawing.BLUE, _drawing.GREEN, _drawing.RED)


@dataclass(frozen=True, eq=False)
class _Panel:
    title: str
    values: Array
    low: Array
    high: Array
    reference: float | None


@dataclass(eq=False)
class LayerDisplay(PanelDisplay):
    """Up to three panels over the layers of one network, as in figure 1 of Mo, Borovykh et al. (2021).

    A layer is a dot with its error (two standard errors, or the interval), the first layer on top.

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
    def from_frames(
        cls, *, sensitivity: Frame = None, usable_information: Frame = None, attack: Frame = None
    ) -> "LayerDisplay":
        """Choose what to show.

        Parameters
        ----------
        sensitivity : data frame, optional
            What `layer_sensitivity` returned.
        usable_information : data frame, optional
            What `usable_information` returned.
        attack : data frame, optional
            What the `evaluate` of `seepage.attacks.PropertyInference` returned.
        """
        given = {"sensitivity": sensitivity, "usable_information": usable_information, "auc": attack}
        frames = {key: nw.from_native(value, eager_only=True) for key, value in given.items() if value is not None}
        if not frames:
            raise InputError("Give at least one of sensitivity, usable_information and attack.")
        listed = {key: [str(name) for name in found["name"].to_list()] for key, found in frames.items()}
        names = max(listed.values(), key=len)
        for key, own in listed.items():
            if [name for name in names if name in own] != own:
                raise InputError(f"The frames are not about the same layers: {names} and, for {key}, {own}.")
        return cls(tuple(names), tuple(_panel(key, found, names) for key, found in frames.items()))

    def _size(self) -> tuple[float, float]:
        return 1.2 + 2.4 * len(self.panels), 0.9 + 0.24 * len(self.names)

    def _shape(self) -> tuple[int, int]:
        return 1, len(self.panels)

    def _draw_panels(self, axes: NDArray[np.object_]) -> None:
        rows = np.arange(len(self.names))
        for ax, panel, color in zip(axes[0], self.panels, _COLORS, strict=False):
            reach = np.abs(np.stack([panel.values - panel.low, panel.high - panel.values]))
            reach = np.where(np.isfinite(reach), reach, 0.0)
            ax.errorbar(panel.values, rows, xerr=reach, fmt="o", color=color, markersize=4.5, elinewidth=1.1, capsize=2)
            if panel.reference is None:
                ax.set_xlim(left=0)
            else:
                ax.axvline(panel.reference, color=_drawing.GRAY, linewidth=0.8, linestyle=":")
            ax.set_xlabel(panel.title)
            _drawing.guided(ax, "y")
        _drawing.listed(axes[0, 0], [_drawing.clipped(name) for name in self.names])


_TITLES = {
    "sensitivity": ("sensitivity", None),
    "usable_information": ("usable information (bits)", 0.0),
    "auc": ("AUC of the attack", 0.5),
}


def _panel(key: str, found: nw.DataFrame[Frame], names: list[str]) -> _Panel:
    own = [str(name) for name in found["name"].to_list()]
    places = [names.index(name) for name in own]

    def spread(values: ArrayLike) -> Array:
        whole = np.full(len(names), np.nan)
        whole[places] = np.asarray(values, dtype=np.float64)
        return whole

    values = spread(found[key].to_numpy())
    if "low" in found.columns:
        low, high = spread(found["low"].to_numpy()), spread(found["high"].to_numpy())
    else:
        error = 2 * spread(found["standard_error"].to_numpy())
        low, high = values - error, values + error
    title, reference = _TITLES[key]
    return _Panel(title, values, low, high, reference)
