"""Passes over a batch that carry a direction along (forward-over-reverse).

They run on a private copy of the network: what the network's owner does with theirs, and what Opacus hears of it, is
untouched. The copy's parameters are constants; each layer's output is tapped, and what comes back there in the backward
pass, and how fast it moves, is all that is needed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx
from torch.utils import _pytree as pytree

from seepage.errors import UnsupportedError
from seepage.network import _ghost
from seepage.network._composites import Composites
from seepage.network._ghost import Call, Moving
from seepage.network._layers import check, is_linear, is_plain, looks_up, units
from seepage.network._records import unpacked
from seepage.network._tokens import Masks
from seepage.network._twin import follow, is_at, twin

Tensor = torch.Tensor
Move = Callable[[str, Tensor], Tensor]
"""Given the name of a tensor of private values and its values, return them moving."""


class _Source(torch.autograd.Function):
    """The identity, but differentiable: where the backward pass ends, at the first layer's output."""

    @staticmethod
    def forward(ctx: FunctionCtx, value: Tensor, anchor: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: FunctionCtx, *back: Tensor) -> tuple[None, None]:
        return None, None

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents: Tensor | None) -> Tensor | None:
        return None if tangents[0] is None else tangents[0].clone()


class Carrier:
    """A private copy of a network, and the taps on its layers."""

    def __init__(self, model: nn.Module) -> None:
        check(model)
        self.network = twin(model)
        self.layers = dict(units(self.network))
        self.trained = {name: p for name, p in self.network.named_parameters() if p.requires_grad}
        self.kinks: set[str] = set()
        """The functions without a derivative everywhere that the network has called."""
        self.held = 0
        """The size of the layers' outputs for each person, in the last pass."""
        self._move: Move | None = None
        self._tapped: Callable[[Call, Tensor], Tensor] | None = None
        self._count = 0
        self._random_states: dict[str, Tensor] = {}
        self._tokens: Masks = {}
        self._looked: set[str] = set()
        self.integers: set[str] = set()
        """The inputs of people that entered the network in the last pass and cannot move."""
        self.masks: dict[str, Tensor | None] = {}
        """The embeddings that looked up private integers in the last pass, and which of these are real."""
        self.network.register_forward_pre_hook(self._enter, with_kwargs=True)
        for name, module in self.network.named_modules():
            if looks_up(module):
                module.register_forward_hook(partial(self._look_up, name))
        for name, unit in self.layers.items():
            own = {k: p for k, p in unit.named_parameters() if p.requires_grad}
            if not is_plain(unit):
                unit.register_forward_pre_hook(partial(self._note_random_state, name))
            unit.register_forward_hook(partial(self._tap, name, own), with_kwargs=True)
        self.network.requires_grad_(False)

    def follow(self, model: nn.Module) -> tuple[bool, ...]:
        """Bring the copy to where the network is."""
        return follow(self.network, model)

    def is_at(self, model: nn.Module) -> bool:
        """Return whether the copy is still where the network is."""
        return is_at(self.network, model)

    @contextmanager
    def moving(self, move: Move, count: int, tokens: Masks | None = None) -> Iterator[None]:
        """Let private values move wherever they enter the copy."""
        self._move, self._count, self._tokens = move, count, tokens or {}
        self._looked, self.integers, self.masks = set(), set(), {}
        try:
            yield
        finally:
            self._move = None

    def carry(
        self,
        losses: Callable[[nn.Module], Tensor],
        move: Move,
        count: int,
        measure: Callable[[Call, Moving], None],
        tokens: Masks | None = None,
    ) -> None:
        """Run a batch forward and back; hand each use of a layer, and what came back there moving, to `measure`.

        `losses` runs the network that it is given and returns the loss of each example; `tokens` are the integers whose
        lookups move.
        """
        self.held = 0
        calls: list[Call] = []
        waiting: dict[int, Moving] = {}
        uses: Counter[nn.Parameter] = Counter()
        anchors: list[Tensor] = []

        def tapped(call: Call, output: Tensor) -> Tensor:
            if not output.requires_grad:
                if not anchors:
                    anchors.append(torch.zeros((), device=output.device, dtype=output.dtype, requires_grad=True))
                output = _Source.apply(output, anchors[0])
            index = len(calls)
            calls.append(call)
            self.held += output[0].numel()
            uses.update(call.parameters.values())
            output.register_hook(lambda back: came_back(index, back))
            return output

        def came_back(index: int, back: Tensor) -> None:
            value, tangent = forward_ad.unpack_dual(back)
            value, call = value.detach(), calls[index]
            _check_kept(call)
            moving = (value, torch.zeros_like(value) if tangent is None else tangent)
            if is_plain(call.unit) and all(uses[p] == 1 for p in call.parameters.values()):
                # Measured in passing, so that nothing of it has to be kept.
                measure(call, moving)
                calls[index] = Call(call.name, call.unit, {}, (), {})
            else:
                waiting[index] = moving

        self._tapped = tapped
        composites = Composites()
        try:
            with torch.enable_grad(), forward_ad.dual_level(), composites, self.moving(move, count, tokens):
                total = losses(self.network).sum()
                if total.requires_grad:
                    total.backward()
        finally:
            self._tapped = None
            self.kinks |= composites.kinks
        with torch.no_grad():
            for call, back in _together([(calls[index], back) for index, back in sorted(waiting.items())]):
                measure(call, back)

    def _enter(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        move = self._move
        if move is None:
            return None
        leaves, packed = unpacked((args, kwargs))
        found = []
        for path, leaf in leaves:
            name = f"input {_name(path)}"
            if isinstance(leaf, Tensor) and leaf.dim() > 0 and len(leaf) == self._count:
                if leaf.is_floating_point():
                    leaf = move(name, leaf)
                else:
                    self.integers.add(name)
            found.append(leaf)
        return packed(found)

    def _look_up(self, name: str, module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        move = self._move
        if move is None:
            return None
        called = f"embedding {name}"
        place = args[0].untyped_storage().data_ptr() if self._tokens else None
        again, private = called in self._looked, place in self._tokens
        self._looked.add(called)
        if again and (private or called in self.masks):
            raise UnsupportedError(
                f"The embedding {name!r} looks up private integers, and is used more than once: its outputs cannot be "
                "told apart. Look everything up at once, or give each use an embedding of its own."
            )
        if place not in self._tokens:
            return None
        real = self._tokens[place]
        if real is not None and (args[0].shape != real.shape or output.shape[:-1] != real.shape):
            raise UnsupportedError(
                f"The embedding {name!r} looks up a part of the private integers, or adds them up, and their mask is "
                "of all: it is not known which of its outputs are real. Split them in the data set, each part with a "
                "mask of its own, or look up single tokens."
            )
        self.masks[called] = real
        inside = [unit for unit in self.layers if name.startswith(f"{unit}.") or self.layers[unit] is self.network]
        if inside and not is_plain(self.layers[inside[0]]):
            raise UnsupportedError(
                f"The embedding {name!r} is inside the layer {inside[0]!r}, which has parameters of its own: what "
                "moves within a layer cannot be followed. Put these parameters into a module of their own."
            )
        return move(called, output)

    def _note_random_state(self, name: str, *_: object) -> None:
        if self._tapped is not None:
            self._random_states[name] = torch.get_rng_state()

    def _tap(
        self,
        name: str,
        own: dict[str, nn.Parameter],
        unit: nn.Module,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        output: Any,
    ) -> Any:
        tapped = self._tapped
        if tapped is None:
            return None
        if isinstance(output, tuple) and isinstance(output[0], Tensor) and set(output[1:]) <= {None}:
            return (self._tap(name, own, unit, args, kwargs, output[0]), *output[1:])
        if not isinstance(output, Tensor):
            raise UnsupportedError(
                f"The layer {name!r} ({type(unit).__name__}) owns parameters and returns a "
                f"{type(output).__name__}: only layers that return one tensor can be accounted for. Split it into "
                "layers that do."
            )
        if len(output) == 1 < self._count and is_plain(unit):
            # Positions are often looked up once for all.
            output, *args = (each.expand(self._count, *each.shape[1:]) for each in (output, *args))  # type: ignore
        if len(output) != self._count:
            raise UnsupportedError(
                f"The layer {name!r} ({type(unit).__name__}) returns {len(output)} rows for a batch of "
                f"{self._count}: the first axis must be the examples everywhere in the network."
            )
        leaves, layout = pytree.tree_flatten((args, kwargs))
        pairs = [forward_ad.unpack_dual(leaf) if isinstance(leaf, Tensor) else (leaf, None) for leaf in leaves]
        still = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf, _ in pairs]
        args, kwargs = pytree.tree_unflatten(still, layout)
        tangents = [None if tangent is None else tangent.detach() for _, tangent in pairs]
        versions = [leaf._version if isinstance(leaf, Tensor) else None for leaf in still]
        call = Call(name, unit, own, args, kwargs, tangents, versions)
        if not is_plain(unit):
            call.output, call.random_state = output.detach(), self._random_states[name]
        return tapped(call, output)


class Products:
    """|grad|^2, grad . grad' and |grad'|^2 of each example's gradient of all layers."""

    def __init__(self, count: int) -> None:
        self._sum = torch.zeros(3, count, dtype=torch.float64)
        self._shared: dict[nn.Parameter, Moving] = {}

    def measure(self, call: Call, back: Moving) -> None:
        """Add one use of a layer."""
        if call.whole:
            plain = is_plain(call.unit)
            gradients = () if plain else _ghost.gradients(call, back).values()
            self._add(_ghost.measured(call, back) if plain else _ghost.sum_products(list(gradients)))
            return
        for name, gradient in _ghost.gradients(call, back).items():
            # A parameter used several times has one gradient, the sum over its uses.
            before = self._shared.get(call.parameters[name])
            whole = gradient if before is None else (before[0] + gradient[0], before[1] + gradient[1])
            self._shared[call.parameters[name]] = whole

    def _add(self, products: Tensor) -> None:
        self._sum = self._sum.to(products.device) + products.double()

    def total(self) -> Tensor:
        """Return the three numbers of each example, shape (3, n), in float64."""
        for gradient in self._shared.values():
            self._add(_ghost.sum_products([gradient]))
        self._shared.clear()
        return self._sum


class ExampleGradients:
    """Each example's gradient of all layers and how fast it moves, written out."""

    def __init__(self) -> None:
        self._found: dict[nn.Parameter, Moving] = {}

    def measure(self, call: Call, back: Moving) -> None:
        """Add one use of a layer."""
        for name, gradient in _ghost.gradients(call, back).items():
            parameter = call.parameters[name]
            before = self._found.get(parameter, (0, 0))
            self._found[parameter] = (before[0] + gradient[0], before[1] + gradient[1])

    def joined(self, trained: Iterable[nn.Parameter], count: int) -> Moving:
        """Return both in the order of the parameters, shape (count, parameters); zero for those that were not used."""
        parts = [self._found.get(p, (p.new_zeros(count, *p.shape),) * 2) for p in trained]
        value, moving = (torch.cat([_ghost.in_rows(part[i]) for part in parts], 1) for i in range(2))
        return value, moving


def _check_kept(call: Call) -> None:
    leaves = pytree.tree_leaves((call.args, call.kwargs))
    if any(v is not None and leaf._version != v for leaf, v in zip(leaves, call.versions, strict=True)):
        raise UnsupportedError(
            f"What went into the layer {call.name!r} ({type(call.unit).__name__}) is overwritten later in the network. "
            "Use the operation that does not work in place."
        )


def _together(waiting: list[tuple[Call, Moving]]) -> Iterator[tuple[Call, Moving]]:
    """Yield uses of layers; several of the same linear layer are one, over more positions."""
    uses = Counter(p for call, _ in waiting for p in call.parameters.values())
    groups: dict[tuple[int, ...], list[tuple[Call, Moving]]] = {}
    for place, (call, back) in enumerate(waiting):
        alike = tuple(id(p) for p in call.parameters.values()) if is_linear(call.unit) else (-1, place)
        groups.setdefault(alike, []).append((call, back))
    for group in groups.values():
        call, back = group[0]
        if len(group) > 1:
            call = _ghost.joined([call for call, _ in group])
            back = _ghost.over_positions([back for _, back in group])
        call.whole = all(uses[p] == len(group) for p in call.parameters.values())
        yield call, back


def _name(path: tuple[pytree.KeyEntry, ...]) -> str:
    # (args, kwargs), then the place or the name of the argument.
    return pytree.keystr(path[1:]).strip("[]'\"") if len(path) > 1 else "0"
