"""Heat maps of susceptibility over images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._tables import Array
from seepage.display._display import PanelDisplay
from seepage.errors import InputError


class Mapped(Protocol):
    """What drives the privacy loss of each example: what `seepage.network.susceptibility` returns."""

    @property
    def values(self) -> Array:
        """One value for each value of each example."""
        ...

    def norm(self) -> Array:
        """Return the norm over the values of each example."""
        ...


@dataclass(eq=False)
class SusceptibilityDisplay(PanelDisplay):
    """Each image above its map: red where more of the value would give away more, blue where less.

    Examples
    --------
    >>> import seepage.network
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))
    >>> x, y = torch.rand(3, 1, 8, 8), torch.tensor([0, 1, 0])
    >>> found = seepage.network.susceptibility(
    ...     model, torch.nn.CrossEntropyLoss(), x, y, noise_scale=None, max_grad_norm=None
    ... )
    >>> display = seepage.display.SusceptibilityDisplay.from_susceptibility(found, x, rows=[0, 2]).plot()
    >>> display.axes_.shape
    (2, 2)
    """

    images: Array
    maps: Array
    titles: list[str]

    @classmethod
    def from_susceptibility(
        cls, found: Mapped, images: ArrayLike, *, rows: Sequence[int], titles: list[str] | None = None
    ) -> "SusceptibilityDisplay":
        """Choose the examples to show.

        Parameters
        ----------
        found : Susceptibility
            Of images, with or without a channel axis.
        images : array-like
            The images themselves.
        rows : list of int
            Which of them to show.
        titles : list of str, optional
            One for each; the subject-level norm by default.
        """
        chosen = np.asarray(rows)
        shown = np.asarray(images)[chosen]
        values = found.values[chosen]
        if values.ndim == 4:
            # Channels add up: what drives the loss at a pixel is the sum over its channels.
            values, shown = values.sum(1), shown.mean(1)
        if values.ndim != 3:
            raise InputError(f"A heat map needs images, not inputs of shape {found.values.shape[1:]}.")
        norms = found.norm()[chosen]
        return cls(shown, values, titles or [f"norm {norm:.3g}" for norm in norms])

    def _size(self) -> tuple[float, float]:
        return 1.4 * len(self.images), 3.0

    def _shape(self) -> tuple[int, int]:
        return 2, len(self.images)

    def _draw_panels(self, axes: NDArray[np.object_]) -> None:
        for (above, below), image, values, title in zip(axes.T, self.images, self.maps, self.titles, strict=True):
            reach = float(np.abs(values).max()) or 1.0
            above.imshow(image, cmap="gray")
            above.set_title(title, fontsize=8)
            below.imshow(values, cmap="RdBu_r", vmin=-reach, vmax=reach)
            above.set_axis_off()
            below.set_axis_off()
