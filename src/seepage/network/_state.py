"""State of a run: its published steps, the records in them, and the results of visits."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.network._clipping import Mechanism
from seepage.network._records import Rows
from seepage.network._schedule import Stretches

Array = NDArray[np.float64]
Table = dict[str, NDArray[Any]]
"""Visits, one row each: person, step, stretch, value, plain."""
State = dict[str, Any]
_ARRAYS = ("drawn", "batches", "sizes", "truth", "visits", "gaps", "losses", "kinks", "values", "flags")


@dataclass(eq=False)
class RunState:
    """All that is saved of a run, apart from the visits that are planned."""

    people: int
    """The number of records."""
    groups: int
    """The number of groups of private values."""
    history: list[tuple[Mechanism, str, int]] = field(default_factory=list)
    """Mechanism, way of sampling and number of equal steps, in their order."""
    drawn: list[Array] = field(default_factory=list)
    """For each stretch, how often each record was in a batch, if that is known and counts."""
    batches: int = 0
    sizes: Array = field(default_factory=lambda: np.empty(0))
    """The number of values of each record in each group."""
    truth: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    """The index of each record's value of each category; -1 if it is none of them, -2 without such a category."""
    visits: list[Table] = field(default_factory=list)
    gaps: list[Table] = field(default_factory=list)
    """Squared distances to each value of each category."""
    losses: list[Table] = field(default_factory=list)
    """Renyi divergences of the steps that were visited, at each order."""
    kinks: list[str] = field(default_factory=list)
    values: dict[str, int] = field(default_factory=dict)
    """The largest number of values of a record in each input and embedding, by name."""
    flags: list[str] = field(default_factory=list)
    """Facts about the run: random data, random network, low precision."""

    @property
    def steps(self) -> int:
        """The number of steps taken."""
        return sum(count for _, _, count in self.history)

    @property
    def is_secret(self) -> bool:
        """True if participation in a step is secret."""
        return self.history[0][0].sample_rate is not None

    def draw(self, rows: list[int] | Rows, stretch: int) -> None:
        """Enter the records of a batch."""
        while len(self.drawn) <= stretch:
            self.drawn.append(np.zeros(self.people))
        np.add.at(self.drawn[stretch], np.asarray(rows, dtype=np.int64), 1.0)
        self.batches += 1

    def take(self, mechanism: Mechanism, sampling: str) -> None:
        """Enter a step."""
        if self.history and self.history[-1][:2] == (mechanism, sampling):
            self.history[-1] = (mechanism, sampling, self.history[-1][2] + 1)
        else:
            self.history.append((mechanism, sampling, 1))

    def check(self, mechanism: Mechanism) -> None:
        """Refuse a step whose batches are drawn in another way than before."""
        if self.history and self.is_secret != (mechanism.sample_rate is not None):
            raise InputError(
                "Either all steps of a run are drawn by secret Poisson sampling, or none: not some of them."
            )

    def table(self, name: str) -> Table:
        """Return the visits or the gaps of all steps taken so far, one row each."""
        parts: list[Table] = getattr(self, name)
        if not parts:
            none = np.empty(0, np.int64)
            values = np.empty((0, self.groups))
            return {"person": none, "step": none, "stretch": none, "value": values, "plain": values}
        parts[:] = [{key: np.concatenate([part[key] for part in parts]) for key in parts[0]}]
        return dict(parts[0])

    def add(self, name: str, person: Rows, step: int, stretch: int, value: Array, plain: Array) -> None:
        """Enter the results of one pass: values of shape (people, columns), with and without credit for sampling."""
        at = {"step": np.full(len(person), step), "stretch": np.full(len(person), stretch)}
        getattr(self, name).append({"person": person, **at, "value": value, "plain": plain})

    def exposure(self) -> Array:
        """Return the mean of each record's visits, a rough order of exposure."""
        visits = self.table("visits")
        total = np.bincount(visits["person"], visits["value"].sum(1), self.people)
        return total / np.maximum(np.bincount(visits["person"], minlength=self.people), 1)

    def scales(self) -> Array:
        """Return one over the squared noise of each step, to which its information is proportional."""
        return np.concatenate([np.full(count, 1 / m.noise_scale**2) for m, _, count in self.history])

    def taken(self, stretches: Stretches) -> tuple[Array, Array]:
        """Return the steps of each stretch that count for each record, with and without credit for secret sampling."""
        length = stretches.at(self.steps - 1) + 1
        if not self.is_secret:
            counted = np.stack([*self.drawn, *[np.zeros(self.people)] * length][:length], 1)
            return counted, counted
        lengths = np.diff([min(stretches.start(s), self.steps) for s in range(length + 1)])
        taken = np.tile(lengths.astype(np.float64), (self.people, 1))
        rates = sum(float(m.sample_rate or 0.0) * m.batches * count for m, _, count in self.history) / self.steps
        return taken, rates * taken

    def releases(self) -> tuple[tuple[float, float, int], ...]:
        """Return the steps as differential privacy counts them: noise over sensitivity, sampling rate, number."""
        return tuple(
            (m.noise_scale / m.rule.sensitivity, min(1.0, (m.sample_rate or 1.0) * m.batches), count)
            for m, _, count in self.history
        )

    def saved(self) -> State:
        """Return a copy as tensors and numbers, to be saved."""
        history = [(asdict(mechanism), sampling, count) for mechanism, sampling, count in self.history]
        return {"history": history, **{name: _to_tensors(getattr(self, name)) for name in _ARRAYS}}

    def restore(self, state: State) -> None:
        """Put back a copy that `saved` returned."""
        self.history = [(Mechanism(**values), sampling, count) for values, sampling, count in state["history"]]
        for name in _ARRAYS:
            setattr(self, name, _to_arrays(state[name]))

    def gathered(self, parts: list[State]) -> "RunState":
        """Return the run as several processes saw it, each with batches and visits of its own."""
        states = [RunState(self.people, self.groups) for _ in parts]
        for state, part in zip(states, parts, strict=True):
            state.restore(part)
        found = RunState(self.people, self.groups)
        found.restore(self.saved())
        length = max(len(state.drawn) for state in states)
        none = [np.zeros(self.people)] * length
        found.drawn = [np.sum(each, axis=0) for each in zip(*([*s.drawn, *none][:length] for s in states), strict=True)]
        found.sizes = np.max([state.sizes for state in states], axis=0)
        found.truth = np.max([state.truth for state in states], axis=0)
        for name in ("visits", "gaps", "losses"):
            setattr(found, name, [table for state in states for table in getattr(state, name)])
        return found


def _to_tensors(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_tensors(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_to_tensors(part) for part in value]
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


def _to_arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_arrays(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_to_arrays(part) for part in value]
    return np.array(value.numpy()) if isinstance(value, torch.Tensor) else value
