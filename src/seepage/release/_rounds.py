"""One round of equalizing: fit, measure, and weigh anew, wherever the rows are."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow.fs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from seepage._errors import InputError
from seepage._noise import as_noise
from seepage.engines import Engine
from seepage.engines._files import Files
from seepage.engines._output import Output
from seepage.engines._progress import Progress
from seepage.leakage import Information, Leakage
from seepage.leakage.types import Kind
from seepage.linear import fit, measure
from seepage.linear.files._measure import noted
from seepage.linear.files._roles import Roles
from seepage.linear.files._weights import Reweighting, StoredWeights
from seepage.linear.information._passes import in_runs

Array = NDArray[np.float64]
Weights = TypeVar("Weights")


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


class Rounds(Protocol, Generic[Weights]):
    """Fits and measures with given weights, and finds the next ones."""

    def first(self) -> tuple[Progression, Weights]:
        """Return where to begin: with equal weights, or where an earlier job stopped."""
        ...

    def recalled(self, state: Progression) -> Weights:
        """Return the weights of the best round, when an earlier job made it."""
        ...

    def measured(self, number: int, weights: Weights) -> tuple[Any, Leakage]:
        """Return the model fitted with some weights, and what it leaks."""
        ...

    def spread(self, leak: Leakage) -> float:
        """Return the standard deviation of the exposure as a share of its mean."""
        ...

    def reweighted(self, state: Progression, weights: Weights, leak: Leakage) -> Weights:
        """Return the weights of the next round."""
        ...

    def final(self, state: Progression, weights: Weights, leak: Leakage) -> Any:
        """Return the weights to keep."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rounds over rows in memory."""

    estimator: Any
    X: Any
    y: Any
    count: int
    quantity: str
    settings: dict[str, Any]

    def first(self) -> tuple[Progression, Array]:
        return Progression(), np.ones(self.count)

    def recalled(self, state: Progression) -> Array:
        raise AssertionError("Rows in memory are equalized in one go.")

    def measured(self, number: int, weights: Array) -> tuple[Any, Leakage]:
        estimator = clone(self.estimator)
        name = f"{estimator.steps[-1][0]}__sample_weight" if isinstance(estimator, Pipeline) else "sample_weight"
        estimator.fit(self.X, self.y, **{name: weights})
        return estimator, measure(estimator, self.X, self.y, sample_weight=weights, **self.settings)

    def spread(self, leak: Leakage) -> float:
        exposure = self._exposure(leak)
        _refuse_silence(self.quantity, int((exposure <= 0).sum()))
        return float(exposure.std() / exposure.mean())

    def reweighted(self, state: Progression, weights: Array, leak: Leakage) -> Array:
        weights = weights * self._exposure(leak) ** -state.exponent
        return np.asarray(weights * (self.count / weights.sum()))

    def final(self, state: Progression, weights: Array, leak: Leakage) -> Array:
        return weights

    def _exposure(self, leak: Leakage) -> Array:
        information = leak.information
        if _kind(self.quantity, information) == "examples":
            return information.examples()[self.quantity]
        if self.quantity in information.categorical:
            return information.distances(self.quantity, None).nearest()
        return information.attributes()[self.quantity]


@dataclass(frozen=True, eq=False)
class InFiles:
    """Rounds over rows in files: what is known of each row stays in files beside them."""

    estimator: Any
    files: Files
    source: Any
    target: str | Sequence[str]
    features: Sequence[str] | None
    ids: str | None
    engine: Engine
    output: Output
    filesystem: Any
    progress: bool | None
    quantity: str
    settings: dict[str, Any]

    @classmethod
    def of(
        cls,
        estimator: Any,
        source: Any,
        *,
        target: Any,
        features: Sequence[str] | None,
        ids: str | None,
        engine: Engine,
        output: Any,
        resume: bool,
        filesystem: Any,
        progress: bool | None,
        quantity: str,
        settings: dict[str, Any],
    ) -> "InFiles":
        """Open the files and the folder for the rounds."""
        Roles.of(None, target=target, sample_weight=None, ids=ids, groups=None)
        if output is None:
            raise InputError("X names files, so the weights go to files as well: name a new folder with output=.")
        files = Files.of(source, filesystem)
        job = {
            "model": repr(estimator),
            "quantity": quantity,
            "settings": {name: repr(value) for name, value in settings.items() if name != "noise_scale"},
            "noise": noted(as_noise(settings["noise_scale"])),
            "files": [[unit.path, *unit.groups, unit.rows, unit.size] for unit in files.units],
            "columns": [target, features, ids],
        }
        home = Output.of(output, job, resume=resume, filesystem=filesystem)
        return cls(
            estimator, files, source, target, features, ids, engine, home, filesystem, progress, quantity, settings
        )

    def first(self) -> tuple[Progression, StoredWeights | None]:
        if not self.output.has(self._state):
            return Progression(), None
        state = Progression(**json.loads(self.output.get(self._state)))
        return state, self._weights(len(state.history), state.factors[-1])

    def recalled(self, state: Progression) -> StoredWeights | None:
        return self._weights(state.best, state.factors[state.best]) if state.best else None

    def measured(self, number: int, weights: StoredWeights | None) -> tuple[Any, Leakage]:
        common: dict[str, Any] = {
            "target": self.target,
            "sample_weight": weights,
            "engine": self.engine,
            "filesystem": self.filesystem,
            "progress": self.progress,
        }
        estimator = fit(self.estimator, self.source, features=self.features, **common)
        place = f"{self.output.path}/{self._round(number)}/leakage"
        # A round that was cut off goes on where it stopped.
        return estimator, measure(
            estimator, self.source, ids=self.ids, output=place, resume=True, **common, **self.settings
        )

    def spread(self, leak: Leakage) -> float:
        kind = _kind(self.quantity, leak.information)
        if self.quantity in leak.information.categorical:
            raise InputError(
                f"{self.quantity!r} is a category: what moves with it is found by refitting, which needs the rows in "
                'memory. Equalize "eta" or a number, or pass X as a frame.'
            )
        found = leak.information.distributions(kind)[self.quantity]
        _refuse_silence(self.quantity, found.zeros)
        return float(found.deviation / found.mean)

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
        kept = StoredWeights(self.output, self.files.base, "weights")
        self._write(leak, weights, kept, 0.0)
        return kept

    def _write(self, leak: Leakage, before: StoredWeights | None, after: StoredWeights, exponent: float) -> float:
        information: Any = leak.information
        kind = _kind(self.quantity, information)
        ids = None if self.ids is None else self.files.schema.field(self.ids)
        work = Reweighting(information.rows.output, kind, self.quantity, ids, before, after, exponent)
        runs = in_runs(self.files.units, self.engine.workers)
        with Progress(self.progress).of("weighing", len(runs)) as watch:
            return self.engine.total(work, runs, watch)

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


def _kind(quantity: str, information: Information) -> Kind:
    if quantity in ("eta", "dfil"):
        return "examples"
    if quantity not in information.attribute_names:
        raise InputError(
            f"quantity must be 'eta', 'dfil' or one of {list(information.attribute_names)}, not {quantity!r}."
        )
    return "attributes"


def _refuse_silence(quantity: str, silent: int) -> None:
    if silent:
        raise InputError(
            f"The release says nothing about {quantity!r} of {silent} people, whatever their weight; it cannot be made "
            "equal."
        )
