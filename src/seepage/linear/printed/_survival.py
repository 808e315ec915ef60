"""What a Cox model prints, and how each person moves it.

A person is in the risk sets of everybody before, so that what they do to the score is not their own event term alone:
the residuals of Lin and Wei add what they do to the means over risk sets,

    r_i = w_i delta_i (x_i - x(t_i)) - sum over events l until t_i of  W_l pi_il (x_i - x_l).
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._blind import left_of
from seepage._tables import Array
from seepage.errors import InputError, UnsupportedError
from seepage.linear.information import COEFFICIENTS
from seepage.linear.printed._numbers import COUNTS
from seepage.linear.printed._owned import Owned
from seepage.linear.printed._rows import Records, level, rare_values
from seepage.linear.survival import SurvivalFit, SurvivalInformation
from seepage.others import Formed, Held, Printed, Slopes


@dataclass(frozen=True, eq=False)
class _Residuals:
    """What the sums over risk sets leave for each row."""

    beta: Array
    event: Array
    weights: Array
    mean: Array
    """Of those at risk at each row's time, shape (n, p)."""
    hazard: Array
    """The sum until each row's time of  W_l / S_l, shape (n,)."""
    pulled: Array
    """That of  W_l x_l / S_l, shape (n, p)."""
    origin: Array
    shift: float
    """Taken off all margins."""

    @classmethod
    def of(cls, fit: SurvivalFit) -> "_Residuals":
        """Add up over risk sets, stratum by stratum; people who have their event together share one term."""
        x, beta = fit.features - fit.origin, fit.minimum.beta
        time, event, stratum = fit.outcomes.time, fit.outcomes.event.astype(float), fit.outcomes.stratum
        weights = np.ones(len(x)) if fit.rows.weights is None else fit.rows.weights
        shift = float((x @ beta).max())
        e = weights * np.exp(x @ beta - shift)
        mean, hazard, pulled = np.zeros_like(x), np.zeros(len(x)), np.zeros_like(x)
        for each in np.unique(stratum):
            at = np.flatnonzero(stratum == each)
            times, place = np.unique(time[at], return_inverse=True)
            own, owned = np.zeros(len(times)), np.zeros((len(times), x.shape[1]))
            np.add.at(own, place, e[at])
            np.add.at(owned, place, e[at, None] * x[at])
            whole, total = np.cumsum(own[::-1])[::-1], np.cumsum(owned[::-1], axis=0)[::-1]
            events = np.zeros(len(times))
            np.add.at(events, place, weights[at] * event[at])
            middle = total / whole[:, None]
            rate = events / whole
            mean[at], hazard[at] = middle[place], np.cumsum(rate)[place]
            pulled[at] = np.cumsum(rate[:, None] * middle, axis=0)[place]
        return cls(beta, event, weights, mean, hazard, pulled, fit.origin, shift)

    def at(self, rows: NDArray[np.intp], features: Array) -> Array:
        """Return the residuals of some rows, perhaps with other features."""
        x = features - self.origin
        e = self.weights[rows] * np.exp(x @ self.beta - self.shift)
        own = (self.weights * self.event)[rows, None] * (x - self.mean[rows])
        return np.asarray(own - e[:, None] * (self.hazard[rows, None] * x - self.pulled[rows]))


@dataclass(frozen=True, eq=False)
class _Hazards:
    """A Cox model in memory, as what it prints is asked for."""

    fit: SurvivalFit
    information: SurvivalInformation
    owned: Owned

    @cached_property
    def residuals(self) -> _Residuals:
        return _Residuals.of(self.fit)

    def moves(self, rows: NDArray[np.intp], features: Array) -> Array:
        found = self.residuals.at(rows, features) @ self.fit.minimum.inverse
        events = self.fit.outcomes.event[rows, None].astype(float)
        return np.column_stack([found, events])

    def jacobian(self, people: NDArray[np.intp]) -> Slopes:
        def of(rows: NDArray[np.intp]) -> Slopes:
            part = self.information._part.take(rows)
            # What a scaler does to the shape of noise tells nothing where there is none.
            part = type(part)(part.martingale, part.pull, part.stretch, part.bent, part.direct, None)
            found = self.information.response.jacobians(part).whole().transpose(0, 2, 1)
            none = np.zeros((len(rows), 1, found.shape[2]))
            return Formed(np.concatenate([found, none], axis=1))

        return self.owned.side_by_side(people, of)

    def shifted(self, people: NDArray[np.intp], attribute: str, by: Array) -> Slopes:
        # A value moves risk sets of others: what it would be elsewhere is taken to be as it is.
        return self.jacobian(people)

    def changed(self, people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        def of(rows: NDArray[np.intp]) -> Array:
            other = self.fit.rows.altered(rows, attribute, value).dense()
            return np.asarray(self.moves(rows, other) - self.moves(rows, self.fit.features[rows]))

        return self.owned.added(people, of)


def printed_survival(
    fit: SurvivalFit,
    information: SurvivalInformation,
    published: list[str] | None,
    person: NDArray[np.intp] | None,
    unit: NDArray[np.intp] | None,
) -> tuple[Printed, tuple[str, ...]]:
    """Return what a Cox model prints: coefficients and the number of events. Standard errors are not counted."""
    if fit.horizons is not None:
        raise UnsupportedError("Survival at horizons is not answered without noise. Measure with noise_scale=.")
    if fit.stretch is not None or (information.scales is not None and np.any(fit.estimator.penalty)):
        raise UnsupportedError(
            "The penalty is on columns that were standardized with these rows, which is not answered without noise. "
            "Fit without a penalty, or on columns that are scaled by public constants."
        )
    # How many have an event is known whoever prints it.
    has = (COEFFICIENTS, COUNTS)
    strange = [name for name in published or () if name not in has]
    if strange:
        raise InputError(
            f"published names {strange[0]!r}; of a Cox model {list(has)} are counted without noise, and standard "
            "errors are not: nothing is claimed of tables that print them."
        )
    covariates = information._covariates
    blocks = dict(zip(covariates, information.response.blocks, strict=True))
    owned = Owned.of(person, fit.rows.count, blocks, {name: fit.table.column(name) for name in covariates})
    every = np.arange(fit.rows.count)
    hazards = _Hazards(fit, information, owned)
    events = int(fit.outcomes.event.sum())
    outcome = np.column_stack([fit.outcomes.time, fit.outcomes.event])
    guessed = {}
    for name, block in blocks.items():
        if person is None and name not in information.categorical and len(block) == 1:
            reached = information.response.reading[:, block].toarray()[:, 0] != 0
            known = np.column_stack([fit.features[:, ~reached], outcome])
            guessed[name] = left_of(np.asarray(fit.table.column(name), dtype=np.float64), known)
    size = len(fit.names)
    levels = (
        level("the outcome", "event", fit.outcomes.event > 0, size, unit),
        level("the outcome", "no event", fit.outcomes.event <= 0, 1, unit),
        *rare_values(fit.features, fit.names, unit),
    )
    records = Records.of(np.column_stack([fit.features, outcome]))
    printed = Printed(
        names=(*fit.names, "number of events"),
        values=np.append(fit.minimum.beta, float(events)),
        whole=np.arange(len(fit.names) + 1) == len(fit.names),
        moves=Held(owned.summed(hazards.moves(every, fit.features))),
        blocks=owned.blocks,
        jacobian=hazards.jacobian,
        shifted=hazards.shifted,
        changed=hazards.changed,
        elsewhere=None,
        guesses=lambda: guessed,
        levels=tuple(each for each in levels if each.people),
        record_bits=records.bits,
        scatter=lambda: None,
        parameters=size,
        leverage=owned.summed(_leverage(fit)[:, None])[:, 0],
        twice=records.entered_twice(person),
    )
    return printed, has


def _leverage(fit: SurvivalFit) -> Array:
    """Return how much of the curvature each row is, at most."""
    x = fit.features - fit.origin
    return np.asarray(np.einsum("ni,ij,nj,n->n", x, fit.minimum.inverse, x, np.abs(fit.minimum.sums.martingale)))
