"""What a release costs each person: the squares of their eta, attribute by attribute, their trace, and that of eta."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column
from seepage.errors import InputError, LedgerError, UnansweredError
from seepage.leakage import Information, Leakage
from seepage.ledger._buckets import SAME_PERSON
from seepage.ledger._names import Names

Columns = Mapping[str, Array]

# How many times as wide a column may be spread as in another release.
_ALIKE = 3.0

_ABOUT = "columns"

_NO_IDS = (
    "A ledger follows people from release to release, and these have no ids but the numbers of their rows. Measure "
    "with ids=, one for each row (over files, the name of their column)."
)


@runtime_checkable
class Batches(Protocol):
    """Columns that are stored, and can be read some rows at a time."""

    def batches(self) -> Iterator[tuple[Column | None, Columns]]:
        """Yield the ids of some people, if they have any, and their columns."""


@dataclass(frozen=True)
class Units:
    """In which unit a release has each attribute: by name, or how many of its own units are one of the ledger's."""

    given: Mapping[str, str | float]

    @classmethod
    def of(
        cls, given: Mapping[str, str | float] | None, attributes: tuple[str, ...], ledger: Mapping[str, str]
    ) -> "Units":
        """Check what was given: an attribute that has a unit in the ledger is in that one, or is converted to it."""
        units = dict(given or {})
        for name, unit in units.items():
            if name not in attributes:
                raise InputError(f"units names {name!r}, which is none of the attributes {list(attributes)}.")
            if isinstance(unit, str) and name not in ledger:
                raise InputError(
                    f"The ledger has no unit for {name!r}, so nothing can be held against {unit!r}: leave it out. "
                    "Attributes get their units when a ledger is made."
                )
            if not isinstance(unit, str) and not (isinstance(unit, Real) and 0 < unit < np.inf):
                raise InputError(
                    f"The unit of {name!r} is {unit!r}: say how many units of this release are one unit of the "
                    "ledger, such as 12 for months in a ledger that counts years."
                )
        for name, unit in ledger.items():
            said = units.get(name)
            if name in attributes and (said is None or isinstance(said, str)) and said != unit:
                here = "does not say in which unit it has it" if said is None else f"has it in {said!r}"
                raise InputError(
                    f"The ledger counts {name!r} in {unit!r}, and this release {here}. If it is the same, say so with "
                    f"units={{{name!r}: {unit!r}}} (on the command line --unit {name}={unit}); if not, give in its "
                    f"place how many units of this release are one {unit!r}."
                )
        return cls(units)

    @property
    def factors(self) -> dict[str, float]:
        """How many units of the release are one of the ledger's, where that was said."""
        return {name: float(unit) for name, unit in self.given.items() if not isinstance(unit, str)}

    def squared(self, name: str) -> float:
        """Return by what the information about an attribute is multiplied."""
        return self.factors.get(name, 1.0) ** 2

    def most(self) -> float:
        """Return by what the information about a direction is multiplied at most, whatever it is made of."""
        return max([1.0, *self.factors.values()]) ** 2


def _spreads(leak: Leakage, units: Units) -> dict[str, float]:
    """Return the standard deviation of each attribute that is one number, in the ledger's unit, where it is known."""
    try:
        variances = leak.information.variances()
    except UnansweredError:
        return {}
    single = {name: each for name, each in variances.items() if isinstance(each, int | float)}
    return {name: float(np.sqrt(each / units.squared(name))) for name, each in single.items()}


@dataclass(frozen=True)
class Looks:
    """What a release's columns look like, which its rows decide: no entry says it in the clear."""

    spreads: Mapping[str, float]
    """The standard deviation of each attribute that is one number, in the ledger's unit."""
    categories: tuple[str, ...]
    """The attributes that are categories: also a number of which people have two values."""

    @classmethod
    def of(cls, leak: Leakage, units: Units) -> "Looks":
        """Return what those of a release look like."""
        return cls(_spreads(leak, units), tuple(sorted(leak.information.categorical)))

    def hidden(self, names: Names) -> str:
        """Return it so that only whoever has the key can read it."""
        text = json.dumps({"spreads": dict(self.spreads), "categories": self.categories})
        return names.hidden(text.encode(), _ABOUT).hex()

    @classmethod
    def shown(cls, hidden: str, names: Names) -> "Looks":
        """Return what was hidden."""
        text = names.shown(bytes.fromhex(hidden), _ABOUT)
        if text is None:
            raise LedgerError("entries", "hide what columns look like by another key")
        told = json.loads(text)
        return cls(told["spreads"], tuple(told["categories"]))


def check_alike(now: Mapping[str, float], earlier: Sequence[Mapping[str, float]], given: Units) -> None:
    """Refuse a column whose spread in the ledger's unit is far from that of earlier releases.

    A column that is too wide is counted too little: refused with every factor. One that is too narrow is counted too
    much, which keeps the promise: a factor that is given admits it.
    """
    for name, width in now.items():
        # People who all have one value say nothing about its unit.
        before = [each[name] for each in earlier if each.get(name, 0.0) > 0]
        if not (width > 0 and before):
            continue
        factor, widest, narrowest = given.factors.get(name, 1.0), max(before), min(before)
        is_too_wide = width >= _ALIKE * widest
        if is_too_wide or (name not in given.factors and width <= narrowest / _ALIKE):
            raise InputError(
                f"{name!r} has a standard deviation of {width:.3g} here, divided by the factor {factor:.4g}, and of "
                f"{widest if is_too_wide else narrowest:.3g} in an earlier release of this ledger: is it in another "
                "unit, or standardized? Say how many units of this release are one of the ledger, "
                f"units={{{name!r}: ...}}, such as 12.0 for months in a ledger of years; "
                + ("a factor that is too large keeps the promise." if is_too_wide else "1.0 if they are the same.")
            )


def refuse_names(names: Iterable[str]) -> None:
    """Refuse attributes called as a ledger calls what it counts of whole people."""
    for name in {"eta", "trace"}.intersection(names):
        raise InputError(f"A ledger counts {name!r} of whole people: rename the column of that name.")


def check_named(leak: Leakage, promised: Iterable[str], without: Iterable[str]) -> None:
    """Refuse a release that is not about something that was promised, unless somebody says so."""
    names = leak.information.attribute_names
    refuse_names(names)
    for name in promised:
        if name not in names and name not in without:
            raise InputError(
                f"The ledger promises something about {name!r}, and this release has no attribute of that name: it has "
                f"{list(names)}. Call the column alike; or, if the release says nothing about it, post it with "
                f"without=[{name!r}]."
            )
        if name in leak.information.without_slope:
            raise UnansweredError(
                f"The ledger promises something about {name!r}, and this release moves with it by jumps: how much it "
                "tells cannot be added to anything. Ask success_rate, which refits the model; to publish all the same, "
                "keep it in a ledger without that promise."
            )


def charges(leak: Leakage, names: Names, units: Units) -> Iterator[tuple[NDArray[np.void], Columns]]:
    """Yield what a release costs its people, some of them at a time."""
    information = leak.information
    for ids, examples, attributes, values in _parts(leak):
        columns = {"eta": examples["eta"] ** 2 * units.most(), "trace": examples["dfil"] ** 2 * values}
        _check_answered(information, columns)
        for name, eta in attributes.items():
            # Whoever has no value of an attribute owes nothing for it.
            columns[f"attribute {name}"] = np.nan_to_num(eta, nan=0.0) ** 2 * units.squared(name)
        found = names.of(ids)
        _check_distinct(ids, found)
        yield found, columns


def _check_distinct(ids: Column, names: NDArray[np.void]) -> None:
    """Refuse two ids that a ledger would take for one person."""
    order = np.argsort(names, kind="stable")
    same = np.flatnonzero(names[order[1:]] == names[order[:-1]])
    if len(same):
        one, other = (np.asarray(ids)[order[same[0] + step]] for step in (0, 1))
        raise InputError(SAME_PERSON.format(f"{one!r} and {other!r}"))


def _parts(leak: Leakage) -> Iterator[tuple[Column, Columns, Columns, Array | int]]:
    """Yield ids, eta and dfil, eta of each attribute, and how many values that is about, as it is held."""
    information = leak.information
    examples, attributes = information.examples(), information.attributes()
    if not (isinstance(examples, Batches) and isinstance(attributes, Batches)):
        yield ids_of(leak), examples, attributes, information.private_values
        return
    for (ids, one), (_, other) in zip(examples.batches(), attributes.batches(), strict=True):
        if ids is None:
            raise InputError(_NO_IDS)
        yield ids, one, other, information.private_values


def ids_of(leak: Leakage) -> Column:
    """Return the ids of the people of a release."""
    ids = leak.people.ids
    if ids is None or type(ids).__name__ == "RangeIndex":
        raise InputError(_NO_IDS)
    return np.asarray(ids)


def _check_answered(information: Information, columns: Mapping[str, Array]) -> None:
    """Refuse a release that says something about people of whom it is not known what."""
    left_out = sum(
        int(each.numbers["unanswered"].value) for each in information.assumptions if each.kind == "unanswered"
    )
    unknown = int((~np.isfinite(columns["trace"])).sum()) + left_out
    if unknown:
        raise InputError(
            f"What this release says about {unknown} of {information.count + left_out} people is not known, so it "
            "cannot be counted. Visit everybody (people=None), or leave them out of the training."
        )
