"""The few numbers that a screen has room for."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isnan, nan

import numpy as np

from seepage.leakage._categories import ToldCategory, told_categories
from seepage.leakage._distribution import Distribution, Values
from seepage.leakage._information import Exposed, Information
from seepage.leakage._prior import before, deviations
from seepage.leakage._through import Through, exposed_through
from seepage.leakage.types import Assurance
from seepage.meaning import GaussianPrior, says_nothing, success_rate
from seepage.pages import counted

MOST_ATTRIBUTES = 12
_LEGEND = (
    "Baseline: the error of a guess without the release, from how the attribute is spread over all people. The release "
    "says nothing where it leaves more than 99% of that variance."
)
_MOST_EXPOSED = 5
_ABOUT = "Approximate (≈): the model was refitted only with the people whose category is told best."
# Beyond this many people, exact refits of every category for everybody take longer than a reader of a summary waits.
_MOST_REFITTED = 5_000
_WIDTH = 80
_NAME, _CELL = 24, 14


@dataclass(frozen=True)
class Spread:
    """A quantity over all people.

    Attributes
    ----------
    median, tail, worst : float
        The tail is the 95th percentile of what is large when bad, the 5th of what is small. NaN if nobody has a value.
    baseline : float
        What somebody achieves who never saw the release; NaN where that is not known or nothing to compare with.
    silent : tuple of bool
        Of errors: whether the release says nothing, at the median, in the tail and at worst.
    approximate : tuple of bool
        Of rates: whether they are approximate, at the median, in the tail and at worst.
    """

    name: str
    median: float
    tail: float
    worst: float
    baseline: float = nan
    silent: tuple[bool, ...] = (False, False, False)
    approximate: tuple[bool, ...] = (False, False, False)

    @classmethod
    def of(cls, name: str, values: Distribution) -> "Spread":
        """Return the spread of some values."""
        if not values.count:
            return cls(name, nan, nan, nan)
        return cls(name, values.quantile(0.5), values.quantile(0.95), values.largest)

    @property
    def values(self) -> tuple[float, float, float]:
        """All three."""
        return self.median, self.tail, self.worst

    def inverse(self, baseline: float, silent: tuple[bool, ...]) -> "Spread":
        """Return the spread of 1/eta: of the smallest errors, beside that of a baseline guess."""
        median, tail, worst = (inf if eta == 0 else 1 / eta for eta in self.values)
        return Spread(self.name, median, tail, worst, baseline, silent)

    def rates(self, approximate: tuple[bool, ...]) -> "Spread":
        """Return the spread of success rates, of which this is the spread of distances."""
        median, tail, worst = (float(success_rate(distance)) for distance in self.values)
        return Spread(self.name, median, tail, worst, 0.5, approximate=approximate)

    def errors(self, sign: str) -> list[str]:
        """Return errors in words: a number behind a sign, or that the release says nothing."""
        pairs = zip(self.values, self.silent, strict=True)
        return ["says nothing" if silent or value == inf else f"{sign}{value:.4g}" for value, silent in pairs]

    def percents(self) -> list[str]:
        """Return rates in percent, behind a sign where they are approximate."""
        pairs = zip(self.values, self.approximate, strict=True)
        return [f"≈ {_percent(value)}" if approximate else _percent(value) for value, approximate in pairs]


@dataclass(frozen=True)
class ExposedPerson:
    """One of the most exposed people.

    Attributes
    ----------
    row : int
        Where they stand among all.
    called : str
        Their id, or where their row is if rows are only numbered.
    named : bool
        Whether it is an id.
    eta : float
        Their eta.
    through : Through or None
        The attribute through which they are exposed most, where it can be told.
    """

    row: int
    called: str
    named: bool
    eta: float
    through: Through | None


@dataclass(frozen=True)
class Summary:
    """Summary of a measurement, for a person to read.

    Attributes
    ----------
    examples : tuple of Spread
        `eta` and `dfil` over all people.
    floors : tuple of Spread
        The smallest errors of each attribute that is a number.
    rates : tuple of Spread
        How often the best attacker tells a category from another one, for each attribute that is a category and was
        refitted.
    categories : tuple of str
        The other categories.
    unanswered : tuple of str
        Numbers that the release moves with by jumps, so that no error of theirs is known.
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
    rates: tuple[Spread, ...]
    categories: tuple[str, ...]
    unanswered: tuple[str, ...]
    most_exposed: tuple[ExposedPerson, ...]
    relative_error: float
    assumptions: tuple[str, ...]

    @classmethod
    def of(cls, information: Information) -> "Summary":
        """Gather the numbers.

        Parameters
        ----------
        information : Information
            What was measured.
        """
        examples, attributes = information.distributions("examples"), information.distributions("attributes")
        numbers = [name for name in attributes if name not in information.categorical]
        known = [name for name in numbers if name not in information.without_slope]
        baseline = deviations(information, "data")
        categories = [name for name in attributes if name in information.categorical]
        few = information.count <= _MOST_REFITTED
        told = told_categories(information, [name for name in categories if few or information.ranks(name)])
        found = information.top(_MOST_EXPOSED)
        through = exposed_through(information, found.rows, told)
        return cls(
            people=information.count,
            assurance=information.assurance,
            noise_scale=None if information.noise is None else information.noise.scale,
            examples=tuple(Spread.of(name, values) for name, values in examples.items()),
            floors=tuple(
                eta.inverse(
                    baseline.get(eta.name, nan),
                    # Only of those that are shown: each must be looked at value by value.
                    _silent(information, eta, baseline) if i < MOST_ATTRIBUTES else (False, False, False),
                )
                for i, eta in enumerate(Spread.of(name, attributes[name]) for name in known)
            ),
            rates=tuple(_rates(name, each) for name, each in told.items()),
            categories=tuple(name for name in categories if name not in told),
            unanswered=tuple(name for name in numbers if name in information.without_slope),
            most_exposed=tuple(_most_exposed(found, through)),
            relative_error=examples["eta"].relative_error,
            assumptions=tuple(assumption.sentence() for assumption in information.assumptions),
        )

    @property
    def attributes(self) -> int:
        """Number of private attributes."""
        return len(self.floors) + len(self.rates) + len(self.categories) + len(self.unanswered)

    @property
    def heading(self) -> str:
        """The measured release, in a line."""
        noise = "" if self.noise_scale is None else f", noise scale {self.noise_scale:g}"
        return f"{self.people:,} people, {counted(self.attributes, 'private attribute')} ({self.assurance}{noise})"

    @property
    def legend(self) -> str:
        """Explanation of the baseline, and of releases that say nothing; empty if there is no baseline."""
        return "" if all(isnan(spread.baseline) for spread in self.floors) else _LEGEND

    @property
    def times_median(self) -> float:
        """Ratio of the largest eta to the median."""
        eta = self.examples[0]
        return eta.worst / eta.median if eta.median > 0 else inf

    @property
    def first(self) -> str:
        """The most exposed person, by how much and through which attribute, in a sentence."""
        eta = self.examples[0]
        if isnan(eta.worst):
            return "Most exposed: nobody, since nobody has a private value."
        one = self.most_exposed[0]
        times = f", {self.times_median:.1f} times the median eta" if eta.median > 0 else "; the median eta is 0"
        how = "" if one.through is None else f", most of all through {through_words(one.through)}"
        who = f"person {one.called}" if one.named else one.called
        return f"Most exposed: {who}{times}{how}."

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield self.heading
        yield from ("", _cells("", "", "median", "95th pct", "largest"))
        yield from (_row(spread, "", *(f"{value:.4g}" for value in spread.values)) for spread in self.examples)
        yield from self._errors()
        yield from self._categories()
        yield ""
        yield from textwrap.wrap(self.first, _WIDTH)
        if self.relative_error:
            yield f"Medians and percentiles are within {self.relative_error:.1%}."
        yield from ("", "Assumptions:")
        for sentence in self.assumptions:
            yield from textwrap.wrap(sentence, _WIDTH, initial_indent="- ", subsequent_indent="  ")

    def _errors(self) -> Iterator[str]:
        if not self.floors:
            return
        yield from ("", "Smallest error of any unbiased guess, in the attribute's own unit")
        yield _cells("", "baseline", "median", "5th pct", "smallest")
        for spread in self.floors[:MOST_ATTRIBUTES]:
            baseline = "unknown" if isnan(spread.baseline) else f"±{spread.baseline:.4g}"
            yield _row(spread, baseline, *spread.errors("±"))
        if len(self.floors) > MOST_ATTRIBUTES:
            yield f"... and {len(self.floors) - MOST_ATTRIBUTES} more attributes (see error_floor())"
        yield from textwrap.wrap(self.legend, _WIDTH)

    def _categories(self) -> Iterator[str]:
        if self.rates:
            yield from ("", "How often the best attacker tells a category from another one")
            yield _cells("", "coin", "median", "95th pct", "largest")
            for spread in self.rates[:MOST_ATTRIBUTES]:
                yield _row(spread, f"{spread.baseline:.0%}", *spread.percents())
            if len(self.rates) > MOST_ATTRIBUTES:
                yield f"... and {len(self.rates) - MOST_ATTRIBUTES} more categories (see success_rate())"
            if any("≈" in cell for spread in self.rates[:MOST_ATTRIBUTES] for cell in spread.percents()):
                yield from textwrap.wrap(_ABOUT, _WIDTH)
        if self.categories:
            names = _short(", ".join(sorted(self.categories)), _WIDTH - 51)
            yield from ("", f"Categories, which have no unit (see success_rate()): {names}")
        if self.unanswered:
            names = _short(", ".join(sorted(self.unanswered)), _WIDTH - 34)
            yield from ("", f"Unanswered, as the release jumps: {names}")


def _rates(name: str, told: ToldCategory) -> Spread:
    """Return how often a category is told, of everybody who has one."""
    known = ~np.isnan(told.far)
    far, exact = told.far[known], told.exact[known]
    some = not exact.all()
    return Spread.of(name, Values.of(far)).rates((some, some, some and not exact[far.argmax()]))


def through_words(through: Through) -> str:
    """Return the attribute through which somebody is exposed most, and how well it can be guessed, in words."""
    if through.success_rate is not None:
        rate = ("" if through.exact else "about ") + _percent(through.success_rate)
        return f"{through.attribute} (told {rate} of the time, where a coin has 50%)"
    if through.floor is None:
        return f"{through.attribute} (a category: ask success_rate)"
    return f"{through.attribute} (±{through.floor:.3g}, where a baseline guess is off by ±{through.baseline:.3g})"


def _silent(information: Information, eta: Spread, baseline: Mapping[str, float]) -> tuple[bool, ...]:
    """Return whether the release says nothing: whether it leaves nearly all of what was uncertain."""
    # Of all ways to be spread the Gaussian one leaves most: only where that is nearly all is the data's own looked at.
    if eta.name not in baseline or not says_nothing(float(GaussianPrior(baseline[eta.name] ** 2).left(eta.median))):
        return False, False, False
    known = before(information, "data", eta.name)
    return (False, False, False) if known is None else tuple(map(says_nothing, known.left(eta.values).tolist()))


def _percent(share: float) -> str:
    """Return a share in percent, and never certainty: noise leaves none."""
    return "over 99.9%" if share > 0.999 else f"{100 * share:.3g}%"


def _cells(name: str, *cells: str) -> str:
    return f"{name:{_NAME}}" + "".join(f"{cell:>{_CELL}}" for cell in cells)


def _row(spread: Spread, *cells: str) -> str:
    if isnan(spread.worst):
        return f"{_short(spread.name):{_NAME}}{'nobody has a value':>{4 * _CELL}}"
    return _cells(_short(spread.name), *cells)


def _most_exposed(found: Exposed, through: Iterable[Through | None]) -> Iterator[ExposedPerson]:
    """Yield the most exposed people, called by their ids, or by where their rows are."""
    rows, ids = found.rows.tolist(), found.people.ids
    named = ids is not None and not np.array_equal(ids, found.rows)
    if named and ids is not None:
        called = [str(each) for each in ids]
    elif "file" in found.columns:
        places = zip(found.columns["row"].tolist(), found.columns["file"].tolist(), strict=True)
        called = [f"row {row} of {file.rpartition('/')[2]}" for row, file in places]
    else:
        called = [f"row {row}" for row in rows]
    for row, name, eta, channel in zip(rows, called, found.columns["eta"].tolist(), through, strict=True):
        yield ExposedPerson(row, name, named, eta, channel)


def _short(text: str, width: int = _NAME - 1) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
