"""A private copy of a network, and the parameters of the network that are trained."""

import copy
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from seepage.errors import InputError, UnsupportedError

_PLAIN = (bool, int, float, str, torch.Tensor)
_MODULE = vars(nn.Module())


def twin(model: nn.Module) -> nn.Module:
    """Return a copy of a network, without the hooks that Opacus may have set."""
    compiled = getattr(model, "_orig_mod", model)
    with silenced(compiled):
        return copy.deepcopy(compiled)


@torch.no_grad()
def follow(ours: nn.Module, model: nn.Module) -> tuple[bool, ...]:
    """Bring a copy to where the network is: weights, buffers, plain attributes and modes; return the modes."""
    model = getattr(model, "_orig_mod", model)
    theirs = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for name, value in (*ours.named_parameters(), *ours.named_buffers()):
        if name not in theirs or theirs[name].shape != value.shape:
            raise InputError(
                f"The network has changed since the accountant was made: {name!r} is gone or has another shape. Make "
                "the accountant when the network is complete."
            )
        if value.device != theirs[name].device:
            value.data = value.data.to(theirs[name].device)
        value.copy_(theirs[name])
    for mine, other in zip(ours.modules(), model.modules(), strict=True):
        mine.__dict__.update(_plain_attributes(other))
    return tuple(module.training for module in ours.modules())


def _plain_attributes(module: nn.Module) -> dict[str, object]:
    """Return the mode, and the numbers, names and tensors that a module keeps as plain attributes (temperatures)."""
    own = {name: value for name, value in vars(module).items() if name == "training" or name not in _MODULE}
    return {name: value for name, value in own.items() if value is None or isinstance(value, _PLAIN)}


def is_at(ours: nn.Module, model: nn.Module) -> bool:
    """Return whether a copy has the weights of the network."""
    pairs = zip(ours.parameters(), getattr(model, "_orig_mod", model).parameters(), strict=True)
    return all(a.device == b.device and torch.equal(a, b) for a, b in pairs)


@contextmanager
def silenced(model: nn.Module) -> Iterator[None]:
    """Hide a network from Opacus, which listens to the inputs and gradients of layers."""
    kept = [(module, module._forward_hooks, module._backward_hooks) for module in model.modules()]
    # It keeps handles on its hooks with the module, and through them itself and its optimizer.
    handles = model.__dict__.pop("autograd_grad_sample_hooks", None)
    try:
        for module, forward, _ in kept:
            module._forward_hooks = OrderedDict((key, hook) for key, hook in forward.items() if not _of_opacus(hook))
            module._backward_hooks = OrderedDict()
        yield
    finally:
        for module, forward, backward in kept:
            module._forward_hooks, module._backward_hooks = forward, backward
        if handles is not None:
            model.__dict__["autograd_grad_sample_hooks"] = handles


def _of_opacus(hook: object) -> bool:
    return str(getattr(hook, "__module__", "")).startswith("opacus.")


class TrainedParameters:
    """The parameters that were trained when the accountant was made.

    Parameters
    ----------
    model : torch.nn.Module
        All that is trained.
    part : torch.nn.Module
        The part of it, or all, that the accountant was made for.
    trained : iterable of str
        The parameters of the part that were trained then.
    """

    def __init__(self, model: nn.Module, part: nn.Module, trained: Iterable[str]) -> None:
        self._model, self._part, self._trained = model, part, tuple(trained)
        self._held: list[tuple[int, bool]] = []
        """The parameters when they were last compared by name, which takes a while and is asked at every step."""

    def check(self) -> None:
        """Refuse a network in which other parameters are trained."""
        now = [(id(p), p.requires_grad) for m in self._model.modules() for p in m._parameters.values() if p is not None]
        if now == self._held:
            return
        named = dict(getattr(self._part, "_orig_mod", self._part).named_parameters())
        trained = {id(named[name]) for name in self._trained}
        changed = [name for name, p in self._model.named_parameters() if p.requires_grad != (id(p) in trained)]
        if changed:
            more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
            raise UnsupportedError(
                f"requires_grad of {', '.join(map(repr, changed[:3]))}{more} has changed since this accountant was "
                "made: what clipping bounds and what a step publishes is not what was visited. Freeze and unfreeze "
                "before the accountant is made, and make training with other layers a run of its own, with a privacy "
                "engine, an optimizer and an accountant of its own: the information of both runs adds up."
            )
        self._held = now
