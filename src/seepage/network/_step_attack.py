"""An attack on one step: least squares on the noisy gradient, by whoever knows all but a few values of a person."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import jvp, vmap

from seepage.errors import InputError
from seepage.network._checks import undisturbed
from seepage.network._composites import Composites
from seepage.network._losses import Loss
from seepage.network._one_step import step_information
from seepage.network._probe import Forward, Probe, size_of, standard_forward
from seepage.network._records import Batch
from seepage.network._step import Mechanism

Array = NDArray[np.float64]
Tensor = torch.Tensor
# Of Gauss and Newton: from the truth few steps are needed, and a step that makes the fit worse is halved.
_STEPS, _HALVINGS = 12, 6


@dataclass(frozen=True, eq=False)
class StepAttack:
    """How far guesses from one noisy step were off, beside the floor of unbiased guesses.

    Attributes
    ----------
    error : ndarray of shape (people, values)
        The root mean squared error of the guesses.
    bias : ndarray of shape (people, values)
        Their mean error: floors are of guesses without one.
    floor : ndarray of shape (people, values)
        What no unbiased guess is better than.
    trials : int
        How often noise was drawn.
    """

    error: Array
    bias: Array
    floor: Array
    trials: int

    @property
    def over_floor(self) -> Array:
        """The error over the floor: 1 for the best unbiased guess, give or take 0.7 over the root of trials."""
        return self.error / self.floor


def step_attack(
    model: nn.Module,
    loss: Loss,
    batch: Batch,
    *,
    mechanism: Mechanism,
    values: Sequence[int],
    trials: int = 200,
    forward: Forward | None = None,
    seed: int = 0,
) -> StepAttack:
    """Guess some values of each person from the noisy gradient of one step, again and again.

    The attacker knows the weights, everybody else, that the person takes part, and all of their record but these
    values; the guess is the record whose clipped gradient is nearest to what was published.

    Parameters
    ----------
    model, loss, batch, mechanism, forward
        As for `step_information`. The network has one floating-point input, whose values are guessed.
    values : sequence of int
        Which values are not known, by their place in the flattened input.
    trials : int, default=200
        How often noise is drawn.
    seed : int, default=0
        Of the noise.
    """
    known = Mechanism(
        noise_multiplier=mechanism.noise_multiplier,
        max_grad_norm=mechanism.max_grad_norm,
        clipping=mechanism.clipping,
    )
    step = step_information(model, loss, batch, mechanism=known, label="public", forward=forward, seed=seed)
    floor = step.error_floor(values)
    probe = Probe(model, loss, forward=forward or standard_forward)
    with undisturbed(seed), torch.autocast(next(iter(model.parameters())).device.type, enabled=False):
        probe.carrier.follow(model)
        one = probe.functional(batch)
        if len(one.shapes) != 1:
            raise InputError(f"values are of one input; the network has {list(one.shapes)}.")
        ((name, shape),) = one.shapes.items()
        like = next(iter(probe.carrier.trained.values()))
        place = torch.as_tensor(list(values), device=like.device)
        generator = torch.Generator().manual_seed(seed)
        errors = []
        with Composites():
            for person in range(size_of(batch)):
                own = [entry[person] for entry in one.people]

                def published(shift: Tensor, own: list[Tensor] = own) -> Tensor:
                    torch.manual_seed(seed)
                    whole = torch.zeros(math.prod(shape), dtype=shift.dtype, device=shift.device)
                    gradient = one.gradient({name: whole.index_put((place,), shift).view(shape)}, own)
                    return gradient * known.rule.factor(gradient.norm())

                true = published(like.new_zeros(len(place)))
                noise = torch.randn(trials, len(true), generator=generator, dtype=torch.float64).to(true)
                start = torch.from_numpy(floor[person]).to(like)
                errors.append(_nearest(published, true + known.noise_scale * noise, start).double().cpu().numpy())
    found = np.stack(errors)
    return StepAttack(np.sqrt((found**2).mean(axis=1)), found.mean(axis=1), floor, trials)


def _nearest(published: Callable[[Tensor], Tensor], seen: Tensor, scale: Tensor) -> Tensor:
    """Return the shifts whose gradients are nearest to those that were seen, shape (trials, values)."""
    basis = torch.eye(len(scale), dtype=seen.dtype, device=seen.device)

    def around(shift: Tensor, one: Tensor) -> tuple[Tensor, Tensor]:
        moved = vmap(lambda w: jvp(published, (shift,), (w,))[1])(basis)
        rest = one - published(shift)
        return torch.linalg.solve(moved @ moved.T, moved @ rest), rest @ rest

    def fit(shift: Tensor, one: Tensor) -> Tensor:
        return (one - published(shift)).square().sum()

    found = torch.zeros(len(seen), len(scale), dtype=seen.dtype, device=seen.device)
    for _ in range(_STEPS):
        towards, before = vmap(around)(found, seen)
        size = torch.ones(len(seen), dtype=seen.dtype, device=seen.device)
        for _ in range(_HALVINGS):
            worse = vmap(fit)(found + size[:, None] * towards, seen) > before
            size = torch.where(worse, size / 2, size)
        better = vmap(fit)(found + size[:, None] * towards, seen) <= before
        moved = torch.where(better[:, None], size[:, None] * towards, torch.zeros_like(towards))
        found = found + moved
        if bool((moved.abs() < 1e-9 * scale).all()):
            break
    return found
