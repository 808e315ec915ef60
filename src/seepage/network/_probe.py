"""Derivatives of each person's gradient along one direction, at given weights: three numbers a person (eq. 8.6)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.autograd import forward_ad
from torch.func import functional_call
from torch.utils.checkpoint import CheckpointError

from seepage.errors import InputError, UnsupportedError
from seepage.network._ghost import Call, Moving, in_rows
from seepage.network._losses import Loss, check_shares, per_example
from seepage.network._records import Batch, leaves_of
from seepage.network._tangents import Carrier, ExampleGradients, Move, Products
from seepage.network._tokens import Masks, Private, masks_of

Tensor = torch.Tensor
Network = Callable[..., Any]
Forward = Callable[[Network, Batch], tuple[Any, Any]]
"""The use of a batch in training: given the network and a batch, return the output and the target."""
Direct = Callable[[str, Tensor], Tensor]
"""Given the name of a tensor of private values and its values, return the direction in which they move."""

LABELS = ("label", "labels", "target", "targets", "y")
LABEL = "label"


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
        self.values: dict[str, tuple[int, ...]] = {}
        """The private values of the last batch: the shape of one person's, by name, padding included."""
        self._masks: dict[str, Tensor | None] = {}

    def products(self, batch: Batch, direct: Direct) -> Tensor:
        """Return |grad|^2, grad . grad' and |grad'|^2 of each person, shape (3, n), in float64."""
        found = Products(size_of(batch))
        self._carry(batch, direct, found.measure)
        return found.total()

    def rows(self, batch: Batch, direct: Direct | None = None) -> Moving:
        """Return each person's gradient and how fast it moves, shape (n, parameters) each."""
        found, count = ExampleGradients(), size_of(batch)
        self._carry(batch, direct, found.measure)
        return found.joined(self.carrier.trained.values(), count)

    def _carry(self, batch: Batch, direct: Direct | None, measure: Callable[[Call, Moving], None]) -> None:
        self.values, count = {}, size_of(batch)
        move = partial(self._moving, direct)
        run = partial(self._example_losses, batch=batch, count=count, move=move)
        self.carrier.carry(run, move, count, measure, self._tokens(batch))
        if direct is not None:
            self._check_moved()

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
        return {name: real.sum(1).numpy() for name, real in self.real(people).items()}

    def real(self, people: int) -> dict[str, Tensor]:
        """Return which private values of each person of the last batch are not padding, shape (people, values)."""
        found = {}
        for name, shape in self.values.items():
            mask, every = self._masks.get(name), torch.ones(people, *shape, dtype=torch.float64)
            found[name] = in_rows(every if mask is None else every * mask.cpu().unsqueeze(-1))
        return found

    def _tokens(self, batch: Batch) -> Masks:
        return masks_of(batch, self.private or ())

    def _of_real(self, name: str, direction: Tensor) -> Tensor:
        """Return a direction that leaves padding where it is."""
        real = self.carrier.masks.get(name)
        return direction if real is None else direction * real.unsqueeze(-1)

    def _called(self, values: Mapping[str, Tensor]) -> Network:
        return lambda *args, **kwargs: functional_call(self.carrier.network, dict(values), args, kwargs)

    def _example_losses(self, network: Network, batch: Batch, count: int, move: Move) -> Tensor:
        output, target = self.forward(network, batch)
        if self.private_label:
            if not (isinstance(target, Tensor) and target.is_floating_point()):
                raise UnsupportedError(
                    f"label='private' needs labels that are numbers; these are {getattr(target, 'dtype', 'none')}. "
                    "Give classes as torch.nn.functional.one_hot(y, classes).float(), which CrossEntropyLoss takes; or "
                    "label='public' with categories={'label': [...]}, which says how often a class is inferred."
                )
            target = move(LABEL, target)
        return per_example(self.loss, output, target, count)

    def _moving(self, direct: Direct | None, name: str, values: Tensor) -> Tensor:
        self.values[name] = tuple(values.shape[1:])
        still = values.detach()
        if direct is None:
            return still
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
        self.values = {name: tuple(values.shape[1:]) for name, values in found.items()}
        self._check_moved()
        return found
