"""The accountant: what private training gives away about each person, from visits while it trains."""

import hashlib
import secrets
import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from opacus import PrivacyEngine
from torch import nn

from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.leakage import Leakage
from seepage.meaning import check_delta, reconstruction_floor
from seepage.network import _layers
from seepage.network._categories import Categories, categories_of
from seepage.network._checks import undisturbed
from seepage.network._clipping import Mechanism
from seepage.network._directions import Directions, Groups
from seepage.network._information import NetworkInformation
from seepage.network._losses import Loss
from seepage.network._names import Ids, NetworkNames
from seepage.network._opacus import Attachment, attach
from seepage.network._probe import Forward, Probe, standard_forward
from seepage.network._reckoning import reckon
from seepage.network._records import BatchRecords, Collate, Items, Loader
from seepage.network._run import Run
from seepage.network._schedule import Schedule, VisitPlan
from seepage.network._state import RunState, State
from seepage.network._tokens import Private
from seepage.network._trainer import epochs_of, loader_of, take_over
from seepage.network._twin import TrainedParameters

Tensor = torch.Tensor


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
        Whose the records of the data set are, in its order. ``range(len(dataset))`` will do where everybody has one;
        whoever has several is named several times, and is told of once, with all of their records together.
    label : {"public", "private"}
        Whether the label is among the private values. Private labels must be numbers (one-hot for classes).
    private : sequence or mapping, optional
        For networks that are given integers: which entries of a batch (by key or place) hold private tokens or
        categories, such as ``["input_ids"]``; the attention mask of the batch says which of them are real, if there is
        one. Or each with the entry that is nonzero where they are real, ``{"notes": "mask_of_notes"}``, or with None if
        all are. What an embedding looks up for them is private. All other integers are public (padding, positions,
        token types, masks, and so everybody's number of tokens); ``[]`` if none is private. Floating-point inputs
        always are.
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
        estimated.
    categories : mapping, optional
        Labels and tokens that should not be told, each with the values that it could have: ``{"label": range(10)}``, or
        any entry of a batch by key or place; of a sequence of tokens ``("input_ids", 3)``, a position in it. Each visit
        then takes a gradient with each value in place of the true one, and `Leakage.success_rate` answers: no
        derivative is involved. It is as if it were known in which steps a record takes part.
    delta : float, optional
        If it is stated, `Leakage.examples` has each person's own `epsilon` at this delta, for adding or removing the
        person's record, and the `membership_advantage` that follows. It is estimated from the norms of clipped
        gradients at the visits; `PrivacyLossFilter` adds them up exactly, and limits them.
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
        categories: Categories | None = None,
        delta: float | None = None,
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
        if private and groups is not None:
            raise UnsupportedError(
                f"private= names {', '.join(map(repr, private))}, and groups are of the values of one floating-point "
                "input. Leave groups out."
            )
        if delta is not None:
            check_delta(delta)
        self.model, self.loss, self.clipping, self.label = model, loss, clipping, label
        self.sweeps, self.probes, self._batch_size = sweeps, probes, batch_size
        probe = Probe(
            model, loss, forward=forward or standard_forward, private_label=label == "private", private=private
        )
        _layers.warn_of_kinks(_layers.kinked(model))
        _layers.warn_of_tokens(model)
        self._names = NetworkNames.of(ids)
        random = np.random.default_rng(secrets.randbits(63) if seed is None else seed)
        generator = torch.Generator().manual_seed(int(random.integers(2**62)))
        own = int(random.integers(2**62))
        if delta is not None and self._names.records.max() > 1:
            raise UnsupportedError(
                f"delta={delta!r} asks for each person's own epsilon, which is for people with one record; "
                f"{self._names.people.tolist()[int(self._names.records.argmax())]!r} has several. Leave delta out."
            )
        visited = self._names.chosen(people, random)
        directions = Directions(groups, label == "private", generator)
        asked = categories_of(categories)
        taken = [each.name for each in asked if each.name in directions.names]
        if taken:
            raise InputError(f"categories names {taken[0]!r}, which is among the private numbers too.")
        schedule = Schedule(len(self._names), visited, sweeps, random)
        self._run = Run(
            model, probe, directions, schedule, asked, probes=probes, clipping=clipping, seed=own, delta=delta
        )
        self._parameters = TrainedParameters(model, model, probe.carrier.trained)
        self._attachment: Attachment | None = None
        self._by_hand = False
        self._gathered: tuple[int, list[State]] | None = None

    @property
    def steps(self) -> int:
        """The steps of training that have been accounted for."""
        return self._run.state.steps

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
            As for ``make_private``. The data loader's data set holds the records that `ids` names, in their order.
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
        self._check_free()
        self._attachment, returned = attach(self._run, privacy_engine, model, optimizer, data_loader, epochs, options)
        loader = returned[-1]
        self._begin(loader.dataset, max(1, epochs * len(loader)), loader.collate_fn, len(loader.dataset) / len(loader))
        return returned

    def attach_trainer(self, privacy_engine: PrivacyEngine, trainer: Any, **options: Any) -> None:
        """Make Hugging Face's ``Trainer`` train privately with Opacus, and account for it. Then call its ``train()``.

        The Trainer's data loader becomes one that draws batches by Poisson sampling, its optimizer one that clips and
        adds noise, and its loss that of this accountant: `forward` says how a batch of its becomes output and target.
        Random numbers are not those of ``TrainingArguments.seed`` any more, which is public as a rule: noise has to be
        secret. What a Trainer logs (losses, norms of gradients) and what it evaluates has no noise: keep it inside.

        Parameters
        ----------
        privacy_engine : opacus.PrivacyEngine
            Of Opacus.
        trainer : transformers.Trainer
            With a ``train_dataset`` that holds the records that `ids` names, in their order. One process, full
            precision, one batch a step; an optimizer of yours goes into its ``optimizers=``.
        **options
            As for `attach`: ``noise_multiplier`` and ``max_grad_norm`` (the Trainer's own clips nothing), or a target
            epsilon; in ghost mode a Trainer cannot train.
        """
        mode = options.get("grad_sample_mode", "hooks")
        if mode == "ghost":
            raise UnsupportedError(
                "grad_sample_mode='ghost' goes backward twice, through a loss of Opacus's own, and a Trainer once: use "
                "'hooks', or a loop of your own with attach."
            )
        loader = loader_of(trainer)
        _, optimizer, private_loader = self.attach(
            privacy_engine,
            model=trainer.model,
            optimizer=trainer.create_optimizer() or trainer.optimizer,
            data_loader=loader,
            epochs=epochs_of(trainer, loader),
            **options,
        )
        forward = self._run.probe.forward

        def lossed(model: nn.Module, batch: Any) -> Tensor:
            found: Tensor = self.loss(*forward(model, batch))
            return found

        take_over(trainer, optimizer, private_loader, lossed, lambda: self.steps)

    def watch(self, dataset: Items, *, steps: int, collate: Collate | None = None, batch_size: float = 64) -> None:
        """Account for a training loop of your own: call `step` after each update of the weights.

        Parameters
        ----------
        dataset : data set
            The records that `ids` names, in their order, by index.
        steps : int
            How long training will be. Stopping early or going on makes the errors wider, and nothing wrong.
        collate : callable, optional
            How records become a batch; PyTorch's own way by default.
        batch_size : float, default=64
            People in a step of training, to tell what visits will cost.
        """
        self._check_free()
        if len(dataset) != len(self._names):
            raise InputError(f"The data set has {len(dataset)} examples, but ids names {len(self._names)}.")
        self._by_hand = True
        self._begin(dataset, steps, collate, batch_size)
        self._run.visit()

    def step(
        self,
        *,
        noise_multiplier: float,
        max_grad_norm: float,
        sample_rate: float | None,
        batch: Ids | None = None,
        records: Sequence[int] | None = None,
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
            Who took part, with all of their records; needed where `sample_rate` is None.
        records : sequence of int, optional
            Instead, the places of the records that took part in the data set.
        """
        if not self._by_hand:
            raise InputError("Call watch(dataset, steps=...) before the first step, so that people can be visited.")
        self._parameters.check()
        if sample_rate is None:
            self._run.draw(self._names.drawn(batch, records))
        self._run.publish(
            Mechanism(
                noise_multiplier=float(noise_multiplier),
                max_grad_norm=float(max_grad_norm),
                sample_rate=sample_rate,
                clipping=self.clipping,
            ),
            "other" if sample_rate is None else "poisson",
        )
        self._run.visit()

    def detach(self) -> None:
        """Leave training alone from now on. What has been accounted for stays."""
        if self._attachment is not None:
            self._attachment.detach()

    def plan(self, *, steps: int, batch_size: float) -> VisitPlan:
        """Return the memory and time that accounting will take, before any is taken.

        Parameters
        ----------
        steps : int
            The length of training.
        batch_size : float
            The people in a batch.
        """
        passes = self.probes * len(self._run.directions.names)
        carrier = self._run.probe.carrier
        sizes = [p.numel() for p in carrier.network.parameters()]
        trained = sum(p.numel() for p in carrier.trained.values()) / sum(sizes)
        visited, visits = len(self._run.schedule.visited), min(self.sweeps, steps)
        return VisitPlan(visited, visits, passes, steps, batch_size, trained)

    def leakage(self) -> Leakage:
        """Return what has been given away so far, as the same result that linear models have.

        About the people who have been visited; the others are left unanswered.
        """
        return Leakage(self.information())

    def information(self) -> NetworkInformation:
        """Return the measurement behind `leakage`."""
        attached = self._attachment is not None
        if self._attachment is not None and self.steps:
            self._attachment.check_complete()
        return reckon(self._run, self._gathered_state(), self._names, label=self.label, attached=attached)

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
        return {**self._run.saved(), "settings": self._settings()}

    def load_state_dict(self, state: State) -> None:
        """Put back what `state_dict` returned, in place of anything seen since: nothing is counted twice."""
        if state["settings"] != self._settings():
            differing = [k for k, v in self._settings().items() if state["settings"].get(k) != v]
            raise InputError(
                f"The saved state belongs to an accountant with another {', '.join(differing)}: "
                f"{ {k: state['settings'].get(k) for k in differing} } against "
                f"{ {k: self._settings()[k] for k in differing} }."
            )
        self._run.restore(state)
        self._gathered = None
        if self._by_hand:
            self._run.visit()

    def synchronize(self) -> None:
        """Gather what all ranks of a distributed run have seen, so that each holds everybody. Call it on every rank."""
        import torch.distributed as dist

        if not (dist.is_available() and dist.is_initialized()):
            raise InputError("synchronize needs an initialized torch.distributed process group.")
        parts: list[State] = [{}] * dist.get_world_size()
        dist.all_gather_object(parts, self._run.state.saved())
        self._gathered = (self.steps, parts)

    def __repr__(self) -> str:
        return f"FisherAccountant({len(self._names.people)} people, {self.steps} steps, sweeps={self.sweeps})"

    def _check_free(self) -> None:
        if self._attachment is not None or self._by_hand:
            raise InputError("This accountant is attached already. A second run of training needs a second accountant.")

    def _begin(self, dataset: Items, steps: int, collate: Collate | None, batch: float) -> None:
        records = BatchRecords(dataset, collate, lambda: next(iter(self.model.parameters())).device)
        ranks = (0, 1) if self._attachment is None else (self._attachment.rank, self._attachment.ranks)
        self._run.begin(records, self._batch_size, max(1, round(batch)), steps, *ranks)
        if self.label == "private":
            with undisturbed():
                self._run.probe.private_values(records.fetch([0]))
        print(self.plan(steps=steps, batch_size=batch), file=sys.stderr)

    def _gathered_state(self) -> RunState:
        """Return the state of the run, of all ranks if there are several."""
        state = self._run.state
        if self._attachment is None or self._attachment.ranks == 1:
            return state
        if self._gathered is None or self._gathered[0] != self.steps:
            raise UnansweredError(
                "Each rank has visited some of the people only. Call synchronize() on every rank before leakage()."
            )
        return state.gathered(self._gathered[1])

    def _settings(self) -> dict[str, object]:
        """Return what a saved state must have in common with this accountant."""
        probe = self._run.probe
        return {
            "ids": self._names.digest,
            "people": hashlib.sha256(self._run.schedule.visited.tobytes()).hexdigest(),
            "clipping": self.clipping,
            "label": self.label,
            "private": None if probe.private is None else repr(probe.private),
            "sweeps": self.sweeps,
            "groups": list(self._run.directions.names),
            "categories": [repr(category) for category in self._run.categories],
            "trained parameters": hashlib.sha256("\n".join(probe.carrier.trained).encode()).hexdigest(),
        }
