"""What a release costs, laid out by bucket: it is held against every state of a ledger that it meets."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from seepage.leakage import Leakage
from seepage.ledger._books import Books
from seepage.ledger._buckets import BucketSums, Spool, bucket_of, together
from seepage.ledger._charges import Units, charges
from seepage.ledger._state import State


@contextmanager
def spooled(books: Books, leak: Leakage, units: Units) -> Iterator[Spool]:
    """Lay out what a release costs its people, under the names of their ids."""
    with Spool(books.buckets) as spool:
        for names, columns in charges(leak, books.names, units):
            spool.put(names, columns)
        yield spool


def charged(books: Books, spool: Spool, state: State) -> Iterator[tuple[int, BucketSums]]:
    """Yield what people owe, under the names that they are known by: some were found to be one."""
    aliases = books.aliases(state)
    moved = BucketSums.nobody()
    if len(aliases):
        moved = together([sums.of_people(np.intersect1d(sums.names, aliases[:, 0])) for _, sums in spool.buckets()])
    into = books.who(moved.names, state)
    homes = bucket_of(into, books.buckets)

    def joined(bucket: int, sums: BucketSums) -> BucketSums:
        here, rest = homes == bucket, sums.without(moved.names)
        every = dict.fromkeys([*rest.columns, *moved.columns])
        columns = {name: np.concatenate([rest.column(name), moved.column(name)[here]]) for name in every}
        return BucketSums.joined(np.concatenate([rest.names, into[here]]), columns)

    seen = set()
    for bucket, sums in spool.buckets():
        seen.add(bucket)
        if len(found := joined(bucket, sums) if len(moved) else sums):
            yield bucket, found
    for bucket in sorted({*homes.tolist()} - seen):
        yield bucket, joined(bucket, BucketSums.nobody())
