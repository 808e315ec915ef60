"""What a Cox model prints, and how each person moves it."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers import Formed, Held, Printed, Slopes, guessed
from seepage.attackers.owned import Owned
from seepage.attackers.rows import EqualRecords, level, rare_values
from seepage.errors import InputError, UnsupportedError
from seepage.linear.information import COEFFICIENTS, ERRORS
from seepage.linear.printed._numbers import COUNTS
from seepage.linear.printed._risk_sums import RiskSums
from seepage.linear.survival import SurvivalFit, SurvivalInformation

_EVENTS = "number of events"


@dataclass(frozen=True, eq=False)
class _Hazards:
    """A Cox model in memory, as what it prints is asked for."""

    fit: SurvivalFit
    information: SurvivalInformation
    owned: Owned

    errors: bool
    """Whether standard errors are printed."""

    @cached_property
    def sums(self) -> RiskSums:
        return RiskSums.of(self.fit)

    @property
    def values(self) -> Array:
        events = float(self.fit.outcomes.event.sum())
        return np.concatenate([self.fit.minimum.beta, self.sums.errors if self.errors else [], [events]])

    def moves(self, rows: NDArray[np.intp], features: Array) -> Array:
        coefficients, errors = self.sums.moves(rows, features)
        events = self.fit.outcomes.event[rows, None].astype(float)
        return np.column_stack([coefficients, *([errors] if self.errors else []), events])

    def jacobian(self, people: NDArray[np.intp]) -> Slopes:
        def of(rows: NDArray[np.intp]) -> Slopes:
            part = self.information._part.take(rows)
            # What a scaler does to the shape of noise tells nothing where there is none.
            part = type(part)(part.martingale, part.pull, part.stretch, part.bent, None)
            found = self.information.response.jacobians(part).whole().transpose(0, 2, 1)
            none, reading = np.zeros((len(rows), 1, found.shape[2])), self.information.response.reading
            errors: list[Array] = [self.sums.slopes(rows, found, reading.toarray())] if self.errors else []
            return Formed(np.concatenate([found, *errors, none], axis=1))

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
    """Return what a Cox model prints: coefficients, their standard errors, and the number of events."""
    if fit.stretch is not None or (information.scales is not None and np.any(fit.estimator.penalty)):
        raise UnsupportedError(
            "The penalty is on columns that were standardized with these rows, which is not answered without noise. "
            "Fit without a penalty, or on columns that are scaled by public constants."
        )
    # Standard errors of penalized coefficients nobody prints; behind a scaler or a curve of the same rows they are not
    # counted. How many have an event is known whoever prints it.
    plain = information.scales is None and information.response.curves is None and not np.any(fit.estimator.penalty)
    has = (COEFFICIENTS, *([ERRORS] if plain else []), COUNTS)
    strange = [name for name in published or () if name not in has]
    if strange:
        raise InputError(
            f"published names {strange[0]!r}; of this Cox model {list(has)} are counted without noise: nothing is "
            "claimed of tables that print anything else."
        )
    errors = plain and (published is None or ERRORS in published)
    covariates = information._covariates
    blocks = dict(zip(covariates, information.response.blocks, strict=True))
    owned = Owned.of(person, fit.rows.count, blocks, {name: fit.table.column(name) for name in covariates})
    every = np.arange(fit.rows.count)
    hazards = _Hazards(fit, information, owned, errors)
    outcome = np.column_stack([fit.outcomes.time, fit.outcomes.event])
    guesses = {}
    for name, block in blocks.items():
        if person is None and name not in information.categorical and len(block) == 1:
            reached = information.response.reading[:, block].toarray()[:, 0] != 0
            known = np.column_stack([fit.features[:, ~reached], outcome])
            guesses[name] = guessed(np.asarray(fit.table.column(name), dtype=np.float64), known)
    size = len(fit.names)
    levels = (
        level("the outcome", "event", fit.outcomes.event > 0, size, unit),
        level("the outcome", "no event", fit.outcomes.event <= 0, 1, unit),
        *rare_values(fit.features, fit.names, unit),
    )
    records = EqualRecords.of(np.column_stack([fit.features, outcome]))
    printed = Printed(
        names=(*fit.names, *(f"standard error of {name}" for name in fit.names if errors), _EVENTS),
        values=hazards.values,
        whole=np.arange(len(hazards.values)) == len(hazards.values) - 1,
        moves=Held(owned.summed(hazards.moves(every, fit.features))),
        blocks=owned.blocks,
        jacobian=hazards.jacobian,
        shifted=hazards.shifted,
        changed=hazards.changed,
        elsewhere=None,
        guesses=lambda: guesses,
        levels=tuple(each for each in levels if each.people),
        record_bits=records.bits,
        scatter=lambda: None,
        parameters=size,
        leverages=lambda: owned.summed(_leverage(fit)[:, None])[:, 0],
        twice=records.entered_twice(person),
    )
    return printed, has if published is None else tuple(name for name in has if name in published or name == COUNTS)


def _leverage(fit: SurvivalFit) -> Array:
    """Return how much of the curvature each row is, at most."""
    x = fit.features - fit.origin
    return np.asarray(np.einsum("ni,ij,nj,n->n", x, fit.minimum.inverse, x, np.abs(fit.minimum.sums.martingale)))
