"""The cost of a release to each person: the squares of eta of each attribute, of the whole person, and the trace."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column
from seepage.errors import InputError, UnansweredError
from seepage.leakage import Information, Leakage
from seepage.ledger._names import Names
from seepage.ledger._sums import PersonSums

Given: TypeAlias = Mapping[str, str | float] | None
"""The units of a release, as users give them."""
# A column that is so many times as wide as in another release is in another unit.
_ALIKE = 3.0

_NO_IDS = (
    "A ledger follows people from release to release, and these have no ids but the numbers of their rows.\n"
    "Measure with ids=, one for each row (over files, the name of their column)."
)


@dataclass(frozen=True)
class Units:
    """The unit of each attribute of a release: its name, or the number of its units in one of the ledger's."""

    given: Mapping[str, str | float]

    @classmethod
    def of(cls, given: Given, attributes: tuple[str, ...], ledger: Mapping[str, str]) -> "Units":
        """Check what was given: an attribute that has a unit in the ledger is in that one, or is converted to it."""
        units = dict(given or {})
        for name, unit in units.items():
            if name not in attributes:
                raise InputError(f"units names {name!r}, which is none of the attributes {list(attributes)}.")
            if isinstance(unit, str) and name not in ledger:
                raise InputError(
                    f"The ledger has no unit for {name!r} that {unit!r} could be compared with: leave it out.\n"
                    "Attributes get their units when a ledger is made."
                )
            if not isinstance(unit, str) and not (isinstance(unit, Real) and 0 < unit < np.inf):
                raise InputError(
                    f"The unit of {name!r} is {unit!r}: say how many units of this release are one unit of the\n"
                    "ledger, such as 12 for months in a ledger that counts years."
                )
        for name, unit in ledger.items():
            here = units.get(name)
            if name in attributes and (here is None or isinstance(here, str)) and here != unit:
                other = "does not say in which unit it has it" if here is None else f"has it in {here!r}"
                raise InputError(
                    f"The ledger counts {name!r} in {unit!r}, and this release {other}.\n"
                    f"If it is the same, give units={{{name!r}: {unit!r}}} (--unit {name}={unit}); if not, give the "
                    f"number of units of this release in one of {unit!r}, such as 12 for months in a year."
                )
        return cls(units)

    @property
    def factors(self) -> dict[str, float]:
        """The numbers of units of the release in one of the ledger's, where given."""
        return {name: float(unit) for name, unit in self.given.items() if not isinstance(unit, str)}

    def squared(self, name: str) -> float:
        """Return the factor of the information about an attribute."""
        return self.factors.get(name, 1.0) ** 2

    def largest(self) -> float:
        """Return the largest factor of the information about any direction."""
        return max([1.0, *self.factors.values()]) ** 2


def spreads(leak: Leakage, units: Units) -> dict[str, float]:
    """Return the standard deviation of attributes that are one number, in the ledger's unit, where it is known."""
    try:
        variances = leak.information.variances()
    except UnansweredError:
        return {}
    single = {name: one for name, one in variances.items() if isinstance(one, int | float)}
    return {name: float(np.sqrt(one / units.squared(name))) for name, one in single.items()}


def check_alike(now: Mapping[str, float], earlier: Sequence[Mapping[str, float]], given: Units) -> None:
    """Refuse a column whose spread in the ledger's unit is far from that of earlier releases.

    A column that is too wide is counted too little: refused with every factor. One that is too narrow is counted too
    much, which keeps the promise: a factor that is given admits it.
    """
    for name, width in now.items():
        # People who all have one value say nothing about its unit.
        before = [one[name] for one in earlier if one.get(name, 0.0) > 0]
        if not (width > 0 and before):
            continue
        factor, widest, narrowest = given.factors.get(name, 1.0), max(before), min(before)
        is_too_wide = width >= _ALIKE * widest
        if is_too_wide or (name not in given.factors and width <= narrowest / _ALIKE):
            earlier_width = widest if is_too_wide else narrowest
            way_out = "a factor that is too large keeps the promise" if is_too_wide else "1.0 if they are the same"
            raise InputError(
                f"{name!r} has a standard deviation of {width:.3g} here, divided by the factor {factor:.4g}, and of "
                f"{earlier_width:.3g} in an earlier release of this ledger:\nis it in another unit, or standardized? "
                f"Give the number of units of this release in one of the ledger's,\nunits={{{name!r}: ...}}, such as "
                f"12.0 for months in a ledger of years; {way_out}."
            )


def refuse_names(names: Iterable[str]) -> None:
    """Refuse attributes with the names of two numbers that a ledger has of whole people."""
    for name in {"eta", "trace"}.intersection(names):
        raise InputError(f"A ledger counts {name!r} of whole people: rename the column of that name.")


def check_named(leak: Leakage, promised: Iterable[str], without: Iterable[str]) -> None:
    """Refuse a release without an attribute that has a promise, unless `without` names it."""
    names = leak.information.attribute_names
    refuse_names(names)
    for name in promised:
        if name not in names and name not in without:
            raise InputError(
                f"The ledger promises something about {name!r}, and this release has no attribute of that name:\nit "
                f"has {list(names)}. Call the column alike; or, if the release says nothing about it, post it with\n"
                f"without=[{name!r}]."
            )
        if name in leak.information.without_slope:
            raise UnansweredError(
                f"The ledger promises something about {name!r}, and this release changes with it by jumps:\n"
                "its information cannot be added to anything. Ask success_rate, which refits the model; to publish\n"
                "all the same, use a ledger without that promise."
            )


@dataclass(frozen=True, eq=False)
class Charge:
    """The cost of a release to its people."""

    leak: Leakage
    units: Units
    sums: PersonSums
    spreads: Mapping[str, float]
    """The standard deviations of attributes that are one number, in the ledger's unit."""


def costs(leak: Leakage, names: Names, units: Units) -> PersonSums:
    """Return the cost of a release to its people."""
    information, ids = leak.information, ids_of(leak)
    examples = information.examples()
    columns = {
        "releases": np.ones(information.count),
        "eta": np.asarray(examples["eta"]) ** 2 * units.largest(),
        "trace": np.asarray(examples["dfil"]) ** 2 * information.private_values,
    }
    _check_answered(information, columns["trace"])
    for name, eta in information.attributes().items():
        # People without a value of an attribute owe nothing for it.
        columns[f"attribute {name}"] = np.nan_to_num(eta, nan=0.0) ** 2 * units.squared(name)
    people = names.of(ids)
    sums = PersonSums.of(people, columns)
    if len(sums) < len(people):
        _refuse_same(ids, people)
    return sums


def _refuse_same(ids: Column, names: NDArray[np.void]) -> None:
    order = np.argsort(names, kind="stable")
    same = np.flatnonzero(names[order[1:]] == names[order[:-1]])[0]
    one, other = (str(np.asarray(ids)[order[same + step]]) for step in (0, 1))
    raise InputError(
        f"{one!r} and {other!r} of this release are one person in a ledger, which compares ids as text without case,\n"
        "blanks, letters without width, and zeros before a whole number. If they are one person, give them one id\n"
        'before the release is measured; if not, write their ids so that they differ otherwise, such as "A7" and "B7".'
    )


def ids_of(leak: Leakage) -> Column:
    """Return the ids of the people of a release."""
    ids = leak.people.ids
    if ids is None or type(ids).__name__ == "RangeIndex":
        raise InputError(_NO_IDS)
    return np.asarray(ids)


def _check_answered(information: Information, trace: Array) -> None:
    """Refuse a release whose information about some people is not known."""
    left_out = sum(int(one.numbers["unanswered"].value) for one in information.assumptions if one.kind == "unanswered")
    unknown = int((~np.isfinite(trace)).sum()) + left_out
    if unknown:
        raise InputError(
            f"What this release says about {unknown} of {information.count + left_out} people is not known,\nso it "
            "cannot be counted. Visit everybody (people=None), or leave them out of the training."
        )
