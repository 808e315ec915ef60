"""The exact information of a Cox model's coefficients, computed when asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._noise import GaussianNoise
from seepage._tables import Column
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Distances, InformationOfRows
from seepage.leakage.owners import Several
from seepage.leakage.types import Kind, Move, Who
from seepage.linear.information import (
    ChangedScales,
    Noised,
    Scales,
    noise_assumptions,
    warn_unanswered,
)
from seepage.linear.rows import Batch, in_threads
from seepage.linear.survival._fitted import SurvivalFit
from seepage.linear.survival._noise import made, whitening
from seepage.linear.survival._refit import SurvivalRefit
from seepage.linear.survival._response import HazardRows, Response
from seepage.meaning import Guarantee, TwoNormals, check_delta

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class SurvivalInformation(Noised, InformationOfRows):
    """Exact Fisher information of a Cox model published with Gaussian noise, about people in memory.

    Times and status enter through the order of events alone: they have no derivative, so that eta of each is
    unanswered, and both are answered by refits.
    """

    fit: SurvivalFit
    response: Response
    columns: tuple[int, ...]
    """The raw column of each attribute, without time and status."""
    scales: Scales | None
    """The scaler that was fitted on the same rows, if one was."""

    @property
    def exact(self) -> Array:
        return self.fit.minimum.beta[None]

    @property
    def unshaped(self) -> str:
        return "survival models"

    @property
    def _rows(self) -> int:
        return self.fit.rows.count

    @property
    def outcome(self) -> tuple[str, ...]:
        return self.attribute_names[len(self.columns) :]

    @property
    def _values(self) -> int:
        return sum(max(len(block), 1) for block in self.response.blocks)

    @cached_property
    def _part(self) -> HazardRows:
        sums = self.fit.minimum.sums
        fit, stretch, deviation = self.fit, self.fit.stretch, None
        if self.scales is not None:
            every = np.arange(len(fit.names))
            parts = [self.scales.moves(fit.rows.read(span), every)[0] for span in fit.rows.spans()]
            deviation = np.concatenate(parts)
            # The penalty is on what the scaler made of the columns, and grows with it in their own units.
            grown = self.scales.pull(fit.minimum.beta[:, None], every)[:, 0] * deviation
            stretch = grown if stretch is None else stretch + grown
        return HazardRows(sums.martingale, sums.pull, stretch, fit.bent, deviation)

    @property
    def _covariates(self) -> tuple[str, ...]:
        return self.attribute_names[: len(self.columns)]

    _sloped = _covariates

    def _each(self, of: Callable[[HazardRows], Any]) -> Any:
        """Yield a function of some rows, and where they stand."""
        return in_threads(lambda span: (span, of(self._part.take(span))), self.fit.rows.spans(), "scoring")

    @cached_property
    def _examples_of_rows(self) -> dict[str, Array]:
        found = {"eta": np.full(self.fit.rows.count, np.nan), "dfil": np.full(self.fit.rows.count, np.nan)}
        if self._values:
            for at, (top, trace) in self._each(self.response.examples):
                found["eta"][at], found["dfil"][at] = np.sqrt(top), np.sqrt(trace / self._values)
        return found

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        found = {name: np.full(self.fit.rows.count, np.nan) for name in self.attribute_names}
        for at, squares in self._each(self.response.attributes):
            for i, name in enumerate(self._covariates):
                found[name][at] = np.sqrt(squares[:, i])
        if self.owners is None:
            return found
        covariates = {name: found[name] for name in self._covariates}
        outcomes = {name: found[name][self.owners.first] for name in self._outcomes}
        return {**self._several(None).attributes(covariates), **outcomes}

    def attributes(self) -> dict[str, Array]:
        return self._attributes

    def _response_of(self, attribute: str | None) -> Response:
        return self.response if attribute is None else self.response.of([self._covariates.index(attribute)])

    def _several(self, attribute: str | None) -> Several:
        assert self.owners is not None
        response = self._response_of(attribute)
        return Several(
            self.owners,
            tuple(response.blocks),
            self._repeats(self._covariates if attribute is None else [attribute]),
            lambda rows: response.jacobians(self._part.take(rows)).whole().transpose(0, 2, 1),
        )

    def column_at(self, kind: Kind, name: str, factor: float) -> Array:
        if not self.stays:
            found = self.examples() if kind == "examples" else self.attributes()
            return np.asarray(found[name] / factor)
        louder = replace(self, response=replace(self.response, whitening=self.response.whitening / factor))
        return (louder.examples() if kind == "examples" else louder.attributes())[name]

    def joint_information_loss(self, who: Who, attribute: str | None) -> float:
        if attribute is not None and attribute not in self._covariates:
            raise UnansweredError(
                f"{attribute!r} enters a Cox model through the order of events alone and has no derivative: joint "
                "information about it is not defined. Ask success_rate, which refits the model."
            )
        return super().joint_information_loss(who, attribute)

    def _gram(self, rows: NDArray[np.bool_] | None, attribute: str | None) -> Array:
        return self._response_of(attribute).gram(self._part if rows is None else self._part.take(rows))

    def _column(self, attribute: str) -> Column:
        if attribute in self._covariates:
            return self.fit.table.column(attribute)
        status, _ = self._outcomes
        return self.fit.outcomes.event.astype(np.int64) if attribute == status else self.fit.outcomes.time

    @property
    def _outcomes(self) -> tuple[str, str]:
        """What status and time are called among the attributes."""
        status, time = self.outcome
        return status, time

    def distances(self, attribute: str, values: Sequence[Any] | None) -> Distances:
        column = self._column(attribute)
        if values is None:
            if attribute not in self._covariates and attribute == self._outcomes[1]:
                raise UnansweredError(
                    f"{attribute!r} is a time, which has no standard error, and many values: which of them should be "
                    f"told apart? Ask success_rate({attribute!r}, values=[...])."
                )
            self._check_category(attribute)
            # Where everybody has an event, not to have one is a value all the same.
            values = np.unique(column).tolist() if attribute in self._covariates else [0, 1]
        asked = attribute, tuple(values)
        if asked not in self._distances:
            found = self._refitted(attribute, asked[1], partial(self._mover, attribute))
            warn_unanswered(found, attribute, self.count)
            self._distances[asked] = found
        return self._distances[asked]

    @cached_property
    def _distances(self) -> dict[tuple[str, tuple[Any, ...]], Distances]:
        """What was refitted already: nothing is, twice."""
        return {}

    def _mover(self, attribute: str, value: Any) -> Move:
        """Return what tells how far what is published moves with some rows' other value, and both if noises differ."""
        if attribute in self._covariates:
            return partial(self._with_features, self.fit.rows.altered(slice(0, self.fit.rows.count), attribute, value))
        if attribute != self._outcomes[0]:
            return lambda rows: (self._length(self.refit.with_time(rows, float(value))), None)
        if value not in (0, 1):
            raise InputError(f"{attribute!r} is 0 or 1, not {value!r}.")
        return lambda rows: (self._length(self.refit.flipped(rows)), None)

    def _length(self, move: Array) -> float:
        return float(np.linalg.norm(self.response.in_noise_units(move[None])))

    def _with_features(self, altered: Batch, rows: NDArray[np.intp]) -> tuple[float, TwoNormals | None]:
        features, scales = altered.take(rows), self.scales
        changed = ChangedScales.of(scales, self.fit.rows.picked(rows), features, len(rows))
        if changed is None or scales is None:
            return self._length(self.refit.with_features(rows, features.dense())), None
        penalty = changed.penalties(self.fit.minimum.penalty[:, None])[0, :, 0]
        move = self.response.in_noise_units(self.refit.with_features(rows, features.dense(), penalty)[None])
        return float(np.linalg.norm(move)), changed.releases(move)

    @cached_property
    def refit(self) -> SurvivalRefit:
        """The exact minimizer with one record changed."""
        return SurvivalRefit(self.fit)

    def with_noise(self, noise: GaussianNoise) -> "SurvivalInformation":
        noise = made(noise, self.fit)
        rest = tuple(one for one in self.assumptions if one.kind != "release")
        return replace(
            self,
            noise=noise,
            response=replace(
                self.response,
                whitening=whitening(noise, len(self.fit.names)),
                covariance=None if noise.scale is not None else noise.known(),
            ),
            assumptions=(*noise_assumptions(noise, None, "Cox"), *rest),
        )

    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        check_delta(delta)
        raise UnansweredError(
            "Differential privacy is not translated for Cox models: one record is in the risk set of every event "
            "before its own, and can move the coefficients without a bound that is known."
        )
