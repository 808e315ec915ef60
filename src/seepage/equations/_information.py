"""The exact information of what solves equations, published with noise."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption, given
from seepage._noise import GaussianNoise, given_noise
from seepage._tables import Array, Column
from seepage.equations._solved import Solved
from seepage.errors import UnansweredError
from seepage.leakage import Distances, InformationOfRows, Jacobians
from seepage.leakage.owners import Several
from seepage.leakage.types import Assurance, Kind, Move
from seepage.meaning import Guarantee, check_delta

_ROWS = 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class EquationsInformation(InformationOfRows):
    """Exact Fisher information of parameters that solve estimating equations, about people in memory."""

    assurance: Assurance = "exact"
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
        return replace(
            self, noise=given_noise(noise, self.names, self.unshaped), assumptions=(released(noise, self.names), *rest)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What is published, by name."""
        return tuple(self.solved.psi.names[i] for i in self.solved.published)

    @property
    def outcome(self) -> tuple[str, ...]:
        return ()

    @property
    def _rows(self) -> int:
        return len(self.solved.table)

    @cached_property
    def blocks(self) -> dict[str, NDArray[np.intp]]:
        """Which values of a row each attribute is."""
        widths = [each.width for each in self.solved.private.values()]
        starts = np.cumsum([0, *widths])
        return {name: np.arange(a, b) for name, a, b in zip(self.solved.private, starts, starts[1:], strict=False)}

    @property
    def _values(self) -> int:
        return sum(map(len, self.blocks.values()))

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

    @property
    def _examples_of_rows(self) -> dict[str, Array]:
        return self._of_rows[0]

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        return self._of_rows[1] if self.owners is None else self._several(None).attributes(self._of_rows[1])

    def _several(self, attribute: str | None) -> Several:
        assert self.owners is not None
        if attribute is None:
            return Several(self.owners, tuple(self.blocks.values()), self._repeats(self.attribute_names), self._moved)
        block = self.blocks[attribute]
        repeats = self._repeats([attribute])
        return Several(self.owners, (np.arange(len(block)),), repeats, lambda rows: self._moved(rows)[:, :, block])

    def attributes(self) -> dict[str, Array]:
        return self._attributes

    def column_at(self, kind: Kind, name: str, factor: float) -> Array:
        return np.asarray((self.examples() if kind == "examples" else self.attributes())[name] / factor)

    def jacobians(self, people: NDArray[np.intp]) -> Jacobians | None:
        return None if self.owners is not None else Jacobians(self._moved(people), self.blocks)

    def _gram(self, rows: NDArray[np.bool_] | None, attribute: str | None) -> Array:
        block = slice(None) if attribute is None else self.blocks[attribute]
        gram = np.zeros((len(self.solved.published),) * 2)
        for part in self._parts(np.arange(self._rows) if rows is None else np.flatnonzero(rows)):
            flat = self._moved(part)[:, :, block].transpose(1, 0, 2).reshape(len(gram), -1)
            gram += flat @ flat.T
        return gram

    def _column(self, attribute: str) -> Column:
        return self.solved.table.column(attribute)

    def distances(self, attribute: str, values: Sequence[Hashable] | None) -> Distances:
        if values is None:
            self._check_category(attribute)
            values = self.solved.private[attribute].levels or ()

        def mover(value: Hashable) -> Move:
            def move(rows: NDArray[np.intp]) -> tuple[float, None]:
                moved = self.solved.with_value(rows, attribute, value) - self.solved.theta
                return float(np.linalg.norm(self._white @ moved[self.solved.published])), None

            return move

        return self._refitted(attribute, tuple(values), mover)

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
