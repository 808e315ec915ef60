"""Sensitivity of each layer's gradient to the label, the output or the input (Mo, Borovykh et al. 2021).

With g the gradient of one layer for one example and J = d g / d target, the layer's sensitivity (eq. 11.1) is the mean
over examples of

    | J |_p / (range(g) psi),     range(g) = max g - min g,

psi being the root of the number of the layer's weights for the Frobenius norm, that number for the sum of absolute
values, and 1 for the largest. Biases are in g, and not in psi. (The paper's appendix can be read as counting neurons
of two layers instead, which for convolutions is another number.) J is never formed: columns of it, or random
combinations of them, come from passes that carry a direction along.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.autograd import forward_ad
from torch.nn import functional as F  # noqa: N812

from seepage._tables import Frame, default_library, frame
from seepage.errors import InputError, UnsupportedError
from seepage.network import _layers
from seepage.network._losses import Loss, per_example
from seepage.network._tangents import Carrier, ExampleGradients
from seepage.network._tokens import Masks

Array = NDArray[np.float64]
Tensor = torch.Tensor
Target = Literal["label", "output", "input"]
Norm = Literal["fro", "l1", "max"]
# Gradients of this many numbers exist at once.
_SCRATCH = 2**24


def layer_sensitivity(
    model: nn.Module,
    loss: Loss,
    x: Tensor,
    y: Tensor,
    *,
    wrt: Target = "label",
    norm: Norm = "fro",
    normalized: bool = True,
    directions: int = 64,
    batch_size: int = 64,
    seed: int = 0,
) -> Frame:
    """Return how much the gradient of each layer moves with the label, the output or the input of an example.

    Parameters
    ----------
    model, loss
        The network, and the loss it is trained with.
    x, y : tensors
        Examples, and their labels. Classes are read as one-hot vectors, which can move.
    wrt : {"label", "output", "input"}, default="label"
        What the gradient moves with. The paper's "true output" can be read as the label or as what the network puts
        out; with "output" that moves on its own, and the layers before it stay where they are. Tokens move behind the
        embedding that looks them up, padding among them.
    norm : {"fro", "l1", "max"}, default="fro"
        The root of the sum of squares of the derivative's entries, the sum of their absolute values, or the largest.
    normalized : bool, default=True
        Divide by the range of the layer's gradient and by what its weights number (biases are not counted), as the
        paper does, so that layers can be compared and the scale of the loss does not matter. Without, it is the norm
        alone: over one example and all layers, the squares of ``wrt="input"`` add up to the trace of the information
        times the squared noise scale, for gradients that are not clipped.
    directions : int, default=64
        Passes over each batch. A target with no more values than this is measured exactly, value by value. Otherwise
        "fro" is estimated from random signs and "l1" from random values of the target, and "max" is the largest among
        random values: no more than the truth.
    batch_size : int, default=64
        Examples at once: memory only.
    seed : int, default=0
        Of the random directions.

    Returns
    -------
    frame : data frame
        One row a layer, in the order of the network: `name`, `type`, `parameters`, `sensitivity` and
        `standard_error`, which is that of the mean over examples. A layer whose gradient is constant has
        sensitivity 0, and one of a single number, which has no range, NaN. A parameter that several layers share
        counts with the first.

    Examples
    --------
    >>> import seepage.network
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    >>> x, y = torch.randn(50, 3), torch.randint(0, 2, (50,))
    >>> found = seepage.network.layer_sensitivity(model, torch.nn.CrossEntropyLoss(), x, y)
    >>> found["name"].tolist(), found["parameters"].tolist()
    (['0', '2'], [16, 10])
    """
    layers, values, ranges = layer_norms(
        model, loss, x, y, wrt=wrt, norm=norm, directions=directions, batch_size=batch_size, seed=seed
    )
    if normalized:
        sizes = np.array([layer.weights for layer in layers], dtype=np.float64)
        psi = {"fro": np.sqrt(sizes), "l1": sizes, "max": np.ones_like(sizes)}[norm]
        # A gradient without a range is that of a dead layer: it tells nothing, and does not divide by zero.
        values = np.divide(values, ranges * psi, out=np.zeros_like(values), where=ranges > 0)
        # One number has no range, and moves all the same.
        values[:, [layer.size == 1 for layer in layers]] = np.nan
    count = len(values)
    spread = values.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else np.full(len(layers), np.nan)
    columns = {
        "name": [layer.name for layer in layers],
        "type": [layer.kind for layer in layers],
        "parameters": [layer.size for layer in layers],
        "sensitivity": values.mean(axis=0),
        "standard_error": spread,
    }
    return frame(columns, default_library())


@dataclass(frozen=True, eq=False)
class Layer:
    """The trained parameters of one layer."""

    name: str
    kind: str
    parameters: tuple[nn.Parameter, ...]

    @property
    def size(self) -> int:
        """The size of its gradient."""
        return sum(parameter.numel() for parameter in self.parameters)

    @property
    def weights(self) -> int:
        """The entries of matrices and kernels; all, in a layer that has vectors only."""
        return sum(parameter.numel() for parameter in self.parameters if parameter.dim() > 1) or self.size


def layers_of(layers: Mapping[str, nn.Module], trained: Mapping[str, nn.Parameter]) -> list[Layer]:
    """Return the layers that hold trained parameters; a shared parameter belongs to the first that holds it."""
    found: list[Layer] = []
    left = set(trained.values())
    for name, unit in layers.items():
        own = tuple(p for p in unit.parameters() if p in left)
        left.difference_update(own)
        if own:
            found.append(Layer(name, type(unit).__name__, own))
    return found


def layer_norms(
    model: nn.Module,
    loss: Loss,
    x: Tensor,
    y: Tensor,
    *,
    wrt: Target,
    norm: Norm,
    directions: int,
    batch_size: int,
    seed: int,
) -> tuple[list[Layer], Array, Array]:
    """Return the layers, and of each example and layer the norm of d gradient / d target and the gradient's range."""
    if wrt not in ("label", "output", "input"):
        raise InputError(f'wrt must be "label", "output" or "input", not {wrt!r}.')
    if norm not in ("fro", "l1", "max"):
        raise InputError(f'norm must be "fro", "l1" or "max", not {norm!r}.')
    if not (isinstance(directions, int) and directions > 0):
        raise InputError(f"directions must be a positive number of passes over each batch, not {directions!r}.")
    if len(x) == 0 or len(x) != len(y):
        raise InputError(f"x and y must hold the same examples, at least one; they hold {len(x)} and {len(y)}.")
    if wrt == "input":
        _layers.warn_of_kinks(_layers.kinked(model))
    carrier = Carrier(model)
    layers = layers_of(carrier.layers, carrier.trained)
    generator = torch.Generator().manual_seed(seed)
    together = max(1, min(batch_size, _SCRATCH // (2 * sum(layer.size for layer in layers))))
    found = []
    for some in (slice(start, start + together) for start in range(0, len(x), together)):
        moves = _TargetDirections(norm, directions, generator)
        passes = (_pass(carrier, layers, loss, x[some], y[some], wrt, moves) for _ in moves)
        total = ranges = torch.zeros(())
        for gradients in passes:
            ranges = torch.stack([value.amax(1) - value.amin(1) for value, _ in gradients], 1)
            sizes = torch.stack([_SIZES[norm](moved) for _, moved in gradients], 1)
            total = torch.maximum(total, sizes) if norm == "max" else total + sizes * moves.share
        found.append((total.sqrt() if norm == "fro" else total, ranges))
    totals, spans = (torch.cat(parts).double().cpu().numpy() for parts in zip(*found, strict=True))
    return layers, totals, spans


_SIZES: dict[str, Callable[[Tensor], Tensor]] = {
    "fro": lambda moved: moved.square().sum(1),
    "l1": lambda moved: moved.abs().sum(1),
    "max": lambda moved: moved.abs().amax(1),
}


def _pass(
    carrier: Carrier, layers: list[Layer], loss: Loss, x: Tensor, y: Tensor, wrt: Target, moves: "_TargetDirections"
) -> list[tuple[Tensor, Tensor]]:
    """Return the gradient of each layer and how fast it moves, shape (n, size) each."""
    count = len(x)

    def moved(values: Tensor) -> Tensor:
        return forward_ad.make_dual(values, moves.direction(values.detach()))

    def losses(network: nn.Module) -> Tensor:
        output, target = network(x), y
        if wrt == "label":
            target = moved(_continuous(target, output))
        elif wrt == "output":
            output = moved(output)
        return per_example(loss, output, target, count)

    integers = wrt == "input" and not x.is_floating_point()
    tokens: Masks = {x.untyped_storage().data_ptr(): None} if integers else {}
    rows = ExampleGradients()
    carrier.carry(losses, lambda _, v: moved(v.detach()) if wrt == "input" else v, count, rows.measure, tokens)
    whole = rows.joined([parameter for layer in layers for parameter in layer.parameters], count)
    value, moving = (part.detach().split([layer.size for layer in layers], 1) for part in whole)
    return list(zip(value, moving, strict=True))


class _TargetDirections:
    """The directions in which a target moves, one a pass, of a number that is known from the first pass on."""

    def __init__(self, norm: Norm, most: int, generator: torch.Generator) -> None:
        self.norm, self.most, self.generator = norm, most, generator
        self.share = 1.0
        """The weight of a pass: random signs are a mean of unbiased squares, random values a part of all of them."""
        self._number, self._passes = -1, 1
        self._order: Tensor | None = None

    def __iter__(self) -> Iterator[int]:
        while self._number + 1 < self._passes:
            self._number += 1
            yield self._number

    def direction(self, values: Tensor) -> Tensor:
        """Return the direction of this pass."""
        n, size = len(values), values[0].numel()
        if self._number == 0:
            self._passes = min(size, self.most)
            if size <= self.most:
                self._order = torch.arange(size).expand(n, size)
            elif self.norm != "fro":
                self._order = torch.rand(n, size, generator=self.generator).argsort(1)[:, : self.most]
            self.share = 1 / self._passes if self._order is None else size / self._passes
        if self._order is None:
            signs = torch.randint(0, 2, values.shape, generator=self.generator, dtype=torch.int8)
            return signs.to(values.device, values.dtype).mul_(2).sub_(1)
        direction = torch.zeros(n, size, dtype=values.dtype)
        direction.scatter_(1, self._order[:, self._number : self._number + 1], 1.0)
        return direction.reshape(values.shape).to(values.device)


def _continuous(target: Tensor, output: Tensor) -> Tensor:
    """Return labels that can move: numbers as they are, classes as one-hot vectors."""
    if target.is_floating_point():
        return target.detach()
    if output.dim() != 2 or target.dim() != 1:
        raise UnsupportedError(
            f"Labels of shape {tuple(target.shape)} and type {target.dtype} cannot move a little, and the output of "
            f"shape {tuple(output.shape)} does not tell their classes. Give them as probabilities of classes, or use "
            'wrt="output".'
        )
    return F.one_hot(target.long(), output.shape[1]).to(output.dtype)
