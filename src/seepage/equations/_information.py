"""The exact information of what solves equations, published with noise."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption, given
from seepage._noise import GaussianNoise
from seepage._shapes import PerUnit
from seepage._tables import Array, Column, which
from seepage.equations._solved import Solved
from seepage.errors import UnansweredError, UnsupportedError
from seepage.execution.storage import followed
from seepage.leakage import Distances, GatheredInformation, Jacobians, PeopleInMemory
from seepage.leakage.owners import Owners, Several, largest
from seepage.leakage.types import Assurance, Kind, Variance, Who
from seepage.meaning import EmpiricalPrior, Guarantee, check_delta

_ROWS = 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class EquationsInformation(GatheredInformation):
    """Exact Fisher information of parameters that solve estimating equations, about people in memory."""

    assurance: Assurance = "exact"
    people: PeopleInMemory
    solved: Solved
    noise: GaussianNoise
    # As calibrate asks of every release with noise.
    unshaped = "estimating equations"

    @property
    def exact(self) -> Array:
        """What would be published without noise."""
        return self.solved.theta[None, self.solved.published]

    def with_noise(self, noise: GaussianNoise) -> "EquationsInformation":
        """Return what the same parameters tell with another noise."""
        rest = tuple(one for one in self.assumptions if one.kind != "release")
        return replace(self, noise=made(noise, self.names), assumptions=(released(noise, self.names), *rest))

    @property
    def names(self) -> tuple[str, ...]:
        """What is published, by name."""
        return tuple(self.solved.psi.names[i] for i in self.solved.published)

    @property
    def outcome(self) -> tuple[str, ...]:
        return ()

    @cached_property
    def owners(self) -> Owners | None:
        """Whose each row is, if some people have several."""
        person, ids = self.people.person, self.people.ids
        return None if person is None or ids is None else Owners(person, len(ids))

    @property
    def count(self) -> int:
        return len(self.solved.table) if self.owners is None else self.owners.count

    @cached_property
    def blocks(self) -> dict[str, NDArray[np.intp]]:
        """Which values of a row each attribute is."""
        widths = [each.width for each in self.solved.private.values()]
        starts = np.cumsum([0, *widths])
        return {name: np.arange(a, b) for name, a, b in zip(self.solved.private, starts, starts[1:], strict=False)}

    @property
    def _values(self) -> int:
        return sum(map(len, self.blocks.values()))

    @cached_property
    def private_values(self) -> Array | int:
        return self._values if self.owners is None else self._of_people[1]

    def _moved(self, rows: Any) -> Array:
        """Return slopes of rows in units of the noise, shape (rows, numbers, values)."""
        return np.asarray(np.einsum("pq,nqv->npv", self._white, self.solved.slopes[rows]))

    @cached_property
    def _white(self) -> Array:
        return self.noise.whiten(np.eye(len(self.solved.published)))

    def _parts(self, rows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        return (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))

    @cached_property
    def _of_rows(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """What is known of each row: of all values, and of each attribute."""
        count = len(self.solved.table)
        whole = {"eta": np.zeros(count), "dfil": np.zeros(count)}
        each = {name: np.zeros(count) for name in self.attribute_names}
        for rows in self._parts(np.arange(count)):
            moved = self._moved(rows)
            whole["eta"][rows] = np.linalg.norm(moved, 2, axis=(1, 2))
            whole["dfil"][rows] = np.sqrt((moved**2).sum(axis=(1, 2)) / self._values)
            for name, block in self.blocks.items():
                each[name][rows] = np.linalg.norm(moved[:, :, block], 2, axis=(1, 2))
        return whole, each

    @cached_property
    def _of_people(self) -> tuple[dict[str, Array], Array]:
        return self._several(None).examples(self._of_rows[0], lambda rows: np.full(len(rows), self._values))

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        return self._of_rows[1] if self.owners is None else self._several(None).attributes(self._of_rows[1])

    def _several(self, attribute: str | None) -> Several:
        """Return what is known of people with several rows."""
        assert self.owners is not None
        owners, every = self.owners, np.ones(len(self.solved.table), dtype=bool)
        names = self.attribute_names if attribute is None else (attribute,)
        repeats = np.column_stack([owners.repeats(self._column(name), every) for name in names])
        if attribute is None:
            return Several(owners, tuple(self.blocks.values()), repeats, self._moved)
        block = self.blocks[attribute]
        return Several(owners, (np.arange(len(block)),), repeats, lambda rows: self._moved(rows)[:, :, block])

    def examples(self) -> dict[str, Array]:
        return self._of_rows[0] if self.owners is None else self._of_people[0]

    def attributes(self) -> dict[str, Array]:
        return self._attributes

    def column_at(self, kind: Kind, name: str, factor: float) -> Array:
        return np.asarray((self.examples() if kind == "examples" else self.attributes())[name] / factor)

    def jacobians(self, people: NDArray[np.intp]) -> Jacobians | None:
        return None if self.owners is not None else Jacobians(self._moved(people), self.blocks)

    def joint(self, who: Who, attribute: str | None) -> float:
        people = self.people.mask(who, self.count)
        mask = people if self.owners is None else self.owners.rows(people)
        rows = np.arange(len(self.solved.table)) if mask is None else np.flatnonzero(mask)
        block = slice(None) if attribute is None else self.blocks[attribute]
        gram = np.zeros((len(self.solved.published),) * 2)
        for part in self._parts(rows):
            flat = self._moved(part)[:, :, block].transpose(1, 0, 2).reshape(len(gram), -1)
            gram += flat @ flat.T
        return largest(gram) if self.owners is None else self._several(attribute).joint(gram, people)

    def _column(self, attribute: str) -> Column:
        return self.solved.table.column(attribute)

    def distances(self, attribute: str, values: Sequence[Hashable] | None) -> Distances:
        column, count = self._column(attribute), len(self.solved.table)
        if values is None:
            self._check_category(attribute)
            values = self.solved.private[attribute].levels or ()
        asked, changing = tuple(values), [*np.arange(count)[:, None]]
        if self.owners is not None:
            # What a person repeats in all rows changes in all of them, and the first stands for it.
            again = (self.owners.repeats(column, np.ones(count, dtype=bool)) > 0)[self.owners.person]
            changing = [*np.flatnonzero(~again)[:, None], *self.owners.each(again)]
        absent = np.ones(count, dtype=bool)
        absent[[rows[0] for rows in changing]] = False
        truth = np.where(absent, -1, which(asked, column))
        distance = np.where(absent[:, None], np.nan, np.zeros((count, len(asked))))
        with followed(f"refitting with other values of {attribute}", len(asked) * len(changing)) as watch:
            for j, value in enumerate(asked):
                for rows in changing:
                    if truth[rows[0]] != j:
                        moved = self.solved.with_value(rows, attribute, value) - self.solved.theta
                        distance[rows[0], j] = np.linalg.norm(self._white @ moved[self.solved.published])
                    watch(1)
        return Distances(asked, truth, distance, self.people.person, absent if absent.any() else None)

    def variances(self) -> dict[str, Variance]:
        numbers = [name for name in self.attribute_names if name not in self.categorical]
        return {name: float(np.var(self._column(name).astype(np.float64))) for name in numbers}

    def spreads(self, attribute: str) -> tuple[EmpiricalPrior, ...]:
        return (EmpiricalPrior.of(self._column(attribute).astype(np.float64)),)

    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        check_delta(delta)
        raise UnansweredError(
            "Differential privacy is not translated for estimating equations: how far one record can move what solves "
            "them has no bound that is known."
        )


def released(noise: GaussianNoise, names: Sequence[str]) -> Assumption:
    """Say what is published, with what noise."""
    what, told = {"what": ", ".join(names)}, "Only {what} of these estimating equations is published, once, with "
    if noise.scale is None:
        kind = "the given covariance" if noise.shape is None else "a shape that does not follow the rows"
        return Assumption("release", f"{told}Gaussian noise of {kind}.", names=what)
    return Assumption("release", told + "Gaussian noise of scale {scale}.", {"scale": given(noise.scale, "g")}, what)


def made(noise: GaussianNoise, names: Sequence[str]) -> GaussianNoise:
    """Return a noise for some numbers with its covariance, if it has one; refuse those that take it from the rows."""
    if noise.follows_rows:
        raise UnsupportedError(
            "Noise that takes its shape from the rows is not counted for estimating equations. Give a scale, units of "
            'what is published (calibrate(..., shape={"effect": 10.0})), or a covariance that was made of public '
            "numbers (FromPublicRows of seepage.release)."
        )
    if isinstance(noise.shape, PerUnit):
        noise = replace(noise, covariance=noise.shape.covariance(tuple(names), False, 1))
    noise.whiten(np.eye(len(names)))
    return noise
