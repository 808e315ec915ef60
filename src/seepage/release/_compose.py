"""Several releases about the same people.

Independent releases carry information that adds: I = I_1 + I_2 + ... (eq. 6.1). Traces and diagonals add with it. The
largest eigenvalue is that of the sum, where the matrices are known; without them,  max_k eta_k^2  <=  eta^2  <=  sum_k
eta_k^2  (eq. 6.2). Releases without noise are no such sums: the other people are the noise of all of them at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption, public
from seepage._tables import Array
from seepage.attackers import SamplingLeakage, several
from seepage.errors import InputError, UnansweredError
from seepage.leakage import (
    Distances,
    GatheredInformation,
    Information,
    Jacobians,
    Leakage,
    Matching,
    Unlike,
    match,
    refuse_averages,
    same_values,
)
from seepage.leakage.types import Assurance, Kind, Variance, Who
from seepage.meaning import EmpiricalPrior, Guarantee, TwoNormals, check_delta, gaussian_epsilon

# In the largest temporary.
_MOST_NUMBERS = 2**22


def compose(leaks: Iterable[Leakage] | Mapping[str, Leakage]) -> Leakage:
    """Return what several releases about the same people, or some of the same, give away together.

    Parameters
    ----------
    leaks : iterable of Leakage, or mapping from name to Leakage
        One measurement for each release. People are matched by their ids. Where nothing protects but noise, all
        releases are of the same private attributes.

    Returns
    -------
    Leakage
        With noise, information adds: the squares of `dfil` and of every attribute's eta, and with the matrices of
        linear models `eta` and `joint`; of others these are upper bounds, the root of the summed squares, and `eta_low`
        is the largest eta of a single release. The assurance is the weakest of the parts.

        Without noise, or before attackers who know less than everything, the outputs are read as one: it answers
        whatever a single one does, and `differences()` says whom the difference between two outputs leaves.

    Examples
    --------
    Publishing twice with the same noise gives away sqrt(2) times as much, not twice as much:

    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
    >>> twice = seepage.compose([leak, leak])
    >>> twice
    Leakage(442 people, 11 private attributes, exact)
    >>> float((twice.error_floor()["age"] / leak.error_floor()["age"]).mean().round(4))
    0.7071

    A table with three more people, without noise:

    >>> before = seepage.measure(LinearRegression().fit(X[3:], y[3:]), X[3:], y[3:])
    >>> after = seepage.measure(LinearRegression().fit(X, y), X, y)
    >>> both = seepage.compose({"January": before, "February": after})
    >>> both.differences()[["inside", "outside", "people", "ids"]]
         inside  outside  people      ids
    0  February  January       3  0, 1, 2
    """
    named = dict(leaks) if isinstance(leaks, Mapping) else {f"release {i}": leak for i, leak in enumerate(leaks, 1)}
    _check_leaks(named)
    if all(isinstance(leak, SamplingLeakage) for leak in named.values()):
        return several(cast(dict[str, SamplingLeakage], named))
    matching = _matching(named)
    releases: list[Information] = []
    rows: list[NDArray[np.intp]] = []
    for leak, at in zip(named.values(), matching.rows, strict=True):
        releases += leak.information.releases
        rows += [np.where(at >= 0, each[at], -1) for each in leak.information.rows_of_releases]
    return Leakage(ComposedInformation.of(tuple(releases), Matching(matching.people, tuple(rows))))


@dataclass(frozen=True, eq=False, kw_only=True)
class ComposedInformation(GatheredInformation):
    """The information of independent releases together."""

    parts: tuple[Information, ...]
    matching: Matching

    @property
    def releases(self) -> tuple[Information, ...]:
        return self.parts

    @property
    def rows_of_releases(self) -> tuple[NDArray[np.intp], ...]:
        return self.matching.rows

    @classmethod
    def of(cls, parts: tuple[Information, ...], matching: Matching) -> "ComposedInformation":
        """Compose releases whose people were matched."""
        exact = all(part.jacobians(np.arange(1)) is not None for part in parts)
        bound = Assumption(
            "composed bound",
            "dfil and the information about each attribute are sums; eta and joint are upper bounds (the root of the "
            "summed squares; estimates of them where a release is estimated), because the releases may point in "
            "different directions.",
        )
        return cls(
            people=matching.people,
            assurance=max((part.assurance for part in parts), key=get_args(Assurance).index),
            attribute_names=parts[0].attribute_names,
            categorical=parts[0].categorical,
            units=parts[0].units,
            assumptions=(
                Assumption(
                    "composition",
                    "{releases} releases about the same people are composed; the noise of each is independent of the "
                    "others'.",
                    {"releases": public(len(parts), "g")},
                ),
                *(() if exact else (bound,)),
                *(one.of_release(number) for number, part in enumerate(parts, 1) for one in part.assumptions),
            ),
            # There is no one noise that could be chosen anew.
            noise=None,
            stays=any(part.stays for part in parts),
            without_slope=frozenset().union(*(part.without_slope for part in parts)),
            parts=parts,
            matching=matching,
        )

    @property
    def count(self) -> int:
        return self.matching.count

    @property
    def outcome(self) -> tuple[str, ...]:
        # Two releases may predict two things.
        return tuple(dict.fromkeys(name for part in self.parts for name in part.outcome))

    @property
    def private_values(self) -> Array | int:
        # The same attributes may be coded by more numbers in one release than in another.
        return reduce(np.maximum, self._values)

    @property
    def _values(self) -> list[Array]:
        """How many private values everybody has in each release."""
        each = (np.broadcast_to(np.asarray(part.private_values), part.count) for part in self.parts)
        return [self.matching.spread(i, values) for i, values in enumerate(each)]

    @cached_property
    def _moved(self) -> "_Moved | None":
        """How all releases together move with people's values; None if it is not known of one of them."""
        first = [part.jacobians(np.arange(1)) for part in self.parts]
        if any(each is None for each in first):
            return None
        return _Moved.of(self.parts, self.matching, [each for each in first if each is not None])

    @cached_property
    def _examples(self) -> dict[str, Array]:
        each = [
            {name: self.matching.spread(i, values) for name, values in part.examples().items()}
            for i, part in enumerate(self.parts)
        ]
        found = {"eta": _root_of_squares([part["eta"] for part in each])}
        # Traces add, and a trace is dfil^2 times the number of values that it is the mean over (eq. 6.1).
        shares = [np.sqrt(_share(values, self.private_values)) for values in self._values]
        each = [{**part, "dfil": part["dfil"] * share} for part, share in zip(each, shares, strict=True)]
        found["dfil"] = _root_of_squares([part["dfil"] for part in each])
        if self._moved is not None:
            # Where nothing is told of somebody, nothing is told by all of them.
            return {**found, "eta": np.where(np.isnan(found["eta"]), np.nan, self._moved.eta())}
        found["eta_low"] = np.max([part.get("eta_low", part["eta"]) for part in each], axis=0)
        if any("dfil_standard_error" in part for part in each):
            # Delta method: d sqrt(sum d_k^2) = sum (d_k / d) dd_k; a part without a standard error is exact.
            errors = [
                part["dfil"] * share * part.get("dfil_standard_error", 0.0)
                for part, share in zip(each, shares, strict=True)
            ]
            total = found["dfil"]
            found["dfil_standard_error"] = np.divide(
                _root_of_squares(errors), total, out=np.zeros_like(total), where=total > 0
            )
        return found

    def examples(self) -> dict[str, Array]:
        return self._examples

    @cached_property
    def _attributes(self) -> dict[str, Array]:
        each = [part.attributes() for part in self.parts]
        return {
            name: _root_of_squares([self.matching.spread(i, part[name]) for i, part in enumerate(each)])
            for name in each[0]
        }

    def attributes(self) -> dict[str, Array]:
        return self._attributes

    def column_at(self, kind: Kind, name: str, factor: float) -> Array:
        raise UnansweredError("Each of several releases has noise of its own: calibrate each by itself.")

    def variances(self) -> Mapping[str, Variance]:
        return self.parts[0].variances()

    def spreads(self, attribute: str) -> tuple[EmpiricalPrior, ...]:
        return self.parts[0].spreads(attribute)

    def distances(self, attribute: str, values: Sequence[object] | None) -> Distances:
        # The releases together are one Gaussian vector, so lengths add like those of orthogonal vectors.
        first = self.parts[0].distances(attribute, values)
        found = [first, *(part.distances(attribute, first.values) for part in self.parts[1:])]
        alone = [one.of_people() for one in found]
        each = [_everybody(one, at) for one, at in zip(alone, self.matching.rows, strict=True) if one is not None]
        if len(each) < len(found):
            raise UnansweredError(
                f"Rows of one person have different values of {attribute!r}, and which of them another release is "
                "about is not known. Ask each release by itself for its success_rate()."
            )
        lacking = [np.zeros(self.count, dtype=bool) if one.absent is None else one.absent for one in each]
        absent = np.logical_and.reduce(lacking)
        # A release in which somebody has no value tells nothing about it.
        told = [
            np.where(none[:, None] & ~absent[:, None], 0.0, one.distance)
            for one, none in zip(each, lacking, strict=True)
        ]
        distance, unlike = _root_of_squares(told), _beside([one.unlike for one in each], told)
        if unlike is not None:
            distance[unlike.records, unlike.others] = unlike.pairs.distance()
        truth = reduce(np.maximum, [one.truth for one in each])
        exact = np.logical_and.reduce([np.ones(distance.shape) if one.exact is None else one.exact for one in each])
        return Distances(first.values, truth, distance, None, absent if absent.any() else None, unlike, exact)

    def guarantee(self, delta: float, input_norm: float | None) -> Guarantee:
        check_delta(delta)
        if all(part.noise is not None for part in self.parts):
            # Gaussian releases together are one Gaussian release, whose squared ratios add.
            each = [part.guarantee(delta, input_norm) for part in self.parts]
            renyi = sum(one.renyi for one in each)
            epsilon = gaussian_epsilon(float(np.sqrt(renyi)), delta)
        else:
            each = [part.guarantee(delta / len(self.parts), input_norm) for part in self.parts]
            renyi, epsilon = sum(one.renyi for one in each), sum(one.epsilon for one in each)
        assumptions = (s.of_release(number) for number, one in enumerate(each, 1) for s in one.assumptions)
        return Guarantee(renyi, epsilon, delta, tuple(assumptions))

    def joint_information_loss(self, who: Who, attribute: str | None) -> float:
        if self._moved is not None:
            mask = self.people.mask(who, self.count)  # type: ignore[attr-defined]
            return self._moved.joint_information_loss(
                np.arange(self.count) if mask is None else np.flatnonzero(mask), attribute
            )
        if not self.matching.same:
            raise UnansweredError(
                "What releases about different people say of several of them together is answered for linear models "
                "in memory. Ask each release by itself: leak.joint_information_loss(...)."
            )
        return float(np.sqrt(sum(part.joint_information_loss(who, attribute) ** 2 for part in self.parts)))


@dataclass(frozen=True, eq=False)
class _Moved:
    """How releases together move with people's values, in units of their noises."""

    parts: tuple[Information, ...]
    matching: Matching
    sizes: tuple[int, ...]
    """How many numbers each release has."""
    blocks: dict[str, NDArray[np.intp]]
    """Which of a person's values each attribute is: the same number has the same place in all releases."""

    @classmethod
    def of(cls, parts: tuple[Information, ...], matching: Matching, first: Sequence[Jacobians]) -> "_Moved":
        blocks = same_values(each.blocks for each in first)
        return cls(parts, matching, tuple(each.moved.shape[1] for each in first), blocks)

    def _of(self, people: NDArray[np.intp]) -> Array:
        width, first = sum(map(len, self.blocks.values())), 0
        found = np.zeros((len(people), sum(self.sizes), width))
        for part, at, size in zip(self.parts, self.matching.rows, self.sizes, strict=True):
            inside = np.flatnonzero(at[people] >= 0)
            known = part.jacobians(at[people][inside]) if len(inside) else None
            if known is not None:
                numbers = np.arange(first, first + size)
                for name, block in known.blocks.items():
                    places = self.blocks[name][: len(block)]
                    found[np.ix_(inside, numbers, places)] = known.moved[:, :, block]
            first += size
        return found

    def _chunks(self, people: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        step = max(_MOST_NUMBERS // max(sum(self.sizes) * sum(map(len, self.blocks.values())), 1), 1)
        for start in range(0, len(people), step):
            yield people[start : start + step]

    def eta(self) -> Array:
        """Return the root of the largest eigenvalue of each person's information."""
        found = np.zeros(self.matching.count)
        for people in self._chunks(np.arange(self.matching.count)):
            found[people] = np.linalg.norm(self._of(people), 2, axis=(1, 2))
        return found

    def joint_information_loss(self, people: NDArray[np.intp], attribute: str | None) -> float:
        """Return the same of some people's values together."""
        kept = slice(None) if attribute is None else self.blocks[attribute]
        total = np.zeros((sum(self.sizes),) * 2)
        for some in self._chunks(people):
            flat = self._of(some)[:, :, kept].transpose(1, 0, 2).reshape(len(total), -1)
            total += flat @ flat.T
        return float(np.sqrt(max(np.linalg.eigvalsh(total)[-1], 0.0)))


def _everybody(found: Distances, rows: NDArray[np.intp]) -> Distances:
    """Return distances of the people of one release for everybody; who is not in it has no value there."""
    inside = np.flatnonzero(rows >= 0)
    if len(inside) == len(rows) and (rows == np.arange(len(rows))).all():
        return found
    truth = np.full(len(rows), -1, dtype=np.intp)
    distance = np.full((len(rows), len(found.values)), np.nan)
    absent = np.ones(len(rows), dtype=bool)
    truth[inside], distance[inside] = found.truth[rows[inside]], found.distance[rows[inside]]
    absent[inside] = False if found.absent is None else found.absent[rows[inside]]
    unlike = None
    if found.unlike is not None:
        place = np.full(len(found.truth), -1, dtype=np.intp)
        place[rows[inside]] = inside
        unlike = Unlike(place[found.unlike.records], found.unlike.others, found.unlike.pairs)
    exact = np.ones(distance.shape, dtype=bool)
    if found.exact is not None:
        exact[inside] = found.exact[rows[inside]]
    return Distances(found.values, truth, distance, None, absent, unlike, exact)


def _share(values: Array | int, total: Array | int) -> Array:
    """Return a number of values over a larger one; 1 where there are none."""
    return np.asarray(np.maximum(values, 1) / np.maximum(total, 1), dtype=np.float64)


def _root_of_squares(values: Sequence[Array]) -> Array:
    # hypot keeps what a plain square would lose to overflow.
    add: Callable[[Sequence[Array]], Array] = np.hypot.reduce
    return add(values)


def _beside(each: Sequence[Unlike | None], distances: Sequence[Array]) -> Unlike | None:
    """Return the pairs of releases of which one at least has two noises: together they are one of more axes."""
    places = np.unique(
        np.concatenate(
            [np.empty((0, 2), dtype=np.intp)]
            + [np.column_stack([one.records, one.others]) for one in each if one is not None]
        ),
        axis=0,
    )
    if not len(places):
        return None
    records, others = places.T
    pairs = TwoNormals(np.empty((len(places), 0)), np.empty((len(places), 0)))
    for one, distance in zip(each, distances, strict=True):
        alone = TwoNormals(distance[records, others][:, None], np.ones((len(places), 1)))
        if one is not None:
            at = one.places(distance.shape)[records, others]
            own = TwoNormals.together([one.pairs.take(at[at >= 0]), alone.take(at < 0)])
            alone = own.take(np.argsort(np.concatenate([np.flatnonzero(at >= 0), np.flatnonzero(at < 0)])))
        pairs = pairs.beside(alone)
    return Unlike(records, others, pairs)


def _check_leaks(leaks: Mapping[str, Leakage]) -> None:
    if not leaks:
        raise InputError("compose was given no releases.")
    strange = [leak for leak in leaks.values() if not isinstance(leak, Leakage)]
    if strange:
        raise InputError(f"compose takes a list of Leakage, as seepage.measure returns them, not {strange[0]!r}.")
    averages = [isinstance(leak, SamplingLeakage) for leak in leaks.values()]
    if any(averages) and not all(averages):
        refuse_averages(next(leak for leak in leaks.values() if isinstance(leak, SamplingLeakage)), "Composing")


def _matching(leaks: Mapping[str, Leakage]) -> Matching:
    """Return who is in which release; refuse releases that are not about the same values."""
    (name, one), *rest = leaks.items()
    first = one.information
    for other, leak in rest:
        information = leak.information
        if set(information.attribute_names) != set(first.attribute_names):
            raise InputError(
                f"{name} is about the attributes {list(first.attribute_names)} and {other} about "
                f"{list(information.attribute_names)}. Measure both with the same attributes= and public_label=."
            )
        for attribute in set(information.units) & set(first.units):
            if information.units[attribute] != first.units[attribute]:
                raise InputError(
                    f"{attribute!r} is counted as {first.units[attribute]} in {name} and as "
                    f"{information.units[attribute]} in {other}: their information is not in the same unit. Measure "
                    "all of them with public_label=True, and ask each by itself for its success_rate()."
                )
        if information.categorical != first.categorical:
            differ = sorted(information.categorical ^ first.categorical)
            raise InputError(
                f"{differ[0]!r} is a category in one of {name} and {other} and a number in the other, so their "
                "information is not about the same values."
            )
    each = [leak.information for leak in leaks.values()]
    return match([leak.people for leak in leaks.values()], [part.count for part in each], tuple(leaks))
