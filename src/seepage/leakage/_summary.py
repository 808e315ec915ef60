"""The few numbers that a screen has room for."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import narwhals as nw

from seepage.leakage._distribution import Distribution
from seepage.leakage._groups import GroupLeakage
from seepage.leakage._information import Information
from seepage.leakage.types import Assurance

MOST_ATTRIBUTES = 12
_MOST_EXPOSED = 5
_WIDTH = 88


@dataclass(frozen=True)
class Spread:
    """A quantity over all people.

    Attributes
    ----------
    median, tail, worst : float
        The tail is the 95th percentile of what is large when bad, the 5th of what is small.
    """

    name: str
    median: float
    tail: float
    worst: float

    @classmethod
    def of(cls, name: str, values: Distribution) -> "Spread":
        """Return the spread of some values."""
        return cls(name, values.quantile(0.5), values.quantile(0.95), values.largest)

    def inverse(self) -> "Spread":
        """Return the spread of 1/eta: of the smallest errors."""
        ends = (1 / eta if eta > 0 else float("inf") for eta in (self.median, self.tail, self.worst))
        return Spread(self.name, *ends)


@dataclass(frozen=True)
class GroupMean:
    """A group of people and its mean eta, with its interval."""

    name: str
    count: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class ExposedPerson:
    """One of the most exposed people: where they stand among all, what to call them, and their eta."""

    row: int
    called: str
    eta: float


@dataclass(frozen=True)
class Summary:
    """What a measurement found, for a person to read.

    Attributes
    ----------
    examples : tuple of Spread
        `eta` and `dfil` over all people.
    floors : tuple of Spread
        The smallest errors of each attribute that is a number.
    categories : tuple of str
        The other attributes.
    groups : tuple of GroupMean
        The groups that were asked for, the largest mean first.
    most_exposed : tuple of ExposedPerson
        The largest eta first.
    relative_error : float
        How far medians and percentiles may be from the truth.
    """

    people: int
    assurance: Assurance
    noise_scale: float | None
    examples: tuple[Spread, ...]
    floors: tuple[Spread, ...]
    categories: tuple[str, ...]
    groups: tuple[GroupMean, ...]
    most_exposed: tuple[ExposedPerson, ...]
    relative_error: float
    assumptions: tuple[str, ...]

    @classmethod
    def of(cls, information: Information, *, groups: GroupLeakage | None = None, named: bool = False) -> "Summary":
        """Gather the numbers.

        Parameters
        ----------
        information : Information
            What was measured.
        groups : GroupLeakage, optional
            Groups to compare.
        named : bool, default=False
            Whether people are called by their ids, and not by where their rows are.
        """
        examples, attributes = information.distributions("examples"), information.distributions("attributes")
        numbers = [name for name in attributes if name not in information.categorical]
        return cls(
            people=information.count,
            assurance=information.assurance,
            noise_scale=None if information.noise is None else information.noise.scale,
            examples=tuple(Spread.of(name, values) for name, values in examples.items()),
            floors=tuple(Spread.of(name, attributes[name]).inverse() for name in numbers),
            categories=tuple(name for name in attributes if name in information.categorical),
            groups=() if groups is None else _means(groups),
            most_exposed=_most_exposed(information, named),
            relative_error=examples["eta"].relative_error,
            assumptions=tuple(assumption.sentence() for assumption in information.assumptions),
        )

    @property
    def times_median(self) -> float:
        """How many times the median eta the largest is."""
        eta = self.examples[0]
        return eta.worst / eta.median if eta.median > 0 else float("inf")

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        attributes = len(self.floors) + len(self.categories)
        yield f"{self.people} people, {attributes} private attributes ({self.assurance})"
        yield from ("", f"{'':24}{'median':>12}{'95th pct':>12}{'largest':>12}")
        yield from (_row(spread, "") for spread in self.examples)
        yield from ("", "Smallest error of any unbiased guess, in the attribute's own unit")
        yield f"{'':24}{'median':>12}{'5th pct':>12}{'smallest':>12}"
        yield from (_row(spread, "+-") for spread in self.floors[:MOST_ATTRIBUTES])
        if len(self.floors) > MOST_ATTRIBUTES:
            yield f"... and {len(self.floors) - MOST_ATTRIBUTES} more attributes (see error_floor())"
        if self.categories:
            yield f"Categories, which have no unit: {_short(', '.join(sorted(self.categories)), _WIDTH - 34)}"
        row = self.most_exposed[0].row
        yield from ("", f"Most exposed: person in row {row}, {self.times_median:.1f} times the median eta.")
        if self.relative_error:
            yield f"Medians and percentiles are within {self.relative_error:.1%}."
        yield from ("", "Assumptions:")
        for sentence in self.assumptions:
            yield from textwrap.wrap(sentence, _WIDTH, initial_indent="- ", subsequent_indent="  ")


def _row(spread: Spread, sign: str) -> str:
    numbers = (f"{sign}{value:.4g}" for value in (spread.median, spread.tail, spread.worst))
    return f"{_short(spread.name):24}" + "".join(f"{number:>12}" for number in numbers)


def _means(groups: GroupLeakage) -> tuple[GroupMean, ...]:
    rows = nw.from_native(groups.frame, eager_only=True).iter_rows(named=True)
    found = [GroupMean(str(row["group"]), row["count"], row["mean"], row["mean_low"], row["mean_high"]) for row in rows]
    return tuple(sorted(found, key=lambda each: -each.mean))


def _most_exposed(information: Information, named: bool) -> tuple[ExposedPerson, ...]:
    found = information.top(_MOST_EXPOSED)
    rows, etas = found.rows.tolist(), found.columns["eta"].tolist()
    if named and found.people.ids is not None:
        who = [str(each) for each in found.people.ids]
    elif "file" in found.columns:
        places = zip(found.columns["row"].tolist(), found.columns["file"].tolist(), strict=True)
        who = [f"row {row} of {file.rpartition('/')[2]}" for row, file in places]
    else:
        who = [f"row {row}" for row in rows]
    return tuple(map(ExposedPerson, rows, who, etas))


def _short(text: str, width: int = 23) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
