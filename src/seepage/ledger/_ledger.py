"""A ledger of releases: what each person has given away, and which release must not follow."""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from seepage._records import Json
from seepage._tables import Array
from seepage.errors import InputError, LedgerError
from seepage.leakage import Leakage
from seepage.ledger import _certificates, _erasure, _queries
from seepage.ledger._audit import Fault, audited
from seepage.ledger._books import Books, ring
from seepage.ledger._charges import Looks, Units, refuse_names
from seepage.ledger._entry import Entry, Head
from seepage.ledger._log import path_of
from seepage.ledger._merging import merged
from seepage.ledger._names import Names
from seepage.ledger._posting import checked, posted
from seepage.ledger._preview import Preview, previewed
from seepage.ledger._rotation import rotated
from seepage.ledger._spooled import spooled
from seepage.ledger._store import store_at


class Ledger:
    """What all releases together gave away about each person.

    Information about a person adds up over independent releases (eq. 6.1). A ledger keeps the sums, and refuses the
    release after which an unbiased guess of somebody's value could be nearer than was promised. Two may publish at
    once: a debit is committed only on top of what was checked, else it is checked again. It is committed before any
    noise is drawn, so that a crash costs budget and gives nothing away.

    Parameters
    ----------
    place : path or URI
        Where the ledger is: a folder, or "s3://bucket/ledger".
    key : bytes
        The institution's key. People are stored under keyed hashes of their ids, and entries are sealed with it.
    head : str, optional
        A `head` that was kept elsewhere: a ledger that does not hold it is an older copy, and is refused.
    storage_options : mapping, optional
        What `obstore` needs to reach an object store, beside what the URI and the environment say.

    Examples
    --------
    >>> import secrets, tempfile
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> people = [f"patient {i}" for i in range(len(X))]
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0, ids=people)
    >>> key, place = secrets.token_bytes(32), tempfile.mkdtemp() + "/ledger"
    >>> units = {"age": "years"}
    >>> ledger = seepage.ledger.Ledger.create(place, key=key, error_floor={"age": 5.0}, units=units)
    >>> ledger.preview(leak, units=units).fits
    True
    >>> ledger.post(leak, title="Risk score 2026", units=units).kind
    'debit'
    >>> bool((ledger.balance(people)["age"] >= 5.0).all())
    True
    """

    def __init__(
        self,
        place: str | Path,
        *,
        key: bytes,
        head: str | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        kept, store = None if head is None else Head.read(head), store_at(place, storage_options)
        self._books = Books.at(store, Names(key))
        entries = self._books.log.entries()
        if not entries:
            raise InputError(
                f"There is no ledger at {str(place)!r}. Ledger.create makes one; at a terminal: seepage ledger create "
                f"{place} --key ledger.key --floor age=5 --unit age=years"
            )
        if (names := ring(entries, key)) is None:
            raise InputError(f"The key is not that of the ledger at {place}, or its first entry was changed.")
        self._books.names = names
        if kept is not None and not kept.is_in(self._books.entries()):
            raise LedgerError(
                path_of(kept.number),
                "is not there with the seal that was kept elsewhere: an older copy was put back, or it is another "
                "ledger",
            )

    @classmethod
    def create(
        cls,
        place: str | Path,
        *,
        key: bytes,
        error_floor: Mapping[str, float] | None = None,
        eta: float | None = None,
        units: Mapping[str, str] | None = None,
        buckets: int = 64,
        storage_options: Mapping[str, str] | None = None,
    ) -> "Ledger":
        """Make a new ledger, with what it promises to everybody over all releases.

        Parameters
        ----------
        place : path or URI
            An empty folder, or one that does not exist yet.
        key : bytes
            The institution's key, at least 16 secret bytes.
        error_floor : mapping from attribute to float, optional
            The standard error that no unbiased guess may fall below, from all releases together.
        eta : float, optional
            The largest information about any direction of a person's values, from all releases together.
        units : mapping from attribute to str, optional
            In which unit attributes are counted, such as `{"age": "years"}`: of each that `error_floor` names, and of
            others that shall be checked. Every release has to name the same, or be converted. A category has none: any
            word stands for it.
        buckets : int, default=64
            Into how many parts people are cut, a power of two: each should fit in the memory of a worker.
        storage_options : mapping, optional
            What `obstore` needs to reach an object store.
        """
        limits = _checked_limits(error_floor, eta)
        _check_units(units or {}, error_floor or {})
        if buckets < 1 or buckets > 2**16 or buckets & (buckets - 1):
            raise InputError(f"buckets must be a power of two of at most 65,536, not {buckets!r}.")
        names, store = Names(key), store_at(place, storage_options)
        body: dict[str, Json] = {"limits": dict(limits), "units": dict(units or {}), "buckets": buckets}
        # Two that are made at once with one key begin differently, or entries of the one would follow in the other.
        body["drawn"] = secrets.token_hex(16)
        first, path = Entry.after(None, "created", body, names), path_of(0)
        if next(store.names(), None) is not None or not store.create(path, first.line().encode()):
            raise InputError(f"{place} is not empty. A ledger is made in a folder of its own.")
        if store.create(path, b"second"):
            store.delete([path])
            raise InputError(
                f"The store of {place} let a second writer replace what the first had written, so that two could spend "
                "the same budget. Keep the ledger in a store with conditional writes (If-None-Match), or in a folder."
            )
        return cls(place, key=key, storage_options=storage_options)

    def __repr__(self) -> str:
        return f"Ledger({self._books.store.place!r}, {len(self.releases)} releases)"

    @property
    def limits(self) -> dict[str, float]:
        """What is promised: the error floor of each attribute, and the largest eta under "eta"."""
        found = self._books.most
        floors = {name.removeprefix("attribute "): 1 / np.sqrt(most) for name, most in found.items()}
        if "eta" in found:
            floors["eta"] = float(np.sqrt(found["eta"]))
        return floors

    @property
    def units(self) -> dict[str, str]:
        """In which unit attributes are counted, where that was said when the ledger was made."""
        return dict(cast(dict[str, str], self._books.first["units"]))

    @property
    def head(self) -> str:
        """Number and seal of the newest entry: kept elsewhere, it shows whether an older copy was put back."""
        newest = self._books.entries()[-1]
        return str(Head(newest.number, newest.seal))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything that happened, in order."""
        return tuple(self._books.entries())

    @property
    def releases(self) -> tuple[Entry, ...]:
        """The debits: releases that were paid for, whether or not they have left yet."""
        return tuple(entry for entry in self._books.entries() if entry.kind == "debit")

    @property
    def categories(self) -> frozenset[str]:
        """The attributes that are categories, which have no unit."""
        looks = (Looks.shown(hidden, self._books.names) for hidden in self._books.state().looks)
        return frozenset(name for each in looks for name in each.categories)

    @property
    def orphans(self) -> tuple[str, ...]:
        """The files that no entry names: left by whoever was stopped, or being written just now."""
        return tuple(_erasure.orphans(self._books))

    def preview(
        self, leak: Leakage, *, units: Mapping[str, str | float] | None = None, without: Sequence[str] = ()
    ) -> Preview:
        """Return what a release would do to the promises, without posting it.

        Parameters
        ----------
        leak : Leakage
            What the release gives away, measured with `ids=`.
        units : mapping from attribute to str or float, optional
            In which unit the release has each attribute that has one in the ledger: its name, which must be the same;
            or, where it is counted in another, how many units of this release are one unit of the ledger.
        without : sequence of str, optional
            What is promised something about, and this release says nothing about.
        """
        scale = self._checked(leak, units, without)
        with spooled(self._books, leak, scale) as spool:
            return self._books.asked(lambda state: previewed(self._books, leak, scale, spool, state))

    def _checked(self, leak: Leakage, units: Mapping[str, str | float] | None, without: Sequence[str]) -> Units:
        promised = [name for name in self.limits if name != "eta"]
        return checked(self._books, leak, units, without, promised=promised, counted=self.units)

    def post(
        self,
        leak: Leakage,
        *,
        title: str,
        units: Mapping[str, str | float] | None = None,
        without: Sequence[str] = (),
        request: str | None = None,
    ) -> Entry:
        """Commit what a release costs everybody, before it leaves.

        Parameters
        ----------
        leak : Leakage
            What the release gives away, measured with `ids=`.
        title : str
            What it is.
        units : mapping from attribute to str or float, optional
            In which unit the release has each attribute that has one in the ledger: its name, which must be the same;
            or, where it is counted in another, how many units of this release are one unit of the ledger.
        without : sequence of str, optional
            What is promised something about, and this release says nothing about.
        request : str, optional
            Which release it is: the same request, about the same people, is not paid for twice unless it has left. By
            default each call is one of its own.

        Returns
        -------
        Entry
            The debit. Nothing may be drawn or sent before it is there.

        Raises
        ------
        PolicyError
            When somebody would be left with less than was promised; nothing is posted then.
        LedgerError
            When a file that this rests on is not what was written; nothing is posted then either.
        UnwrittenError
            When no space is left, or the store may not be written to.
        """
        return posted(self._books, leak, self._checked(leak, units, without), title=title, request=request)

    def seal(self, *texts: str) -> str:
        """Return a keyed hash of some texts, which says nothing to whoever lacks the key."""
        return self._books.names.seal(json.dumps(["request", *texts]))

    def released(self, debit: Entry, certificate: str) -> Entry:
        """Note that a release which was paid for has left, with its certificate.

        Parameters
        ----------
        debit : Entry
            As `post` returned it.
        certificate : str
            The text of its certificate.
        """
        return _certificates.released(self._books, debit, certificate)

    def certificate_of(self, debit: Entry) -> Mapping[str, Json] | None:
        """Return what the certificate says that a release left with; None if it has not left.

        Parameters
        ----------
        debit : Entry
            One of `releases`.
        """
        return _certificates.certificate_of(self._books, debit)

    def balance(self, ids: Iterable[object]) -> dict[str, Array]:
        """Return how near an unbiased guess of each person can come from all releases together.

        Returns
        -------
        dict from str to ndarray
            The error floor of each attribute, infinite where nothing was released; `eta`, an upper bound; and `trace`.
        """
        return _queries.balance(self._books, ids)

    def closest(self) -> dict[str, float]:
        """Return how near an unbiased guess of anybody can come, from all releases: personal data, for the owner alone.

        Returns
        -------
        dict from str to float
            The smallest error floor of each attribute, and the largest `eta`.
        """
        return _queries.closest(self._books)

    def knows(self, ids: Iterable[object]) -> NDArray[np.bool_]:
        """Return who is in the ledger: was in a release, and was not forgotten."""
        return _queries.knows(self._books, ids)

    def forgotten(self, ids: Iterable[object]) -> NDArray[np.bool_]:
        """Return who was forgotten, and must not be in anything further."""
        return _queries.forgotten(self._books, ids)

    def history(self, ids: Iterable[object]) -> dict[str, Array]:
        """Return how near an unbiased guess could come after each release, as far as people were not forgotten.

        Parameters
        ----------
        ids : iterable
            Whom to ask about.

        Returns
        -------
        dict from str to ndarray of shape (releases, people)
            The error floor of each attribute after each of `releases`, infinite where nothing was released by then.
        """
        return _queries.history(self._books, ids)

    def eligible(self, ids: Iterable[object], *, error_floor: Mapping[str, float] | None = None) -> NDArray[np.bool_]:
        """Return who may be in a further release: whoever has budget left, and was not forgotten.

        Parameters
        ----------
        ids : iterable
            Who is asked for.
        error_floor : mapping from attribute to float, optional
            Only those who are above these floors by now; those of the ledger by default.
        """
        most = self._books.most if error_floor is None else _checked_limits(error_floor, None)
        return _queries.eligible(self._books, ids, most)

    def audit(self, *, head: str | None = None) -> tuple[Fault, ...]:
        """Recompute every balance from the debits, check every seal and file, and return what does not fit.

        Others may post meanwhile: what they are writing is no fault, and `orphans` lists it.

        Parameters
        ----------
        head : str, optional
            A `head` that was kept elsewhere, and must still be there.
        """
        kept, seen = None if head is None else Head.read(head), self._books.log.known[-1]
        fresh = Books.at(self._books.store, self._books.names)
        return tuple(audited(fresh, seen=seen, head=kept))

    def forget(self, ids: Iterable[object]) -> Entry:
        """Erase what is owed to some people, and see to it that they are in no further release.

        Their rows are taken out of every file, also of what posts left that were killed, and the old files are deleted.
        A post that is under way meanwhile begins again. What stays is the keyed hash of their ids, which counts as
        spent: the old releases are still out there. The erasure is an entry of its own.

        Parameters
        ----------
        ids : iterable
            Whom to forget.
        """
        names = np.unique(self._books.names.of(ids))
        if not len(names):
            raise InputError("forget was given nobody.")
        return _erasure.erased(self._books, names)

    def merge(self, one: object, other: object) -> Entry:
        """Count two ids as one person from now on, in earlier releases and in further ones.

        A release that has both moves with this person by at most the sum of what it moves by with each, so that the
        roots of what they owe are added up there, which is an upper bound; what they owe for different releases is
        added. Ask `balance` afterward: together they may have less left than was promised.

        Parameters
        ----------
        one, other : id
            Two ids of one person; either may be used after that.
        """
        return merged(self._books, one, other)

    def rotate(self, new_key: bytes) -> Entry:
        """Change the key: people get other names in every file, and whoever has the old key alone finds nobody.

        What was sealed before stays as it is, and is checked as before. Heads and certificates from before still show a
        rollback. Everybody else opens the ledger with the new key after that.

        Parameters
        ----------
        new_key : bytes
            At least 16 secret bytes.
        """
        return rotated(self._books, new_key)

    def sweep(self) -> Entry:
        """Delete the files that no entry names; a post that is under way meanwhile begins again."""
        return _erasure.swept(self._books)


def _check_units(units: Mapping[str, str], promised: Iterable[str]) -> None:
    for name, unit in units.items():
        if not isinstance(unit, str) or not unit.strip():
            raise InputError(f"The unit of {name!r} is {unit!r}: name it, such as 'years'.")
    for name in promised:
        if name not in units:
            raise InputError(
                f"The ledger promises something about {name!r}, and no unit of it is named. Name it, as every release "
                f"has to after that: units={{{name!r}: 'years'}} (on the command line --unit {name}=years)."
            )


def _checked_limits(error_floor: Mapping[str, float] | None, eta: float | None) -> dict[str, float]:
    """Return the largest sums of squares that keep what is promised."""
    limits: dict[str, float] = {}
    refuse_names(error_floor or {})
    for name, floor in (error_floor or {}).items():
        if not isinstance(floor, Real) or not 0 < float(floor) < np.inf:
            raise InputError(f"The error floor of {name!r} must be a positive number, not {floor!r}.")
        limits[f"attribute {name}"] = 1.0 / float(floor) ** 2
    if eta is not None:
        if not isinstance(eta, Real) or not 0 < float(eta) < np.inf:
            raise InputError(f"eta must be a positive number, not {eta!r}.")
        limits["eta"] = float(eta) ** 2
    if not limits:
        raise InputError('A ledger keeps a promise: give error_floor={"age": 5.0}, or eta=, or both.')
    return limits
