"""Passes that nobody else hears of."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def silenced(model: nn.Module) -> Iterator[None]:
    """Hide a pass from Opacus, which listens to the inputs and gradients of layers."""
    kept = [(module, module._forward_hooks, module._backward_hooks) for module in model.modules()]
    try:
        for module, forward, _ in kept:
            module._forward_hooks = OrderedDict((key, hook) for key, hook in forward.items() if not _of_opacus(hook))
            module._backward_hooks = OrderedDict()
        yield
    finally:
        for module, forward, backward in kept:
            module._forward_hooks, module._backward_hooks = forward, backward


def _of_opacus(hook: Any) -> bool:
    return str(getattr(hook, "__module__", "")).startswith("opacus.")
