"""The accountant: what private training gives away about each person, from visits while it trains."""

import hashlib
import math
import secrets
import sys
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from opacus import PrivacyEngine
from torch import nn

from seepage._tables import column_values
from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.leakage import Leakage, PeopleInMemory
from seepage.meaning import reconstruction_floor
from seepage.network import _checks, _layers
from seepage.network._account import Stretches, Table, Visits, estimate, split
from seepage.network._assumptions import Circumstances, assumptions
from seepage.network._directions import Directions, Groups
from seepage.network._information import NetworkInformation
from seepage.network._losses import Loss
from seepage.network._opacus import Attachment, attach
from seepage.network._plan import Plan
from seepage.network._probe import LABEL, Forward, Probe, standard_forward
from seepage.network._records import Batch, Collate, Items, Loader, Records
from seepage.network._sketch import Sketch, State, sketch_rows
from seepage.network._step import Mechanism
from seepage.network._tokens import Private

Tensor = torch.Tensor
Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Ids = Any
"""Names of people: any sequence, or column of a data frame."""
# Of a sketch, if nobody says otherwise.
_RANK = 8
# Numbers that layers put out in one pass of a visit, at most, where it holds more than half a batch of training.
_HELD = 2**20
# The share of people, and how many at least, who are visited twice in each stretch from the third on.
_MOST, _LEAST = 0.01, 10
# People whose private integers are exchanged, to see what a network makes of them.
_COMPARED = 32


class FisherAccountant:
    """Account for what private training gives away about each person.

    It needs nothing of the batches. At steps spread over the training it visits people of its own choosing: takes their
    records from the data set and looks, at the weights of the moment, at how their gradients move with their values.

    Parameters
    ----------
    model : torch.nn.Module
        The network, before Opacus wraps it. It is copied, and never touched.
    loss : callable
        The loss of training, such as ``torch.nn.CrossEntropyLoss()``.
    ids : sequence
        Who the examples of the data set are, in its order. ``range(len(dataset))`` will do.
    label : {"public", "private"}
        Whether the label is among the private values. Private labels must be numbers (one-hot for classes).
    private : mapping, optional
        For networks that are given integers: which entries of a batch (by key or place) hold private tokens or
        categories, each with the entry that is nonzero where they are real, such as
        ``{"input_ids": "attention_mask"}``, or with None if all are. What an embedding looks up for them is private.
        All other integers are public (padding, positions, token types, masks, and so everybody's number of tokens);
        ``{}`` if none is private. Floating-point inputs always are.
    sweeps : int, default=4
        How often each person is visited, once in each of as many stretches of the training.
    probes : int, default=1
        Random directions a visit. The estimates are unbiased for any number; their standard error is what more visits
        or directions buy.
    people : int or sequence, optional
        Visit only so many people, drawn at random, or those named; the others are left unanswered.
    clipping : {"hard", "smooth"}, default="hard"
        How gradients are bounded: hard is what Opacus does; smooth is that of Guo et al. (2022), which training then
        uses too.
    groups : mapping, optional
        Names for groups of input values whose information is kept apart: lists of column numbers, or masks (see
        `patches`). Each visit then takes a pass for each group. A single value is measured as it is. Eta of a group of
        several is the square root of the trace of its information, which bounds the largest eigenvalue and is itself
        estimated; with a `spectrum`, an estimate of that eigenvalue.
    spectrum : bool or int, default=False
        Whether to keep a sketch of each person's information matrix in each stretch, from which `eta` is estimated: of
        rank 8, or of the rank that is given. Without it `eta` is the square root of the trace, which bounds it and is
        itself estimated. `plan` says what it costs.
    forward : callable, optional
        How training runs a batch, if not as ``model(*inputs)`` for batches ``(*inputs, target)``: given the network and
        a batch, return the output and the target, which the loss is given.
    batch_size : int, optional
        People visited at once: memory and speed only. By default as many as are in a batch of training, or half as many
        where the network's layers put out a lot.
    seed : int, optional
        Of visits and directions.

    Examples
    --------
    >>> import seepage.network
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    >>> data = torch.utils.data.TensorDataset(torch.randn(4, 3), torch.tensor([0, 1, 1, 0]))
    >>> people = ["ann", "ben", "cat", "dan"]
    >>> accountant = seepage.network.FisherAccountant(
    ...     model, torch.nn.CrossEntropyLoss(), ids=people, label="public", probes=4, seed=0
    ... )
    >>> accountant.watch(data, steps=10)
    >>> for _ in range(10):  # after each update of the weights
    ...     accountant.step(noise_multiplier=1.0, max_grad_norm=1.0, sample_rate=None, batch=people)
    >>> accountant.leakage().examples["dfil"].round(1).to_dict()
    {'ann': 1.4, 'ben': 1.2, 'cat': 1.2, 'dan': 1.3}
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        *,
        ids: Ids,
        label: Literal["public", "private"],
        private: Private | None = None,
        sweeps: int = 4,
        probes: int = 1,
        people: Ids | int | None = None,
        clipping: Literal["hard", "smooth"] = "hard",
        groups: Groups | None = None,
        spectrum: bool | int = False,
        forward: Forward | None = None,
        batch_size: int | None = None,
        seed: int | None = None,
    ) -> None:
        for name, value in (("sweeps", sweeps), ("probes", probes)):
            if not (isinstance(value, int) and value >= 1):
                raise InputError(f"{name} must be a positive whole number, not {value!r}.")
        if clipping not in ("hard", "smooth"):
            raise InputError(f"clipping must be 'hard' (what Opacus does) or 'smooth', not {clipping!r}.")
        if label not in ("public", "private"):
            raise InputError(f"label must be 'public' or 'private', not {label!r}.")
        if not 0 <= spectrum == int(spectrum):
            raise InputError(f"spectrum must be True, False or the rank of a sketch, not {spectrum!r}.")
        if private and (groups is not None or spectrum):
            raise UnsupportedError(
                f"private= names {', '.join(map(repr, private))}: groups and a spectrum are of the values of one "
                "floating-point input. Leave groups and spectrum out."
            )
        self.model, self.loss, self.clipping, self.label = model, loss, clipping, label
        self.sweeps, self.probes = sweeps, probes
        self._batch_size, self._together = batch_size, batch_size or 1
        self._probe = Probe(
            model, loss, forward=forward or standard_forward, private_label=label == "private", private=private
        )
        self._known = Circumstances(kinks=_layers.kinked(model))
        _layers.warn_of_kinks(self._known.kinks)
        _layers.warn_of_tokens(model)
        self._ids = column_values(ids)
        if self._ids.ndim != 1 or len(self._ids) == 0:
            raise InputError(f"ids must name each example of the data set once; it has shape {self._ids.shape}.")
        self._place = _places(self._ids)
        self._random = np.random.default_rng(secrets.randbits(63) if seed is None else seed)
        self._generator = torch.Generator().manual_seed(int(self._random.integers(2**62)))
        self._seed = int(self._random.integers(2**62))
        self._aimed = self._generator.get_state()
        """The generator of directions before the visits whose step is not yet taken."""
        self._visited = self._chosen(people)
        self._directions = Directions(groups, label == "private", self._generator)
        self._visits = Visits(len(self._ids), len(self._directions.names))
        self._sizes = np.zeros((len(self._ids), len(self._directions.names)))
        rank = _RANK if spectrum is True else int(spectrum)
        self._sketch = Sketch(len(self._ids), rank) if rank else None
        if self._sketch is not None and label == "private":
            raise InputError("A spectrum needs one floating-point input and public labels. Use spectrum=False.")
        self._history: list[tuple[Mechanism, str, int]] = []
        self._drawn: list[NDArray[np.float64]] = []
        """For each stretch, how often each person was in a batch, where that is known and counts."""
        self._batches = 0
        self._stretches: Stretches | None = None
        self._records: Records | None = None
        self._scheduled: dict[int, list[Rows]] = {}
        self._planned = 0
        """The stretches that have been planned."""
        self._pending: list[tuple[Rows, Batch, list[Tensor]]] = []
        self._modes: tuple[bool, ...] | None = None
        """Of the network, when it was last checked."""
        self._visited_at: tuple[int, tuple[bool, ...]] | None = None
        """The step and the modes of the last visits."""
        self._attachment: Attachment | None = None
        self._by_hand = False
        self._gathered: tuple[int, list[State]] | None = None

    @property
    def steps(self) -> int:
        """The steps of training that have been accounted for."""
        return sum(count for _, _, count in self._history)

    def attach(
        self,
        privacy_engine: PrivacyEngine,
        *,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        data_loader: Loader,
        epochs: int,
        **options: Any,
    ) -> tuple[Any, ...]:
        """Make training private with Opacus, and account for it: what ``privacy_engine.make_private`` returns.

        Parameters
        ----------
        privacy_engine : opacus.PrivacyEngine
            Of Opacus.
        model, optimizer, data_loader
            As for ``make_private``. The data loader's data set holds the people of `ids`, in their order.
        epochs : int
            How long training will be, so that visits are spread over it. Stopping early or going on makes the errors
            wider, and nothing wrong.
        **options
            All that ``make_private`` takes: ``noise_multiplier`` and ``max_grad_norm`` are required (or the target
            epsilon and delta of ``make_private_with_epsilon``); ``grad_sample_mode`` may be "hooks", "functorch" or
            "ghost"; ``poisson_sampling=False`` leaves the loader as it is, and no credit is given for sampling.

        Returns
        -------
        model, optimizer, data_loader
            Or, in ghost mode, model, optimizer, criterion, data_loader. Train with them as always.
        """
        if self._attachment is not None or self._by_hand:
            raise InputError("This accountant is attached already. A second run of training needs a second accountant.")
        self._attachment, returned = attach(self, privacy_engine, model, optimizer, data_loader, epochs, options)
        loader = returned[-1]
        self._begin(loader.dataset, max(1, epochs * len(loader)), loader.collate_fn, len(loader.dataset) / len(loader))
        return returned

    def watch(self, dataset: Items, *, steps: int, collate: Collate | None = None, batch_size: float = 64) -> None:
        """Account for a training loop of your own: call `step` after each update of the weights.

        Parameters
        ----------
        dataset : data set
            The records of the people of `ids`, in their order, by index.
        steps : int
            How long training will be. Stopping early or going on makes the errors wider, and nothing wrong.
        collate : callable, optional
            How records become a batch; PyTorch's own way by default.
        batch_size : float, default=64
            People in a step of training, to tell what visits will cost.
        """
        if self._attachment is not None or self._by_hand:
            raise InputError("This accountant is attached already. A second run of training needs a second accountant.")
        if len(dataset) != len(self._ids):
            raise InputError(f"The data set has {len(dataset)} examples, but ids names {len(self._ids)}.")
        self._by_hand = True
        self._begin(dataset, steps, collate, batch_size)
        self._visit()

    def step(
        self, *, noise_multiplier: float, max_grad_norm: float, sample_rate: float | None, batch: Ids | None = None
    ) -> None:
        """Account for one step of a training loop of your own, after its update of the weights.

        Parameters
        ----------
        noise_multiplier, max_grad_norm : float
            The noise that the step added to the sum of clipped gradients had standard deviation
            ``noise_multiplier * max_grad_norm``.
        sample_rate : float or None
            The probability with which each person was drawn into the batch, if batches are drawn by Poisson sampling
            (see `PoissonSampler`) and stay secret. None for any other way: then no credit is given for it.
        batch : sequence, optional
            Who took part; needed where `sample_rate` is None.
        """
        if not self._by_hand:
            raise InputError("Call watch(dataset, steps=...) before the first step, so that people can be visited.")
        _checks.check_frozen(self.model, self._probe, self.model)
        if sample_rate is None:
            if batch is None:
                raise InputError("Without secret sampling it matters who took part: give batch=, their ids.")
            self._draw(self._rows(batch))
        self._publish(
            Mechanism(
                noise_multiplier=float(noise_multiplier),
                max_grad_norm=float(max_grad_norm),
                sample_rate=sample_rate,
                clipping=self.clipping,
            ),
            "other" if sample_rate is None else "poisson",
        )
        self._visit()

    def detach(self) -> None:
        """Leave training alone from now on. What has been accounted for stays."""
        if self._attachment is not None:
            self._attachment.detach()

    def plan(self, inputs: Tensor, *, steps: int, batch_size: float) -> Plan:
        """Return the memory and time that accounting will take, before any is taken.

        Parameters
        ----------
        inputs : tensor
            One batch of inputs, or one like it (its values do not matter).
        steps : int
            The length of training.
        batch_size : float
            The people in a batch.
        """
        visits, passes = min(self.sweeps, steps), self.probes * len(self._directions.names)
        sketch = self._sketch.bytes_for(int(inputs[0].numel()), visits) if self._sketch is not None else 0
        return Plan(len(self._visited), visits, passes, steps, batch_size, sketch)

    def leakage(self) -> Leakage:
        """Return what has been given away so far, as the same result that linear models have.

        About the people who have been visited; the others are left unanswered.
        """
        return Leakage(self.information())

    def information(self) -> NetworkInformation:
        """Return the measurement behind `leakage`."""
        answered = self._answered()
        if self.steps == 0 or not len(answered):
            raise UnansweredError(
                "No step of training has been accounted for yet. Train first: attach the accountant to Opacus, or call "
                "watch and step in a loop of your own."
            )
        if self._attachment is not None:
            self._attachment.check_complete()
        assert self._stretches is not None
        visits, sizes, sketch, drawn = self._all()
        length = self._stretches.at(self.steps - 1) + 1
        secret = self._history[0][0].sample_rate is not None
        bounds = [min(self._stretches.start(s), self.steps) for s in range(length + 1)]
        lengths = np.diff(bounds).astype(np.float64)
        taken = np.tile(lengths, (len(self._ids), 1))
        if secret:
            rates = sum(float(m.sample_rate or 0.0) * m.batches * count for m, _, count in self._history) / self.steps
            plain_taken = rates * taken
        else:
            taken = plain_taken = np.stack([*drawn, *[np.zeros(len(self._ids))] * length][:length], 1)
            if self._attachment is not None and self._batches < self.steps:
                raise UnansweredError(
                    f"{self.steps} steps were taken with {self._batches} batches: some were used more than once, and "
                    "who took part in which step is not known. Take each batch from the data loader."
                )
        scales = np.concatenate([np.full(count, 1 / m.noise_scale**2) for m, _, count in self._history])
        # Visits at weights whose step was never taken tell nothing.
        visits = {name: values[visits["step"] < self.steps] for name, values in visits.items()}
        found = estimate(visits, len(self._ids), self._stretches, scales, taken, plain_taken)
        spectrum = None if sketch is None else sketch.estimate(found.traces, sizes, taken)
        seen = np.zeros(taken.shape, dtype=bool)
        seen[visits["person"], visits["stretch"]] = True
        overdrawn = 0.0 if secret or self._attachment is None else self._batches / self.steps - 1
        facts = assumptions(
            self._history,
            self._known,
            label=self.label,
            sweeps=min(self.sweeps, length),
            probes=self.probes,
            visits=len(visits["person"]),
            spectrum=sketch is not None,
            several=bool((sizes[answered] > 1).any()),
            unanswered=len(self._ids) - len(answered),
            overdrawn=overdrawn,
            unfinished=1 - float(seen[answered].mean()),
            largest=found.largest,
        )
        return NetworkInformation(
            people=PeopleInMemory(self._ids[answered]),
            attribute_names=self._directions.names,
            sizes=sizes[answered],
            steps=taken.sum(1)[answered],
            traces=found.traces[answered],
            uncertainty=found.variance[answered],
            unamplified=found.plain[answered],
            spectrum=spectrum and (spectrum[0][answered], spectrum[1][answered], spectrum[2][answered]),
            mechanisms=tuple(
                (m.noise_scale / m.rule.sensitivity, min(1.0, (m.sample_rate or 1.0) * m.batches), count)
                for m, _, count in self._history
            ),
            assumptions=facts,
        )

    def renyi_epsilon(self) -> float:
        """Return epsilon of (2, epsilon)-Renyi differential privacy of the steps so far, for *replacing* a record.

        Opacus's is for adding or removing one, and smaller. Steps whose sampling earns no credit count as if everybody
        took part in them.
        """
        return self.information().renyi

    def renyi_floor(self, *, value_range: float) -> float:
        """Return the smallest mean squared error of any unbiased guess of anyone that Renyi privacy alone promises.

        Theorem 1 of Guo et al. (2022), the same for everybody:  (range^2 / 4) / (exp(epsilon) - 1), with the epsilon of
        `renyi_epsilon`.

        Parameters
        ----------
        value_range : float
            The largest minus the smallest value that a private value can have (1 for pixels between 0 and 1).
        """
        return reconstruction_floor(self.renyi_epsilon(), [value_range])

    def state_dict(self) -> State:
        """Return all that has been accounted for, to be saved with the training checkpoint."""
        visits = {name: torch.from_numpy(np.ascontiguousarray(v)) for name, v in self._visits.arrays().items()}
        return {
            "visits": visits,
            "sizes": torch.from_numpy(self._sizes.copy()),
            "sketch": None if self._sketch is None else self._sketch.state(),
            "history": [(asdict(mechanism), sampling, count) for mechanism, sampling, count in self._history],
            "drawn": [torch.from_numpy(counts.copy()) for counts in self._drawn],
            "batches": self._batches,
            "scheduled": {
                step: [torch.from_numpy(rows.copy()) for rows in parts] for step, parts in self._scheduled.items()
            },
            "planned": self._planned,
            "length": None if self._stretches is None else self._stretches.steps,
            "circumstances": {**asdict(self._known), "kinks": sorted(self._known.kinks)},
            "generator": self._aimed if self._pending else self._generator.get_state(),
            "seed": self._seed,
            "random": self._random.bit_generator.state,
            "settings": self._settings(),
        }

    def load_state_dict(self, state: State) -> None:
        """Put back what `state_dict` returned, in place of anything seen since: nothing is counted twice."""
        if state["settings"] != self._settings():
            differing = [k for k, v in self._settings().items() if state["settings"].get(k) != v]
            raise InputError(
                f"The saved state belongs to an accountant with another {', '.join(differing)}: "
                f"{ {k: state['settings'].get(k) for k in differing} } against "
                f"{ {k: self._settings()[k] for k in differing} }."
            )
        self._pending.clear()
        self._visited_at = None
        self._visits.restore({name: value.numpy() for name, value in state["visits"].items()})
        self._sizes = state["sizes"].numpy().copy()
        if self._sketch is not None:
            self._sketch.restore(state["sketch"])
        self._history = [(Mechanism(**values), sampling, count) for values, sampling, count in state["history"]]
        self._drawn = [counts.numpy().copy() for counts in state["drawn"]]
        self._batches, self._planned = state["batches"], state["planned"]
        self._scheduled = {step: [rows.numpy() for rows in parts] for step, parts in state["scheduled"].items()}
        if state["length"] is not None:
            self._stretches = Stretches(state["length"], self.sweeps)
        self._known = Circumstances(**{**state["circumstances"], "kinks": set(state["circumstances"]["kinks"])})
        self._generator.set_state(state["generator"])
        self._random.bit_generator.state = state["random"]
        self._seed = state["seed"]
        self._gathered = None
        if self._by_hand:
            self._visit()

    def synchronize(self) -> None:
        """Gather what all ranks of a distributed run have seen, so that each holds everybody. Call it on every rank."""
        import torch.distributed as dist

        if not (dist.is_available() and dist.is_initialized()):
            raise InputError("synchronize needs an initialized torch.distributed process group.")
        parts: list[State] = [{}] * dist.get_world_size()
        keys = ("visits", "sizes", "sketch", "drawn", "batches")
        state = self.state_dict()
        dist.all_gather_object(parts, {key: state[key] for key in keys})
        self._gathered = (self.steps, parts)

    def __repr__(self) -> str:
        return f"FisherAccountant({len(self._ids)} people, {self.steps} steps, sweeps={self.sweeps})"

    # What follows is shared with the attachment to Opacus.

    def _draw(self, rows: list[int] | Rows) -> None:
        """Take note of who is in a batch."""
        stretch = 0 if self._stretches is None else self._stretches.at(self.steps)
        while len(self._drawn) <= stretch:
            self._drawn.append(np.zeros(len(self._ids)))
        np.add.at(self._drawn[stretch], np.asarray(rows, dtype=np.int64), 1.0)
        self._batches += 1

    def _visit(self) -> None:
        """Visit who is due at the weights of the moment, which are those of the next step; again if they change."""
        assert self._stretches is not None
        assert self._records is not None
        step, modes = self.steps, tuple(module.training for module in self.model.modules())
        if (step, modes) == self._visited_at and (not self._pending or self._probe.carrier.is_at(self.model)):
            return
        if self._pending:
            self._generator.set_state(self._aimed)
            self._pending.clear()
        stretch = self._stretches.at(step)
        if stretch >= self._planned:
            self._schedule(stretch)
        due = self._scheduled.get(step, [])
        if due or modes != self._modes:
            self._aimed = self._generator.get_state()
            with _checks.undisturbed(self._seed + step), torch.autocast(self._records.device().type, enabled=False):
                self._probe.carrier.follow(self.model)
                if modes != self._modes:
                    self._check(self._visited[:2].tolist())
                    self._modes = modes
                for part in due:
                    for some in split(part, self._at_once):
                        for rows, batch in self._records.alike(some):
                            self._pending.append((rows, batch, self._probed(rows, batch)))
        self._visited_at = (step, modes)

    @property
    def _at_once(self) -> int:
        """How many people fit into one pass, which carries directions as well: half a batch takes a batch's memory."""
        fit = _HELD // max(1, self._probe.carrier.held)
        return self._batch_size or min(self._together, max(fit, -(-self._together // 2)))

    def _probed(self, rows: Rows, batch: Batch) -> list[Tensor]:
        """Return the three numbers of each of these people, for each direction of each group."""
        found = []
        try:
            for group in range(len(self._directions.names)):
                found += [self._probe.products(batch, self._directions.along(group)) for _ in range(self.probes)]
        except NotImplementedError as error:
            raise UnsupportedError(f"PyTorch cannot differentiate this network twice: {error}") from error
        counts = self._probe.counts(len(rows))
        self._sizes[rows] = self._directions.sizes(self._probe.values)
        if self._probe.private:
            self._sizes[rows, 0] = sum(counts.values())
        for name, count in counts.items():
            if name != LABEL:
                self._known.values[name] = max(self._known.values.get(name, 0), int(count.max()))
        kinks = self._probe.carrier.kinks
        if kinks and not self._known.kinks:
            self._known.kinks |= kinks
            _layers.warn_of_kinks(kinks)
        return found

    def _check(self, rows: list[int]) -> None:
        """Compare a few people's gradients and derivatives with plain ones."""
        assert self._records is not None
        fetch, probe = self._records.fetch, self._probe
        ones = [fetch([row]) for row in rows]
        self._known.random_data |= _checks.is_random(fetch, rows)
        self._known.random_network |= _checks.draws_masks(probe, ones[0])
        if len(rows) > 1 and not self._known.random_network:
            together, batch = next(self._records.alike(np.asarray(rows, dtype=np.int64)))
            if not self._known.random_data:
                _checks.check_alone(probe, batch, fetch([int(together[0])]))
        if probe.private:
            alike = self._records.alike(np.arange(min(_COMPARED, len(self._ids))))
            _checks.check_tokens(probe, max(alike, key=lambda group: len(group[0]))[1])
        _checks.check_tangents(self.model, probe, ones, self._known.random_network)
        probe.carrier.follow(self.model)

    def _publish(self, mechanism: Mechanism, sampling: str) -> None:
        """Enter what the last visits found: the step at those weights has now been taken this way."""
        assert self._stretches is not None
        if self._history and (self._history[0][0].sample_rate is None) != (mechanism.sample_rate is None):
            raise InputError(
                "Either all steps of a run are drawn by secret Poisson sampling, or none: not some of them."
            )
        step, stretch = self.steps, self._stretches.at(self.steps)
        groups = len(self._directions.names)
        for rows, batch, probes in self._pending:
            pairs = [mechanism.information(products) for products in probes]
            value, plain = (
                np.stack([pair[i] for pair in pairs]).reshape(groups, self.probes, -1).mean(1).T for i in range(2)
            )
            self._visits.add(rows, step, stretch, value, plain)
            if self._sketch is not None:
                like = next(iter(self._probe.carrier.trained.values()))
                basis = self._sketch.directions(self._directions.columns(self._probe.values), like)
                with _checks.undisturbed():
                    added = sketch_rows(self._probe, batch, basis, mechanism, self._seed + step)
                self._sketch.insert(stretch, rows, added)
        self._pending.clear()
        self._scheduled.pop(step, None)
        if self._history and self._history[-1][:2] == (mechanism, sampling):
            self._history[-1] = (mechanism, sampling, self._history[-1][2] + 1)
        else:
            self._history.append((mechanism, sampling, 1))

    def _begin(self, dataset: Items, steps: int, collate: Collate | None, batch: float) -> None:
        self._records = Records(dataset, collate, lambda: next(iter(self.model.parameters())).device)
        self._stretches = Stretches(steps, self.sweeps)
        if self._batch_size is None:
            self._together = max(1, round(batch))
        passes = self.probes * len(self._directions.names)
        plan = Plan(len(self._visited), min(self.sweeps, steps), passes, steps, batch, 0)
        print(plan, file=sys.stderr)

    def _schedule(self, stretch: int) -> None:
        """Plan who is visited when in a stretch; from the third on, those who seem most exposed twice."""
        assert self._stretches is not None
        # Each rank of a distributed run visits people of its own: the weights are the same everywhere.
        rank, ranks = (0, 1) if self._attachment is None else (self._attachment.rank, self._attachment.ranks)
        mine = self._visited[rank::ranks]
        people = [mine]
        if stretch >= 2:
            most = min(len(mine) // 4, max(_LEAST, math.ceil(_MOST * len(mine))))
            visits = self._visits.arrays()
            total = np.bincount(visits["person"], visits["value"].sum(1), len(self._ids))
            mean = total / np.maximum(np.bincount(visits["person"], minlength=len(self._ids)), 1)
            people.append(mine[np.argsort(-mean[mine], kind="stable")[:most]])
        # Together: a pass for a few people takes almost as long as one for many.
        found = self._stretches.visits(stretch, np.concatenate(people), self._together, self._random)
        for step, parts in found.items():
            self._scheduled.setdefault(step, []).extend(parts)
        self._planned = stretch + 1

    def _all(self) -> tuple[Table, Array, Sketch | None, list[Array]]:
        """Return visits, sizes, sketch and participation, of all ranks if there are several."""
        if self._attachment is None or self._attachment.ranks == 1:
            return self._visits.arrays(), self._sizes, self._sketch, self._drawn
        if self._gathered is None or self._gathered[0] != self.steps:
            raise UnansweredError(
                "Each rank has visited some of the people only. Call synchronize() on every rank before leakage()."
            )
        parts = self._gathered[1]
        visits = {
            name: np.concatenate([part["visits"][name].numpy() for part in parts]) for name in self._visits.arrays()
        }
        length = max(len(part["drawn"]) for part in parts)
        drawn = [np.zeros(len(self._ids)) for _ in range(length)]
        for part in parts:
            for total, counts in zip(drawn, part["drawn"], strict=False):
                total += counts.numpy()
        sizes = np.max([part["sizes"].numpy() for part in parts], axis=0)
        sketch = None if self._sketch is None else self._sketch.plus([part["sketch"] for part in parts])
        return visits, sizes, sketch, drawn

    def _answered(self) -> Rows:
        person = self._visits.arrays()["person"] if self._gathered is None else self._all()[0]["person"]
        return np.unique(person)

    def _rows(self, ids: Ids) -> Rows:
        try:
            rows = np.array([self._place[name] for name in column_values(ids).tolist()], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"There is nobody called {error.args[0]!r} among the ids of this accountant.") from None
        if len(np.unique(rows)) < len(rows):
            raise UnsupportedError(
                "Somebody is in one step twice: their gradients add up before the noise is added, which this "
                "accountant does not follow. Sample without replacement."
            )
        return rows

    def _chosen(self, people: Ids | int | None) -> Rows:
        if people is None:
            return np.arange(len(self._ids))
        if isinstance(people, int):
            if not 0 < people <= len(self._ids):
                raise InputError(f"people must be between 1 and the {len(self._ids)} of ids, not {people!r}.")
            return np.sort(self._random.permutation(len(self._ids))[:people])
        return np.sort(self._rows(people))

    def _settings(self) -> dict[str, object]:
        digest = hashlib.sha256("\n".join(map(repr, self._ids.tolist())).encode()).hexdigest()
        return {
            "ids": digest,
            "people": hashlib.sha256(self._visited.tobytes()).hexdigest(),
            "clipping": self.clipping,
            "label": self.label,
            "private": None if self._probe.private is None else sorted(map(repr, self._probe.private.items())),
            "sweeps": self.sweeps,
            "groups": list(self._directions.names),
            "spectrum": 0 if self._sketch is None else self._sketch.rank,
            "trained parameters": hashlib.sha256("\n".join(self._probe.carrier.trained).encode()).hexdigest(),
        }


def _places(ids: NDArray[Any]) -> dict[object, int]:
    place = {name: i for i, name in enumerate(ids.tolist())}
    if len(place) < len(ids):
        names, counts = np.unique(ids.astype(str), return_counts=True)
        raise InputError(
            f"ids must name each example once, but {str(names[counts > 1][0])!r} occurs {counts.max()} times."
        )
    return place
