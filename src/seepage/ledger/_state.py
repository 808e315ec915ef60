"""What a ledger holds after some entries: which files count."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from seepage._records import Json
from seepage.ledger._entry import Entry


@dataclass(frozen=True)
class Stored:
    """A file that an entry names, and the hash of all its bytes."""

    path: str
    hash: str

    def written(self) -> list[Json]:
        """Return it as JSON knows it."""
        return [self.path, self.hash]

    @classmethod
    def of(cls, entries: Json) -> "Stored":
        """Return it from JSON."""
        return cls(*cast(list[str], entries))


@dataclass
class State:
    """The files that count, and who asked for what."""

    count: int = 0
    """Of the entries."""
    generation: int = 0
    """The number of the last entry after which no file that was begun before it can be committed any more.

    Files are named by the generation in which they were begun: what is left of a post that was killed is then known
    from what is being written now, by no clock.
    """
    balances: dict[int, Stored] = field(default_factory=dict)
    debits: dict[int, dict[int, Stored]] = field(default_factory=dict)
    """By the number of the entry, then by bucket."""
    forgotten: list[Stored] = field(default_factory=list)
    aliases: Stored | None = None
    """Who was found to be one person with whom."""
    open: dict[int, str] = field(default_factory=dict)
    """The debits of which nothing has left yet, and the request that each has paid for."""
    certificates: dict[int, Stored] = field(default_factory=dict)
    """By the number of the release's entry."""
    looks: list[str] = field(default_factory=list)
    """What the columns of each release look like, hidden."""

    def add(self, entries: Sequence[Entry]) -> None:
        """Go on to the state after all entries, of which some were seen before."""
        for entry in entries[self.count :]:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        body = entry.body
        self.count += 1
        if entry.kind == "debit":
            self.debits[entry.number] = by_bucket(body["debits"])
            self.balances.update(by_bucket(body["balances"]))
            self.open[entry.number] = str(body["request"])
            self.looks.append(str(body["looks"]))
        elif entry.kind == "release":
            del self.open[cast(int, body["debit"])]
            self.certificates[entry.number] = Stored.of(body["certificate"])
        elif entry.kind == "swept":
            self.generation = entry.number
        elif entry.kind in ("forgotten", "merged", "rekeyed"):
            self._replace(entry)

    def _replace(self, entry: Entry) -> None:
        """Go on to files in which people are fewer, or have other names."""
        body = entry.body
        if entry.kind == "rekeyed":
            # Everybody is in another bucket.
            self.balances, self.debits = {}, {number: {} for number in self.debits}
        self.generation = entry.number
        for number, buckets in cast(Mapping[str, Json], body["debits"]).items():
            self.debits[int(number)].update(by_bucket(buckets))
        self.balances.update(by_bucket(body["balances"]))
        if "tombstones" in body:
            self.forgotten = [Stored.of(body["tombstones"])]
        if "aliases" in body:
            self.aliases = Stored.of(body["aliases"])

    def files(self) -> dict[str, Stored]:
        """Return every file that counts, by its path."""
        kept = [*self.balances.values(), *self.forgotten, *self.certificates.values()]
        kept += [] if self.aliases is None else [self.aliases]
        return {each.path: each for each in [*kept, *(one for debit in self.debits.values() for one in debit.values())]}


def listed(files: Mapping[int, Stored]) -> dict[str, Json]:
    """Return files by bucket as JSON knows them."""
    return {str(bucket): each.written() for bucket, each in files.items()}


def by_bucket(entries: Json) -> dict[int, Stored]:
    """Return files by bucket from JSON."""
    return {int(bucket): Stored.of(each) for bucket, each in cast(dict[str, Json], entries).items()}


# Files that belong to entries; a dot stands before one that is not complete, and digits behind it.
_WRITTEN = re.compile(r"(?:debits|balances|forgotten|certificates|aliases)/\.?(\d+)-[0-9a-f]{16}[-./].*")
_ENTRY = re.compile(r"entries/\.(\d{12})\.json\.[0-9a-f]{16}")


def is_ours(path: str) -> bool:
    """Return whether a file that no entry names was written for one."""
    return bool(_WRITTEN.fullmatch(path) or _ENTRY.fullmatch(path))


def is_dead(path: str, state: State) -> bool:
    """Return whether no entry will ever name a file that none names now."""
    if written := _WRITTEN.fullmatch(path):
        return int(written[1]) < state.generation
    entry = _ENTRY.fullmatch(path)
    return entry is not None and int(entry[1]) < state.count
