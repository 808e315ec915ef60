"""One round of equalizing: fit, measure, and weigh anew, wherever the rows are."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypedDict, TypeVar

import numpy as np
import pyarrow.fs
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from seepage._equalized import mark_equalized, remember_weights
from seepage._noise import GaussianNoise, as_noise
from seepage._tables import Array, Column, Data, Listed, Model
from seepage.errors import InputError, UnansweredError
from seepage.execution import Job, Local
from seepage.execution.storage import Files, Output, Paths, Progress, resolve
from seepage.leakage import Distribution, Information, Leakage, Values
from seepage.leakage.types import Kind
from seepage.linear import fit, measure
from seepage.linear.files import Reweighting, Roles, StoredColumns, StoredWeights, noted
from seepage.linear.information import in_runs

Weights = TypeVar("Weights")


class Settings(TypedDict):
    """What every round is measured with."""

    noise_scale: float | GaussianNoise
    public_label: bool
    attributes: Sequence[str] | None
    public_preprocessing: Sequence[str]


@dataclass
class Progression:
    """How equalizing goes: what must be known to go on."""

    history: list[float] = field(default_factory=list)
    """The spread (standard deviation / mean) of the target after each fit."""
    exponent: float = 1.0
    """Weights are divided by this power of the exposure."""
    factors: list[float] = field(default_factory=lambda: [1.0])
    """What the stored weights of each round are multiplied by, the coming one's last."""

    @property
    def best(self) -> int:
        """The round with the smallest spread."""
        return int(np.argmin(self.history))

    def note(self, spread: float) -> None:
        if self.history and spread > self.history[-1]:
            # Overshot: smaller steps settle where full ones swing.
            self.exponent *= 0.5
        self.history.append(spread)


class ReweightingRounds(Protocol, Generic[Weights]):
    """Fits and measures with given weights, and finds the next ones."""

    def first(self) -> tuple[Progression, Weights]:
        """Return where to begin: with equal weights, or where an earlier job stopped."""
        ...

    def recalled(self, state: Progression) -> Weights:
        """Return the weights of the best round, when an earlier job made it."""
        ...

    def measured(self, number: int, weights: Weights) -> tuple[Model, Leakage]:
        """Return the model fitted with some weights, and what it leaks."""
        ...

    def reweighted(self, state: Progression, weights: Weights, leak: Leakage) -> Weights:
        """Return the weights of the next round."""
        ...

    def final(self, state: Progression, weights: Weights, leak: Leakage) -> Column | StoredWeights:
        """Return the weights to keep."""
        ...


@dataclass(frozen=True, eq=False)
class RoundsInMemory:
    """Rounds over rows in memory."""

    estimator: Model
    X: Data
    y: Listed
    count: int
    quantity: str
    settings: Settings

    def first(self) -> tuple[Progression, Array]:
        return Progression(), np.ones(self.count)

    def recalled(self, state: Progression) -> Array:
        raise AssertionError("Rows in memory are equalized in one go.")

    def measured(self, number: int, weights: Array) -> tuple[Model, Leakage]:
        estimator = clone(self.estimator)
        name = f"{estimator.steps[-1][0]}__sample_weight" if isinstance(estimator, Pipeline) else "sample_weight"
        mark_equalized(estimator.fit(self.X, self.y, **{name: weights}))
        return estimator, measure(estimator, self.X, self.y, sample_weight=weights, **self.settings)

    def reweighted(self, state: Progression, weights: Array, leak: Leakage) -> Array:
        weights = weights * _exposure(leak.information, self.quantity) ** -state.exponent
        return np.asarray(weights * (self.count / weights.sum()))

    def final(self, state: Progression, weights: Array, leak: Leakage) -> Array:
        remember_weights(weights)
        return weights


@dataclass(frozen=True, eq=False)
class RoundsInFiles:
    """Rounds over rows in files: what is known of each row stays in files beside them."""

    estimator: Model
    files: Files
    source: Data
    target: str | Sequence[str] | None
    features: Sequence[str] | None
    ids: str | None
    job: Job
    output: Output
    quantity: str
    settings: Settings

    @classmethod
    def of(
        cls,
        estimator: Model,
        source: Paths,
        *,
        target: str | Sequence[str] | None,
        features: Sequence[str] | None,
        ids: str | None,
        job: Job | None,
        quantity: str,
        settings: Settings,
    ) -> "RoundsInFiles":
        """Open the files and the folder for the rounds."""
        Roles.of(None, target=target, sample_weight=None, ids=ids, groups=None)
        if job is None or job.output is None:
            raise InputError("X names files, so the weights go to files as well: name a new folder with output=.")
        files = Files.of(source, job.filesystem)
        files.refuse_inside(*resolve(os.fspath(job.output), job.filesystem))
        if files.snapshot is not None:
            # All rounds read the same rows, whatever is written to the table meanwhile.
            source = files.snapshot.pinned
        note = {
            "model": repr(estimator),
            "quantity": quantity,
            "settings": {name: repr(value) for name, value in settings.items() if name != "noise_scale"},
            "noise": noted(as_noise(settings["noise_scale"])),
            "files": files.known(),
            "columns": [target, features, ids],
        }
        home = Output.of(job.output, note, resume=job.resume, filesystem=job.filesystem)
        return cls(estimator, files, source, target, features, ids, job, home, quantity, settings)

    def first(self) -> tuple[Progression, StoredWeights | None]:
        if not self.output.has(self._state):
            return Progression(), None
        state = Progression(**json.loads(self.output.get(self._state)))
        return state, self._weights(len(state.history), state.factors[-1])

    def recalled(self, state: Progression) -> StoredWeights | None:
        return self._weights(state.best, state.factors[state.best]) if state.best else None

    def measured(self, number: int, weights: StoredWeights | None) -> tuple[Model, Leakage]:
        common: dict[str, Any] = {"target": self.target, "sample_weight": weights}
        reading = replace(self.job, output=None, resume=False)
        estimator = mark_equalized(fit(self.estimator, self.source, features=self.features, job=reading, **common))
        # A round that was cut off goes on where it stopped.
        place = replace(self.job, output=f"{self.output.path}/{self._round(number)}/leakage", resume=True)
        leak = measure(estimator, self.source, ids=self.ids, job=place, **common, **self.settings)
        if self.quantity in leak.information.categorical:
            raise UnansweredError(
                f"{self.quantity!r} is a category, whose leakage is found by refitting: over files only numbers can be "
                "made equal. Equalize the rows in memory."
            )
        return estimator, leak

    def reweighted(self, state: Progression, weights: StoredWeights | None, leak: Leakage) -> StoredWeights:
        number = len(state.history)
        after = self._weights(number, 1.0)
        total = self._write(leak, weights, after, state.exponent)
        state.factors.append(self.files.count / total)
        self.output.put(self._state, json.dumps(vars(state)).encode())
        for old in range(number):
            if old != state.best:
                self._forget(old)
        return self._weights(number, state.factors[-1])

    def final(self, state: Progression, weights: StoredWeights | None, leak: Leakage) -> StoredWeights:
        places = tuple(self.output.place(self.files.base, unit, "weights") for unit in self.files.units)
        kept = StoredWeights(self.output, self.files.base, "weights", places=places)
        self._write(leak, weights, kept, 0.0)
        return kept

    def _write(self, leak: Leakage, before: StoredWeights | None, after: StoredWeights, exponent: float) -> float:
        measured = _columns(leak.information, self.quantity)
        assert isinstance(measured, StoredColumns)
        ids = None if self.ids is None else self.files.schema.field(self.ids)
        work = Reweighting(measured.output, measured.kind, self.quantity, ids, before, after, exponent)
        engine = self.job.engine or Local()
        runs = in_runs(self.files.units, engine.workers)
        with Progress(self.job.progress).of("weighing", len(runs)) as watch:
            return engine.total(work, runs, watch)

    def _weights(self, number: int, factor: float) -> StoredWeights:
        return StoredWeights(self.output, self.files.base, f"{self._round(number)}/weights", factor)

    @property
    def _state(self) -> str:
        return self.output.kept("state.json")

    def _round(self, number: int) -> str:
        return f"rounds/{number:02d}"

    def _forget(self, number: int) -> None:
        folder = f"{self.output.path}/{self._round(number)}"
        if self.output.filesystem.get_file_info(folder).type == pyarrow.fs.FileType.Directory:
            self.output.filesystem.delete_dir(folder)


def spread(leak: Leakage, quantity: str) -> float:
    """Return the standard deviation of the exposure as a share of its mean."""
    information = leak.information
    if quantity in information.categorical:
        exposure = _exposure(information, quantity)
        unknown = int(np.isnan(exposure).sum())
        if unknown:
            raise UnansweredError(
                f"The model could not be refitted with another {quantity} of {unknown} of {len(exposure)} people, so "
                "it cannot be made equal. Fit with a stronger penalty, or merge rare values."
            )
        known: Distribution = Values.of(exposure)
    else:
        known = information.distributions(_kind(information, quantity))[quantity]
    if known.zeros:
        raise InputError(
            f"The release says nothing about {quantity!r} of {known.zeros} people, whatever their weight; it cannot be "
            "made equal."
        )
    return known.deviation / known.mean


def _exposure(information: Information, quantity: str) -> Array:
    """Return what each person's weight is divided by."""
    if quantity in information.categorical:
        return information.distances(quantity, None).nearest()
    return _columns(information, quantity)[quantity]


def _columns(information: Information, quantity: str) -> Mapping[str, Array]:
    return information.examples() if _kind(information, quantity) == "examples" else information.attributes()


def _kind(information: Information, quantity: str) -> Kind:
    if quantity in ("eta", "dfil"):
        return "examples"
    if quantity not in information.attribute_names:
        raise InputError(
            f"quantity must be 'eta', 'dfil' or one of {list(information.attribute_names)}, not {quantity!r}."
        )
    if quantity in information.without_slope and quantity not in information.categorical:
        raise UnansweredError(
            f"The release moves with {quantity!r} by jumps, not smoothly: there is no eta of it that could be made "
            "equal. Equalize 'eta', or an attribute whose coefficients are not all zero."
        )
    return "attributes"
