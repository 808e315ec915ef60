"""Erasure: people are taken out of every file, and files that no entry names are deleted.

What was written for a post that was killed holds people too, and nothing tells it from a post that is under way: both
are files that no entry names. So an erasure begins a new generation. Files are named by the generation in which they
were begun, and an entry is committed only on top of a state of the same one: whoever was writing has to begin again,
and what is left of older generations is dead for certain. No clock decides.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from seepage._records import Json
from seepage.ledger._books import Books
from seepage.ledger._buckets import BucketSums, bucket_of
from seepage.ledger._entry import Entry
from seepage.ledger._log import number_of
from seepage.ledger._state import State, Stored, is_dead, listed


def erased(books: Books, names: NDArray[np.void]) -> Entry:
    """Commit new files without some people in place of those that hold them, then sweep."""
    while (entry := books.asked(lambda state: _tried(books, names, state))) is None:
        continue
    sweep(books)
    return entry


def _tried(books: Books, names: NDArray[np.void], state: State) -> Entry | None:
    names = np.unique(books.who(names, state))
    touched = np.unique(bucket_of(names, books.buckets)).tolist()
    replaced = list(state.forgotten)
    with books.draft(state) as draft:

        def rewritten(files: Mapping[int, Stored], folder: str) -> dict[str, Json]:
            here = [bucket for bucket in touched if bucket in files]
            replaced.extend(files[bucket] for bucket in here)
            kept = ((bucket, books.sums(files[bucket]).without(names)) for bucket in here)
            return listed(draft.keep_sums(folder, kept))

        def debit(number: int) -> dict[str, Json]:
            return rewritten(state.debits[number], f"debits/{draft.mark}-{number}")

        gone = np.unique(np.concatenate([books.gone(state), names]))
        body: dict[str, Json] = {
            "people": len(names),
            "debits": {str(number): found for number in state.debits if (found := debit(number))},
            "balances": rewritten(state.balances, f"balances/{draft.mark}"),
            "tombstones": draft.keep(f"forgotten/{draft.mark}.bin", BucketSums(gone, {}).content()).written(),
        }
        return draft.commit("forgotten", body, replaced)


def swept(books: Books) -> Entry:
    """Begin a new generation, and delete what no entry names."""

    def tried(state: State) -> Entry | None:
        with books.draft(state) as draft:
            return draft.commit("swept", {})

    while (entry := books.asked(tried)) is None:
        continue
    sweep(books)
    return entry


def sweep(books: Books) -> None:
    """Delete files that no entry names, and none can any more."""
    left = orphans(books)
    books.store.delete([path for path in left if is_dead(path, books.seen)])


def orphans(books: Books) -> list[str]:
    """Return the files that no entry names: left by whoever was stopped, or being written just now."""
    # Listed first: what is committed in between counts by then.
    found = list(books.store.names())
    counted = books.state().files()
    return [path for path in found if path not in counted and number_of(path) is None]
