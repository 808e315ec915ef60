"""What one direction tells of each person's gradient, at given weights: three numbers a person (eq. 8.6)."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, jvp, vmap
from torch.utils.checkpoint import CheckpointError

from seepage.errors import InputError, UnsupportedError
from seepage.network._composites import Composites
from seepage.network._leaves import leaves_of, unpacked
from seepage.network._losses import Loss, check_shares, per_example
from seepage.network._records import Batch
from seepage.network._tangents import Carrier, Move, Products, RandomLayerError
from seepage.network._tokens import Masks, Private, masks_of

Tensor = torch.Tensor
Network = Callable[..., Any]
Forward = Callable[[Network, Batch], tuple[Any, Any]]
"""How training uses a batch: given the network and a batch, return the output and the target."""
Direct = Callable[[str, Tensor], Tensor]
"""Given the name of a tensor of private values and its values, return the direction in which they move."""
Shifted = Callable[[dict[str, Tensor], list[Tensor]], Tensor]
"""The gradient of a person whose values are shifted so far, given what belongs to them in each entry of a batch."""

LABELS = ("label", "labels", "target", "targets", "y")
LABEL = "label"
# Gradients of this many numbers exist at once where a network can only be differentiated as a whole.
_SCRATCH = 2**24


def standard_forward(model: Network, batch: Batch) -> tuple[object, object]:
    """Run (inputs..., target), or a mapping with one of the usual names for the target."""
    if isinstance(batch, Mapping):
        names = [name for name in LABELS if name in batch]
        if len(names) == 1:
            inputs = {name: value for name, value in batch.items() if name != names[0]}
            output = model(*inputs.values()) if len(inputs) == 1 else model(**inputs)
            return output, batch[names[0]]
    elif isinstance(batch, list | tuple) and len(batch) > 1:
        return model(*batch[:-1]), batch[-1]
    what = f"a mapping of {list(batch)}" if isinstance(batch, Mapping) else f"a {type(batch).__name__}"
    raise InputError(
        f"A batch is {what}: it is not known what of it is the target. Give forward=, a function of the network and a "
        "batch that returns the output and the target."
    )


def size_of(batch: Batch) -> int:
    """Return how many people a batch holds."""
    for leaf in leaves_of(batch):
        if isinstance(leaf, Tensor) and leaf.dim() > 0:
            return len(leaf)
    raise InputError(
        f"A batch ({type(batch).__name__}) holds no tensor: nobody knows how many people are in it. Let collate_fn "
        "return tensors, alone or in tuples, lists and mappings."
    )


@contextmanager
def differentiable() -> Iterator[None]:
    """Say what PyTorch has no derivative of."""
    try:
        yield
    except NotImplementedError as error:
        raise UnsupportedError(f"PyTorch cannot differentiate this network twice: {error}") from error


class Probe:
    """A network and its loss, on which directions can be tried."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        *,
        forward: Forward = standard_forward,
        private_label: bool = False,
        private: Private | None = None,
    ) -> None:
        self.carrier = Carrier(model)
        self.loss, self.forward, self.private_label, self.private = loss, forward, private_label, private
        self._whole = self.carrier.whole
        self.values: dict[str, tuple[int, ...]] = {}
        """The private values of the last batch: the shape of one person's, by name, padding included."""
        self._masks: dict[str, Tensor | None] = {}

    def products(self, batch: Batch, direct: Direct, whole: bool = False) -> Tensor:
        """Return |grad|^2, grad . grad' and |grad'|^2 of each person, shape (3, n), in float64.

        `whole` differentiates the network as one function, as `functional` does, and not layer by layer.
        """
        count = size_of(batch)
        self.values = {}
        if not (self._whole or whole):
            try:
                found = Products(count)
                run = partial(self._losses, batch=batch, count=count, direct=direct)
                self.carrier.carry(run, partial(self._moving, direct), count, found.measure, self._tokens(batch))
                self._check_moved()
                return found.total()
            except RandomLayerError:
                # It cannot be run again for its gradients alone: differentiate everything at once.
                self._whole, self.values = True, {}
        return self._of_whole(batch, direct, count)

    def gradient(self, batch: Batch, move: Move | None = None) -> list[Tensor]:
        """Return the gradient of one person, or the sum of several people's, of each parameter, the plain way."""
        count = size_of(batch)

        def shifted(name: str, value: Tensor) -> Tensor:
            if move is None:
                return value
            real = self.carrier.masks.get(name)
            return move(name, value) if real is None else torch.where(real.unsqueeze(-1), move(name, value), value)

        with torch.enable_grad(), self.carrier.moving(shifted, count, self._tokens(batch)):
            trained = {k: p.detach().requires_grad_() for k, p in self.carrier.trained.items()}
            losses = self._example_losses(self._called(trained), batch, count, shifted)
            try:
                found = torch.autograd.grad(losses.sum(), list(trained.values()), materialize_grads=True)
            except CheckpointError:
                raise UnsupportedError(
                    "The network runs layers again in the backward pass (torch.utils.checkpoint), which Opacus does "
                    "not train either. Turn it off: it saves memory only."
                ) from None
        return list(found)

    @torch.no_grad()
    def check_loss(self, batch: Batch) -> None:
        """Refuse a loss of which nobody has a share of their own."""
        check_shares(self.loss, *self.forward(self.carrier.network, batch), size_of(batch))

    def counts(self, people: int) -> dict[str, NDArray[np.float64]]:
        """Return how many private values each person of the last batch has, padding left out, by name."""
        found = {name: np.full(people, float(math.prod(shape))) for name, shape in self.values.items()}
        for name, real in self._masks.items():
            if real is not None:
                found[name] = real.reshape(people, -1).sum(1).cpu().double().numpy() * self.values[name][-1]
        return found

    def _tokens(self, batch: Batch) -> Masks:
        return masks_of(batch, self.private or ())

    def _of_real(self, name: str, direction: Tensor) -> Tensor:
        """Return a direction that leaves padding where it is."""
        real = self.carrier.masks.get(name)
        return direction if real is None else direction * real.unsqueeze(-1)

    def _called(self, values: Mapping[str, Tensor]) -> Network:
        return lambda *args, **kwargs: functional_call(self.carrier.network, dict(values), args, kwargs)

    def _losses(self, network: nn.Module, *, batch: Batch, count: int, direct: Direct) -> Tensor:
        return self._example_losses(network, batch, count, partial(self._moving, direct))

    def _example_losses(self, network: Network, batch: Batch, count: int, move: Move) -> Tensor:
        output, target = self.forward(network, batch)
        if self.private_label:
            if not (isinstance(target, Tensor) and target.is_floating_point()):
                raise UnsupportedError(
                    "label='private' needs labels that are numbers and can move a little: give classes as one-hot "
                    "probabilities (torch.nn.functional.one_hot(y, classes).float(), which CrossEntropyLoss takes)."
                )
            target = move(LABEL, target)
        return per_example(self.loss, output, target, count)

    def _moving(self, direct: Direct, name: str, values: Tensor) -> Tensor:
        self.values[name] = tuple(values.shape[1:])
        still = values.detach()
        return forward_ad.make_dual(still, self._of_real(name, direct(name, still).to(still)))

    def _check_moved(self) -> None:
        self._masks = self.carrier.masks
        if self.carrier.integers and self.private is None:
            raise UnsupportedError(
                f"Integers enter the network ({', '.join(sorted(self.carrier.integers))}), which cannot move a little, "
                "and nobody said which are private. Numbers: give them as floating-point numbers (divide images by 255 "
                "in the data set, not in the network). Tokens and categories: name the entries of a batch that are "
                'private, such as private=["input_ids"] (an attention mask in the batch says which tokens are real), '
                'or each with a mask of its own, private={"notes": "mask_of_notes"}. All others (positions, token '
                "types, masks) are public then: private=[] if nothing but those."
            )
        if self.private and not self.carrier.masks:
            raise UnsupportedError(
                f"private= names {', '.join(map(repr, self.private))}, and no embedding looks that up as it is in the "
                "batch: a copy of it, in another type or with an offset, is something else. Do that in the data set. "
                "What is not looked up must be floating-point numbers."
            )
        if not [name for name in self.values if name != LABEL]:
            raise UnsupportedError("Nothing that can move a little enters the network: all its inputs are integers.")

    def private_values(self, batch: Batch) -> dict[str, Tensor]:
        """Return everybody's private values as they enter the network, by name."""
        found: dict[str, Tensor] = {}

        def note(name: str, values: Tensor) -> Tensor:
            found[name] = values.detach()
            return values

        count = size_of(batch)
        with torch.no_grad(), self.carrier.moving(note, count, self._tokens(batch)):
            self._example_losses(self.carrier.network, batch, count, note)
        return found

    def functional(self, batch: Batch) -> "Functional":
        """Return the gradient of each person as a function of how far their values are shifted."""
        shapes = {name: tuple(values.shape[1:]) for name, values in self.private_values(batch).items()}
        self.values = dict(shapes)
        self._check_moved()
        gradient, people = self.each(batch)
        return Functional(gradient, people, shapes)

    def each(self, batch: Batch) -> tuple[Shifted, list[Tensor]]:
        """Return the gradient of one person, and what belongs to each in the entries of the batch."""
        count = size_of(batch)
        trained = {k: p.detach() for k, p in self.carrier.trained.items()}
        named, packed = unpacked(batch)
        leaves = [leaf for _, leaf in named]
        held = [isinstance(leaf, Tensor) and leaf.dim() > 0 and len(leaf) == count for leaf in leaves]

        def gradient(shifts: dict[str, Tensor], own: list[Tensor]) -> Tensor:
            mine = iter(own)
            one = packed([next(mine).unsqueeze(0) if h else leaf for h, leaf in zip(held, leaves, strict=True)])

            def shifted(name: str, value: Tensor) -> Tensor:
                return value + shifts[name].unsqueeze(0).to(value.dtype) if name in shifts else value

            def loss(values: dict[str, Tensor]) -> Tensor:
                with self.carrier.moving(shifted, 1, known=frozenset(shifts)):
                    return self._example_losses(self._called(values), one, 1, shifted).sum()

            return torch.cat([g.flatten() for g in grad(loss)(trained).values()])

        return gradient, [leaf for leaf, h in zip(leaves, held, strict=True) if h]

    def _of_whole(self, batch: Batch, direct: Direct, count: int) -> Tensor:
        """Differentiate the network as a function of one person, many at once."""
        one = self.functional(batch)
        first = next(iter(self.carrier.trained.values()))
        directions = {
            name: self._of_real(name, direct(name, first.new_zeros(count, *shape)))
            for name, shape in one.shapes.items()
        }

        def moved(w: dict[str, Tensor], own: list[Tensor]) -> Tensor:
            still = {name: torch.zeros_like(value) for name, value in w.items()}
            value, moving, *_ = jvp(lambda shifts: one.gradient(shifts, own), (still,), (w,))
            return torch.stack([value @ value, value @ moving, moving @ moving])

        chunk = max(1, _SCRATCH // max(sum(p.numel() for p in self.carrier.trained.values()), 1))
        with Composites() as composites:
            if count == 1:
                # A network that reads its masks before it runs has no vmap.
                alone = {name: direction[0] for name, direction in directions.items()}
                found = moved(alone, [entry[0] for entry in one.people]).unsqueeze(0)
            else:
                found = vmap(moved, randomness="different", chunk_size=chunk)(directions, one.people)
        self.carrier.kinks |= composites.kinks
        return found.T.double().detach()


@dataclass(frozen=True, eq=False)
class Functional:
    """The gradient of a person as a function, and the people to give it."""

    gradient: Shifted
    people: list[Tensor]
    """What belongs to one person in each entry of the batch."""
    shapes: dict[str, tuple[int, ...]]
