"""One pass over a batch that carries a direction in input space along (forward-over-reverse).

The same pass yields what training needs: gradients, or their clipped sum. While it is open, the network's parameters
stand as constants (PyTorch would otherwise compute their summed gradients, and how those move, for nothing), and each
layer's output is tapped: what comes back there in the backward pass, and how fast it moves, is all that is needed.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from seepage._errors import UnsupportedError
from seepage.network import _ghost
from seepage.network._composites import Composites
from seepage.network._ghost import Call, Moving
from seepage.network._layers import is_embedding, is_plain, units

Tensor = torch.Tensor


class _Source(torch.autograd.Function):
    """The identity, but differentiable: where the backward pass ends, at the first layer's output."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, anchor: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *back: Any) -> Any:
        return None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tangents[0].clone()


class TangentPass:
    """One forward and backward pass with a direction.

    Parameters
    ----------
    model : Module
        The network.
    directions : callable
        Given the private values of a batch, return the direction in which they move, of the same shape.
    materialize : bool
        Keep each example's gradients (Opacus wants them in its hooks mode).
    """

    def __init__(self, model: nn.Module, directions: Callable[[Tensor], Tensor], *, materialize: bool = False) -> None:
        self.model = model
        self.materialize = materialize
        self.scale = 1.0
        """By how much what comes back has to be multiplied: the batch size when the loss is a mean."""
        self.private: Tensor | None = None
        """The private values that the direction was given for."""
        self.count = 0
        self.gradients: dict[nn.Parameter, Tensor] = {}
        """Each example's gradients, if they are kept."""
        self._directions = directions
        self._units = dict(units(model))
        self._calls: list[Call] = []
        self._backs: dict[int, Moving] = {}
        self._uses: Counter[nn.Parameter] = Counter()
        self._shared: dict[nn.Parameter, list[Moving]] = {}
        self._total: Tensor | None = None
        self._composites = Composites()
        self._undo: list[Callable[[], None]] = []
        self._level: int | None = None
        self._anchor: Tensor | None = None

    def open(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Start the pass: return the inputs of the network, the first of them moving."""
        self._level = forward_ad.enter_dual_level()
        self._composites.open()
        for name, unit in self._units.items():
            self._prepare(name, unit)
        first = inputs[0]
        self.count = len(first)
        if not first.is_floating_point():
            return inputs
        return (self._moving(first), *inputs[1:])

    def _moving(self, values: Tensor) -> Tensor:
        self.private = values.detach()
        return forward_ad.make_dual(self.private, self._directions(self.private))

    def _prepare(self, name: str, unit: nn.Module) -> None:
        trained = {k: p for k, p in unit.named_parameters() if p.requires_grad}
        for module in unit.modules():
            kept, hooks = dict(module._parameters), module._backward_hooks
            for key, parameter in kept.items():
                if parameter is not None:
                    module._parameters[key] = parameter.detach()  # type: ignore[assignment]
            # Whoever listens to gradients of layers (Opacus does) must not hear this pass.
            module._backward_hooks = OrderedDict()
            self._undo.append(lambda m=module, k=kept, h=hooks: _restore(m, k, h))  # type: ignore[misc]

        def tap(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
            return self._tap(name, unit, trained, args, kwargs, output)

        handle = unit.register_forward_hook(tap, with_kwargs=True)
        self._undo.append(handle.remove)

    def _tap(
        self,
        name: str,
        unit: nn.Module,
        trained: dict[str, nn.Parameter],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Any,
    ) -> Any:
        if not isinstance(output, Tensor):
            raise UnsupportedError(
                f"The layer {name!r} ({type(unit).__name__}) owns parameters and returns a "
                f"{type(output).__name__}: only layers that return one tensor can be accounted for. Split it into "
                "layers that do."
            )
        if len(output) != self.count:
            raise UnsupportedError(
                f"The layer {name!r} ({type(unit).__name__}) returns {len(output)} rows for a batch of "
                f"{self.count}: the first axis must be the examples everywhere in the network."
            )
        call = Call(name, unit, trained, args, kwargs)
        leaves, layout = pytree.tree_flatten((args, kwargs))
        pairs = [forward_ad.unpack_dual(leaf) if isinstance(leaf, Tensor) else (leaf, None) for leaf in leaves]
        still = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf, _ in pairs]
        call.args, call.kwargs = pytree.tree_unflatten(still, layout)
        call.tangents = [None if tangent is None else tangent.detach() for _, tangent in pairs]
        if self.private is None and is_embedding(unit):
            output = self._moving(output)
        if not output.requires_grad:
            if self._anchor is None:
                self._anchor = torch.zeros((), device=output.device, dtype=output.dtype, requires_grad=True)
            output = _Source.apply(output, self._anchor)
        index = len(self._calls)
        self._calls.append(call)
        self._uses.update(trained.values())
        output.register_hook(lambda back: self._came_back(index, back))
        return output

    def forwarded(self) -> None:
        """Note that the network has been run: give it back its parameters."""
        while self._undo:
            self._undo.pop()()

    def _came_back(self, index: int, back: Tensor) -> None:
        value, tangent = forward_ad.unpack_dual(back) if self._level is not None else (back, None)
        call, value = self._calls[index], value.detach()
        if self._level is None:
            # A second backward pass over the same graph, the losses already weighted: only its sum is wanted.
            for name, found in _ghost.summed(call, value).items():
                parameter = call.parameters[name]
                parameter.grad = found if parameter.grad is None else parameter.grad + found
            return
        if index in self._backs:
            raise UnsupportedError(
                "A second backward pass went over the same batch before the step: what is published would be the sum "
                "of two gradients. Add up the losses and go back once."
            )
        moving = (self._scaled(value), self._scaled(torch.zeros_like(value) if tangent is None else tangent))
        if is_plain(call.unit):
            # Layers with formulas of their own are measured in passing; the others wait until the pass is over.
            self._measure(call, moving)
            # How fast things move is spent; how they stand is still needed for the clipped sum.
            moving, call.tangents = (moving[0], moving[0]), []
        self._backs[index] = moving

    def _scaled(self, value: Tensor) -> Tensor:
        return value if self.scale == 1.0 else value * self.scale

    def _measure(self, call: Call, back: Moving) -> None:
        if all(self._uses[parameter] == 1 for parameter in call.parameters.values()):
            products, kept = _ghost.measured(call, back, keep=self.materialize)
            self._add(products)
            self.gradients.update({call.parameters[name]: gradient for name, gradient in kept.items()})
            return
        # A parameter used several times has one gradient, the sum over its uses: it waits for the others.
        alone = []
        for name, gradient in _ghost.gradients(call, back).items():
            parameter = call.parameters[name]
            if self._uses[parameter] > 1:
                self._shared.setdefault(parameter, []).append(gradient)
            else:
                alone.append(gradient)
                self._keep(parameter, gradient[0])
        if alone:
            self._add(_ghost.sum_products(alone))

    def _keep(self, parameter: nn.Parameter, gradient: Tensor) -> None:
        if self.materialize:
            self.gradients[parameter] = gradient

    def _add(self, products: Tensor) -> None:
        # The three numbers of layers of different precision meet in the widest.
        self._total = products if self._total is None else self._total + products

    @property
    def kinks(self) -> set[str]:
        """The functions without a derivative everywhere that the network has called."""
        return self._composites.kinks

    @property
    def returned(self) -> bool:
        """Whether a backward pass has reached any layer."""
        return bool(self._backs)

    @torch.no_grad()
    def close(self) -> Tensor:
        """End the pass; return |grad|^2, grad . grad' and |grad'|^2 of each example, shape (3, n), in float64."""
        self.abandon()
        for index, call in enumerate(self._calls):
            if index in self._backs and not is_plain(call.unit):
                self._measure(call, self._backs[index])
        for parameter, uses in self._shared.items():
            value, moving = (torch.stack([use[i] for use in uses]).sum(0) for i in range(2))
            self._keep(parameter, value)
            self._add(_ghost.sum_products([(value, moving)]))
        self._shared.clear()
        if self._total is None:
            return torch.zeros(3, self.count, dtype=torch.float64)
        return self._total.double()

    def abandon(self) -> None:
        """Leave nothing open, whatever has happened."""
        self.forwarded()
        if self._level is not None:
            self._composites.close()
            forward_ad.exit_dual_level(level=self._level)
            self._level = None

    @torch.no_grad()
    def clipped_sum(self, factors: Tensor) -> dict[nn.Parameter, Tensor]:
        """Return the sum over examples of factor times gradient, for each parameter."""
        found: dict[nn.Parameter, Tensor] = {}
        for index, call in enumerate(self._calls):
            if index not in self._backs:
                continue
            back = self._backs[index][0]
            weighted = back * factors.to(back).view(-1, *(1,) * (back.dim() - 1))
            for name, gradient in _ghost.summed(call, weighted).items():
                parameter = call.parameters[name]
                found[parameter] = found[parameter] + gradient if parameter in found else gradient
        return found

    def forget(self) -> None:
        """Let go of the activations."""
        self._calls.clear()
        self._backs.clear()


def _restore(module: nn.Module, parameters: dict[str, Any], hooks: Any) -> None:
    module._parameters.update(parameters)
    module._backward_hooks = hooks


@contextmanager
def tangent_pass(
    model: nn.Module, directions: Callable[[Tensor], Tensor], *, materialize: bool = False
) -> Iterator[TangentPass]:
    """Open a pass that is ended whatever happens inside."""
    passing = TangentPass(model, directions, materialize=materialize)
    try:
        yield passing
    finally:
        passing.abandon()
