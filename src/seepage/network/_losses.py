"""The loss of each example, whatever way the loss was given."""

import inspect
import math
from collections.abc import Callable
from typing import Any, TypeGuard

import torch

from seepage.errors import InputError

Tensor = torch.Tensor
Loss = Callable[[Any, Any], Tensor]


def per_example(loss: Loss, output: object, target: object, count: int) -> Tensor:
    """Return one loss for each example, shape (count,).

    A loss that averages or adds up over the batch is asked not to; its own way of reducing is kept within an example.
    """
    output = _with_axis(output, target, count)
    reduction = getattr(loss, "reduction", None)
    if isinstance(reduction, str):
        try:
            loss.reduction = "none"  # type: ignore[attr-defined]
            losses = loss(output, target)
        finally:
            loss.reduction = reduction  # type: ignore[attr-defined]
    elif "reduction" in _parameters(loss):
        reduction = _parameters(loss)["reduction"].default
        losses = loss(output, target, reduction="none")  # type: ignore[call-arg]
    else:
        losses = loss(output, target)
    if isinstance(losses, Tensor) and losses.dim() == 0 and _has_rows(output, count) and _has_rows(target, count):
        # A loss of its own making that averages or adds up: of one example at a time it is that example's.
        losses = torch.stack([loss(output[i : i + 1], target[i : i + 1]) for i in range(count)])
    if not isinstance(losses, Tensor) or losses.dim() == 0 or len(losses) != count:
        shape = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise InputError(
            f"The loss gave {shape} for a batch of {count}: it must give one value for each example, or have a "
            "`reduction` that can be set to 'none' as PyTorch's losses do."
        )
    if losses.dim() == 1:
        return losses
    return losses.flatten(1).sum(1) if reduction in ("sum", "batchmean") else losses.flatten(1).mean(1)


def check_shares(loss: Loss, output: object, target: object, count: int) -> None:
    """Refuse a loss that depends on who else is in the batch: neither the mean nor the sum of what each example has."""
    whole = loss(_with_axis(output, target, count), target)
    if not isinstance(whole, Tensor) or whole.dim() > 0:
        return
    each = per_example(loss, output, target, count).double()
    allowed = 1e-3 if torch.finfo(whole.dtype).bits >= 32 else 3e-2
    apart = [abs(float(whole) - float(total)) for total in (each.mean(), each.sum())]
    size = float(each.abs().mean())
    if math.isfinite(size) and not (apart[0] <= allowed * size or apart[1] <= allowed * size * count):
        raise InputError(
            f"The loss of these {count} is {float(whole):.4g}, and of each alone {float(each.mean()):.4g} on average: "
            "what one adds depends on the others, as in a mean over classes with weights, or over tokens of which some "
            "are ignored. Give a loss with reduction='sum' (and tell Opacus loss_reduction='sum'), or one that returns "
            "a value for each example."
        )


def _with_axis(output: object, target: object, count: int) -> object:
    """Return an output with an axis of examples: of a single example, squeeze() drops that one too."""
    if count == 1 and isinstance(output, Tensor) and isinstance(target, Tensor) and output.dim() == target.dim() - 1:
        return output.unsqueeze(0)
    return output


def _has_rows(value: object, count: int) -> TypeGuard[Tensor]:
    return isinstance(value, Tensor) and value.dim() > 0 and len(value) == count


def _parameters(loss: Loss) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(loss).parameters)
    except (TypeError, ValueError):
        return {}
