"""Comparisons of an accountant's description with training itself.

At the first step and whenever modes change, a few people who are in the batch are looked at closely: their gradients
as training computed them against those of a plain pass (again at the beginning of each stretch), and how these move
against finite differences of a moved input.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from seepage.errors import InputError, UnsupportedError
from seepage.network._ghost import in_rows
from seepage.network._probe import Probe
from seepage.network._records import Batch, leaves_of, mapped
from seepage.network._tokens import exchanged, paired
from seepage.network._twin import twin

Tensor = torch.Tensor
Fetch = Callable[[list[int]], Batch]
"""Return the batch of these people."""

# Relative differences that rounding explains.
_ROUNDING = {torch.float64: 1e-5, torch.float32: 5e-3}
_COARSE = 0.1
_PEOPLE = 3
# Steps of finite differences, as parts of the values. Some networks compute in float32 inside float64.
_WIDTHS = (1e-5, 1e-7, 1e-3, 1e-2)
# Of a step in a small value, relative to that in the largest.
_LEAST = 1e-3


@contextmanager
def undisturbed(seed: int | None = None) -> Iterator[None]:
    """Leave the random numbers of training as they are, whatever is drawn inside."""
    python, state = random.getstate(), np.random.get_state()  # noqa: NPY002
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=devices):
            if seed is not None:
                torch.manual_seed(seed)
                random.seed(seed)
                np.random.seed(seed % 2**32)  # noqa: NPY002
            yield
    finally:
        random.setstate(python)
        np.random.set_state(state)  # noqa: NPY002


def is_random(fetch: Fetch, rows: list[int]) -> bool:
    """Return whether the data set gives another record each time it is asked for the same."""
    first, again = (leaves_of(fetch(rows[:1])) for _ in range(2))
    return any(isinstance(a, Tensor) and not torch.equal(a, b) for a, b in zip(first, again, strict=True))


class Trained:
    """Gradients of the people in a batch as training computed them."""

    def __init__(self, gradients: list[Tensor] | None, norms: Tensor | None) -> None:
        self.gradients, self.norms = gradients, norms
        """Of each parameter, (n, ...); or, where none exist, each person's norm of all."""

    @property
    def count(self) -> int:
        """The number of people."""
        held = self.norms if self.gradients is None else self.gradients[0]
        return 0 if held is None else len(held)

    def distance(self, ours: list[Tensor]) -> float:
        """Return how far the nearest of them is from a gradient, relative to it."""
        size = max(_squared(ours) ** 0.5, 1e-12)
        if self.gradients is None:
            return float((self.sizes() - size).abs().min()) / size
        inner = [in_rows(g) @ o.flatten().to(g) for g, o in zip(self.gradients, ours, strict=True)]
        nearest = int((self.sizes() ** 2 - 2 * torch.stack(inner).double().sum(0)).argmin())
        return _squared(g[nearest] - o.to(g) for g, o in zip(self.gradients, ours, strict=True)) ** 0.5 / size

    def sizes(self) -> Tensor:
        """Return the norm of each of them."""
        if self.gradients is None:
            assert self.norms is not None
            return self.norms.double()
        return torch.stack([in_rows(g).norm(dim=1).double() for g in self.gradients]).norm(dim=0)


def _squared(gradient: Iterable[Tensor]) -> float:
    """Return the squared norm of a gradient, given one parameter after the other."""
    return sum(float(torch.linalg.vector_norm(part, dtype=torch.float64)) ** 2 for part in gradient)


def check_gradients(probe: Probe, trained: Trained, drawn: list[list[int]], fetch: Fetch, varying: bool) -> bool:
    """Refuse a run whose gradients are not those of the loss, network and data at hand.

    `drawn` are the batches that the data loader has drawn since the last step: one of them, or the end of one, is the
    one that training used. Returns whether training computes in lower precision.
    """
    kind = next(iter(probe.carrier.trained.values())).dtype
    allowed = _ROUNDING.get(kind, _COARSE)
    best = float("inf")
    for batch in drawn:
        # Of a batch in parts, the last part; of several batches added up, any.
        people = batch[-trained.count :][:_PEOPLE]
        ones = [fetch([person]) for person in people]
        if varying:
            best = min(best, 0.0 if all(_is_plausible(probe, trained, one) for one in ones) else 1.0)
        else:
            best = min(best, max(trained.distance(probe.gradient(one)) for one in ones))
        if best <= allowed:
            return False
        device = next(iter(probe.carrier.trained.values())).device.type
        with torch.autocast(device, dtype=torch.bfloat16):
            if not varying and max(trained.distance(probe.gradient(one)) for one in ones) < 0.02:
                return True
    raise InputError(
        "The gradients of training are not those of the loss, the network and the data set that this accountant was "
        f"given: those of people in the batch differ by {best:.1%}. Give it the loss that training uses (a weighted "
        "mean over the batch has none for each person: use reduction='sum'), forward= if training runs the network in "
        "another way, and a network whose output for one person does not change with the others in the batch (look for "
        "statistics over the batch, losses between people, mixup, and padding that is not masked)."
    )


def _is_plausible(probe: Probe, trained: Trained, one: Batch) -> bool:
    """Compare sizes only: another draw of dropout or augmentation is another gradient."""
    draws = [_squared(probe.gradient(one)) ** 0.5 for _ in range(8)]
    sizes = trained.sizes()
    return bool(((sizes > 0.4 * min(draws)) & (sizes < 2.5 * max(draws))).any())


def draws_masks(probe: Probe, one: Batch) -> bool:
    """Return whether the network gives another gradient each time it is run on the same record."""
    first, again = probe.gradient(one), probe.gradient(one)
    return not all(map(torch.equal, first, again))


def check_alone(probe: Probe, batch: Batch, one: Batch) -> None:
    """Refuse networks and losses that mix people: the first person's gradient is the same without the others."""
    found = probe.products(batch, lambda _, values: torch.ones_like(values))[0, 0].item()
    alone = _squared(probe.gradient(one))
    kind = next(iter(probe.carrier.trained.values())).dtype
    if abs(found - alone) > 4 * _ROUNDING.get(kind, _COARSE) * max(found, alone, 1e-12):
        raise UnsupportedError(
            "The network's gradient for somebody changes with the other examples in the batch: nobody's gradient is "
            "their own. Look for a statistic over the batch in a forward method, for random numbers drawn for the "
            "whole batch at once, and for functions that work in place."
        )


def check_tokens(probe: Probe, batch: Batch) -> None:
    """Refuse networks that use private integers otherwise than by looking them up.

    What was looked up being held where it was, gradients are the same with the integers of somebody else: all but those
    of the tables, which show which of their rows were looked up.
    """
    held: dict[str, Tensor] = {}

    def gradient(of: Batch) -> list[Tensor]:
        with undisturbed(0):
            found = probe.gradient(of, lambda name, values: held.setdefault(name, values.detach()))
        tables = tuple(f"{name.removeprefix('embedding ')}." for name in probe.carrier.masks)
        return [g for name, g in zip(probe.carrier.trained, found, strict=True) if not name.startswith(tables)]

    before = gradient(batch)
    for name, mask in paired(batch, probe.private).items():
        after = gradient(exchanged(batch, name, mask))
        if _squared(b - a for b, a in zip(before, after, strict=True)) > 1e-6 * _squared(before):
            raise UnsupportedError(
                f"The network uses the private integers {name!r} in other ways than by looking them up in an embedding "
                "as they are: what it makes of them (another number, a copy that is looked up, a choice of layers) is "
                "not in what moves. Do that in the data set, and name the result."
            )


def check_moving(model: nn.Module, probe: Probe, ones: list[Batch], varying: bool) -> None:
    """Refuse a network whose gradients move otherwise than their derivatives say, or do not move at all."""
    if not check_tangents(model, probe, ones, varying):
        raise UnsupportedError(
            "The gradient does not move with the input at all: the network rounds, compares or binarizes it, or takes "
            "its sign. What crossing such a step gives away has no derivative; a zero would not be safety. Do it in "
            "the data set, and let the network take the result."
        )


def check_tangents(model: nn.Module, probe: Probe, ones: list[Batch], varying: bool) -> bool:
    """Refuse gradients that move otherwise than their derivatives say; return False if no nonzero gradient moves."""
    precise, ones = _in_double(model, probe, ones)
    if varying:
        # The same random numbers would have to be drawn several times; without them it is the same network.
        precise.carrier.network.eval()
    exact = next(iter(precise.carrier.trained.values())).dtype == torch.float64
    allowed = 1e-3 if exact else 0.1
    still, compared = True, False
    for one in ones:
        if _squared(precise.gradient(one)) == 0:
            continue
        compared = True
        best = float("inf")
        # A long step may cross a kink, and rounding spoils a short one: one that agrees is enough.
        for seed, width in enumerate(_WIDTHS):
            error, size = _compare(precise, one, width, seed)
            best, still = min(best, error), still and size == 0
            if best <= allowed and size > 0:
                break
        if best > allowed:
            raise UnsupportedError(
                "How the gradient moves with the input is not what PyTorch's derivatives say: something in the network "
                "or the loss hides the input from them (inference_mode, NumPy, a function of its own making) or works "
                "in place. Compute everything with tensors that carry derivatives."
            )
    return not (still and compared)


def _compare(probe: Probe, one: Batch, width: float, seed: int) -> tuple[float, float]:
    generator = torch.Generator().manual_seed(seed)
    directions: dict[str, Tensor] = {}

    def direct(name: str, values: Tensor) -> Tensor:
        if name not in directions:
            signs = torch.randint(0, 2, values.shape, generator=generator, dtype=torch.int8).mul_(2).sub_(1)
            sizes = values.detach().abs()
            # Steps are parts of the values; columns in large units must not decide those of the others.
            directions[name] = signs.to(values) * sizes.clamp(min=_LEAST * float(sizes.max()) or 1.0)
        return directions[name]

    def side(sign: float) -> list[Tensor]:
        with undisturbed(seed):
            return probe.gradient(one, lambda name, values: values + sign * width * direct(name, values))

    measured = _squared(plus - minus for plus, minus in zip(side(1.0), side(-1.0), strict=True)) / (2 * width) ** 2
    with undisturbed(seed):
        squared, _, moved = probe.products(one, direct)[:, 0].tolist()
    size = max(measured, moved, 1e-14 * squared, 1e-300)
    return abs(measured - moved) / size, moved if moved > 1e-12 * squared else 0.0


def _in_double(model: nn.Module, probe: Probe, ones: list[Batch]) -> tuple[Probe, list[Batch]]:
    """Return the same in float64, where differences can be compared; as it is where the network will not have it."""

    def widened(leaf: object) -> object:
        return leaf.double() if isinstance(leaf, Tensor) and leaf.is_floating_point() else leaf

    wide = [mapped(widened, one) for one in ones]
    try:
        precise = Probe(
            twin(model).double(),
            probe.loss,
            forward=probe.forward,
            private_label=probe.private_label,
            private=probe.private,
        )
        with undisturbed():
            precise.gradient(wide[0])
    except RuntimeError:
        return probe, ones
    return precise, wide


def check_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Refuse an optimizer that publishes only part of what is trained."""
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    missing = [name for name, p in model.named_parameters() if p.requires_grad and id(p) not in held]
    if missing:
        raise UnsupportedError(
            f"The optimizer does not hold {', '.join(map(repr, missing[:3]))}, which would take part in clipping or "
            "not, by the mode. Freeze what is not trained: requires_grad_(False)."
        )
