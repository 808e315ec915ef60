"""A ledger of releases: the information about each person that all of them reveal together."""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from seepage._records import Json
from seepage._tables import Array
from seepage.errors import InputError, LedgerError, MissingExtraError, PolicyError
from seepage.leakage import Leakage, refuse_averages
from seepage.ledger import _queries
from seepage.ledger._audit import Fault, audited
from seepage.ledger._charges import Charge, Given, Units, check_named, costs, refuse_names, spreads
from seepage.ledger._entry import Entry, check_head
from seepage.ledger._names import Names
from seepage.ledger._preview import Preview, covers, weigh
from seepage.ledger._sums import bucket_of

if TYPE_CHECKING:
    from seepage.ledger._books import Books, View

Answer = TypeVar("Answer")


class Ledger:
    """The information about each person that all releases together reveal.

    Information about a person adds up over independent releases (eq. 6.1). A ledger keeps the sums in a database, and
    refuses the release after which an unbiased guess of a value could be closer than was promised. A debit is committed
    before any noise is drawn, so that a crash costs budget and reveals nothing.

    Parameters
    ----------
    place : path or str
        A file (SQLite), or a PostgreSQL database: "postgresql://user@server/database".
    key : bytes
        The institution's key. People are stored under keyed hashes of their ids, and entries are sealed with it.
    head : str, optional
        A `head` that was written down elsewhere: a ledger that does not hold it is an older copy, and is refused.

    Examples
    --------
    >>> import secrets, tempfile
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> people = [f"patient {i}" for i in range(len(X))]
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0, ids=people)
    >>> key, place = secrets.token_bytes(32), tempfile.mkdtemp() + "/ledger.db"
    >>> units = {"age": "years"}
    >>> ledger = seepage.ledger.Ledger.create(place, key=key, error_floor={"age": 5.0}, units=units)
    >>> ledger.preview(leak, units=units).fits
    True
    >>> ledger.post(leak, title="Risk score 2026", units=units).kind
    'debit'
    >>> bool((ledger.balance(people)["age"] >= 5.0).all())
    True
    """

    def __init__(self, place: str | Path, *, key: bytes, head: str | None = None) -> None:
        self._books = _books(place, Names(key))
        heads = {entry.head for entry in self.entries}
        if head is not None and check_head(head) not in heads:
            raise LedgerError("it", "holds no entry with the head that was written down: it is an older or another one")

    @classmethod
    def create(
        cls,
        place: str | Path,
        *,
        key: bytes,
        error_floor: Mapping[str, float] | None = None,
        eta: float | None = None,
        units: Mapping[str, str] | None = None,
    ) -> "Ledger":
        """Make a new ledger, with its promises to all people over all releases.

        Parameters
        ----------
        place : path or str
            A file that does not exist yet, or a PostgreSQL database without a ledger.
        key : bytes
            The institution's key, at least 16 secret bytes.
        error_floor : mapping from attribute to float, optional
            The standard error that no unbiased guess may fall below, from all releases together.
        eta : float, optional
            The largest information about any direction of a person's values, from all releases together.
        units : mapping from attribute to str, optional
            The units of attributes, such as `{"age": "years"}`: of those in `error_floor`, and of others that shall be
            checked. Every release has to name the same, or be converted. A category has none: any word will do.
        """
        limits = _checked_limits(error_floor, eta)
        _check_units(units or {}, error_floor or {})
        _books(place, Names(key)).create({"limits": dict(limits), "units": dict(units or {})})
        return cls(place, key=key)

    def __repr__(self) -> str:
        return f"Ledger({self._books.database.place!r}, {len(self.releases)} releases)"

    @property
    def limits(self) -> dict[str, float]:
        """The promises: the error floor of each attribute, and the largest eta under "eta"."""
        limits = {name.removeprefix("attribute "): 1 / np.sqrt(limit) for name, limit in self._limits.items()}
        return limits | ({"eta": float(np.sqrt(self._limits["eta"]))} if "eta" in limits else {})

    @property
    def _limits(self) -> dict[str, float]:
        """The largest sums with which the promises hold."""
        return cast(dict[str, float], self._books.entries[0].body["limits"])

    @property
    def units(self) -> dict[str, str]:
        """The units of attributes, as given when the ledger was made."""
        return dict(cast(dict[str, str], self._books.entries[0].body["units"]))

    @property
    def head(self) -> str:
        """Number and seal of the newest entry: written down elsewhere, it shows whether an older copy was put back."""
        return self.entries[-1].head

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything that happened, in order."""
        return self._books.ask(lambda view: view.entries)

    @property
    def releases(self) -> tuple[Entry, ...]:
        """The debits that count: releases that were paid for, published or not."""
        return self._books.ask(lambda view: tuple(view.debits))

    @property
    def categories(self) -> frozenset[str]:
        """The attributes that are categories, which have no unit."""
        return frozenset(name for debit in self.releases for name in cast(list[str], debit.body["categories"]))

    def preview(
        self, leak: Leakage, *, units: Given = None, without: Sequence[str] = (), new_people: bool = False
    ) -> Preview:
        """Return the effect of a release on the promises, without posting it.

        Parameters
        ----------
        leak : Leakage
            The release, measured with `ids=`.
        units : mapping from attribute to str or float, optional
            The unit of each attribute that has one in the ledger: its name, which must be the same; or, if the release
            has another unit, the number of its units in one of the ledger's.
        without : sequence of str, optional
            The attributes with a promise that this release does not have.
        new_people : bool, default=False
            Confirms that more than a tenth of the people are new to a ledger with releases.
        """
        charge = self._charge(leak, units, without)
        return self._books.ask(lambda view: weigh(view, charge, self._limits, new_people=new_people))

    def _charge(self, leak: Leakage, units: Given, without: Sequence[str]) -> Charge:
        refuse_averages(leak, "A ledger")
        check_named(leak, [name for name in self.limits if name != "eta"], without)
        here = Units.of(units, leak.information.attribute_names, self.units)
        return Charge(leak, here, costs(leak, self._books.names, here), spreads(leak, here))

    def post(
        self,
        leak: Leakage,
        *,
        title: str,
        units: Given = None,
        without: Sequence[str] = (),
        new_people: bool = False,
        request: str | None = None,
    ) -> Entry:
        """Commit the cost of a release to its people, before it is published.

        Parameters
        ----------
        leak : Leakage
            The release, measured with `ids=`.
        title : str
            Its title.
        units, without, new_people
            As for `preview`.
        request : str, optional
            The name of the release: the same request, about the same people, is not paid for twice unless it was
            published. By default each call is one of its own.

        Returns
        -------
        Entry
            The debit. Nothing may be drawn or sent before it is there.

        Raises
        ------
        PolicyError
            If a promise would be broken; nothing is posted then.
        LedgerError
            If the database is not as it was written; nothing is posted then either.
        StorageError
            If the database cannot be reached or written to.
        """
        charge = self._charge(leak, units, without)
        information = leak.information

        def change(view: "View") -> Entry:
            for debit in view.open:
                if request is not None and debit.body["request"] == request and covers(view, debit, charge):
                    return debit
            preview = weigh(view, charge, self._limits, new_people=new_people)
            if preview.short or preview.forgotten:
                lines = ["This release would break a promise of the ledger:", *preview.sentences()]
                raise PolicyError("\n".join(lines), preview.factor)
            if preview.unconfirmed:
                raise InputError("\n".join(preview.sentences()[1:]))
            view.add(charge.sums)
            body = {
                "request": secrets.token_hex(8) if request is None else request,
                "title": title,
                "people": preview.people,
                "new": preview.new,
                "attributes": list(information.attribute_names),
                "assurance": information.assurance,
                "units": dict(charge.units.given),
                "spreads": dict(charge.spreads),
                "categories": sorted(information.categorical),
            }
            return view.append("debit", cast(dict[str, Json], body))

        return self._books.write(change)

    def released(self, debit: Entry, certificate: str) -> Entry:
        """Note that a release which was paid for is published, with its certificate.

        Parameters
        ----------
        debit : Entry
            As `post` returned it.
        certificate : str
            The text of its certificate, as JSON.
        """
        try:
            said = json.loads(certificate)
        except ValueError:
            raise InputError(f"{certificate!r:.60} is no certificate: give the text of its file.") from None

        def change(view: "View") -> Entry:
            _check_open(view, debit, "What was drawn must not be used: publish again, which is another release.")
            return view.append("release", {"debit": debit.number, "certificate": said})

        return self._books.write(change)

    def reverse(self, debit: Entry, *, reason: str) -> Entry:
        """Take back a debit that was posted by mistake, if its noise was never drawn.

        Parameters
        ----------
        debit : Entry
            As `post` returned it, or one of `releases`.
        reason : str
            The mistake, for others who read the ledger. Whoever reverses a debit vouches that no noise was drawn.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise InputError(f"reason={reason!r} does not say why debit {debit.number} is reversed.")

        def change(view: "View") -> Entry:
            _check_open(view, debit, "A release that was published cannot be taken back.")
            buckets = sorted({bucket for number, bucket in view.places() if number == debit.number})
            view.delete_debit(debit.number)
            for bucket in buckets:
                view.put_sums(bucket, view.total(bucket))
            return view.append("reversed", {"debit": debit.number, "reason": reason})

        return self._books.write(change)

    def certificate_of(self, debit: Entry) -> Mapping[str, Json] | None:
        """Return the certificate of a release; None if it was not published.

        Parameters
        ----------
        debit : Entry
            One of `releases`.
        """
        releases = (entry.body for entry in self.entries if entry.kind == "release")
        return next(
            (cast(dict[str, Json], body["certificate"]) for body in releases if body["debit"] == debit.number), None
        )

    def balance(self, ids: Iterable[object]) -> dict[str, Array]:
        """Return the smallest errors of unbiased guesses about people, from all releases together.

        Returns
        -------
        dict from str to ndarray
            The error floor of each attribute, infinite if nothing was released; `eta`, an upper bound; and `trace`.
        """
        return self._about(ids, _queries.balance)

    def closest(self) -> dict[str, float]:
        """Return the smallest errors of unbiased guesses about any person: personal data, for the owner alone.

        Returns
        -------
        dict from str to float
            The smallest error floor of each attribute, and the largest `eta`.
        """
        return self._books.ask(_queries.closest)

    def knows(self, ids: Iterable[object]) -> NDArray[np.bool_]:
        """Return which people are in the ledger: were in a release, and were not forgotten."""
        return self._about(ids, lambda view, names: view.sums_of(names).column("releases") > 0)

    def forgotten(self, ids: Iterable[object]) -> NDArray[np.bool_]:
        """Return which people were forgotten, and must not be in anything further."""
        return self._about(ids, lambda view, names: view.forgotten(names))

    def history(self, ids: Iterable[object]) -> dict[str, Array]:
        """Return the smallest errors of unbiased guesses after each release, of people who were not forgotten.

        Parameters
        ----------
        ids : iterable
            The people.

        Returns
        -------
        dict from str to ndarray of shape (releases, people)
            The error floor of each attribute after each of `releases`, infinite if nothing was released by then.
        """
        return self._about(ids, _queries.history)

    def eligible(self, ids: Iterable[object]) -> NDArray[np.bool_]:
        """Return which people have budget left, and were not forgotten."""

        def question(view: "View", names: NDArray[np.void]) -> NDArray[np.bool_]:
            sums = view.sums_of(names)
            has_left = [sums.column(what) < limit for what, limit in self._limits.items()]
            return np.asarray(np.all([~view.forgotten(names), *has_left], axis=0))

        return self._about(ids, question)

    def _about(self, ids: Iterable[object], question: "Callable[[View, NDArray[np.void]], Answer]") -> Answer:
        names = self._books.names.of(ids)
        return self._books.ask(lambda view: question(view, names))

    def audit(self, *, head: str | None = None) -> tuple[Fault, ...]:
        """Recompute all sums from the debits, check all seals, and return what does not fit.

        Parameters
        ----------
        head : str, optional
            A `head` that was written down elsewhere, and must still be there.
        """
        heads = [self._books.entries[-1].head, *([] if head is None else [check_head(head)])]
        return audited(self._books.afresh(), heads)

    def forget(self, ids: Iterable[object]) -> Entry:
        """Erase the rows of some people, who must not be in any further release.

        A keyed hash of their ids remains, since the old releases are still out there. Archives and backups of the
        database are the institution's to erase.

        Parameters
        ----------
        ids : iterable
            The people.
        """
        names = np.unique(self._books.names.of(ids))
        if not len(names):
            raise InputError("forget was given no ids.")

        def change(view: "View") -> Entry:
            buckets = np.unique(bucket_of(names)).tolist()
            for number, bucket in view.places():
                if bucket in buckets:
                    ((_, _, part),) = view.parts(number=number, buckets=[bucket])
                    view.put_debit(number, bucket, part.without(names))
            for bucket in buckets:
                view.put_sums(bucket, view.sums(bucket).without(names))
            return view.append("forgotten", {"people": [*self._books.names.tombstones(names)]})

        return self._books.write(change)


def _books(place: str | Path, names: Names) -> "Books":
    try:
        from seepage.ledger._books import Books
        from seepage.ledger._database import Database

        return Books(Database.at(place), names)
    except ImportError as error:
        raise MissingExtraError(
            f'A ledger needs a library that is not installed ({error}). Install it with: pip install "seepage[ledger]"'
        ) from None


def _check_open(view: "View", debit: Entry, way_out: str) -> None:
    if debit.number not in {entry.number for entry in view.open}:
        raise InputError(f"Debit {debit.number} was reversed, or its release was published already.\n{way_out}")


def _check_units(units: Mapping[str, str], promised: Iterable[str]) -> None:
    for name in {**units, **dict.fromkeys(promised)}:
        unit = units.get(name)
        if not isinstance(unit, str) or not unit.strip():
            raise InputError(
                f"The unit of {name!r} is {unit!r}: name it, such as units={{{name!r}: 'years'}} (--unit {name}=years)."
            )


def _checked_limits(error_floor: Mapping[str, float] | None, eta: float | None) -> dict[str, float]:
    """Return the largest sums of squares with which promises hold."""
    refuse_names(error_floor or {})
    for name, value in {**(error_floor or {}), **({} if eta is None else {"eta": eta})}.items():
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise InputError(f"The promise about {name!r} must be a positive number, not {value!r}.")
    limits = {f"attribute {name}": 1.0 / float(floor) ** 2 for name, floor in (error_floor or {}).items()}
    limits |= {} if eta is None else {"eta": float(eta) ** 2}
    if not limits:
        raise InputError('A ledger keeps a promise: give error_floor={"age": 5.0}, or eta=, or both.')
    return limits
