"""A run of training, with visits: people are measured at the weights of the moment, which disturbs nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seepage.errors import UnsupportedError
from seepage.network import _checks, _layers
from seepage.network._amplification import renyi_losses
from seepage.network._categories import Category, GradientGaps, apart
from seepage.network._clipping import ClippingName, Mechanism
from seepage.network._directions import Directions
from seepage.network._names import TWICE
from seepage.network._probe import LABEL, Probe, differentiable, size_of
from seepage.network._records import Batch, BatchRecords, Rows
from seepage.network._schedule import Schedule, split
from seepage.network._state import RunState, State

Array = NDArray[np.float64]
Tensor = torch.Tensor
# Numbers that layers put out in one pass of a visit, at most, where it holds more than half a batch of training.
_HELD = 2**20
# The C library gives what is freed back to the system, and then waits for each page of it again, unless it has seen a
# block of this size come and go: then it keeps up to twice as much.
_KEPT = 31 * 2**20
# People of whom the loss is taken together and one by one, and whose private integers are exchanged.
_COMPARED = 32


@dataclass(frozen=True, eq=False)
class Look:
    """Measurements of some people at given weights: three numbers for each direction, for any step there."""

    products: list[list[Tensor]]
    """By group and direction, shape (3, people)."""
    sizes: Array
    """The number of values of each person in each group, padding left out, shape (people, groups)."""
    counts: dict[str, Array]
    """The number of values of each person in each input and embedding, by name."""
    gaps: list[GradientGaps]
    """Distances to other categories, one entry for each."""

    def information(self, mechanism: Mechanism) -> tuple[Array, Array]:
        """Return the information of a step, with and without credit, shape (groups, directions, people)."""
        pairs = [[mechanism.information(each) for each in group] for group in self.products]
        value, plain = (np.array([[pair[i] for pair in group] for group in pairs]) for i in range(2))
        return value, plain


def look(
    probe: Probe,
    batch: Batch,
    directions: Directions,
    times: int,
    categories: Sequence[Category] = (),
    seed: int = 0,
) -> Look:
    """Measure the people of a batch, along so many directions of each group; `seed` is that of dropout."""
    groups = range(len(directions.names))
    with differentiable():
        products = [[probe.products(batch, directions.along(group)) for _ in range(times)] for group in groups]
    people = size_of(batch)
    counts = probe.counts(people)
    sizes = np.tile(np.asarray(directions.sizes(probe.values), dtype=np.float64), (people, 1))
    if probe.private:
        sizes[:, 0] = sum(counts.values())
    with _checks.undisturbed():
        gaps = [apart(probe, batch, category, seed) for category in categories]
    return Look(products, sizes, counts, gaps)


class Run:
    """A run of training: who is due, what was measured, and which steps were taken."""

    def __init__(
        self,
        model: nn.Module,
        probe: Probe,
        directions: Directions,
        schedule: Schedule,
        categories: tuple[Category, ...],
        *,
        probes: int,
        clipping: ClippingName,
        seed: int,
        delta: float | None = None,
    ) -> None:
        self.model, self.probe, self.directions, self.schedule = model, probe, directions, schedule
        self.categories, self.probes, self.clipping, self.seed = categories, probes, clipping, seed
        self.delta = delta
        self.state = RunState(schedule.records, len(directions.names))
        self.state.sizes = np.zeros((schedule.records, len(directions.names)))
        self.state.truth = np.full((schedule.records, len(categories)), -2, dtype=np.intp)
        self.state.kinks = sorted(_layers.kinked(model))
        self.records: BatchRecords | None = None
        self.first: list[int] = []
        """The records that are checked before anybody is visited."""
        self.together, self._fixed = 1, False
        """The number of people visited at once, and True if the caller fixed it."""
        self.pending: list[tuple[Rows, Look]] = []
        self.moment: tuple[int, tuple[bool, ...]] | None = None
        """The step and the modes of the last visits."""
        self._modes: tuple[bool, ...] | None = None
        """Of the network, when it was last checked."""
        self._aimed = directions.generator.get_state()
        """The generator of directions before the visits whose step is not yet taken."""

    def begin(self, records: BatchRecords, fixed: int | None, usual: int, steps: int, rank: int, ranks: int) -> None:
        """Take note of the data set, of how many are visited at once, and of the length of training."""
        self.records, self.first = records, self.schedule.visited[:2].tolist()
        self.together, self._fixed = fixed or usual, fixed is not None
        torch.empty(_KEPT, dtype=torch.uint8)
        self.schedule.begin(steps, self.together, rank, ranks)

    def draw(self, rows: list[int] | Rows) -> None:
        """Enter the records of a batch."""
        if len(np.unique(rows)) < len(rows):
            raise UnsupportedError(TWICE)
        self.state.draw(rows, self.schedule.stretch(self.state.steps))

    def visit(self) -> None:
        """Visit who is due at the weights of the next step; again if they change before it."""
        assert self.records is not None
        step, modes = self.state.steps, tuple(module.training for module in self.model.modules())
        if (step, modes) == self.moment and (not self.pending or self.probe.carrier.is_at(self.model)):
            return
        if self.pending:
            self.directions.generator.set_state(self._aimed)
            self.pending.clear()
        parts = self.schedule.due(step, self.state.exposure)
        if parts or modes != self._modes:
            self._aimed = self.directions.generator.get_state()
            with _checks.undisturbed(self.seed + step), torch.autocast(self.records.device().type, enabled=False):
                self.probe.carrier.follow(self.model)
                if modes != self._modes:
                    self.check()
                    self._modes = modes
                for part in parts:
                    for some in split(part, self._at_once):
                        for rows, batch in self.records.alike(some):
                            self.pending.append((rows, self.look(rows, batch)))
        self.moment = (step, modes)

    def publish(self, mechanism: Mechanism, sampling: str) -> None:
        """Enter the results of the last visits: the step at those weights has now been taken this way."""
        state, step = self.state, self.state.steps
        state.check(mechanism)
        stretch = self.schedule.stretch(step)
        for rows, seen in self.pending:
            value, plain = (each.mean(1).T for each in seen.information(mechanism))
            state.add("visits", rows, step, stretch, value, plain)
            if self.delta is not None:
                ratio = mechanism.ratio(seen.products[0][0][0])
                losses = renyi_losses(ratio, mechanism.sample_rate, mechanism.batches)
                state.add("losses", rows, step, stretch, losses, losses)
            state.sizes[rows] = seen.sizes
            if seen.gaps:
                squared = np.concatenate([gap.squared(mechanism) for gap in seen.gaps], axis=1)
                state.add("gaps", rows, step, stretch, squared, squared)
                state.truth[rows] = np.stack([gap.truth for gap in seen.gaps], 1)
        self.pending.clear()
        self.schedule.done(step)
        state.take(mechanism, sampling)

    @property
    def _at_once(self) -> int:
        """The number of people in one pass, which carries directions as well: half a batch takes a batch's memory."""
        if self._fixed:
            return self.together
        fit = _HELD // max(1, self.probe.carrier.held)
        return min(self.together, max(fit, -(-self.together // 2)))

    def look(self, _: Rows, batch: Batch) -> Look:
        """Measure these people."""
        found = look(self.probe, batch, self.directions, self.probes, self.categories, self.seed)
        for name, count in found.counts.items():
            if name != LABEL:
                self.state.values[name] = max(self.state.values.get(name, 0), int(count.max()))
        if self.probe.carrier.kinks and not self.state.kinks:
            self.state.kinks = sorted(self.probe.carrier.kinks)
            _layers.warn_of_kinks(self.probe.carrier.kinks)
        return found

    def note(self, flag: str, holds: bool) -> None:
        """Add a fact about the run."""
        if holds and flag not in self.state.flags:
            self.state.flags.append(flag)

    def check(self) -> None:
        """Compare a few people's gradients and derivatives with plain ones."""
        assert self.records is not None
        fetch, probe, rows = self.records.fetch, self.probe, self.first
        _layers.check(self.model)
        ones = [fetch([row]) for row in rows]
        self.note("random data", _checks.is_random(fetch, rows))
        self.note("random network", _checks.draws_masks(probe, ones[0]))
        if len(rows) > 1 and not self.state.flags:
            together, batch = next(self.records.alike(np.asarray(rows, dtype=np.int64)))
            _checks.check_alone(probe, batch, fetch([int(together[0])]))
        alike = self.records.alike(np.arange(min(_COMPARED, len(self.records.items))))
        several = max(alike, key=lambda group: len(group[0]))[1]
        probe.check_loss(several)
        if probe.private:
            _checks.check_tokens(probe, several)
        _checks.check_moving(self.model, probe, ones, "random network" in self.state.flags)
        probe.carrier.follow(self.model)

    def saved(self) -> State:
        """Return a copy of all that is held, to be saved."""
        generator = self._aimed if self.pending else self.directions.generator.get_state()
        return {**self.state.saved(), **self.schedule.saved(), "generator": generator, "seed": self.seed}

    def restore(self, state: State) -> None:
        """Put back a copy that `saved` returned; visits whose step was not taken are forgotten."""
        self.pending.clear()
        self.moment = None
        self.state.restore(state)
        self.schedule.restore(state)
        self.directions.generator.set_state(state["generator"])
        self.seed = state["seed"]
