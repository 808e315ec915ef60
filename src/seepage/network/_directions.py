"""The random directions in which private values are moved."""

import math
from collections.abc import Mapping
from typing import Any

import torch

from seepage.errors import InputError
from seepage.network._ghost import in_rows
from seepage.network._probe import LABEL, Direct

Tensor = torch.Tensor
Groups = Mapping[str, Any]
"""Lists of column numbers or masks, by name."""
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


class Directions:
    """Random signs on all private values, or on one group of them.

    E |A w|^2 over such w is the trace of A^T A, or that of the group's block (eq. 8.7).
    """

    def __init__(self, groups: Groups | None, private_label: bool, generator: torch.Generator) -> None:
        if groups is not None and not groups:
            raise InputError("groups names no group. Leave it out to keep the total alone.")
        self.groups, self.private_label, self.generator = groups, private_label, generator
        label = (LABEL,) if private_label else ()
        self.names: tuple[str, ...] = ("all values",) if groups is None else (*groups, OTHER, *label)
        self._masks: dict[tuple[int, ...], Tensor] = {}

    def columns(self, values: Mapping[str, tuple[int, ...]]) -> Tensor:
        """Return which input values belong to each group, shape (groups, values), given the shapes of one person's."""
        if self.groups is None:
            return torch.ones(1, *self.sizes(values), dtype=torch.bool)
        return in_rows(self._mask(next(shape for name, shape in values.items() if name != LABEL)))

    def sizes(self, values: Mapping[str, tuple[int, ...]]) -> list[int]:
        """Return how many values each group has, given the shapes of one person's."""
        if self.groups is None:
            return [sum(math.prod(shape) for shape in values.values())]
        inputs = [shape for name, shape in values.items() if name != LABEL]
        if len(inputs) != 1:
            raise InputError(f"groups are of the values of one input; the network has {list(values)}.")
        found = in_rows(self._mask(inputs[0])).sum(1).tolist()
        return [*found, math.prod(values[LABEL])] if self.private_label else found

    def along(self, group: int) -> Direct:
        """Return directions that move one group alone."""

        def direct(name: str, values: Tensor) -> Tensor:
            signs = self._signs(values)
            if self.groups is None:
                return signs
            masks = self._mask(tuple(values.shape[1:])) if name != LABEL else None
            if masks is None or group >= len(masks):
                return signs * (name == LABEL and self.names[group] == LABEL)
            return signs * masks[group].to(values.device)

        return direct

    def _mask(self, shape: tuple[int, ...]) -> Tensor:
        if shape not in self._masks:
            assert self.groups is not None
            masks = [_mask(name, members, torch.Size(shape)) for name, members in self.groups.items()]
            covered = torch.stack(masks).sum(0)
            if (covered > 1).any():
                raise InputError("The groups of input values overlap: each value may be in one group only.")
            self._masks[shape] = torch.stack([*masks, covered == 0])
        return self._masks[shape]

    def _signs(self, values: Tensor) -> Tensor:
        # Drawn where the generator lives: the same directions on every device, and nothing of the user's random state.
        bits = torch.randint(0, 2, values.shape, generator=self.generator, dtype=torch.int8)
        return bits.to(values.device, values.dtype).mul_(2).sub_(1)


def _mask(name: str, members: object, shape: torch.Size) -> Tensor:
    members = torch.as_tensor(members)
    if members.dtype == torch.bool:
        try:
            return members.expand(shape).clone()
        except RuntimeError:
            raise InputError(
                f"The group {name!r} is a mask of shape {tuple(members.shape)}, but one example's values have shape "
                f"{tuple(shape)}."
            ) from None
    if members.is_floating_point() or members.dim() > 1 or len(shape) > 1:
        raise InputError(
            f"The group {name!r} must be a list of column numbers (for rows of a table) or a mask of shape "
            f"{tuple(shape)}."
        )
    # Somebody with a single number has one column.
    mask = torch.zeros(shape.numel(), dtype=torch.bool)
    try:
        mask[members.long()] = True
    except IndexError:
        raise InputError(f"The group {name!r} names columns {members.tolist()} of {len(mask)}.") from None
    return mask.view(shape)
