"""What one pass with a direction tells of the gradient of each layer, a few examples at a time."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.utils import _pytree as pytree

from seepage.network import _ghost
from seepage.network._ghost import Call, Moving

Tensor = torch.Tensor
# Elements of scratch for the gradients of a few examples of one layer.
_SCRATCH = 2**22


@dataclass(frozen=True, eq=False)
class Layer:
    """The trained parameters of one layer."""

    name: str
    kind: str
    parameters: tuple[nn.Parameter, ...]

    @property
    def size(self) -> int:
        """How many numbers its gradient has."""
        return sum(parameter.numel() for parameter in self.parameters)

    @property
    def weights(self) -> int:
        """How many of them are of matrices and kernels; all, in a layer that has vectors only."""
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


class LayerMoves:
    """The layers' gradients of a batch, and how they move: kept as what went in and what came back."""

    def __init__(self, moves: list[tuple[Call, Moving]], count: int) -> None:
        self.count = count
        self._moves = moves
        self._uses = Counter(parameter for call, _ in moves for parameter in call.parameters.values())

    @torch.no_grad()
    def ranges(self, layers: list[Layer]) -> Tensor:
        """Return the largest minus the smallest entry of each example's gradient, shape (n, layers)."""
        found = []
        for layer in layers:
            parts = [value.amax(1) - value.amin(1) for value, _ in self._gradients(layer)]
            found.append(torch.cat(parts).double())
        return torch.stack(found, 1)

    @torch.no_grad()
    def norms(self, layers: list[Layer], norm: str) -> Tensor:
        """Return |g'|^2, the sum of |g'|, or the largest |g'| of each example, shape (n, layers)."""
        return torch.stack([self._norm(layer, norm).double() for layer in layers], 1)

    def _norm(self, layer: Layer, norm: str) -> Tensor:
        calls = self._calls(layer)
        if norm == "fro" and all(self._uses[p] == 1 for call, _ in calls for p in call.parameters.values()):
            # Inner products of what went in and came back: no gradient is formed.
            squares = [_ghost.measured(call, back)[2] for call, back in calls]
            return torch.stack(squares).sum(0).clamp(min=0) if squares else torch.zeros(self.count)
        parts = []
        for _, moved in self._gradients(layer):
            if norm == "fro":
                parts.append(moved.square().sum(1))
            else:
                parts.append(moved.abs().sum(1) if norm == "l1" else moved.abs().amax(1))
        return torch.cat(parts)

    def _calls(self, layer: Layer) -> list[tuple[Call, Moving]]:
        own = set(layer.parameters)
        return [(call, back) for call, back in self._moves if own & set(call.parameters.values())]

    def _gradients(self, layer: Layer) -> Iterator[Moving]:
        """Yield the gradient of a few examples and how it moves, shape (some, size) each."""
        calls = self._calls(layer)
        step = max(1, _SCRATCH // (2 * layer.size))
        for start in range(0, self.count, step):
            some = slice(start, min(start + step, self.count))
            length = some.stop - some.start
            uses: dict[nn.Parameter, list[Moving]] = {}
            for call, back in calls:
                for name, gradient in _ghost.gradients(_some(call, some, self.count), _rows(back, some)).items():
                    uses.setdefault(call.parameters[name], []).append(gradient)
            yield (_joined(layer, uses, length, 0), _joined(layer, uses, length, 1))


def _joined(layer: Layer, uses: dict[nn.Parameter, list[Moving]], length: int, part: int) -> Tensor:
    """Add up the uses of each parameter, and lay the parameters of a layer side by side."""
    found = []
    for parameter in layer.parameters:
        added = sum((_ghost.in_rows(use[part]) for use in uses.get(parameter, [])), parameter.new_zeros(()))
        found.append(added.expand(length, math.prod(parameter.shape)))
    return torch.cat(found, 1)


def _rows(back: Moving, some: slice) -> Moving:
    return back[0][some], back[1][some]


def _some(call: Call, some: slice, count: int) -> Call:
    """Return the same use of a layer by a few of the examples."""
    leaves, layout = pytree.tree_flatten((call.args, call.kwargs))
    batched = [isinstance(leaf, Tensor) and leaf.dim() > 0 and len(leaf) == count for leaf in leaves]
    args, kwargs = pytree.tree_unflatten(
        [leaf[some] if b else leaf for leaf, b in zip(leaves, batched, strict=True)], layout
    )
    tangents = [None if t is None else t[some] if b else t for t, b in zip(call.tangents, batched, strict=True)]
    return replace(call, args=args, kwargs=kwargs, tangents=tangents)
