"""Kaplan and Meier's estimates at stated times: products of shares of the people at risk.

With D(s) events among R(s) people at risk, the share that is left at a time is S = prod over event times s of
1 - D(s)/R(s), and a person who was at risk until T moves its logarithm by

    sum over s <= T of  (D(s) - R(s) [an event of theirs at s]) / (R(s) (R(s) - D(s))).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption
from seepage._tables import Array, Data, Frame, default_library, frame
from seepage.aggregates._cells import CellGrouping
from seepage.aggregates._estimator import TableEstimator, checked_names
from seepage.aggregates._measured import Made
from seepage.aggregates._numbers import RecordNumbers
from seepage.aggregates._records import Records, Values
from seepage.attackers import Check
from seepage.errors import InputError

_LEAST = 10


class _Curve(NamedTuple):
    """The event times of one cell."""

    times: Array
    events: Array
    followed: Array
    """How long each person was followed, sorted."""
    remaining: Array
    """How many there are from each of them on, and nobody at last."""

    def at_risk(self, times: Array) -> Array:
        """Return how many are not gone before times."""
        return np.asarray(self.remaining[np.searchsorted(self.followed, times)])

    def left(self, horizons: Array) -> Array:
        """Return the share that is left at each horizon."""
        steps = np.append(1.0, np.cumprod(1.0 - self.events / self.at_risk(self.times)))
        return np.asarray(steps[np.searchsorted(self.times, horizons, side="right")])


@dataclass(frozen=True, eq=False)
class CurveNumbers(RecordNumbers):
    """The share that is left at each time, in each cell."""

    records: Records
    grouping: CellGrouping
    duration: str
    event: str
    times: Array

    @cached_property
    def names(self) -> tuple[str, ...]:
        cells = self.grouping.words(self.grouping.by)
        return tuple(f"survival at {time:g}{cell}" for cell in cells for time in self.times)

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        return np.zeros(len(self.names), dtype=bool)

    def fitted(self, weights: Array) -> tuple[_Curve, ...]:
        values = self.records.values
        cells, found = self.grouping.cell(values, len(self.records)), []
        for cell in range(len(self.grouping.cells)):
            some = np.flatnonzero((cells == cell) & (weights > 0))
            time, event, weight = values[self.duration][some], values[self.event][some], weights[some]
            order = np.argsort(time, kind="stable")
            time, event, weight = time[order], event[order], weight[order]
            times = np.unique(time[event == 1])
            remaining = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
            events = np.zeros(len(times))
            np.add.at(events, np.searchsorted(times, time[event == 1]), weight[event == 1])
            found.append(_Curve(times, events, time, remaining))
        return tuple(found)

    def at_risk(self) -> NDArray[np.intp]:
        """Return how many people of the same cell are followed until each person leaves, or until the last time."""
        values, found = self.records.values, np.zeros(len(self.records), dtype=np.intp)
        cells = self.grouping.cell(values, len(self.records))
        until = np.minimum(values[self.duration], self.times[-1])
        for cell in range(len(self.grouping.cells)):
            some = np.flatnonzero(cells == cell)
            followed = np.sort(values[self.duration][some])
            found[some] = len(some) - np.searchsorted(followed, until[some])
        return found

    def values(self, fitted: Sequence[_Curve]) -> Array:
        return np.concatenate([curve.left(self.times) for curve in fitted])

    def moves(self, fitted: Sequence[_Curve], values: Values, count: int) -> Array:
        found = np.zeros((count, len(self.names)))
        cells, width = self.grouping.cell(values, count), len(self.times)
        for cell, curve in enumerate(fitted):
            people = np.flatnonzero(cells == cell)
            moved = self._moved(curve, values[self.duration][people], values[self.event][people])
            found[people, cell * width : (cell + 1) * width] = moved
        return found

    def _moved(self, curve: _Curve, time: Array, event: NDArray[np.intp]) -> Array:
        at_risk, events = curve.at_risk(curve.times), curve.events
        with np.errstate(divide="ignore", invalid="ignore"):
            fell = np.append(0.0, np.cumsum(events / (at_risk * (at_risk - events))))
            # Others may have had an event at the same time, or nobody.
            same = np.append(events, 0.0)[np.searchsorted(curve.times, time)] * np.isin(time, curve.times)
            step = 1.0 / (curve.at_risk(time) - same)
            until = np.minimum(time[:, None], self.times)
            found = fell[np.searchsorted(curve.times, until, side="right")]
            found = found - np.where((event == 1)[:, None] & (time[:, None] <= self.times), step[:, None], 0.0)
            left = curve.left(self.times)
            found = np.where(left > 0, found * left, 0.0)
        if (left == 0).any():
            # Everybody who was still there had an event, and nobody moves a zero but one of them who had none.
            last = curve.times[-1]
            kept = curve.left(np.nextafter(last, -np.inf)) / curve.at_risk(last)
            spared = (event == 0) & (time >= last)
            found[np.ix_(spared, left == 0)] = kept
        return found

    def slopes(self, fitted: Sequence[_Curve], values: Values, count: int, name: str) -> Array:
        return np.zeros((count, len(self.names)))


class KaplanMeier(TableEstimator):
    """Kaplan and Meier's estimates of survival at stated times, by cells.

    Private are the event and the columns of `by`; the times of follow-up count as known, as estimates move with them by
    steps. What `seepage.measure(table, frame)` says is "approximate": it describes attackers who use averages, and is
    no bound.

    Parameters
    ----------
    times : sequence of float
        When survival is printed, in increasing order, chosen beforehand.
    by : sequence of str, default=()
        The columns whose values make the cells.
    duration : str, default="time"
        The column that says how long each person was followed.
    event : str, default="event"
        The column that says whether it ended with an event (1) or not (0).
    where : str, optional
        For whom it is, as `Aggregate` takes it.

    Attributes
    ----------
    frame_ : data frame
        One row for each cell and time: `survival`, and how many were at risk is not printed.

    Examples
    --------
    >>> import numpy as np, pandas as pd, seepage
    >>> random = np.random.default_rng(0)
    >>> people = pd.DataFrame({"time": random.exponential(5, 400).round(1), "event": random.random(400) < 0.7})
    >>> table = seepage.models.KaplanMeier(times=[1.0, 3.0]).fit(people)
    >>> table.frame_.round(3)
       time  survival
    0   1.0     0.875
    1   3.0     0.700
    >>> float(seepage.measure(table, people).success_rate("event")["success_rate"].max().round(2))
    0.53
    """

    def __init__(
        self,
        *,
        times: Sequence[float],
        by: Sequence[str] = (),
        duration: str = "time",
        event: str = "event",
        where: str | None = None,
    ) -> None:
        self.times = times
        self.by = by
        self.duration = duration
        self.event = event
        self.where = where

    def _made(self, X: Data) -> Made:
        by, times = checked_names(self.by, "by"), np.asarray(self.times, dtype=np.float64)
        if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or not (np.diff(times) > 0).all():
            raise InputError(f"times must be in increasing order, such as [365.0, 730.0], not {self.times!r}.")
        records = Records.of(X, (self.event, self.duration, *by), by, self.where)
        for name in (self.event, self.duration, *by):
            if missing := int((~records.present(name)).sum()):
                raise InputError(
                    f"{name!r} is missing for {missing:,} of {len(records):,} people: leave these out first."
                )
        if records.levels.get(self.event) not in ((0, 1), (False, True)):
            raise InputError(f"event names {self.event!r}, which must say 1 or 0: whether there was an event.")
        if self.duration in records.levels:
            raise InputError(f"duration names {self.duration!r}, which must hold times: numbers.")
        if self.duration in by or self.event in by:
            raise InputError("by names the event or the duration: cells are made of other columns.")
        grouping = CellGrouping.of(records, by)
        numbers = CurveNumbers(records, grouping, self.duration, self.event, times)
        remark = Assumption(
            "follow-up", "How long each person was followed ({duration}) is known.", names={"duration": self.duration}
        )
        # Whoever leaves last is among few, however many there were in the cell.
        among = numbers.at_risk()
        return Made(numbers, (self.event, *by), by, None, True, len(times), _checks(numbers), (remark,), among)

    def _shown(self, made: Made) -> Frame:
        numbers, by = made.numbers, made.by
        assert isinstance(numbers, CurveNumbers)
        keys = [key for key in numbers.grouping.keys for _ in numbers.times]
        columns: dict[str, object] = {name: [key[i] for key in keys] for i, name in enumerate(by)}
        columns["time"] = np.tile(numbers.times, len(numbers.grouping.cells))
        columns["survival"] = numbers.values(numbers.at)
        return frame(columns, numbers.records.table.library or default_library())


def _checks(numbers: CurveNumbers) -> tuple[Check, ...]:
    """Return what an output checker asks of a survival curve."""
    values, times = numbers.records.values, numbers.times
    cell = numbers.grouping.cell(values, len(numbers.records))
    followed = values[numbers.duration]
    left = min(
        int(((cell == each) & (followed >= time)).sum())
        for each in range(len(numbers.grouping.cells))
        for time in times
    )
    events = min(
        int(((cell == each) & (followed <= times[-1]) & (values[numbers.event] == 1)).sum())
        for each in range(len(numbers.grouping.cells))
    )
    return (
        Check("people at risk at the last time", left, left >= _LEAST, f"at least {_LEAST}"),
        Check("events in a cell until then", events, events >= _LEAST, f"at least {_LEAST}"),
    )
