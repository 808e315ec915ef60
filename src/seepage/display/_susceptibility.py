"""Heat maps of susceptibility over images."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage.display import _drawing

if TYPE_CHECKING:
    from seepage.network import Susceptibility


@dataclass(eq=False)
class SusceptibilityDisplay:
    """Images side by side with what drives their privacy loss.

    Attributes
    ----------
    figure_, axes_
        What `plot` drew on.

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

    images: NDArray[Any]
    maps: NDArray[Any]
    titles: list[str]
    figure_: Any = field(init=False, default=None)
    axes_: Any = field(init=False, default=None)

    @classmethod
    def from_susceptibility(
        cls, found: "Susceptibility", images: Any, *, rows: Any, titles: list[str] | None = None
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

    def plot(self, axes: Any = None) -> "SusceptibilityDisplay":
        """Draw each image above its map: red where more of the value would give away more, blue where less.

        Parameters
        ----------
        axes : array of matplotlib axes of shape (2, number of images), optional
            Where to draw; a new figure by default.
        """
        plt = _drawing.pyplot()
        count = len(self.images)
        if axes is None:
            _, axes = plt.subplots(2, count, figsize=(1.4 * count, 3.0), squeeze=False, layout="constrained")
        axes = np.asarray(axes)
        for i in range(count):
            reach = float(np.abs(self.maps[i]).max()) or 1.0
            axes[0, i].imshow(self.images[i], cmap="gray")
            axes[1, i].imshow(self.maps[i], cmap="RdBu_r", vmin=-reach, vmax=reach)
            axes[0, i].set_title(self.titles[i], fontsize=8)
            for row in range(2):
                axes[row, i].set_axis_off()
        self.axes_, self.figure_ = axes, axes[0, 0].figure
        return self
