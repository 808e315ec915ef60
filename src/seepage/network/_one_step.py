"""Information of one step of private training about each person of a batch, at given weights.

With T the derivatives of a person's gradient in each private value, shape (values, parameters), s the norm of the
gradient, p = T grad and c the clipping (eq. 8.5), the published gradient moves by

    U = c T + c'(s) (p/s) grad^T,     U U^T = c^2 T T^T + (2 c c'/s + c'^2) p p^T,     U ghat = p (c/s + c'),

so that T T^T, p and s are all that the information needs (eqs. 8.2 and 8.11). The clipped gradients of a person's
records add up in a step: of several, U_1, U_2, ... stand one below the other, and U U^T has blocks U_i U_j^T.

The features z of a person in front of a frozen network move with the inputs x as dz = J dx, whatever the step. So
information M about features adds up over steps, and is carried to the inputs once (eqs. 1.6 and 8.2): I = J^T M J.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seepage.errors import InputError, UnansweredError
from seepage.meaning import success_rate
from seepage.network._amplification import tabulated
from seepage.network._categories import Category, apart
from seepage.network._checks import check_alone, check_moving, check_tokens, draws_masks, undisturbed
from seepage.network._clipping import Mechanism
from seepage.network._directions import Directions
from seepage.network._ghost import in_rows
from seepage.network._losses import Loss
from seepage.network._names import Ids, NetworkNames
from seepage.network._probe import Direct, Forward, Probe, differentiable, size_of, standard_forward
from seepage.network._records import Batch, records
from seepage.network._run import look
from seepage.network._tokens import Private

Array = NDArray[np.float64]
Tensor = torch.Tensor
# Private values of a person, at most, whose derivatives are taken one by one.
_FEW = 64
# Gradients of so many numbers exist at once.
_SCRATCH = 2**24
# People of whom derivatives are compared with finite differences.
_COMPARED = 3


@dataclass(frozen=True, eq=False)
class StepInformation:
    """The information of one step about each person of a batch.

    Attributes
    ----------
    ids : ndarray of shape (people,)
        Who they are, in the order in which they come in the batch, or first came in a run.
    trace : ndarray of shape (people,)
        The trace of each person's information matrix; unbiased if it is estimated.
    standard_error : ndarray of shape (people,)
        Of the trace; zero where it is exact.
    sizes : ndarray of shape (people,)
        How many private values each person has, padding left out.
    matrices : ndarray of shape (people, values, values) or None
        The information matrices, where derivatives were taken value by value; None where directions were random, or
        somebody has several records in batches that are secret: the trace is then a bound. The values of a person's
        second record come after those of the first, and are zero for those who have none.
    """

    ids: NDArray[Any]
    trace: Array
    standard_error: Array
    sizes: Array
    matrices: Array | None

    @property
    def exact(self) -> bool:
        """True if nothing is estimated."""
        return self.matrices is not None

    @property
    def dfil(self) -> Array:
        """The root of the mean information about a value."""
        return np.sqrt(self.trace / np.maximum(self.sizes, 1))

    @property
    def eta(self) -> Array:
        """The root of the largest eigenvalue of each person's matrix."""
        return np.sqrt(np.maximum(np.linalg.eigvalsh(self._known())[:, -1], 0.0))

    def error_floor(self, values: Sequence[int] | None = None) -> Array:
        """Return the smallest error of unbiased guesses by somebody who knows everything but some values of a person.

        Parameters
        ----------
        values : sequence of int, optional
            The values that are not known, all at once, by their place in the flattened input. By default each value by
            itself: everything else about the person is known.

        Returns
        -------
        floors : ndarray of shape (people, values)
            Infinite where nothing is told.
        """
        matrices = self._known()
        with np.errstate(divide="ignore"):
            if values is None:
                return np.asarray(1.0 / np.sqrt(np.maximum(np.einsum("nvv->nv", matrices), 0.0)))
            chosen = np.asarray(values, dtype=np.intp)
            return floors(matrices[:, chosen][:, :, chosen])

    def __add__(self, other: "StepInformation") -> "StepInformation":
        """Return what two steps, or runs of them, give away about everybody who is in either.

        An id must mean the same values in both: somebody with several records, of which other ones are in each step, is
        named record by record.
        """
        mine, theirs = self._known(), other._known()
        if mine.shape[1:] != theirs.shape[1:]:
            raise InputError(
                f"One of these steps is about {mine.shape[1]} values of a person and the other about "
                f"{theirs.shape[1]}: add up steps about the same values."
            )
        names = NetworkNames.of([*self.ids.tolist(), *other.ids.tolist()])
        trace = names.summed(np.concatenate([self.trace, other.trace]))
        sizes = np.zeros_like(trace)
        np.maximum.at(sizes, names.owner, np.concatenate([self.sizes, other.sizes]))
        matrices = names.summed(np.concatenate([mine, theirs]))
        return StepInformation(names.people, trace, np.zeros_like(trace), sizes, matrices)

    def through(self, slopes: Array, *, ids: Ids) -> "InputInformation":
        """Return what is told about the values before a frozen network, if this is about its features.

        Parameters
        ----------
        slopes : ndarray of shape (n, features, values)
            Derivative of the features by what enters the network.
        ids : sequence of length n
            Whose they are, by the ids of the steps. Whoever was in none is left out.
        """
        matrices, names = self._known(), NetworkNames.of(ids)
        if slopes.ndim != 3 or len(slopes) != len(names) or slopes.shape[1] != matrices.shape[1]:
            raise InputError(
                f"slopes have shape {slopes.shape}, ids name {len(names)} people, and the steps are about "
                f"{matrices.shape[1]} values of each: give the derivatives of the features and an id for each row, and "
                "look at steps with label='public' and an id for each record."
            )
        if names.records.max() > 1:
            twice = names.people.tolist()[names.records.argmax()]
            raise InputError(f"ids names {twice!r} {names.records.max()} times: give each record an id of its own.")
        held = np.asarray(slopes, dtype=np.float64)[names.places(self.ids)]
        return InputInformation(self.ids, matrices, held)

    def _known(self) -> Array:
        if self.matrices is None and not self.standard_error.any():
            raise UnansweredError(
                "Somebody has several records, and it is secret which of them are in the batch: of what they tell "
                "together only a bound of the trace is known. Leave sample_rate out to ask about whoever takes part, "
                "or ask dfil, which the trace answers."
            )
        if self.matrices is None:
            raise UnansweredError(
                f"Somebody has {int(self.sizes.max())} private values, which are too many to take derivatives one by "
                f"one: the trace was estimated along random directions. Give directions=None and at most {_FEW} "
                "values, or ask dfil, which the trace answers."
            )
        return self.matrices


def step_information(
    model: nn.Module,
    loss: Loss,
    batch: Batch,
    *,
    mechanism: Mechanism,
    label: Literal["public", "private"],
    private: Private | None = None,
    ids: Ids | None = None,
    values: Sequence[int] | None = None,
    directions: int | None = None,
    forward: Forward | None = None,
    seed: int = 0,
) -> StepInformation:
    """Return what one step of private training at these weights gives away about each person of a batch.

    Parameters
    ----------
    model : torch.nn.Module
        The network, before Opacus wraps it. It is copied, and never touched.
    loss : callable
        The loss of training, such as ``torch.nn.CrossEntropyLoss()``.
    batch
        Some people, as training is given them.
    mechanism : Mechanism
        How the step clips gradients and adds noise.
    label : {"public", "private"}
        Whether the label is among the private values.
    private : sequence or mapping, optional
        As for `FisherAccountant`: which entries of a batch hold private integers.
    ids : sequence, optional
        Whose the records of the batch are. Whoever has several is told of once, with all of them together. By default
        everybody has one.
    values : sequence of int, optional
        Which values of each record are not known, by their place in the flattened input (and the label after it, if it
        is private); all others are. By default none is known.
    directions : int, optional
        Random directions, of which each takes a pass. By default derivatives are exact where a person has at most 64
        private values, and taken along 16 random directions otherwise.
    forward : callable, optional
        As for `FisherAccountant`.
    seed : int, default=0
        Of random directions, and of dropout.

    Examples
    --------
    >>> import torch
    >>> from seepage.network import Mechanism, step_information
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    >>> batch = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    >>> mechanism = Mechanism(noise_multiplier=1.0, max_grad_norm=1.0)
    >>> step = step_information(model, torch.nn.CrossEntropyLoss(), batch, mechanism=mechanism, label="public")
    >>> step.eta.round(2).tolist()
    [0.54, 0.45, 0.48, 0.49]
    """
    if label not in ("public", "private"):
        raise InputError(f"label must be 'public' or 'private', not {label!r}.")
    if directions is not None and not (isinstance(directions, int) and directions >= 1):
        raise InputError(
            f"directions must be a positive whole number, or None for exact derivatives, not {directions!r}."
        )
    names = NetworkNames.of(range(size_of(batch)) if ids is None else ids)
    if len(names) != size_of(batch):
        raise InputError(f"The batch holds {size_of(batch)} records, but ids names {len(names)}.")
    probe = Probe(model, loss, forward=forward or standard_forward, private_label=label == "private", private=private)
    with undisturbed(seed), torch.autocast(_device(model).type, enabled=False):
        probe.carrier.follow(model)
        probe.check_loss(batch)
        probe.private_values(batch)
        places = _places(probe.values, values)
        if probe.private:
            check_tokens(probe, batch)
        exact = directions is None and len(places) * names.records.max() <= _FEW
        ones = [records(batch, len(names), slice(row, row + 1)) for row in range(min(_COMPARED, len(names)))]
        drawn = draws_masks(probe, ones[0])
        with differentiable():
            check_moving(model, probe, ones, drawn)
        probe.carrier.follow(model)
        if not drawn:
            check_alone(probe, batch, ones[0])
        if exact:
            probe.private_values(batch)
            with differentiable():
                return _exact(probe, batch, mechanism, names, places, seed)
        if values is not None:
            raise InputError(
                f"values names {len(places)} values of each record, and somebody has {names.records.max()} records: at "
                f"most {_FEW} are taken one by one. Name fewer, and leave directions out."
            )
        generator = torch.Generator().manual_seed(seed)
        seen = look(probe, batch, Directions(None, label == "private", generator), directions or 16)
    found = np.stack([names.summed(each) for each in seen.information(mechanism)[0][0]])
    spread = found.std(axis=0, ddof=1) / math.sqrt(len(found)) if len(found) > 1 else np.full(found.shape[1], np.nan)
    return StepInformation(names.people, found.mean(axis=0), spread, names.summed(seen.sizes.sum(1)), None)


def _device(model: nn.Module) -> torch.device:
    return next(iter(model.parameters())).device


def _places(shapes: Mapping[str, tuple[int, ...]], values: Sequence[int] | None) -> list[int]:
    """Return which private values are asked about, by their place among all."""
    every = sum(math.prod(shape) for shape in shapes.values())
    places = list(range(every)) if values is None else [int(value) for value in values]
    if len(set(places)) < max(len(places), 1) or not all(0 <= place < every for place in places):
        raise InputError(f"values must name some of a record's {every} values, each once, from 0 on, not {values!r}.")
    return places


def _unit(shapes: Mapping[str, tuple[int, ...]], place: int) -> Direct:
    """Return the direction that moves one private value alone."""
    ends = dict(zip(shapes, np.cumsum([math.prod(shape) for shape in shapes.values()]).tolist(), strict=True))

    def direct(name: str, values: Tensor) -> Tensor:
        found = torch.zeros_like(in_rows(values))
        at = place - ends[name] + found.shape[1]
        if 0 <= at < found.shape[1]:
            found[:, at] = 1.0
        return found.view_as(values)

    return direct


def _exact(
    probe: Probe, batch: Batch, mechanism: Mechanism, names: NetworkNames, places: list[int], seed: int
) -> StepInformation:
    shapes = dict(probe.values)
    real = torch.cat(list(probe.real(len(names)).values()), 1)[:, places].numpy()
    joint = len(names.people) < len(names) and mechanism.sample_rate is None
    width = len(places) * (int(names.records.max()) if joint else 1)
    matrices = np.zeros((len(names.people) if joint else len(names), width, width))
    # A person's records go together, and so many that their derivatives fit into the scratch.
    rows = np.argsort(names.owner, kind="stable") if joint else np.arange(len(names))
    owner = names.owner if joint else np.arange(len(names))
    size = sum(p.numel() for p in probe.carrier.trained.values())
    people = max(1, _SCRATCH // (size * (width + 1)))
    for start in range(0, len(matrices), people):
        some = rows[(owner[rows] >= start) & (owner[rows] < start + people)]
        part = records(batch, len(names), torch.from_numpy(some))
        moved = []
        for place in places:
            # One network: dropout must draw the same each time.
            torch.manual_seed(seed)
            gradient, along = (each.double().cpu() for each in probe.rows(part, _unit(shapes, place)))
            moved.append(along)
        published, radial, ratio = _published(gradient, torch.stack(moved, 1), mechanism)
        for person in np.unique(owner[some]):
            mine = owner[some] == person
            stacked = published[mine].flatten(0, 1)
            found = stacked @ stacked.T
            if mechanism.sample_rate is not None:
                factors = tabulated(mechanism.sample_rate, mechanism.batches)(ratio[mine].numpy())
                across, parallel = (float(factor[0]) for factor in factors)
                found = across * found + (parallel - across) * torch.outer(radial[mine][0], radial[mine][0])
            matrices[person, : len(found), : len(found)] = found.numpy()
    trace = np.einsum("nvv->n", matrices)
    trace = trace if joint else names.summed(trace)
    known = matrices if joint or len(names.people) == len(names) else None
    return StepInformation(names.people, trace, np.zeros_like(trace), names.summed(real.sum(1)), known)


def _published(gradient: Tensor, moved: Tensor, mechanism: Mechanism) -> tuple[Tensor, Tensor, Tensor]:
    """Return U and U ghat of each record in units of the noise, and the published norm in these units."""
    norm = gradient.norm(dim=1)
    factor, slope = mechanism.rule.factor(norm), mechanism.rule.slope(norm)
    unit = gradient / norm.clamp(min=1e-300)[:, None]
    along = torch.einsum("nvp,np->nv", moved, unit)
    published = factor[:, None, None] * moved + (slope * norm)[:, None, None] * along[:, :, None] * unit[:, None, :]
    scale = mechanism.noise_scale
    return published / scale, (factor + slope * norm)[:, None] * along / scale, factor * norm / scale


def step_success_rate(
    model: nn.Module,
    loss: Loss,
    batch: Batch,
    *,
    mechanism: Mechanism,
    entry: Any,
    values: Sequence[Any],
    position: int | None = None,
    forward: Forward | None = None,
    seed: int = 0,
) -> Array:
    """Return how often the best attacker tells the true category of each person from another, after one step.

    The attacker knows everything but that category, and that the person is in the batch. The published gradients with
    the one and with the other are so many units of the noise apart; nothing is differentiated in a value.

    Parameters
    ----------
    model, loss, batch, mechanism, forward, seed
        As for `step_information`.
    entry : int or str
        Which entry of the batch holds the category: labels or tokens.
    values : sequence
        What it could be.
    position : int, optional
        Of a sequence of tokens, which one. Labels have one, in one column or none.

    Returns
    -------
    rates : ndarray of shape (people, values)
        One half where nothing is told, NaN where the value is the true one.
    """
    category = Category(entry, position, tuple(values))
    probe = Probe(model, loss, forward=forward or standard_forward)
    with undisturbed(seed), torch.autocast(_device(model).type, enabled=False):
        probe.carrier.follow(model)
        probe.check_loss(batch)
        found = apart(probe, batch, category, seed)
    rates = np.asarray(success_rate(np.sqrt(found.squared(mechanism))), dtype=np.float64)
    return np.where(found.truth[:, None] == np.arange(len(category.values)), np.nan, rates)


def floors(matrices: Array) -> Array:
    """Return the smallest errors of unbiased guesses of several values at once; infinite where nothing is told.

    Parameters
    ----------
    matrices : ndarray of shape (people, values, values)
        What is told about these values, all else being known.
    """
    found = np.empty(matrices.shape[:2])
    for i, matrix in enumerate(matrices):
        scale = np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
        root, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
        lost = root <= len(scale) * np.finfo(float).eps * max(root[-1], 0.0)
        # Of a value with a part in a direction that tells nothing, there is no unbiased guess.
        variance = (vectors**2 / np.where(lost, np.inf, root)).sum(axis=1)
        silent = (vectors[:, lost] ** 2).sum(axis=1) > 1e-12
        found[i] = np.where(silent, np.inf, np.sqrt(variance) / scale)
    return found


@dataclass(frozen=True, eq=False)
class InputInformation:
    """The information of steps about the input of a frozen network, of each person.

    It is exact where the network has a derivative. What a value gives away by crossing a kink (of a ReLU, of a maximum)
    is not in it: a unit that is off says nothing here, and may elsewhere.

    Attributes
    ----------
    ids : ndarray of shape (people,)
        Who they are.
    matrices : ndarray of shape (people, features, features)
        What the steps tell about the features.
    slopes : ndarray of shape (people, features, values)
        How everybody's features move with what enters.
    """

    ids: NDArray[Any]
    matrices: Array
    slopes: Array

    @cached_property
    def each(self) -> Array:
        """Eta of each value, shape (people, values): the root of what is told about it, all else being known."""
        return np.sqrt(
            np.maximum(np.einsum("nfv,nfg,ngv->nv", self.slopes, self.matrices, self.slopes, optimize=True), 0.0)
        )

    @property
    def dfil(self) -> Array:
        """The root of the mean information about a value."""
        return np.asarray(np.sqrt((self.each**2).mean(axis=1)))

    @property
    def eta(self) -> Array:
        """The root of the largest eigenvalue of each person's information."""
        values, vectors = np.linalg.eigh(self.matrices)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        turned = root.transpose(0, 2, 1) @ self.slopes
        return np.asarray(np.linalg.norm(turned, ord=2, axis=(1, 2)))

    def error_floor(self, values: Sequence[int] | None = None) -> Array:
        """Return the smallest error of unbiased guesses by somebody who knows everything but some values of a person.

        Parameters
        ----------
        values : sequence of int, optional
            The values that are not known, all at once, such as the pixels of a patch. By default each by itself.

        Returns
        -------
        floors : ndarray of shape (people, values)
            Infinite where nothing is told.
        """
        if values is None:
            with np.errstate(divide="ignore"):
                return np.asarray(1.0 / self.each)
        chosen = self.slopes[:, :, np.asarray(values, dtype=np.intp)]
        return floors(np.einsum("nfv,nfg,ngw->nvw", chosen, self.matrices, chosen, optimize=True))
