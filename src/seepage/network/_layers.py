"""Layers that hold trained parameters, and networks that cannot be accounted for."""

import warnings
from collections.abc import Iterator

from opacus.layers.dp_rnn import DPRNNBase, RNNLinear
from torch import nn

from seepage.errors import UnsupportedError

_MIXES_EXAMPLES = (nn.modules.batchnorm._BatchNorm,)
_FUSED_RECURRENT = (nn.RNNBase,)
_KINKED = (
    nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.Hardtanh, nn.Hardswish, nn.Hardsigmoid, nn.Hardshrink,
    nn.Softshrink, nn.Threshold, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d,
    nn.AdaptiveMaxPool3d,
)  # fmt: skip


def units(model: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Yield the smallest modules that own trained parameters, with their names.

    A module of a kind not known here that owns parameters itself is one unit, its children included: its gradients are
    those of the whole.
    """
    owns = any(parameter.requires_grad for parameter in model.parameters(recurse=False))
    # Opacus's recurrent layers show the parameters of the linear layers inside under names of their own.
    if owns and not isinstance(model, DPRNNBase):
        yield prefix or type(model).__name__, model
        return
    for name, child in model.named_children():
        yield from units(child, f"{prefix}.{name}" if prefix else name)


def is_linear(unit: nn.Module) -> bool:
    """Return whether the layer is linear in its input."""
    # The exact types: a subclass may compute something else.
    return type(unit) in (nn.Linear, RNNLinear)


def is_convolution(unit: nn.Module) -> bool:
    """Return whether the layer is a convolution."""
    return type(unit) in (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def is_embedding(unit: nn.Module) -> bool:
    """Return whether the layer looks up tokens."""
    return type(unit) is nn.Embedding


def looks_up(module: nn.Module) -> bool:
    """Return whether the module turns integers into numbers that can move."""
    return isinstance(module, nn.Embedding | nn.EmbeddingBag)


def is_norm(unit: nn.Module) -> bool:
    """Return whether the layer normalizes within an example."""
    return type(unit) in (nn.LayerNorm, nn.GroupNorm)


def is_plain(unit: nn.Module) -> bool:
    """Return whether there are formulas for the layer's gradients."""
    return is_linear(unit) or is_convolution(unit) or is_embedding(unit) or is_norm(unit)


def check(model: nn.Module) -> None:
    """Refuse networks whose examples are not independent of each other, and those without trained parameters."""
    for name, module in model.named_modules():
        kind = type(module).__name__
        if isinstance(module, _MIXES_EXAMPLES) and (module.training or module.running_mean is None):
            raise UnsupportedError(
                f"The layer {name!r} is a {kind}: it mixes the examples of a batch, so nobody's gradient is their own. "
                "Replace it by GroupNorm or LayerNorm (opacus.validators.ModuleValidator.fix does); or use it as it "
                "is, with requires_grad_(False) and eval(), again after each train() of the network."
            )
        counts = isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats
        if counts and module.training:
            raise UnsupportedError(
                f"The layer {name!r} is a {kind} that tracks running statistics, which publish the data without "
                "noise. Give it track_running_stats=False, or eval() if it is not trained."
            )
        if isinstance(module, _FUSED_RECURRENT):
            raise UnsupportedError(
                f"The layer {name!r} is a fused {kind}, which has no directional derivative in PyTorch. Use "
                f"opacus.layers.DP{kind} instead."
            )
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise UnsupportedError("The model has no trained parameters: nothing that depends on anyone is published.")


def kinked(model: nn.Module) -> set[str]:
    """Return the kinds of layers that have kinks."""
    return {type(module).__name__ for module in model.modules() if isinstance(module, _KINKED)}


def warn_of_kinks(kinks: set[str]) -> None:
    """Warn that derivatives miss what happens at kinks."""
    if kinks:
        warnings.warn(
            f"The model has kinks ({', '.join(sorted(kinks))}): its derivative exists almost everywhere, but what an "
            "input gives away by crossing a kink is not in the numbers. Smooth layers (tanh, GELU, average pooling) "
            "have none.",
            UserWarning,
            stacklevel=3,
        )


def warn_of_tokens(model: nn.Module) -> None:
    """Warn that tokens cannot move a little."""
    if any(looks_up(module) for module in model.modules()):
        warnings.warn(
            "The model looks up tokens (an embedding): they cannot move a little, so the private values are the "
            "embedding's outputs, and no number says how well a token itself can be told. Where the embedding is "
            "trained, its gradient also shows which tokens there were, and that is in no number.",
            UserWarning,
            stacklevel=3,
        )
