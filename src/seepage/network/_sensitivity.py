"""How much the gradient of each layer moves with the label, the output or the input (Mo, Borovykh et al. 2021).

With g the gradient of one layer for one example and J = d g / d target, the layer's sensitivity (eq. 11.1) is the mean
over examples of

    | J |_p / (range(g) psi),     range(g) = max g - min g,

psi being the root of the number of the layer's weights for the Frobenius norm, that number for the sum of absolute
values, and 1 for the largest. Biases are in g, and not in psi. (The paper's appendix can be read as counting neurons
of two layers instead, which for convolutions is another number.) J is never formed: columns of it, or random
combinations of them, come from passes that carry a direction along.
"""

import math
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
from seepage.network._ghost import Call, Moving
from seepage.network._layer_moves import Layer, LayerMoves, layers_of
from seepage.network._losses import Loss, per_example
from seepage.network._tangents import Carrier
from seepage.network._tokens import Masks

Array = NDArray[np.float64]
Tensor = torch.Tensor
Target = Literal["label", "output", "input"]
Norm = Literal["fro", "l1", "max"]


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
    found = []
    for start in range(0, len(x), batch_size):
        some = slice(start, start + batch_size)
        batch = _Batch(carrier, loss, x[some], y[some], wrt, norm, directions, generator, batch_size)
        found.append(batch.measure(layers))
    norms, ranges = (torch.cat(parts).double().cpu().numpy() for parts in zip(*found, strict=True))
    return layers, norms, ranges


class _Batch:
    """The passes over one batch."""

    def __init__(
        self,
        carrier: Carrier,
        loss: Loss,
        x: Tensor,
        y: Tensor,
        wrt: Target,
        norm: Norm,
        most: int,
        generator: torch.Generator,
        room: int,
    ) -> None:
        self.carrier, self.loss, self.x, self.y = carrier, loss, x, y
        self.wrt, self.norm, self.most, self.generator = wrt, norm, most, generator
        self._together = max(1, room // len(x))
        """How many passes over a small batch are one, over copies of it."""
        self._values: int | None = None
        """How many values of the target can move, known from the first pass on."""
        self._order: Tensor | None = None
        """Which values move in which pass, shape (n, passes); None for random signs."""

    def measure(self, layers: list[Layer]) -> tuple[Tensor, Tensor]:
        """Return norm and range of each example and layer, shape (n, layers) each."""
        moves = self._run(range(1))
        ranges = moves.ranges(layers)
        total = moves.norms(layers, self.norm)
        for first in range(1, self._passes, self._together):
            passes = range(first, min(first + self._together, self._passes))
            found = self._run(passes).norms(layers, self.norm).view(len(passes), *total.shape)
            total = torch.maximum(total, found.amax(0)) if self.norm == "max" else total + found.sum(0)
        assert self._values is not None
        # Random signs are a mean of unbiased squares; random values of the target are a share of all of them.
        share = 1 / self._passes if self._order is None else self._values / self._passes
        if self.norm == "fro":
            return (total * share).sqrt(), ranges
        return (total * share if self.norm == "l1" else total), ranges

    @property
    def _passes(self) -> int:
        assert self._values is not None
        return min(self._values, self.most)

    def _run(self, passes: range) -> LayerMoves:
        moves: list[tuple[Call, Moving]] = []
        x, y = (each.repeat(len(passes), *[1] * (each.dim() - 1)) for each in (self.x, self.y))
        count = len(x)

        def moved(values: Tensor) -> Tensor:
            directions = [
                self._direction(some, number)
                for some, number in zip(values.detach().split(len(self.x)), passes, strict=True)
            ]
            return forward_ad.make_dual(values, torch.cat(directions))

        def move(_: str, values: Tensor) -> Tensor:
            return moved(values.detach()) if self.wrt == "input" else values

        def losses(network: nn.Module) -> Tensor:
            output, target = network(x), y
            if self.wrt == "label":
                target = moved(_continuous(target, output))
            elif self.wrt == "output":
                output = moved(output)
            return per_example(self.loss, output, target, count)

        integers = self.wrt == "input" and not x.is_floating_point()
        tokens: Masks = {x.untyped_storage().data_ptr(): None} if integers else {}
        self.carrier.carry(losses, move, count, lambda call, back: moves.append((call, back)), tokens)
        return LayerMoves(moves, count)

    def _direction(self, values: Tensor, number: int) -> Tensor:
        """Return in which direction the target moves in a pass."""
        n, size = len(values), values[0].numel()
        if self._values is None:
            self._values = size
            if size <= self.most:
                self._order = torch.arange(size).expand(n, size)
            elif self.norm != "fro":
                self._order = torch.rand(n, size, generator=self.generator).argsort(1)[:, : self.most]
        if self._order is None:
            signs = torch.randint(0, 2, values.shape, generator=self.generator, dtype=torch.int8)
            return signs.to(values.device, values.dtype).mul_(2).sub_(1)
        direction = torch.zeros(n, size, dtype=values.dtype)
        direction.scatter_(1, self._order[:, number : number + 1], 1.0)
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
