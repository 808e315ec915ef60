"""The effect of a release on the promises of a ledger."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.leakage import GatheredInformation
from seepage.ledger._charges import Charge, check_alike, ids_of
from seepage.ledger._entry import Entry
from seepage.ledger._sums import PersonSums

if TYPE_CHECKING:
    from seepage.ledger._books import View

_SLACK = 1e-9
"""Rounding of sums: a release that exactly meets a promise must not miss it by the last digit."""
# The factors of noise that are tried: fixed before the data are seen, so that their digits reveal little.
_FACTORS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
# A larger share of people who are new to a ledger needs a word: ids may be written in another way.
_NEW = 0.1


@dataclass(frozen=True, eq=False)
class Preview:
    """The effect of a release on the promises of a ledger.

    Attributes
    ----------
    fits : bool
        Whether it can be posted: every promise would still hold, and the people are known or confirmed to be new.
    factor : float
        The factor of the noise with which it would fit: 1, 2 or 5 times a power of ten; infinite beyond 1,000.
    short : mapping from str to int
        The numbers of people who would fall below each promise.
    forgotten : int
        The number of its people who were forgotten, and must not be in any further release.
    people : int
        The number of its people.
    new : int
        The number of its people who are new to a ledger with releases.
    unconfirmed : bool
        Whether so many are new that `new_people=True` has to confirm it.
    """

    fits: bool
    factor: float
    short: Mapping[str, int]
    forgotten: int
    people: int
    new: int
    unconfirmed: bool

    def sentences(self) -> list[str]:
        """Return it in words."""
        lines = ["Every promise would still hold."] if not (self.short or self.forgotten) else []
        lines += [
            f"{_people(count)} would be left with less than the promise about {what}."
            for what, count in self.short.items()
        ]
        if self.forgotten:
            lines.append(f"{_people(self.forgotten)} must not be in any further release: they were forgotten.")
        if self.short:
            enough = f"Noise {self.factor:g} times as large would fit."
            never = (
                "Noise 1,000 times as large is not enough: the budget of some people is spent. Leave these out "
                "(ledger.eligible)."
            )
            lines.append(enough if np.isfinite(self.factor) else never)
        if self.new:
            lines.append(f"{self.new:,} of {_people(self.people)} are new to this ledger.")
        if self.unconfirmed:
            lines.append(
                "If these are other people than before, say new_people=True (--new-people); if not, write their ids as "
                "in earlier releases."
            )
        return lines


def weigh(view: "View", charge: Charge, limits: Mapping[str, float], *, new_people: bool) -> Preview:
    """Compare the sums after a release with the promises."""
    check_alike(charge.spreads, [cast(dict[str, float], debit.body["spreads"]) for debit in view.debits], charge.units)
    short: dict[str, int] = {}
    people, known = len(charge.sums), 0
    forgotten = int(view.forgotten(charge.sums.names).sum())
    for bucket, part in charge.sums.buckets():
        spent = view.sums(bucket).of_people(part.names)
        known += int((spent.column("releases") > 0).sum())
        for what, limit in limits.items():
            if over := int(_beyond(part.column(what), spent.column(what), limit).sum()):
                short[what] = short.get(what, 0) + over
    enough = (factor for factor in _FACTORS if all(_fits(view, charge, what, limits[what], factor) for what in short))
    new = people - known - forgotten if view.debits else 0
    unconfirmed = new > _NEW * people and not new_people
    return Preview(
        fits=not (short or forgotten or unconfirmed),
        factor=next(enough, np.inf) if short else 1.0,
        short={what.removeprefix("attribute "): count for what, count in short.items()},
        forgotten=forgotten,
        people=people,
        new=new,
        unconfirmed=unconfirmed,
    )


def _fits(view: "View", charge: Charge, what: str, limit: float, factor: float) -> bool:
    """Return whether a promise would hold with noise that is larger by a factor."""
    information, name = charge.leak.information, what.removeprefix("attribute ")
    if not information.stays:
        cost = charge.sums.column(what) / factor**2
        spent = view.sums_of(charge.sums.names).column(what)
    elif isinstance(information, GatheredInformation) and information.noise is not None:
        eta = np.nan_to_num(information.column_at("examples" if what == "eta" else "attributes", name, factor))
        cost = eta**2 * (charge.units.largest() if what == "eta" else charge.units.squared(name))
        spent = view.sums_of(view.names.of(ids_of(charge.leak))).column(what)
    else:
        return False
    return not _beyond(cost, spent, limit).any()


def _beyond(cost: Array, spent: Array, limit: float) -> NDArray[np.bool_]:
    """Return which people a release takes beyond a limit; none to whom it costs nothing."""
    return np.asarray((cost > 0) & (spent + cost > limit * (1 + _SLACK)))


def covers(view: "View", debit: Entry, charge: Charge) -> bool:
    """Return whether a debit is about the same people, and has paid for each at least the cost of another release."""
    parts, rest = dict(charge.sums.buckets()), len(charge.sums)
    for _, bucket, paid in view.parts(number=debit.number):
        cost = parts.get(bucket, PersonSums.nobody())
        same_people = paid.names.tolist() == cost.names.tolist()
        # The slack is for the same release that is measured again.
        slack = 1 + 1e-6
        if not (same_people and all((one <= paid.column(name) * slack).all() for name, one in cost.columns.items())):
            return False
        rest -= len(cost)
    return rest == 0


def _people(count: int) -> str:
    return "One person" if count == 1 else f"{count:,} people"
