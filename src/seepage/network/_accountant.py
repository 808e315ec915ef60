"""The accountant: what private training gives away about each person, kept while it trains."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.autograd import forward_ad

from seepage._errors import InputError, UnansweredError, UnsupportedError
from seepage._tables import column_values
from seepage.leakage import Leakage, PeopleInMemory
from seepage.meaning import reconstruction_floor
from seepage.network import _layers
from seepage.network._assumptions import assumptions
from seepage.network._directions import Directions
from seepage.network._information import NetworkInformation
from seepage.network._ledger import Ledger
from seepage.network._losses import Loss, per_example
from seepage.network._plan import Plan
from seepage.network._sketch import Sketch, sketch_rows
from seepage.network._step import Mechanism
from seepage.network._tangents import TangentPass, tangent_pass

Tensor = torch.Tensor
Rows = NDArray[np.int64]
# Of a sketch, if nobody says otherwise.
_RANK = 8


@dataclass(eq=False)
class Visit:
    """One physical batch that has been seen and not yet published."""

    rows: Rows
    probes: list[tuple[Tensor, NDArray[np.int64]]]
    """Of each probe the three numbers and the group that each example was moved in."""
    sketched: Tensor | None = None


class FisherAccountant:
    """Account for what private training gives away about each person.

    Parameters
    ----------
    model : torch.nn.Module
        The network, before Opacus wraps it.
    loss : callable
        The loss of training, such as ``torch.nn.CrossEntropyLoss()``.
    ids : sequence
        Who the examples of the data set are, in its order. ``range(len(dataset))`` will do.
    probes : float, default=1
        Random directions a step. Below 1, that share of the steps is probed, at random, and stands for the rest. The
        estimates are unbiased for any number; their standard error is what more probes buy.
    clipping : {"hard", "smooth"}, default="hard"
        How gradients are bounded: hard is what Opacus does; smooth is that of Guo et al. (2022), which training then
        uses too.
    label : {"public", "private"}, default="public"
        Whether the label is among the private values. Private labels must be numbers (one-hot for classes). With
        Opacus each probe is then a pass of its own, beside training's.
    groups : mapping, optional
        Names for groups of input values whose information is kept apart: lists of column numbers, or masks (see
        `patches`). Each probe then looks at one group of each example.
    spectrum : bool or int, default=False
        Whether to keep a sketch of each person's information matrix, which bounds `eta`: of rank 8, or of the rank that
        is given. Without it `eta` is bounded by the trace. `plan` says what it costs.
    seed : int, optional
        Of the random directions.

    Examples
    --------
    >>> import seepage.network
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    >>> people = ["ann", "ben", "cat", "dan"]
    >>> accountant = seepage.network.FisherAccountant(
    ...     model, torch.nn.CrossEntropyLoss(), ids=people, probes=4, seed=0
    ... )
    >>> x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    >>> for _ in range(10):
    ...     gradients = accountant.observe(
    ...         (x, y), people, noise_multiplier=1.0, max_grad_norm=1.0, sample_rate=None
    ...     )
    >>> accountant.leakage().examples["dfil"].round(1).to_dict()
    {'ann': 1.4, 'ben': 1.2, 'cat': 1.2, 'dan': 1.3}
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        *,
        ids: Any,
        probes: float = 1,
        clipping: Literal["hard", "smooth"] = "hard",
        label: Literal["public", "private"] = "public",
        groups: Mapping[str, Any] | None = None,
        spectrum: bool | int = False,
        seed: int | None = None,
    ) -> None:
        _layers.check(model)
        self._kinks = _layers.kinked(model)
        _layers.warn_of_kinks(self._kinks)
        self.model = model
        self.loss = loss
        self.probes = _checked_probes(probes)
        if clipping not in ("hard", "smooth"):
            raise InputError(f"clipping must be 'hard' (what Opacus does) or 'smooth', not {clipping!r}.")
        self.clipping = clipping
        if label not in ("public", "private"):
            raise InputError(f"label must be 'public' or 'private', not {label!r}.")
        self.label = label
        if groups is not None and not groups:
            raise InputError("groups names no group. Leave it out to keep the total alone.")
        if not 0 <= spectrum == int(spectrum):
            raise InputError(f"spectrum must be True, False or the rank of a sketch, not {spectrum!r}.")
        rank = _RANK if spectrum is True else int(spectrum)
        self._ids = column_values(ids)
        if self._ids.ndim != 1 or len(self._ids) == 0:
            raise InputError(f"ids must name each example of the data set once; it has shape {self._ids.shape}.")
        self._place = _places(self._ids)
        self._generator = torch.Generator().manual_seed(secrets.randbits(63) if seed is None else seed)
        self._directions = Directions(groups, label == "private", self._generator)
        self._ledger = Ledger(len(self._ids), self._directions.count)
        self._elsewhere = Ledger(len(self._ids), self._directions.count)
        """What other ranks have seen, and this one before the last exchange."""
        self._sketch = Sketch(len(self._ids), rank) if rank else None
        self._history: list[tuple[Mechanism, str, int]] = []
        self._pending: list[Visit] = []
        self._sizes: NDArray[Any] | None = None
        self._label_size = 0
        self._at_embedding = False
        self._checked_mixing = False
        self._attachment: Any = None

    @property
    def steps(self) -> int:
        """The steps of training that have been accounted for."""
        return sum(count for _, _, count in self._history)

    def observe(
        self,
        batch: tuple[Any, Any],
        ids: Any,
        *,
        noise_multiplier: float,
        max_grad_norm: float,
        sample_rate: float | None,
        gradients: bool = True,
    ) -> dict[str, Tensor] | None:
        """Account for one step of a training loop of your own, before its parameters change.

        Parameters
        ----------
        batch : (inputs, labels)
            The examples of the step.
        ids : sequence
            Who they are.
        noise_multiplier, max_grad_norm : float
            The noise that the step adds to the sum of clipped gradients has standard deviation
            ``noise_multiplier * max_grad_norm``.
        sample_rate : float or None
            The probability with which each person was drawn into the batch, if batches are drawn by Poisson sampling
            (see `PoissonSampler`) and stay secret. None for any other way: then no credit is given for it.
        gradients : bool, default=True
            Return the sum of clipped gradients, which this pass yields anyhow. Without them, a fraction of the steps
            can be skipped when `probes` is below 1.

        Returns
        -------
        gradients : dict of str to tensor, or None
            For each parameter the sum of clipped gradients, to which the noise is still to be added.
        """
        mechanism = Mechanism(self.clipping, float(max_grad_norm), float(noise_multiplier), sample_rate)
        inputs, target = batch
        rows = self._rows(ids, len(inputs))
        found: dict[nn.Parameter, Tensor] | None = None
        probes = max(self._draw_probes(), int(gradients)) if len(rows) else 0
        visit = Visit(rows, [])
        for _ in range(probes):
            with self._open(materialize=False) as passing:
                self._run(passing, inputs, target)
                products = passing.close()
                if found is None and gradients:
                    norms = products[0].sqrt()
                    found = passing.clipped_sum(mechanism.rule.factor(norms))
            visit.probes.append((products, self._chosen()))
        if self._sketch is not None and len(rows):
            visit.sketched = sketch_rows(self, inputs, target, mechanism)
        self._pending.append(visit)
        self._publish(mechanism, "poisson" if sample_rate is not None else "other")
        if not gradients:
            return None
        names = {parameter: name for name, parameter in self.model.named_parameters() if parameter.requires_grad}
        found = found or {}
        return {name: found.get(p, torch.zeros_like(p).detach()) for p, name in names.items()}

    def attach(self, privacy_engine: Any, *, model: nn.Module, optimizer: Any, data_loader: Any, **options: Any) -> Any:
        """Make training private with Opacus, and account for it: what ``privacy_engine.make_private`` returns.

        Parameters
        ----------
        privacy_engine : opacus.PrivacyEngine
            Of Opacus.
        model, optimizer, data_loader
            As for ``make_private``. The data loader's data set holds the people of `ids`, in their order.
        **options
            All that ``make_private`` takes: ``noise_multiplier`` and ``max_grad_norm`` are required;
            ``grad_sample_mode`` may be "hooks", "functorch" or "ghost"; ``poisson_sampling=False`` leaves the loader as
            it is, and no credit is given for sampling.

        Returns
        -------
        model, optimizer, data_loader
            Or, in ghost mode, model, optimizer, criterion, data_loader. Train with them as always.
        """
        from seepage.network._opacus import attach

        if self._attachment is not None:
            raise InputError("This accountant is attached already. A second run of training needs a second accountant.")
        self._attachment, returned = attach(self, privacy_engine, model, optimizer, data_loader, options)
        return returned

    def plan(self, inputs: Any) -> Plan:
        """Return the memory and time that accounting will take, before any is taken.

        Parameters
        ----------
        inputs : tensor
            One batch of inputs, or one like it (its values do not matter).
        """
        values = int(inputs[0].numel())
        sketch = self._sketch.bytes_for(values) if self._sketch is not None else 0
        return Plan(len(self._ids), values, 2 * self._ledger.bytes, sketch, self.probes, self._sketch is not None)

    def leakage(self) -> Leakage:
        """Return what has been given away so far, as the same result that linear models have."""
        return Leakage(self.information())

    def information(self) -> NetworkInformation:
        """Return the measurement behind `leakage`."""
        if self._sizes is None or self.steps == 0:
            raise UnansweredError(
                "No step of training has been accounted for yet. Train first: attach the accountant to Opacus, or call "
                "observe in a loop of your own."
            )
        if self._attachment is not None:
            self._attachment.check_complete()
        ledger = Ledger(len(self._ids), self._directions.count)
        for part in (self._elsewhere, self._ledger):
            ledger.add(part.state())
        traces, uncertainty, unamplified = ledger.estimate()
        unseen = float(((ledger.probes.sum(1) == 0) & (ledger.steps > 0)).mean())
        spectrum = None if self._sketch is None else self._sketch.bounds(traces.sum(1), ledger.steps)
        return NetworkInformation(
            people=PeopleInMemory(self._ids),
            attribute_names=self._directions.names,
            sizes=np.asarray(self._sizes, dtype=np.float64),
            steps=ledger.steps,
            traces=traces,
            uncertainty=uncertainty,
            unamplified=unamplified,
            spectrum=spectrum,
            mechanisms=tuple(
                (m.noise_scale / m.rule.sensitivity, 1.0 if m.sample_rate is None else m.sample_rate, count)
                for m, _, count in self._history
            ),
            assumptions=assumptions(self, unseen),
        )

    def renyi_epsilon(self) -> float:
        """Return epsilon of (2, epsilon)-Renyi differential privacy of the steps so far, by Opacus's own analysis.

        Steps whose sampling earns no credit count as if everybody took part in them.
        """
        return self.information().renyi

    def renyi_floor(self, *, value_range: float) -> float:
        """Return the smallest mean squared error of any guess of anyone that Renyi privacy alone promises.

        Theorem 1 of Guo et al. (2022), the same for everybody:  (range^2 / 4) / (exp(epsilon) - 1).

        Parameters
        ----------
        value_range : float
            The largest minus the smallest value that a private value can have (1 for pixels between 0 and 1).
        """
        return reconstruction_floor(self.renyi_epsilon(), [value_range])

    def state_dict(self) -> dict[str, Any]:
        """Return all that has been accounted for, to be saved with the training checkpoint."""
        return {
            "ledger": self._ledger.state(),
            "elsewhere": self._elsewhere.state(),
            "sketch": None if self._sketch is None else self._sketch.state(),
            "history": [(vars(mechanism).copy(), sampling, count) for mechanism, sampling, count in self._history],
            "sizes": self._sizes,
            "at_embedding": self._at_embedding,
            "generator": self._generator.get_state(),
            "settings": self._settings(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what `state_dict` returned, in place of anything seen since: nothing is counted twice."""
        if state["settings"] != self._settings():
            differing = [k for k, v in self._settings().items() if state["settings"].get(k) != v]
            raise InputError(
                f"The saved state belongs to an accountant with another {', '.join(differing)}: "
                f"{ {k: state['settings'].get(k) for k in differing} } against "
                f"{ {k: self._settings()[k] for k in differing} }."
            )
        self._pending.clear()
        self._ledger.restore(state["ledger"])
        self._elsewhere.restore(state["elsewhere"])
        if self._sketch is not None:
            self._sketch.restore(state["sketch"])
        self._history = [(Mechanism(**values), sampling, count) for values, sampling, count in state["history"]]
        self._sizes = state["sizes"]
        self._at_embedding = state["at_embedding"]
        self._generator.set_state(state["generator"])

    def synchronize(self) -> None:
        """Add up what all ranks of a distributed run have seen, so that each holds everybody. Call it on every rank."""
        import torch.distributed as dist

        if not (dist.is_available() and dist.is_initialized()):
            raise InputError("synchronize needs an initialized torch.distributed process group.")
        summed = self._ledger.state()
        for name in sorted(summed):
            tensor = torch.from_numpy(np.nan_to_num(summed[name]))
            dist.all_reduce(tensor)
            summed[name] = tensor.numpy()
        self._elsewhere.add(summed)
        self._ledger.clear()
        if self._sketch is not None:
            self._sketch.synchronize()
        sizes = [None] * dist.get_world_size()
        dist.all_gather_object(sizes, self._sizes)
        self._sizes = next((found for found in sizes if found is not None), None)

    def __repr__(self) -> str:
        return f"FisherAccountant({len(self._ids)} people, {self.steps} steps, probes={self.probes:g})"

    # What follows is shared with the attachment to Opacus.

    def _open(self, *, materialize: bool) -> Any:
        return tangent_pass(self.model, self._direct, materialize=materialize)

    def _direct(self, values: Tensor) -> Tensor:
        sizes = self._directions.bind(values, self._label_size)
        if self._sizes is not None and not np.array_equal(self._sizes, sizes):
            raise InputError(
                f"The batch has {sizes.sum()} private values an example; those before had {self._sizes.sum()}."
            )
        self._sizes = sizes
        self._directions.draw(len(values))
        return self._directions.inputs(values)

    def _chosen(self) -> NDArray[np.int64]:
        assert self._directions.chosen is not None
        return self._directions.chosen.numpy().copy()

    def _run(self, passing: TangentPass, inputs: Any, target: Any) -> None:
        """Run the network and its loss, forward and back."""
        if self.label == "private":
            if not (isinstance(target, Tensor) and target.is_floating_point()):
                raise UnsupportedError(
                    "label='private' needs labels that are numbers and can move a little: give classes as one-hot "
                    "probabilities (torch.nn.functional.one_hot(y, classes).float(), which CrossEntropyLoss takes)."
                )
            self._label_size = int(target[0].numel())
        arguments = inputs if isinstance(inputs, tuple) else (inputs,)
        self._check_mixing(arguments, {})
        output = self.model(*passing.open(arguments))
        passing.forwarded()
        self._note_kinks(passing)
        self._at_embedding = not arguments[0].is_floating_point()
        if self.label == "private":
            target = forward_ad.make_dual(target.detach(), self._directions.label(target))
        per_example(self.loss, output, target, passing.count).sum().backward()

    def _note_kinks(self, passing: TangentPass) -> None:
        """Warn, once, of kinks in forward methods, which no layer shows."""
        if passing.kinks and not self._kinks:
            self._kinks = passing.kinks
            _layers.warn_of_kinks(passing.kinks)

    def _check_mixing(self, arguments: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self._checked_mixing and len(arguments[0]) > 1:
            self._checked_mixing = True
            if not _layers.is_separable(self.model, arguments, kwargs):
                raise UnsupportedError(
                    "The network's output for an example changes with the other examples in the batch: nobody's "
                    "gradient is their own. Look for a statistic over the batch in a forward method."
                )

    def _draw_probes(self) -> int:
        whole = int(self.probes)
        part = self.probes - whole
        return whole + int(part > 0 and float(torch.rand((), generator=self._generator, dtype=torch.float64)) < part)

    def _rows(self, ids: Any, count: int) -> Rows:
        listed = column_values(ids)
        if len(listed) != count:
            raise InputError(f"The batch has {count} examples, but {len(listed)} ids were given.")
        try:
            rows = np.array([self._place[name] for name in listed.tolist()], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"There is nobody called {error.args[0]!r} among the ids of this accountant.") from None
        return _checked_once(rows)

    def _publish(self, mechanism: Mechanism, sampling: str) -> None:
        """Enter all that has been seen since the last step: its sum is now published."""
        _checked_once(np.concatenate([visit.rows for visit in self._pending] or [np.empty(0, np.int64)]))
        for visit in self._pending:
            self._ledger.take_part(visit.rows)
            for products, group in visit.probes:
                value, unamplified = mechanism.information(products)
                self._ledger.probe(visit.rows, group, value, unamplified)
            if self._sketch is not None and visit.sketched is not None:
                self._sketch.insert(visit.rows, visit.sketched)
        self._pending.clear()
        if self._history and self._history[-1][:2] == (mechanism, sampling):
            self._history[-1] = (mechanism, sampling, self._history[-1][2] + 1)
        else:
            self._history.append((mechanism, sampling, 1))

    def _settings(self) -> dict[str, Any]:
        return {
            "ids": (len(self._ids), str(self._ids[0]), str(self._ids[-1])),
            "clipping": self.clipping,
            "label": self.label,
            "groups": self._directions.names,
            "spectrum": 0 if self._sketch is None else self._sketch.rank,
        }


def _checked_probes(probes: float) -> float:
    if not (isinstance(probes, int | float) and 0 < probes < 1e6):
        raise InputError(
            f"probes must be the number of random directions a step (a fraction probes that share of the steps), "
            f"not {probes!r}."
        )
    return float(probes)


def _places(ids: NDArray[Any]) -> dict[Any, int]:
    place = {name: i for i, name in enumerate(ids.tolist())}
    if len(place) < len(ids):
        names, counts = np.unique(ids.astype(str), return_counts=True)
        raise InputError(
            f"ids must name each example once, but {str(names[counts > 1][0])!r} occurs {counts.max()} times."
        )
    return place


def _checked_once(rows: Rows) -> Rows:
    if len(np.unique(rows)) < len(rows):
        raise UnsupportedError(
            "Somebody is in one step twice: their gradients add up before the noise is added, which this accountant "
            "does not follow. Sample without replacement."
        )
    return rows
