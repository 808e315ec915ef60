"""What happened, in order: each entry names the seal of the one before, so that none can be changed or left out."""

import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from seepage._records import Json
from seepage.errors import InputError
from seepage.ledger._names import Names

FIRST = "0" * 64
"""What stands for the entry before the first."""

_KINDS = {"number": int, "kind": str, "when": str, "body": dict, "previous": str, "seal": str}


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    Attributes
    ----------
    number : int
        Its place, from 0 on.
    kind : {"created", "debit", "release", "forgotten", "swept", "merged", "rekeyed"}
        A debit is committed before any noise is drawn; a release says that it has left, with which certificate. People
        are forgotten, or found to be one; files that nobody counts are swept; and the key is changed.
    when : str
        In UTC.
    body : mapping
        What it says.
    previous : str
        The seal of the entry before.
    seal : str
        A keyed hash of all of this.
    """

    number: int
    kind: str
    when: str
    body: Mapping[str, Json]
    previous: str
    seal: str

    @classmethod
    def after(cls, last: "Entry | None", kind: str, body: Mapping[str, Json], names: Names) -> "Entry":
        """Return the entry that follows another."""
        number, previous = (0, FIRST) if last is None else (last.number + 1, last.seal)
        when = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        draft = cls(number, kind, when, dict(body), previous, "")
        return cls(number, kind, when, draft.body, previous, names.seal(draft._text()))

    @classmethod
    def read(cls, text: str) -> "Entry":
        """Return the entry that was written as a line of JSON; ValueError if none was."""
        try:
            entry = cls(**json.loads(text))
        except TypeError as error:
            raise ValueError(str(error)) from error
        for name, kind in _KINDS.items():
            if type(found := getattr(entry, name)) is not kind:
                raise ValueError(f"its {name} is {found!r:.40}")
        return entry

    def line(self) -> str:
        """Return it as a line of JSON."""
        return _canonical({**vars(self), "body": dict(self.body)})

    def is_sealed(self, names: Names, age: int = -1) -> bool:
        """Return whether nothing of it was changed since it was sealed with one of the keys, by default the newest."""
        return hmac.compare_digest(names.seal(self._text(), names.keys[age]).encode(), self.seal.encode())

    def _text(self) -> str:
        return _canonical({name: value for name, value in vars(self).items() if name != "seal"})


@dataclass(frozen=True)
class Head:
    """Which entry a ledger must hold, written as its number and its seal: 17:3fa9..."""

    number: int
    seal: str

    @classmethod
    def read(cls, text: str) -> "Head":
        """Read what `seepage ledger head` printed."""
        found = re.fullmatch(r"\s*([0-9]{1,12})\s*:\s*([0-9a-f]{64})\s*", str(text))
        if found is None:
            raise InputError(
                f"{text!r} is no head of a ledger. It is the number of an entry and its seal, such as 17:3fa9..., as "
                "ledger.head or seepage ledger head gives it."
            )
        return cls(int(found[1]), found[2])

    def __str__(self) -> str:
        return f"{self.number}:{self.seal}"

    def is_in(self, entries: Sequence[Entry]) -> bool:
        """Return whether a ledger holds it."""
        return self.number < len(entries) and entries[self.number].seal == self.seal


def _canonical(entries: Mapping[str, object]) -> str:
    return json.dumps(entries, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
