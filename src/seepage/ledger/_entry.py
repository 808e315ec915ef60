"""Entries of a ledger: each names the seal of the entry before, so that none can be changed or left out."""

import hmac
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone

from seepage._records import Json
from seepage.errors import InputError
from seepage.ledger._names import Names

_FIRST = "0" * 64


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    Attributes
    ----------
    number : int
        Its place, from 0 on.
    kind : {"created", "debit", "release", "reversed", "forgotten"}
        A debit is committed before any noise is drawn; a release says that it was published, with its certificate. A
        debit whose noise was never drawn can be reversed, and people can be forgotten.
    when : str
        In UTC.
    body : mapping
        What it says.
    mark : str
        Drawn anew for each entry.
    state : str
        The hash of all sums after it.
    previous : str
        The seal of the entry before.
    seal : str
        A keyed hash of all of this.
    """

    number: int
    kind: str
    when: str
    body: Mapping[str, Json]
    mark: str
    state: str
    previous: str
    seal: str

    @classmethod
    def after(
        cls, last: "Entry | None", kind: str, body: Mapping[str, Json], *, mark: str, state: str, names: Names
    ) -> "Entry":
        """Return the entry that follows another."""
        number, previous = (0, _FIRST) if last is None else (last.number + 1, last.seal)
        when = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        draft = cls(number, kind, when, dict(body), mark, state, previous, "")
        return replace(draft, seal=names.seal(draft._sealed()))

    @property
    def head(self) -> str:
        """Its number and seal, such as 17:3fa9..."""
        return f"{self.number}:{self.seal}"

    def line(self) -> str:
        """Return it as a line of JSON."""
        return _canonical(asdict(self))

    def is_sealed(self, names: Names) -> bool:
        """Return whether nothing of it was changed since it was sealed."""
        return hmac.compare_digest(names.seal(self._sealed()).encode(), str(self.seal).encode())

    def _sealed(self) -> str:
        return _canonical({name: value for name, value in asdict(self).items() if name != "seal"})


def broken(entries: Sequence[Entry], names: Names, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the places of entries that are not sealed or do not follow the one before; those before `start` are valid.

    Nothing is known of entries after one in the wrong place.
    """
    previous = entries[start - 1].seal if start else _FIRST
    for place, entry in enumerate(entries[start:], start):
        if entry.number != place:
            yield place, f"is gone, or entry {entry.number} is in its place"
            return
        if not entry.is_sealed(names):
            yield place, "was changed: its seal is broken"
        elif entry.previous != previous:
            yield place, "does not follow the entry before it"
        previous = entry.seal


def check_head(text: str) -> str:
    """Return the text that `seepage ledger head` prints, or refuse another one."""
    if not re.fullmatch(r"[0-9]{1,12}:[0-9a-f]{64}", head := str(text).strip()):
        raise InputError(
            f"{text!r} is no head of a ledger. It is the number of an entry and its seal, such as 17:3fa9...,\n"
            "as ledger.head or seepage ledger head gives it."
        )
    return head


def _canonical(fields: Mapping[str, object]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
