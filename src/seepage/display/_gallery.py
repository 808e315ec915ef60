"""The images that a release says most and least about."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage.display import _drawing
from seepage.display._display import Display
from seepage.errors import InputError
from seepage.leakage import Leakage


@dataclass(eq=False)
class GalleryDisplay(Display):
    """Images with the highest leakage above those with the lowest: the records themselves, so not for publication.

    Examples
    --------
    >>> import seepage
    >>> from seepage.display import GalleryDisplay
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_digits(return_X_y=True)
    >>> leak = seepage.measure(Ridge(alpha=10.0).fit(X, y), X, y, noise_scale=1.0)
    >>> GalleryDisplay.from_leakage(leak, X.reshape(-1, 8, 8), count=6).plot().images.shape
    (2, 6, 8, 8)
    """

    images: NDArray[np.generic]
    values: NDArray[np.float64]
    quantity: str

    @classmethod
    def from_leakage(
        cls, leak: Leakage, images: ArrayLike, *, count: int = 8, quantity: str = "eta"
    ) -> "GalleryDisplay":
        """Choose the images.

        Parameters
        ----------
        leak : Leakage
            What was measured, one person an image.
        images : array-like of shape (n, height, width) or (n, height, width, 3)
            The images, in the order of the people.
        count : int, default=8
            How many of each kind.
        quantity : {"eta", "dfil"}, default="eta"
            What decides.
        """
        if quantity not in ("eta", "dfil"):
            raise InputError(f"quantity must be 'eta' or 'dfil', not {quantity!r}.")
        values, listed = leak.information.examples()[quantity], np.asarray(images)
        if listed.ndim not in (3, 4) or len(listed) != len(values) or (listed.ndim == 4 and listed.shape[3] != 3):
            raise InputError(
                f"images must be of shape ({len(values)}, height, width) or ({len(values)}, height, width, 3), not "
                f"{listed.shape}."
            )
        order = np.argsort(-values, kind="stable")
        count = min(count, len(order) // 2)
        chosen = np.stack([order[:count], order[-count:][::-1]])
        return cls(listed[chosen], values[chosen], quantity)

    def _size(self) -> tuple[float, float]:
        _, count, height, width = self.images.shape[:4]
        return 0.5 + 0.75 * count, 2.1 * max(height / width, 0.75)

    def _draw(self, ax: "_drawing.Axes") -> None:
        _, count, height, width = self.images.shape[:4]
        gap = 0.06 * width
        for row in range(2):
            for place in range(count):
                left, top = place * (width + gap), row * (height * 1.32)
                ax.imshow(self.images[row, place], cmap="gray", extent=(left, left + width, top + height, top))
                text = _drawing.short(self.values[row, place])
                ax.text(left + width / 2, top + 1.05 * height, text, ha="center", va="top", fontsize=7)
        ax.set_xlim(0, count * (width + gap) - gap)
        ax.set_ylim(2.58 * height, 0)
        ax.set_aspect("equal")
        ax.set_xticks([])
        middles = [height / 2, 1.82 * height]
        ax.set_yticks(middles, [f"highest\n{self.quantity}", f"lowest\n{self.quantity}"])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
