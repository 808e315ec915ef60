"""What a ledger holds after some entries: which files count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from seepage._records import Json
from seepage.ledger._buckets import Stored
from seepage.ledger._entry import Entry


@dataclass
class State:
    """The files that count, and who asked for what."""

    count: int = 0
    """Of the entries."""
    balances: dict[int, Stored] = field(default_factory=dict)
    debits: dict[int, dict[int, Stored]] = field(default_factory=dict)
    """By the number of the entry, then by bucket."""
    forgotten: list[Stored] = field(default_factory=list)
    open: dict[int, str] = field(default_factory=dict)
    """The debits of which nothing has left yet, and the request that each has paid for."""
    certificates: dict[int, Stored] = field(default_factory=dict)
    """By the number of the release's entry."""
    spreads: dict[str, dict[str, float]] = field(default_factory=dict)
    """How widely attributes were spread in each release, by what that is in words: most are the same again."""

    @classmethod
    def after(cls, entries: Sequence[Entry]) -> "State":
        """Return the state after some entries."""
        found = cls()
        found.add(entries)
        return found

    def add(self, entries: Sequence[Entry]) -> None:
        """Go on to the state after all entries, of which some were seen before."""
        for entry in entries[self.count :]:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        body = entry.body
        self.count += 1
        if entry.kind == "debit":
            self.debits[entry.number] = stored(body["debits"])
            self.balances.update(stored(body["balances"]))
            self.open[entry.number] = str(body["request"])
            spread = cast(dict[str, float], body.get("spreads", {}))
            self.spreads[str(spread)] = spread
        elif entry.kind == "release":
            del self.open[cast(int, body["debit"])]
            self.certificates[entry.number] = Stored(*cast(list[str], body["certificate"]))
        elif entry.kind == "signed":
            self.certificates[cast(int, body["release"])] = Stored(*cast(list[str], body["certificate"]))
        elif entry.kind == "forgotten":
            for number, buckets in cast(Mapping[str, Json], body["debits"]).items():
                self.debits[int(number)].update(stored(buckets))
            self.balances.update(stored(body["balances"]))
            self.forgotten = [Stored(*cast(list[str], body["tombstones"]))]

    def files(self) -> set[str]:
        """Return the path of every file that counts."""
        kept = [*self.balances.values(), *self.forgotten, *self.certificates.values()]
        return {each.path for each in [*kept, *(one for debit in self.debits.values() for one in debit.values())]}


def listed(files: Mapping[int, Stored]) -> dict[str, Json]:
    """Return files by bucket as JSON knows them."""
    return {str(bucket): [each.path, each.hash] for bucket, each in files.items()}


def stored(entries: Json) -> dict[int, Stored]:
    """Return files by bucket from JSON."""
    return {int(bucket): Stored(*cast(list[str], each)) for bucket, each in cast(dict[str, Json], entries).items()}
