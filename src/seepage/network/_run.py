"""A run of training that is watched: who is due, what was seen, and what was done."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage.errors import UnsupportedError
from seepage.network._clipping import ClippingName
from seepage.network._course import Course
from seepage.network._findings import VisitFindings
from seepage.network._names import TWICE
from seepage.network._records import Rows
from seepage.network._schedule import Schedule
from seepage.network._step import Mechanism
from seepage.network._visiting import Visiting

State = dict[str, Any]


@dataclass(eq=False)
class Run:
    """What an accountant is told of training, step by step."""

    clipping: ClippingName
    visiting: Visiting
    schedule: Schedule
    course: Course
    findings: VisitFindings

    def draw(self, rows: list[int] | Rows) -> None:
        """Take note of who is in a batch."""
        if len(np.unique(rows)) < len(rows):
            raise UnsupportedError(TWICE)
        self.course.draw(rows, self.schedule.stretch(self.course.steps))

    def visit(self) -> None:
        """Visit who is due at the weights of the next step, if nobody has."""
        step = self.course.steps
        self.visiting.visit(step, lambda: self.schedule.due(step, self.findings.seen))

    def publish(self, mechanism: Mechanism, sampling: str) -> None:
        """Enter what the last visits found: the step at those weights has now been taken this way."""
        self.course.check(mechanism)
        step, visiting = self.course.steps, self.visiting
        stretch = self.schedule.stretch(step)
        for rows, seen in visiting.pending:
            value, plain = (each.mean(1).T for each in seen.information(mechanism))
            self.findings.visits.add(rows, step, stretch, value, plain)
            self.findings.sizes[rows] = seen.sizes
            if seen.apart:
                squared = seen.squared_distances(mechanism)
                self.findings.gaps.add(rows, step, stretch, squared, squared)
                self.findings.truth[rows] = np.stack([each.truth for each in seen.apart], 1)
        visiting.pending.clear()
        self.schedule.done(step)
        self.course.take(mechanism, sampling)

    def state(self) -> State:
        """Return all that is held, to be saved."""
        parts = (self.findings, self.course, self.schedule, self.visiting)
        return {name: value for part in parts for name, value in part.state().items()}

    def restore(self, state: State) -> None:
        """Put back what `state` returned, in place of anything seen since."""
        for part in (self.findings, self.course, self.schedule, self.visiting):
            part.restore(state)
