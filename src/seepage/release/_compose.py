"""Several releases about the same people.

Independent releases carry information that adds: I = I_1 + I_2 + ... (eq. 6.1). Traces and diagonals add with it. Of
the largest eigenvalue only  max_k eta_k^2  <=  eta^2  <=  sum_k eta_k^2  is known without the matrices (eq. 6.2).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from seepage._facts import Assumption, public
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Distances, GatheredInformation, Information, Leakage, Unlike, refuse_averages
from seepage.leakage.types import Assurance, Kind, Variance, Who
from seepage.meaning import EmpiricalPrior, Guarantee, TwoNormals, check_delta, gaussian_epsilon

Array = NDArray[np.float64]


def compose(leaks: Iterable[Leakage]) -> Leakage:
    """Return what several independent releases about the same people give away together.

    Parameters
    ----------
    leaks : iterable of Leakage
        One measurement for each release, of the same people in the same order and of the same private attributes.

    Returns
    -------
    Leakage
        Information adds, so the squares of `dfil` and of every attribute's eta add exactly. `eta` and `joint` are upper
        bounds: the root of the summed squares; `eta_low` is the largest eta of a single release. The assurance is the
        weakest of the parts.

    Examples
    --------
    Publishing twice with the same noise gives away sqrt(2) times as much, not twice as much:

    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=2.0)
    >>> twice = seepage.compose([leak, leak])
    >>> twice
    Leakage(442 people, 11 private attributes, exact)
    >>> float((twice.error_floor()["age"] / leak.error_floor()["age"]).mean().round(4))
    0.7071
    """
    parts = tuple(leaks)
    _check_parts(parts)
    releases: list[Information] = []
    for leak in parts:
        releases += leak.information.releases
    return Leakage(ComposedInformation.of(tuple(releases)))


@dataclass(frozen=True, eq=False, kw_only=True)
class ComposedInformation(GatheredInformation):
    """The information of independent releases together."""

    parts: tuple[Information, ...]

    @property
    def releases(self) -> tuple[Information, ...]:
        return self.parts

    @classmethod
    def of(cls, parts: tuple[Information, ...]) -> "ComposedInformation":
        """Compose releases that were found to be about the same people."""
        return cls(
            people=parts[0].people,
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
                Assumption(
                    "composed bound",
                    "dfil and the information about each attribute are sums; eta and joint are upper bounds (the root "
                    "of the summed squares; estimates of them where a release is estimated), because the releases may "
                    "point in different directions.",
                ),
                *(one.of_release(number) for number, part in enumerate(parts, 1) for one in part.assumptions),
            ),
            # There is no one noise that could be chosen anew.
            noise=None,
            stays=any(part.stays for part in parts),
            without_slope=frozenset().union(*(part.without_slope for part in parts)),
            parts=parts,
        )

    @property
    def count(self) -> int:
        return self.parts[0].count

    @property
    def outcome(self) -> tuple[str, ...]:
        # Two releases may predict two things.
        return tuple(dict.fromkeys(name for part in self.parts for name in part.outcome))

    @property
    def private_values(self) -> Array | int:
        # The same attributes may be coded by more numbers in one release than in another.
        return reduce(np.maximum, [part.private_values for part in self.parts])

    @cached_property
    def _examples(self) -> dict[str, Array]:
        each = [part.examples() for part in self.parts]
        found = {"eta": _root_of_squares([part["eta"] for part in each])}
        # Traces add, and a trace is dfil^2 times the number of values that it is the mean over (eq. 6.1).
        shares = [np.sqrt(_share(part.private_values, self.private_values)) for part in self.parts]
        each = [{**part, "dfil": part["dfil"] * share} for part, share in zip(each, shares, strict=True)]
        found["dfil"] = _root_of_squares([part["dfil"] for part in each])
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
        return {name: _root_of_squares([part[name] for part in each]) for name in each[0]}

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
        each = [one for one in (one.of_people() for one in found) if one is not None]
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
        return Distances(first.values, truth, distance, absent=absent if absent.any() else None, unlike=unlike)

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

    def joint(self, who: Who, attribute: str | None) -> float:
        return float(np.sqrt(sum(part.joint(who, attribute) ** 2 for part in self.parts)))


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


def _check_parts(parts: tuple[Leakage, ...]) -> None:
    if not parts:
        raise InputError("compose was given no releases.")
    strange = [part for part in parts if not isinstance(part, Leakage)]
    if strange:
        raise InputError(f"compose takes a list of Leakage, as seepage.measure returns them, not {strange[0]!r}.")
    for part in parts:
        refuse_averages(part, "Composing")
    first = parts[0].information
    for number, part in enumerate(parts[1:], 2):
        information = part.information
        if information.count != first.count:
            raise InputError(
                f"Release 1 is about {first.count} people and release {number} about {information.count}. Only "
                "releases about the same people compose."
            )
        _check_ids(_ids(parts[0]), _ids(part), number)
        if set(information.attribute_names) != set(first.attribute_names):
            raise InputError(
                f"Release 1 is about the attributes {list(first.attribute_names)} and release {number} about "
                f"{list(information.attribute_names)}. Measure both with the same attributes= and public_label=."
            )
        for name in set(information.units) & set(first.units):
            if information.units[name] != first.units[name]:
                raise InputError(
                    f"{name!r} is counted as {first.units[name]} in release 1 and as {information.units[name]} in "
                    f"release {number}: their information is not in the same unit. Measure all of them with "
                    "public_label=True, and ask each by itself for its success_rate()."
                )
        if information.categorical != first.categorical:
            differ = sorted(information.categorical ^ first.categorical)
            raise InputError(
                f"{differ[0]!r} is a category in one of the releases 1 and {number} and a number in the other, so "
                "their information is not about the same values."
            )


def _ids(leak: Leakage) -> NDArray[np.object_]:
    ids = leak.people.ids
    listed = range(leak.information.count) if ids is None else ids.tolist()
    found = np.empty(leak.information.count, dtype=object)
    found[:] = listed
    return found


def _check_ids(first: NDArray[np.object_], other: NDArray[np.object_], number: int) -> None:
    differ = np.flatnonzero(first != other)
    if not differ.size:
        return
    row = int(differ[0])
    same = "They are the same people in another order: sort the rows of both alike."
    raise InputError(
        f"Row {row} is person {first[row]!r} in release 1 and person {other[row]!r} in release {number}. "
        + (same if set(first) == set(other) else "Only releases about the same people compose.")
    )
