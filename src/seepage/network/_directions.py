"""The random directions in which private values are moved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from seepage._errors import InputError

Tensor = torch.Tensor
OTHER = "other values"


def patches(shape: tuple[int, int], size: int) -> dict[str, Tensor]:
    """Return the square patches of an image as groups of input values.

    Parameters
    ----------
    shape : (int, int)
        Height and width. An image with channels takes the same patches in each.
    size : int
        Height and width of a patch; those at the right and lower edge may be smaller.

    Returns
    -------
    groups : dict of str to boolean tensor
        Named by the row and column of their upper left corner.

    Examples
    --------
    >>> import seepage.network
    >>> list(seepage.network.patches((28, 28), 14))
    ['rows 0-13, columns 0-13', 'rows 0-13, columns 14-27', 'rows 14-27, columns 0-13', 'rows 14-27, columns 14-27']
    """
    height, width = shape
    if size < 1:
        raise InputError(f"size must be a positive number of values, not {size!r}.")
    found = {}
    for top in range(0, height, size):
        for left in range(0, width, size):
            mask = torch.zeros(height, width, dtype=torch.bool)
            mask[top : top + size, left : left + size] = True
            bottom, right = min(top + size, height) - 1, min(left + size, width) - 1
            found[f"rows {top}-{bottom}, columns {left}-{right}"] = mask
    return found


@dataclass(eq=False)
class Directions:
    """Random signs on the private values of each example, or on one randomly chosen group of them.

    E |A w|^2 over such w is the trace of A^T A, or that of the group's block (eq. 8.7).
    """

    groups: Mapping[str, Any] | None
    private_label: bool
    generator: torch.Generator

    def __post_init__(self) -> None:
        self._masks: Tensor | None = None
        self._sizes: np.ndarray | None = None
        label = ("label",) if self.private_label else ()
        self.names: tuple[str, ...] = ("all values",) if self.groups is None else (*self.groups, OTHER, *label)
        self.chosen: Tensor | None = None
        """Which group each example of the batch is moved in."""

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.names)

    def bind(self, values: Tensor, label_size: int) -> np.ndarray:
        """Learn the shape of one example's values; return how many values each group has."""
        if self._sizes is None:
            shape = values.shape[1:]
            if self.groups is None:
                self._sizes = np.array([values[0].numel() + label_size])
            else:
                masks = [_mask(name, members, shape) for name, members in self.groups.items()]
                covered = torch.stack(masks).sum(0)
                if (covered > 1).any():
                    raise InputError("The groups of input values overlap: each value may be in one group only.")
                self._masks = torch.stack([*masks, covered == 0])
                self._sizes = self._masks.flatten(1).sum(1).numpy()
                if self.private_label:
                    self._sizes = np.append(self._sizes, label_size)
        return self._sizes

    def draw(self, count: int) -> None:
        """Choose the group of each example of a batch; a group without values is never chosen."""
        assert self._sizes is not None
        nonempty = torch.tensor(np.flatnonzero(self._sizes))
        pick = torch.randint(len(nonempty), (count,), generator=self.generator)
        self.chosen = nonempty[pick]

    def inputs(self, values: Tensor) -> Tensor:
        """Return the direction of the input values."""
        signs = self._signs(values)
        if self._masks is None:
            return signs
        assert self.chosen is not None
        nothing = torch.zeros_like(self._masks[:1])
        masks = torch.cat([self._masks, nothing]) if self.private_label else self._masks
        return signs * masks[self.chosen].to(values.device)

    def label(self, values: Tensor) -> Tensor:
        """Return the direction of the labels."""
        signs = self._signs(values)
        if self._masks is None:
            return signs
        assert self.chosen is not None
        chosen = (self.chosen == self.count - 1).to(signs)
        return signs * chosen.view(-1, *(1,) * (values.dim() - 1))

    def _signs(self, values: Tensor) -> Tensor:
        # Drawn where the generator lives: the same directions on every device, and nothing of the user's random state.
        bits = torch.randint(0, 2, values.shape, generator=self.generator, dtype=torch.int8)
        return bits.to(values.device, values.dtype).mul_(2).sub_(1)


def _mask(name: str, members: Any, shape: torch.Size) -> Tensor:
    members = torch.as_tensor(members)
    if members.dtype == torch.bool:
        try:
            return members.expand(shape).clone()
        except RuntimeError:
            raise InputError(
                f"The group {name!r} is a mask of shape {tuple(members.shape)}, but one example's values have shape "
                f"{tuple(shape)}."
            ) from None
    if members.is_floating_point() or members.dim() > 1 or len(shape) != 1:
        raise InputError(
            f"The group {name!r} must be a list of column numbers (for rows of a table) or a mask of shape "
            f"{tuple(shape)}."
        )
    mask = torch.zeros(shape, dtype=torch.bool)
    try:
        mask[members.long()] = True
    except IndexError:
        raise InputError(f"The group {name!r} names columns {members.tolist()} of {shape[0]}.") from None
    return mask
