"""A ledger of releases: what each person has given away, and which release must not follow."""

import hashlib
import json
import random
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from numbers import Real
from pathlib import Path
from typing import Literal, TypeVar, cast
from urllib.parse import parse_qsl

import numpy as np
import pyarrow as pa
import pyarrow.fs
from numpy.typing import NDArray

from seepage._amounts import up_to_grid
from seepage._records import Json
from seepage._signing import public_key_of
from seepage._tables import Array
from seepage.errors import InputError, LedgerError, PolicyError
from seepage.execution.storage import resolve
from seepage.leakage import GatheredInformation, Leakage, refuse_averages
from seepage.ledger._audit import Fault, audited, of_chain
from seepage.ledger._buckets import BucketSums, Folder, Spool, Stored, bucket_of
from seepage.ledger._certificates import is_same, read, signature_fault
from seepage.ledger._charges import Units, charges, check_alike, check_named, ids_of, spreads
from seepage.ledger._entry import Entry
from seepage.ledger._log import DeltaLog, SqliteLog, log_at
from seepage.ledger._names import BYTES, Names
from seepage.ledger._state import State, listed

# Rounding of sums: a release that exactly meets a promise must not miss it by the last digit.
_SLACK = 1e-9
# What the same release comes to when it is measured again.
_SAME = 1e-6
# How long somebody who came second waits at most, at first and after many times, in seconds.
_FIRST_WAIT, _LONGEST_WAIT = 0.04, 5.0

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Preview:
    """What a release would do to the promises of a ledger.

    Attributes
    ----------
    fits : bool
        Whether every promise would still hold.
    factor : float
        By how much the noise must grow for it to fit, rounded up on a fixed grid; infinite if no noise is enough.
    short : mapping from str to int
        How many people would fall below each promise.
    forgotten : int
        How many of its people were forgotten, and must not be in any further release.
    """

    fits: bool
    factor: float
    short: Mapping[str, int]
    forgotten: int

    def sentences(self) -> list[str]:
        """Return it in words."""
        if self.fits:
            return ["Every promise would still hold."]
        lines = [
            f"{_people(count)} would be left with less than the promise about {what}."
            for what, count in self.short.items()
        ]
        if self.forgotten:
            lines.append(
                f"{_people(self.forgotten)} must not be in any further release: who was forgotten counts as spent."
            )
        if self.short:
            enough = np.isfinite(self.factor)
            lines.append(
                f"Noise {self.factor:g} times as large would fit."
                if enough
                else "No noise is enough: somebody's budget is spent. Leave out whoever has none left."
            )
        return lines


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
    storage_options : mapping, optional
        What `deltalake` needs to reach an object store, beside what the URI and the environment say.

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
    >>> ledger = seepage.ledger.Ledger.create(place, key=key, error_floor={"age": 5.0}, units=units, store="sqlite")
    >>> ledger.preview(leak, units=units).fits
    True
    >>> ledger.post(leak, title="Risk score 2026", units=units).kind
    'debit'
    >>> bool((ledger.balance(people)["age"] >= 5.0).all())
    True
    """

    def __init__(self, place: str | Path, *, key: bytes, storage_options: Mapping[str, str] | None = None) -> None:
        self._names = Names(key)
        filesystem, root = resolve(str(place), None)
        self._folder = Folder(filesystem, root.rstrip("/"))
        self._log = log_at(*_reached(place, root, storage_options), filesystem, self._folder.root)
        self._seen = State()
        self._wait = _FIRST_WAIT
        first = self._log.first()
        if not first.is_sealed(self._names):
            raise InputError(f"The key is not that of the ledger at {place}, or its first entry was changed.")
        if "units" not in first.body:
            raise InputError(
                f"The ledger at {place} was made before promises had units. Make another with units=, and post to it "
                "again what was released."
            )
        self._log.known.append(first)

    @classmethod
    def create(
        cls,
        place: str | Path,
        *,
        key: bytes,
        error_floor: Mapping[str, float] | None = None,
        eta: float | None = None,
        units: Mapping[str, str] | None = None,
        store: Literal["delta", "sqlite"] = "delta",
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
        store : {"delta", "sqlite"}, default="delta"
            How entries are committed: as a Delta table, or in SQLite for one machine.
        buckets : int, default=64
            Into how many parts people are cut, a power of two: each should fit in the memory of a worker.
        storage_options : mapping, optional
            What `deltalake` needs to reach an object store.
        """
        limits = _checked_limits(error_floor, eta)
        _check_units(units or {}, error_floor or {})
        if buckets < 1 or buckets > 2**16 or buckets & (buckets - 1):
            raise InputError(f"buckets must be a power of two of at most 65,536, not {buckets!r}.")
        if store not in ("delta", "sqlite"):
            raise InputError(f'store must be "delta" or "sqlite", not {store!r}.')
        filesystem, root = resolve(str(place), None)
        root = root.rstrip("/")
        if filesystem.get_file_info(pa.fs.FileSelector(root, allow_not_found=True)):
            raise InputError(f"{place} is not empty. A ledger is made in a folder of its own.")
        if store == "sqlite" and not isinstance(filesystem, pa.fs.LocalFileSystem):
            raise InputError(f'SQLite is for one machine, and {place} is elsewhere: create it with store="delta".')
        filesystem.create_dir(root, recursive=True)
        names = Names(key)
        kind = DeltaLog if store == "delta" else SqliteLog
        log = kind(*_reached(place, root, storage_options), filesystem, root)
        body: dict[str, Json] = {"limits": dict(limits), "units": dict(units or {}), "buckets": buckets}
        log.create(Entry.after(None, "created", body, names))
        ledger = cls(place, key=key, storage_options=storage_options)
        ledger._note_files(0)
        return ledger

    def __repr__(self) -> str:
        return f"Ledger({self._log.place!r}, {len(self.releases)} releases)"

    @property
    def limits(self) -> dict[str, float]:
        """What is promised: the error floor of each attribute, and the largest eta under "eta"."""
        found = cast(dict[str, Json], self._log.known[0].body["limits"])
        floors = {name.removeprefix("attribute "): 1 / np.sqrt(cast(float, most)) for name, most in found.items()}
        if "eta" in found:
            floors["eta"] = float(np.sqrt(cast(float, found["eta"])))
        return floors

    @property
    def units(self) -> dict[str, str]:
        """In which unit attributes are counted, where that was said when the ledger was made."""
        return dict(cast(dict[str, str], self._log.known[0].body["units"]))

    @property
    def head(self) -> str:
        """The seal of the newest entry: kept elsewhere, it shows whether the end of the ledger was cut off."""
        return self._entries()[-1].seal

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything that happened, in order."""
        return tuple(self._entries())

    @property
    def releases(self) -> tuple[Entry, ...]:
        """The debits: releases that were paid for, whether or not they have left yet."""
        return tuple(entry for entry in self._entries() if entry.kind == "debit")

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
        return self._asked(lambda state: self._previewed(leak, scale, state))

    def _checked(self, leak: Leakage, units: Mapping[str, str | float] | None, without: Sequence[str]) -> Units:
        """Return the units of a release that is about what the ledger is about, in what seem to be the same ones."""
        check_named(leak, [name for name in self.limits if name != "eta"], without)
        found = Units.of(units, leak.information.attribute_names, self.units)
        now = spreads(leak, found)
        for before in self._state().spreads.values():
            check_alike(now, before, found)
        return found

    def _previewed(self, leak: Leakage, scale: Units, state: State) -> Preview:
        short: dict[str, int] = {}
        factor, forgotten = 1.0, 0
        gone = self._forgotten(state)
        for part in (BucketSums.of(*each) for each in charges(leak, self._names, scale)):
            forgotten += int(np.isin(part.names, gone).sum())
            spent = self._balance(part.names, state)
            for what, most in self._most().items():
                charge, left = part.columns.get(what), most * (1 + _SLACK) - _of(spent, what)
                if charge is None:
                    continue
                over = charge > left
                if over.any():
                    shown = what.removeprefix("attribute ")
                    short[shown] = short.get(shown, 0) + int(over.sum())
                    factor = max(factor, self._needed(leak, what, charge, left, scale))
        return Preview(not short and not forgotten, factor if factor == 1.0 else up_to_grid(factor), short, forgotten)

    def _needed(self, leak: Leakage, what: str, charge: Array, left: Array, units: Units) -> float:
        """Return by how much the noise must grow until a charge is at most what is left."""
        if (left[charge > 0] <= 0).any():
            return np.inf
        information = leak.information
        if not information.stays:
            return float(np.sqrt(np.max(charge[charge > 0] / left[charge > 0])))
        if not isinstance(information, GatheredInformation) or information.noise is None:
            return np.inf
        name = what.removeprefix("attribute ")
        # In the order of the people, not of their names.
        left = left[np.argsort(np.argsort(self._names.of(ids_of(leak)), kind="stable"), kind="stable")]

        def fits(factor: float) -> bool:
            kind: Literal["examples", "attributes"] = "examples" if what == "eta" else "attributes"
            eta = np.nan_to_num(information.column_at(kind, name, factor))
            scale = units.most() if what == "eta" else units.squared(name)
            return bool((eta**2 * scale <= left).all())

        if not fits(np.inf):
            return np.inf
        high = 2.0
        while not fits(high):
            high *= 2
        low = high / 2
        for _ in range(30):
            middle = np.sqrt(low * high)
            low, high = (low, middle) if fits(middle) else (middle, high)
        return float(high)

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
        """
        refuse_averages(leak, "A ledger")
        information = leak.information
        scale = self._checked(leak, units, without)
        token = secrets.token_hex(8)
        request = token if request is None else request
        debits, people = self._written(charges(leak, self._names, scale), f"debits/{token}")
        body: dict[str, Json] = {
            "request": request,
            "title": title,
            "people": people,
            "attributes": list(information.attribute_names),
            "categories": [*sorted(information.categorical)],
            "assurance": information.assurance,
            "units": dict(scale.given),
            "spreads": dict(spreads(leak, scale)),
            "debits": listed(debits),
        }
        try:
            return self._debited(leak, body, debits, scale)
        except PolicyError:
            self._folder.delete([each.path for each in debits.values()])
            raise

    def _written(
        self, parts: Iterable[tuple[NDArray[np.void], Mapping[str, Array]]], folder: str
    ) -> tuple[dict[int, Stored], int]:
        """Write what each person owes, a file a bucket, and return how many people those are."""
        found, people = dict[int, Stored](), 0
        with Spool(self._buckets) as spool:
            for names, columns in parts:
                spool.put(names, columns)
            for bucket, sums in spool.buckets():
                people += len(sums)
                found[bucket] = self._folder.write(f"{folder}/{bucket}.parquet", sums)
        return found, people

    def _debited(self, leak: Leakage, body: dict[str, Json], debits: Mapping[int, Stored], scale: Units) -> Entry:
        """Check and commit until nobody came in between."""
        while True:
            if (paid := self._paid(str(body["request"]), debits)) is not None:
                self._folder.delete([each.path for each in debits.values()])
                return paid
            entry = self._asked(lambda state: self._tried(body, debits, state))
            if entry is not None:
                return entry
            found = self._asked(lambda state: self._previewed(leak, scale, state))
            if not found.fits:
                reasons = ["This release would break a promise of the ledger:", *found.sentences()]
                raise PolicyError("\n".join(reasons), found.factor)

    def _tried(self, body: dict[str, Json], debits: Mapping[int, Stored], state: State) -> Entry | None:
        """Commit a debit on top of some state; None if it does not fit there, or if another came first."""
        last, token, written = self._log.known[state.count - 1], secrets.token_hex(8), dict[int, Stored]()
        gone, most = self._forgotten(state), self._most()
        count = False
        try:
            for bucket, debit in debits.items():
                charge = self._folder.read(debit)
                total = self._folder.read(state.balances.get(bucket)).plus(charge)
                over = [(_of(total, what) > limit * (1 + _SLACK)).any() for what, limit in most.items()]
                if any(over) or np.isin(charge.names, gone).any():
                    return None
                written[bucket] = self._folder.write(f"balances/{token}/{bucket}.parquet", total)
            entry = Entry.after(last, "debit", {**body, "balances": listed(written)}, self._names)
            # From here on they may count, whatever goes wrong on the way.
            count = True
            count = self._commit(entry, [state.balances[each] for each in debits if each in state.balances])
            return entry if count else None
        finally:
            if not count:
                self._folder.delete([each.path for each in written.values()])

    def _commit(self, entry: Entry, replaced: Iterable[Stored]) -> bool:
        """Append an entry, whose files replace others, which go; False if another came first."""
        if not self._log.append(entry):
            # All who lost would read, write and lose together again: they come back one by one.
            time.sleep(random.uniform(0.0, self._wait))
            self._wait = min(2 * self._wait, _LONGEST_WAIT)
            return False
        self._wait = _FIRST_WAIT
        self._folder.delete([each.path for each in replaced])
        self._note_files(entry.number)
        if not self._folder.exists(_head(entry.number - 1)):
            # Whoever committed it was stopped before it was noted.
            self._note_files(entry.number - 1)
        return True

    def _asked(self, question: Callable[[State], Answer]) -> Answer:
        """Return what a question finds in the state as it is now; again, if files were replaced while it was asked."""
        while True:
            state = self._state()
            try:
                if not self._folder.exists(_head(state.count)):
                    return question(state)
                fault = LedgerError(self._log.NAME, f"ends before entry {state.count}, which was committed and noted")
            except FileNotFoundError as missing:
                fault = LedgerError(str(missing), "is missing")
            if len(self._log.entries()) == state.count:
                raise fault

    def _note_files(self, number: int) -> None:
        """Note the hashes of what the log itself wrote, so that not one of its bytes can be changed unnoticed."""
        files = self._log.files(number)
        if files:
            text = json.dumps({"number": number, "files": files}, sort_keys=True)
            content = json.dumps({"note": text, "seal": self._names.seal(text)})
            self._folder.write_bytes(_head(number), content.encode())

    def seal(self, *texts: str) -> str:
        """Return a keyed hash of some texts, which says nothing to whoever lacks the key."""
        return self._names.seal(json.dumps(["request", *texts]))

    def released(self, debit: Entry, certificate: str) -> Entry:
        """Note that a release which was paid for has left, with its certificate.

        Parameters
        ----------
        debit : Entry
            As `post` returned it.
        certificate : str
            The text of its certificate.
        """
        kept, request = self._kept(certificate.encode()), str(debit.body["request"])
        while True:
            state = self._state()
            last = self._log.known[state.count - 1]
            if debit.number not in state.open:
                self._folder.delete([kept.path])
                raise PolicyError(
                    f"Debit {debit.number} has paid for one release, and that has left already. What was drawn must "
                    "not be used: publish again, which is another release and is paid for."
                )
            body: dict[str, Json] = {"request": request, "debit": debit.number, "certificate": [kept.path, kept.hash]}
            entry = Entry.after(last, "release", body, self._names)
            if self._commit(entry, ()):
                return entry

    def signed(self, certificate: str | Path) -> Entry:
        """Keep the signed certificate of a release that has left, in place of the one that it left with.

        `Publication.write` signs a certificate when its file is written, which is after the release was noted;
        `seepage publish --ledger --sign` keeps the signed one at once.

        Parameters
        ----------
        certificate : path
            The signed certificate, which otherwise says what was noted.
        """
        try:
            content = Path(certificate).read_bytes()
        except FileNotFoundError:
            raise InputError(f"There is no file {str(certificate)!r}.") from None
        said = read(content)
        if said.get("signature") is None:
            raise InputError(f"{str(certificate)!r} is not signed. Sign it as it is written: publication.write(sign=)")
        if (reason := signature_fault(said, None)) is not None:
            raise InputError(f"{str(certificate)!r} {reason}.")
        kept = self._kept(content)
        try:
            while (entry := self._asked(lambda state: self._resigned(said, kept, state, str(certificate)))) is None:
                continue
        except InputError:
            self._folder.delete([kept.path])
            raise
        return entry

    def _resigned(self, said: Mapping[str, Json], kept: Stored, state: State, name: str) -> Entry | None:
        """Commit a signed certificate in place of another that says the same; None if another came first."""
        # Whoever signs does so soon after a release.
        for number, stored in reversed(state.certificates.items()):
            if is_same(read(self._folder.content(stored)), said):
                body: dict[str, Json] = {"release": number, "certificate": [kept.path, kept.hash]}
                entry = Entry.after(self._log.known[state.count - 1], "signed", body, self._names)
                return entry if self._commit(entry, [stored]) else None
        raise InputError(f"{name!r} is not the certificate of any release that this ledger knows.")

    def _kept(self, certificate: bytes) -> Stored:
        """Write the text of a certificate, which counts once an entry names it."""
        path = f"certificates/{secrets.token_hex(8)}.json"
        self._folder.write_bytes(path, certificate)
        return Stored(path, hashlib.sha256(certificate).hexdigest())

    def balance(self, ids: Iterable[object]) -> dict[str, Array]:
        """Return how near an unbiased guess of each person can come from all releases together.

        Returns
        -------
        dict from str to ndarray
            The error floor of each attribute, infinite where nothing was released; `eta`, an upper bound; and `trace`.
        """
        names = self._names.of(ids)
        found = self._asked(lambda state: self._balance(names, state))
        shown: dict[str, Array] = {}
        with np.errstate(divide="ignore"):
            for name, sums in found.columns.items():
                if name.startswith("attribute "):
                    shown[name.removeprefix("attribute ")] = 1 / np.sqrt(sums)
        shown["eta"], shown["trace"] = np.sqrt(_of(found, "eta")), _of(found, "trace")
        return shown

    def closest(self) -> dict[str, float]:
        """Return how near an unbiased guess of anybody can come, from all releases: personal data, for the owner alone.

        Returns
        -------
        dict from str to float
            The smallest error floor of each attribute, and the largest `eta`.
        """

        def largest(state: State) -> dict[str, float]:
            found: dict[str, float] = {}
            for stored in state.balances.values():
                for name, sums in self._folder.read(stored).columns.items():
                    found[name] = max(found.get(name, 0.0), float(sums.max(initial=0.0)))
            return found

        sums = self._asked(largest)
        named = {name.removeprefix("attribute "): most for name, most in sums.items() if name.startswith("attribute ")}
        floors = {name: 1 / np.sqrt(most) if most > 0 else np.inf for name, most in named.items()}
        return {**floors, "eta": float(np.sqrt(sums.get("eta", 0.0)))}

    def knows(self, ids: Iterable[object]) -> NDArray[np.bool_]:
        """Return who is in the ledger: was in a release, and was not forgotten."""
        names = self._names.of(ids)
        bucket = bucket_of(names, self._buckets)

        def found(state: State) -> NDArray[np.bool_]:
            known = np.zeros(len(names), dtype=bool)
            for number in np.unique(bucket).tolist():
                at = bucket == number
                known[at] = np.isin(names[at], self._folder.read(state.balances.get(number)).names)
            return known

        return self._asked(found)

    @property
    def categories(self) -> frozenset[str]:
        """The attributes that are categories, which have no unit."""
        listed = (cast(list[str], entry.body.get("categories", [])) for entry in self.releases)
        return frozenset(name for names in listed for name in names)

    def certificate_of(self, debit: Entry) -> Mapping[str, Json] | None:
        """Return what the certificate says that a release left with; None if it has not left.

        Parameters
        ----------
        debit : Entry
            One of `releases`.
        """
        numbers = [one.number for one in self.entries if one.kind == "release" and one.body["debit"] == debit.number]
        if not numbers:
            return None
        return self._asked(lambda state: read(self._folder.content(state.certificates[numbers[0]])))

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
        names = self._names.of(ids)
        debits = self._asked(
            lambda state: [self._found(names, state.debits[number]) for number in sorted(state.debits)]
        )
        every = dict.fromkeys(name for each in debits for name in each.columns if name.startswith("attribute "))
        with np.errstate(divide="ignore"):
            return {
                name.removeprefix("attribute "): 1 / np.sqrt(np.cumsum([_of(each, name) for each in debits], axis=0))
                for name in every
            }

    def eligible(self, ids: Iterable[object], *, error_floor: Mapping[str, float] | None = None) -> NDArray[np.bool_]:
        """Return who may be in a further release: whoever has budget left, and was not forgotten.

        Parameters
        ----------
        ids : iterable
            Who is asked for.
        error_floor : mapping from attribute to float, optional
            Only those who are above these floors by now; those of the ledger by default.
        """
        names = self._names.of(ids)
        most = self._most() if error_floor is None else _checked_limits(error_floor, None)
        found, gone = self._asked(lambda state: (self._balance(names, state), self._forgotten(state)))
        left = ~np.isin(names, gone)
        for what, limit in most.items():
            left &= _of(found, what) < limit
        return left

    def audit(self, *, head: str | None = None, signer: str | Path | None = None) -> tuple[Fault, ...]:
        """Recompute every balance from the debits, check every seal, file and signature, and return what does not fit.

        Parameters
        ----------
        head : str, optional
            The seal of an entry that must be there, kept elsewhere: shows whether the end was cut off.
        signer : path, optional
            The public key of whoever must have signed the certificate of every release. Without it, only signatures
            that are there are checked.
        """
        known = None if signer is None else public_key_of(signer)
        fresh, seen = replace(self._log, known=[]), self._log.known[-1]
        return tuple(audited(fresh, self._folder, self._names, self._buckets, seen=seen, head=head, signer=known))

    def forget(self, ids: Iterable[object]) -> Entry:
        """Erase what is owed to some people, and see to it that they are in no further release.

        Their rows are taken out of every file, and the old files are deleted. What stays is the keyed hash of their
        ids, which counts as spent: the old releases are still out there. The erasure is an entry of its own.

        Parameters
        ----------
        ids : iterable
            Whom to forget.
        """
        names = np.unique(self._names.of(ids))
        if not len(names):
            raise InputError("forget was given nobody.")
        while (entry := self._asked(lambda state: self._erased(names, state))) is None:
            continue
        self._sweep()
        return entry

    def _erased(self, names: NDArray[np.void], state: State) -> Entry | None:
        """Commit new files without some people in place of those that hold them; None if another came first."""
        last, token = self._log.known[state.count - 1], secrets.token_hex(8)
        touched = np.unique(bucket_of(names, self._buckets)).tolist()
        replaced, written, count = list(state.forgotten), list[Stored](), False

        def rewritten(files: Mapping[int, Stored], folder: str) -> dict[int, Stored]:
            found: dict[int, Stored] = {}
            for bucket in touched:
                if bucket in files:
                    kept = self._folder.read(files[bucket]).without(names)
                    found[bucket] = self._folder.write(f"{folder}/{bucket}.parquet", kept)
                    replaced.append(files[bucket])
                    written.append(found[bucket])
            return found

        try:
            every = {number: rewritten(files, f"debits/{token}-{number}") for number, files in state.debits.items()}
            balances = rewritten(state.balances, f"balances/{token}")
            gone = np.unique(np.concatenate([self._forgotten(state), names]))
            tombstones = self._folder.write(f"forgotten/{token}.parquet", BucketSums(gone, {}))
            written.append(tombstones)
            body: dict[str, Json] = {
                "people": len(names),
                "debits": {str(number): listed(files) for number, files in every.items() if files},
                "balances": listed(balances),
                "tombstones": [tombstones.path, tombstones.hash],
            }
            entry = Entry.after(last, "forgotten", body, self._names)
            count = True
            count = self._commit(entry, replaced)
            return entry if count else None
        finally:
            if not count:
                self._folder.delete([each.path for each in written])

    def _sweep(self) -> None:
        """Delete files that no entry names, but for those that somebody may be writing now."""
        counted, root = self._state().files(), self._folder.root
        for kind in ("debits", "balances", "forgotten"):
            selector = pa.fs.FileSelector(f"{root}/{kind}", recursive=True, allow_not_found=True)
            for info in self._folder.filesystem.get_file_info(selector):
                path = info.path.removeprefix(f"{root}/")
                old = info.mtime is not None and info.mtime < datetime.now(UTC) - timedelta(hours=1)
                if info.type == pa.fs.FileType.File and path not in counted and old:
                    self._folder.delete([path])

    @property
    def _buckets(self) -> int:
        return int(cast(int, self._log.known[0].body["buckets"]))

    def _most(self) -> dict[str, float]:
        return cast(dict[str, float], self._log.known[0].body["limits"])

    def _entries(self) -> list[Entry]:
        """Return all entries. Each is checked once: its seal, and that it follows the one before."""
        entries = self._log.entries()
        for fault in of_chain(entries, self._names, self._seen.count):
            # Read again next time: by then it may have been put right.
            del self._log.known[max(self._seen.count, 1) :]
            raise LedgerError(f"{fault.place} of {self._log.NAME}", fault.reason)
        self._seen.add(entries)
        return entries

    def _state(self) -> State:
        self._entries()
        return self._seen

    def _paid(self, request: str, debits: Mapping[int, Stored]) -> Entry | None:
        """Return a debit for the same request of which nothing has left, if it has paid for all of this."""

        def found(state: State) -> int | None:
            asked = [number for number, name in state.open.items() if name == request]
            return next((number for number in asked if self._covers(state.debits[number], debits)), None)

        number = self._asked(found)
        return None if number is None else self._log.known[number]

    def _covers(self, paid: Mapping[int, Stored], debits: Mapping[int, Stored]) -> bool:
        """Return whether a debit is about the same people, and has paid for each at least what others would."""
        if paid.keys() != debits.keys():
            return False
        for bucket, debit in debits.items():
            old, new = self._folder.read(paid[bucket]), self._folder.read(debit)
            if len(old) != len(new) or (old.names != new.names).any():
                return False
            if any((column > _of(old, name) * (1 + _SAME)).any() for name, column in new.columns.items()):
                return False
        return True

    def _forgotten(self, state: State) -> NDArray[np.void]:
        found = [self._folder.read(each).names for each in state.forgotten]
        return np.concatenate(found) if found else np.empty(0, dtype=f"V{BYTES}")

    def _balance(self, names: NDArray[np.void], state: State) -> BucketSums:
        return self._found(names, state.balances)

    def _found(self, names: NDArray[np.void], files: Mapping[int, Stored]) -> BucketSums:
        """Return what is owed to some people, in their order."""
        bucket = bucket_of(names, self._buckets)
        found: dict[str, Array] = {}
        for number in np.unique(bucket).tolist():
            at = np.flatnonzero(bucket == number)
            part = self._folder.read(files.get(number)).of_people(names[at])
            for name, column in part.columns.items():
                found.setdefault(name, np.zeros(len(names)))[at] = column
        return BucketSums(names, found)


def _of(sums: BucketSums, name: str) -> Array:
    return sums.columns[name] if name in sums.columns else np.zeros(len(sums))


def _people(count: int) -> str:
    return "One person" if count == 1 else f"{count:,} people"


def _head(number: int) -> str:
    return f"heads/{number:012}.json"


def _reached(place: str | Path, root: str, given: Mapping[str, str] | None) -> tuple[str, dict[str, str]]:
    """Return how `deltalake` reaches a place: its URI and options, from what Arrow takes as one."""
    if "://" not in str(place):
        return root, dict(given or {})
    uri, _, query = str(place).partition("?")
    told = dict(parse_qsl(query))
    options = {}
    if "endpoint_override" in told:
        options["AWS_ENDPOINT_URL"] = f"{told.get('scheme', 'https')}://{told['endpoint_override']}"
    if told.get("scheme") == "http":
        options["AWS_ALLOW_HTTP"] = "true"
    if "region" in told:
        options["AWS_REGION"] = told["region"]
    return uri.rstrip("/"), options | dict(given or {})


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
