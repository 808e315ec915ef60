"""What a page's numbers tell about each person, to be composed with what the model tells.

Numbers F_s with independent noise of deviation tau_s carry the information  sum_s (dF_s/dx)(dF_s/dx)^T / tau_s^2
about a person's values (eq. 7.5), whether or not the person is among those whom a number is the mean over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._errors import UnansweredError
from seepage._facts import Assumption, public
from seepage.leakage import Distances, GatheredInformation
from seepage.leakage.types import Kind, Variance, Who
from seepage.linear.information import LinearInformation, LogInformation
from seepage.linear.rows import in_threads
from seepage.meaning import EmpiricalPrior, Guarantee
from seepage.report.count._contents import NOISE, RATIO_NOISE, Contents

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class PageInformation(GatheredInformation):
    """The information of a page's noised numbers about each person."""

    model: LinearInformation
    squares: Array
    """The diagonal of each person's information matrix, shape (n, values)."""

    @property
    def count(self) -> int:
        return self.model.count

    @property
    def private_values(self) -> Array | int:
        return self.model.private_values

    @cached_property
    def _examples(self) -> dict[str, Array]:
        # The largest eigenvalue is at most the trace.
        trace = self.squares.sum(axis=1)
        return {"eta": np.sqrt(trace), "dfil": np.sqrt(trace / np.maximum(self.private_values, 1))}

    def examples(self) -> dict[str, Array]:
        return self._examples

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        geometry, missing = self.model.geometry, self.model.rows.missing
        blocks = list(geometry.blocks)
        if not geometry.public_label:
            blocks.append(np.arange(geometry.reading.shape[1], geometry.values))
        found = {}
        for i, (name, block) in enumerate(zip(self.attribute_names, blocks, strict=True)):
            found[name] = np.sqrt(self.squares[:, block].sum(axis=1))
            if i < len(self.model.columns) and self.model.columns[i] in missing:
                found[name][missing[self.model.columns[i]]] = np.nan
        return found

    def attributes(self) -> dict[str, Array]:
        return self._attributes

    def column_at(self, kind: Kind, name: str, factor: float) -> Array:
        raise UnansweredError("The noise of a page's numbers is fixed before the data are seen.")

    def joint(self, who: Who, attribute: str | None) -> float:
        # Of people together, at most the sum of what is told about each.
        each = self._examples["eta"] if attribute is None else self._attributes[attribute]
        mask = self.model.people.mask(who, self.count)
        return float(np.sqrt(np.nansum(np.square(each if mask is None else each[mask]))))

    def distances(self, attribute: str, values: Sequence[Any] | None) -> Distances:
        raise UnansweredError(
            f"What a page's numbers tell about {attribute!r} by refits is tried for some people before it is written, "
            "and not known for everybody. Ask the leakage of the model."
        )

    def variances(self) -> Mapping[str, Variance]:
        return self.model.variances()

    def spreads(self, attribute: str) -> tuple[EmpiricalPrior, ...]:
        return self.model.spreads(attribute)

    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        raise UnansweredError("A page's numbers are counted as information; they have no differential privacy.")


def counted(model: LinearInformation, contents: Contents) -> PageInformation:
    """Return what the numbers of a page tell about each person.

    Parameters
    ----------
    model : LinearInformation
        What was measured.
    contents : Contents
        What the page holds.
    """
    logs = logarithms(model, contents.attributes)
    if np.isneginf(logs).any():
        raise UnansweredError(
            "The model says nothing at all about a value of somebody, whose error floor is infinite: such numbers have "
            'no logarithm and cannot be noised. Ask for the "internal" edition, or name the attributes= that the model '
            "is about."
        )
    rows = model.rows
    spans = rows.spans()
    statistic = LogInformation(model.geometry)
    seen = [statistic.seen(rows.read(span)) for span in spans]
    coordinates = [_coordinate(model, name) for name in contents.attributes]

    def squares(number: tuple[tuple[tuple[int, ...], Array], float]) -> Array:
        (about, weights), noise = number
        chosen = [coordinates[i] for i in about]
        parts = [weights[span] for span in spans]
        through = statistic.through_fit(seen, chosen, parts)
        moved = [statistic.derivatives(each, chosen, part, through) for each, part in zip(seen, parts, strict=True)]
        return np.square(np.concatenate(moved) / noise)

    total = np.zeros((model.count, model.geometry.values))
    for part in in_threads(squares, list(zip(contents.weights(logs), contents.noise.tolist(), strict=False))):
        total += part
    for i, column in enumerate(model.columns):
        if column in rows.missing:
            # A cell that was filled in is nobody's value.
            total[np.ix_(rows.missing[column], model.geometry.blocks[i])] = 0.0
    return PageInformation(
        people=model.people,
        assurance=model.assurance,
        attribute_names=model.attribute_names,
        categorical=model.categorical,
        units=model.units,
        assumptions=(
            Assumption(
                "page",
                "{numbers} numbers about the data are published once, with noise of {noise} on the log scale, and of "
                "{ratio} where groups are compared.",
                {
                    "numbers": public(len(contents.noise), "g"),
                    "noise": public(NOISE, "g"),
                    "ratio": public(RATIO_NOISE, "g"),
                },
            ),
        ),
        noise=None,
        model=model,
        squares=total,
    )


def logarithms(model: LinearInformation, attributes: Sequence[str]) -> Array:
    """Return the logarithm of each person's information about some attributes, shape (n, attributes)."""
    known = model.attributes()
    found = np.empty((model.count, len(attributes)))
    with np.errstate(divide="ignore"):
        for i, name in enumerate(attributes):
            found[:, i] = 2.0 * np.log(known[name])
    return found


def _coordinate(model: LinearInformation, name: str) -> int:
    """Return which of a person's values an attribute is."""
    index = model.attribute_names.index(name)
    if model.is_label(name):
        return int(model.geometry.reading.shape[1])
    return int(model.geometry.blocks[index][0])
