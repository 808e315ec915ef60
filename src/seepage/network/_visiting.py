"""Visits: looks at people at the weights of the moment, which disturb nothing of training."""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from seepage.network import _checks, _layers
from seepage.network._assumptions import Circumstances
from seepage.network._categories import Category
from seepage.network._directions import Directions
from seepage.network._look import Look, look
from seepage.network._probe import LABEL, Probe
from seepage.network._records import Batch, BatchRecords, Rows
from seepage.network._schedule import State, split

# Numbers that layers put out in one pass of a visit, at most, where it holds more than half a batch of training.
_HELD = 2**20
# The C library gives what is freed back to the system, and then waits for each page of it again, unless it has seen a
# block of this size come and go: then it keeps up to twice as much.
_KEPT = 31 * 2**20
# People of whom the loss is taken together and one by one, and whose private integers are exchanged.
_COMPARED = 32


class Visiting:
    """A network, and looks at people that count once the step at these weights is taken."""

    def __init__(
        self,
        model: nn.Module,
        probe: Probe,
        directions: Directions,
        probes: int,
        categories: tuple[Category, ...],
        seed: int,
        known: Circumstances,
    ) -> None:
        self.model, self.probe, self.directions, self.probes = model, probe, directions, probes
        self.categories, self.seed, self.known = categories, seed, known
        self.records: BatchRecords | None = None
        self.first: list[int] = []
        """Who is looked at closely before anybody is visited."""
        self.together, self._fixed = 1, False
        """How many are visited at once, and whether somebody said so."""
        self.pending: list[tuple[Rows, Look]] = []
        self.moment: tuple[int, tuple[bool, ...]] | None = None
        """The step and the modes of the last visits."""
        self._modes: tuple[bool, ...] | None = None
        """Of the network, when it was last checked."""
        self._aimed = directions.generator.get_state()
        """The generator of directions before the visits whose step is not yet taken."""

    def begin(self, records: BatchRecords, first: list[int], said: int | None, usual: int) -> None:
        """Take note of the data set, of who is checked first, and of how many are visited at once."""
        self.records, self.first = records, first
        self.together, self._fixed = said or usual, said is not None
        torch.empty(_KEPT, dtype=torch.uint8)

    def visit(self, step: int, due: Callable[[], list[Rows]]) -> None:
        """Visit who is due at the weights of the moment, which are those of the next step; again if they change."""
        assert self.records is not None
        modes = tuple(module.training for module in self.model.modules())
        if (step, modes) == self.moment and (not self.pending or self.probe.carrier.is_at(self.model)):
            return
        if self.pending:
            self.directions.generator.set_state(self._aimed)
            self.pending.clear()
        parts = due()
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

    @property
    def _at_once(self) -> int:
        """How many people fit into one pass, which carries directions as well: half a batch takes a batch's memory."""
        if self._fixed:
            return self.together
        fit = _HELD // max(1, self.probe.carrier.held)
        return min(self.together, max(fit, -(-self.together // 2)))

    def look(self, _: Rows, batch: Batch) -> Look:
        """Look at these people."""
        found = look(self.probe, batch, self.directions, self.probes, self.categories, self.seed)
        for name, count in found.counts.items():
            if name != LABEL:
                self.known.values[name] = max(self.known.values.get(name, 0), int(count.max()))
        kinks = self.probe.carrier.kinks
        if kinks and not self.known.kinks:
            self.known.kinks |= kinks
            _layers.warn_of_kinks(kinks)
        return found

    def check(self) -> None:
        """Compare a few people's gradients and derivatives with plain ones."""
        assert self.records is not None
        fetch, probe, known, rows = self.records.fetch, self.probe, self.known, self.first
        _layers.check(self.model)
        ones = [fetch([row]) for row in rows]
        known.random_data |= _checks.is_random(fetch, rows)
        known.random_network |= _checks.draws_masks(probe, ones[0])
        if len(rows) > 1 and not known.random_network:
            together, batch = next(self.records.alike(np.asarray(rows, dtype=np.int64)))
            if not known.random_data:
                _checks.check_alone(probe, batch, fetch([int(together[0])]))
        alike = self.records.alike(np.arange(min(_COMPARED, len(self.records.items))))
        several = max(alike, key=lambda group: len(group[0]))[1]
        probe.check_loss(several)
        if probe.private:
            _checks.check_tokens(probe, several)
        _checks.check_moving(self.model, probe, ones, known.random_network)
        probe.carrier.follow(self.model)

    def state(self) -> State:
        """Return what the next visits depend on, and what came to light."""
        generator = self._aimed if self.pending else self.directions.generator.get_state()
        return {"generator": generator, "seed": self.seed, "circumstances": self.known.state()}

    def restore(self, state: State) -> None:
        """Put back what `state` returned; visits whose step was not taken are forgotten."""
        self.pending.clear()
        self.moment = None
        self.known = Circumstances.of(state["circumstances"])
        self.directions.generator.set_state(state["generator"])
        self.seed = state["seed"]
