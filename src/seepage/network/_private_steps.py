"""A few steps of private training as an experiment that can be made again, and the attacker of all that it publishes.

Each step publishes the sum of everybody's clipped gradients plus noise, and the next one starts from there: whoever
sees the sums knows the weights of every step. The attacker also knows all records but some values v of one person, so
that step t leaves them with r_t(v) = noise_t + g_t(truth) - g_t(v), where g_t is the sum of the clipped gradients of
that person's records. The guess minimizes the sum of |r_t(v)|^2 over the steps: it has the largest likelihood.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import jvp, vmap
from torch.utils import _pytree as pytree

from seepage.errors import InputError, UnansweredError
from seepage.execution.storage import Watch, unwatched
from seepage.network._checks import undisturbed
from seepage.network._composites import Composites
from seepage.network._losses import Loss
from seepage.network._names import Ids, NetworkNames
from seepage.network._one_step import StepInformation, step_information, unit_moves
from seepage.network._probe import Forward, Probe, differentiable, size_of, standard_forward
from seepage.network._records import Batch
from seepage.network._step import Mechanism

Array = NDArray[np.float64]
Tensor = torch.Tensor
# Of Gauss and Newton: from the truth few steps are needed, and one that makes the fit worse is halved.
_STEPS, _HALVINGS = 30, 10
# Guesses that move by less than this part of what noise moves them have arrived.
_ARRIVED = 1e-4
# By so much, in parts, rounding may make a fit look worse.
_ROUNDED = 1e-6
# The expected information is the mean over so many runs, which differ little.
_MEASURED = 50
# Gradients of so many numbers exist at once, and runs of networks so small go side by side.
_SCRATCH, _SMALL = 2**24, 2**20


@dataclass(frozen=True, eq=False)
class Guesses:
    """Errors of least squares in several runs, and what is measured of the same runs.

    Attributes
    ----------
    errors : ndarray of shape (trials, people, values)
        Guess minus truth. The values of a person's second record come after those of the first, and are zero for those
        who have none; so in what follows.
    slopes : ndarray of shape (trials, people, values)
        How a guess moves with the true value, all of a person's unknown values being guessed: 1 if it is unbiased. By
        the attacker's own derivatives; its mean is what counts.
    matrices : ndarray of shape (people, values, values)
        The information that `step_information` finds, added up over the steps and averaged over up to 50 runs.
    real : ndarray of bool, shape (people, values)
        Which of these values there are.
    """

    errors: Array
    slopes: Array
    matrices: Array
    real: NDArray[np.bool_]

    @property
    def floors(self) -> Array:
        """The smallest mean squared error of unbiased guesses, shape (people, values); NaN where there is no value."""
        return np.where(self.real, np.einsum("pvv->pv", _inverse(self.matrices, self.real)), np.nan)


def _inverse(matrices: Array, real: NDArray[np.bool_]) -> Array:
    nobody = np.eye(real.shape[1]) * ~real[:, :, None]
    return np.asarray(np.linalg.inv(matrices + nobody))


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivateSteps:
    """Some steps of private training in which everybody of a batch takes part, to be attacked by `seepage.verify`.

    Parameters
    ----------
    model : torch.nn.Module
        The network where it starts, before Opacus wraps it. It is copied, and never touched.
    loss : callable
        The loss of training, such as ``torch.nn.CrossEntropyLoss()``.
    batch
        The people, as training is given them.
    mechanism : Mechanism
        How steps clip gradients and add noise. Attackers know who takes part: leave `sample_rate` out.
    steps : int, default=1
        How many.
    step_size : float, optional
        How far a step goes, in units of the noisy sum of gradients over the number of records. Several steps need it.
    ids : sequence, optional
        Whose the records are, if somebody has several. By default everybody has one.
    forward : callable, optional
        As for `FisherAccountant`.

    Examples
    --------
    >>> import seepage, torch
    >>> from seepage.network import Mechanism, PrivateSteps
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    >>> batch = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    >>> mechanism, loss = Mechanism(noise_multiplier=0.01, max_grad_norm=1.0), torch.nn.CrossEntropyLoss()
    >>> training = PrivateSteps(model=model, loss=loss, batch=batch, mechanism=mechanism, steps=3, step_size=0.5)
    >>> seepage.verify(training, seepage.attacks.LeastSquares(values=[0, 2]), trials=50).verdict
    'All 8 values: the attack is at or above the floor.'
    """

    model: nn.Module
    loss: Loss
    batch: Batch
    mechanism: Mechanism
    steps: int = 1
    step_size: float | None = None
    ids: Ids | None = None
    forward: Forward | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.steps, int) or self.steps < 1:
            raise InputError(f"steps must be a positive whole number, not {self.steps!r}.")
        if self.steps > 1 and not (self.step_size and self.step_size > 0):
            raise InputError(f"{self.steps} steps need a step_size above 0, not {self.step_size!r}.")
        if self.mechanism.sample_rate is not None or self.mechanism.batches != 1:
            raise InputError("Attackers know here who takes part: leave sample_rate and batches out of the mechanism.")
        if len(self.names) != size_of(self.batch):
            raise InputError(f"The batch holds {size_of(self.batch)} records, but ids names {len(self.names)}.")

    @property
    def names(self) -> NetworkNames:
        """Whose the records are."""
        return NetworkNames.of(range(size_of(self.batch)) if self.ids is None else self.ids)

    def information(self, model: nn.Module, values: Sequence[int]) -> StepInformation:
        """Return what a step gives away about some values of each record, at the weights of a network.

        Parameters
        ----------
        model : torch.nn.Module
            The network as it is before that step.
        values : sequence of int
            Which values of each record are not known, by their place in the flattened input.
        """
        asked = {"mechanism": self.mechanism, "ids": self.ids, "values": values, "forward": self.forward}
        return step_information(model, self.loss, self.batch, label="public", **asked)  # type: ignore[arg-type]

    def attacked(self, values: Sequence[int], *, trials: int, seed: int = 0, watch: Watch = unwatched) -> Guesses:
        """Train anew so many times, and guess some values of each person from each of the runs.

        Parameters
        ----------
        values : sequence of int
            Which values of each record are not known, by their place in the flattened input.
        trials : int
            How many runs.
        seed : int, default=0
            Of the noise.
        watch : callable, optional
            Told of each run that is done.
        """
        unknown = _Unknown(self, values)
        random = torch.Generator().manual_seed(seed)
        parts: list[tuple[Array, Array, Array]] = []
        measured: list[Array] = []
        with (
            undisturbed(seed),
            torch.autocast(unknown.basis.device.type, enabled=False),
            Composites(),
            differentiable(),
        ):
            for start in range(0, trials, unknown.at_once):
                runs = min(unknown.at_once, trials - start)
                course = unknown.trained(runs, random)
                guess, score, own = (found.cpu().numpy() for found in unknown.nearest(course))
                parts.append((guess, score, own))
                measured += unknown.measured(course, range(start, min(start + runs, _MEASURED)))
                watch(runs)
        mean = measured[0] + sum(measured[1:], np.zeros(())) / min(trials, _MEASURED)
        errors, scores, own = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Guesses(errors, _slopes(errors, scores, own.mean(0), unknown.real), mean, unknown.real)


def _slopes(errors: Array, scores: Array, own: Array, real: NDArray[np.bool_]) -> Array:
    """Return how guesses move with the truth: their covariance with the score, which nobody has to train again for.

    With s the score, J its covariance (the attacker's own information) and w = J^-1 s, the efficient score of a value
    is w_j / (J^-1)_jj. Its covariance with w_j is 1, so that only what guesses add to w_j is left to chance.
    """
    inverse = _inverse(own, real)
    linear = np.einsum("pvw,tpw->tpv", inverse, scores)
    return np.asarray(1 + (errors - linear) * linear / np.einsum("pvv->pv", inverse))


@dataclass(frozen=True, eq=False)
class _Published:
    """A step of several runs: weights and noise of shape (runs, parameters), and everybody's clipped gradients."""

    weights: Tensor
    true: Tensor
    """Of shape (runs, records, parameters)."""
    noise: Tensor


class _Unknown:
    """What an attacker of some values computes with: gradients as functions of these values and of the weights."""

    def __init__(self, training: PrivateSteps, values: Sequence[int]) -> None:
        self.training, self.values, self.names = training, values, training.names
        self.model = copy.deepcopy(training.model)
        self.parameters = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        probe = Probe(self.model, training.loss, forward=training.forward or standard_forward)
        with undisturbed(), Composites():
            probe.check_loss(training.batch)
            self.one = probe.functional(training.batch)
        if len(self.one.shapes) != 1:
            raise InputError(f"values are of one input; the network has {list(self.one.shapes)}.")
        like = next(iter(self.parameters.values()))
        self.basis = unit_moves(self.one.shapes, values).to(like)
        self._unit = torch.eye(len(self.basis)).to(like)
        # Copied: the network is moved to where runs went, to be measured there.
        self._start = torch.cat([p.detach().flatten() for p in self.parameters.values()])
        record = len(self.basis) * sum(p.numel() for p in self.parameters.values())
        self._chunk = max(1, _SCRATCH // record)
        self.at_once = max(1, _SMALL // (record * len(self.names) * training.steps))
        # Records of a person stand one below the other, each at its place.
        self._owner = torch.from_numpy(self.names.owner).to(like.device)
        earlier = [int((self.names.owner[:i] == who).sum()) for i, who in enumerate(self.names.owner)]
        self._place = torch.tensor(earlier, device=like.device)
        self.real = np.arange(len(values) * max(self.names.records)) < len(values) * self.names.records[:, None]

    def trained(self, runs: int, random: torch.Generator) -> list[_Published]:
        """Train anew, several runs side by side."""
        weights = self._start.expand(runs, -1)
        still = self.basis.new_zeros(runs, len(self.names), len(self.basis))
        course = []
        for _ in range(self.training.steps):
            true = self.gradients(still, weights)
            drawn = torch.randn(weights.shape, generator=random, dtype=torch.float64)
            noise = (self.training.mechanism.noise_scale * drawn).to(weights)
            course.append(_Published(weights, true, noise))
            weights = weights - (self.training.step_size or 0.0) / len(self.names) * (true.sum(1) + noise)
        return course

    def measured(self, course: Sequence[_Published], runs: range) -> list[Array]:
        """Return what `step_information` finds in some runs, step by step; the first step is the same in all."""
        found = []
        for step, published in enumerate(course):
            for run, weights in zip(runs, published.weights, strict=False):
                if step == 0 and run > 0:
                    continue
                parts = weights.split([p.numel() for p in self.parameters.values()])
                with torch.no_grad():
                    for parameter, part in zip(self.parameters.values(), parts, strict=True):
                        parameter.copy_(part.view_as(parameter))
                matrices = self.training.information(self.model, self.values).matrices
                assert matrices is not None
                found.append(matrices)
        return found

    def gradients(self, shifts: Tensor, weights: Tensor) -> Tensor:
        """Return the clipped gradients of records whose values are shifted, shape (runs, records, parameters)."""
        return self._mapped(self._published, shifts, weights)

    def moved(self, shifts: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return them, and how they move with each value, shape (runs, records, values, parameters)."""

        def one(shift: Tensor, own: list[Tensor], at: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
            along = vmap(lambda w: jvp(lambda moved: self._published(moved, own, at), (shift,), (w,))[1])
            return self._published(shift, own, at), along(self._unit)

        return self._mapped(one, shifts, weights)

    def _mapped(self, one: Callable[..., Any], shifts: Tensor, weights: Tensor) -> Any:
        def run(shifts: Tensor, flat: Tensor) -> Any:
            parts = flat.split([p.numel() for p in self.parameters.values()])
            items = zip(self.parameters.items(), parts, strict=True)
            at = {name: part.view_as(parameter) for (name, parameter), part in items}
            return vmap(one, in_dims=(0, 0, None), chunk_size=self._chunk)(shifts, self.one.people, at)

        if len(shifts) > 1:
            return vmap(run)(shifts, weights)
        # Even a batch of one would take convolutions the way of many kernels, which is slow.
        return pytree.tree_map(lambda found: found.unsqueeze(0), run(shifts[0], weights[0]))

    def _published(self, shift: Tensor, own: list[Tensor], weights: dict[str, Tensor]) -> Tensor:
        ((name, shape),) = self.one.shapes.items()
        gradient = self.one.gradient({name: (shift @ self.basis).view(shape)}, own, weights)
        return gradient * self.training.mechanism.rule.factor(gradient.norm())

    def nearest(self, course: Sequence[_Published]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the shifts whose gradients are nearest to what was published, and score and information at no shift.

        They have shapes (runs, people, values), twice, and (runs, people, values, values).
        """
        scale, runs = self.training.mechanism.noise_scale, len(course[0].weights)
        real = torch.from_numpy(self.real).to(self.basis.device).double()
        nobody = torch.diag_embed(1 - real)
        shifts = self.basis.new_zeros(runs, len(self.names), len(self.basis))
        scores = own = near = real
        for step in range(_STEPS):
            normal, slope, before = nobody, torch.zeros_like(real), real.new_zeros(1)
            for published in course:
                gradients, along = self.moved(shifts, published.weights)
                rest, along = self._left(published, gradients), self._held(along)
                before = before + rest.double().square().sum(-1)
                normal = normal + (along @ along.mT).double()
                slope = slope + (along @ rest.unsqueeze(-1)).squeeze(-1).double()
            if step == 0:
                scores, own = slope / scale**2, (normal - nobody) / scale**2
                near = _ARRIVED * scale / normal.diagonal(dim1=-2, dim2=-1).sqrt()
            move, singular = torch.linalg.solve_ex(normal, slope)
            lost = (singular > 0) | ~move.isfinite().all(-1)
            if step == 0 and lost.any():
                raise UnansweredError(
                    f"Of some person the values {list(self.values)} cannot be guessed together: what is published does "
                    "not tell them apart, or not at all. Name fewer, or others."
                )
            # Far from the truth what is published may tell nothing any more: such a guess stays where it is.
            move = torch.where(lost.unsqueeze(-1), 0.0, move)
            arrived = bool((move.abs() < near).all())
            for _ in range(0 if arrived else _HALVINGS):
                worse = self._misfit(course, shifts + self._shared(move)) > before * (1 + _ROUNDED)
                if not worse.any():
                    break
                move = torch.where(worse.unsqueeze(-1), move / 2, move)
            shifts = shifts + self._shared(move)
            if arrived:
                break
        return self._held(shifts).double(), scores, own

    def _misfit(self, course: Sequence[_Published], shifts: Tensor) -> Tensor:
        parts = [self._left(each, self.gradients(shifts, each.weights)).double().square().sum(-1) for each in course]
        return torch.stack(parts).sum(0)

    def _left(self, published: _Published, gradients: Tensor) -> Tensor:
        """Return the noise that there would be if these were the gradients, person by person."""
        noise = published.noise.unsqueeze(1).expand(-1, len(self.names.people), -1)
        return noise.index_add(1, self._owner, published.true - gradients)

    def _held(self, each: Tensor) -> Tensor:
        """Put what belongs to the values of a person's records one below the other; zeros where there are fewer."""
        shape = len(each), len(self.names.people), int(self.names.records.max()), *each.shape[2:]
        found = each.new_zeros(shape)
        found[:, self._owner, self._place] = each
        return found.flatten(2, 3)

    def _shared(self, moves: Tensor) -> Tensor:
        """Give the values of people back to their records."""
        return moves.unflatten(2, (-1, len(self.basis)))[:, self._owner, self._place].to(self.basis)
