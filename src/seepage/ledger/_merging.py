"""Two ids that are one person: what they owe is put together, in every file."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from seepage._records import Json
from seepage.errors import InputError
from seepage.ledger._books import Books
from seepage.ledger._buckets import BucketSums, bucket_of, together
from seepage.ledger._entry import Entry
from seepage.ledger._erasure import sweep
from seepage.ledger._state import State, Stored, listed


def merged(books: Books, one: object, other: object) -> Entry:
    """Commit files in which two people are one."""
    names = books.names.of([one, other])
    while (entry := books.asked(lambda state: _tried(books, names, state, (one, other)))) is None:
        continue
    sweep(books)
    return entry


def _tried(books: Books, names: NDArray[np.void], state: State, ids: tuple[object, object]) -> Entry | None:
    both = books.who(names, state)
    if both[0] == both[1]:
        raise InputError(f"{ids[0]!r} and {ids[1]!r} are one person in this ledger already.")
    if np.isin(both, books.gone(state)).any():
        raise InputError(f"{ids[0]!r} or {ids[1]!r} is forgotten. Forget the other as well, which says the same.")
    kept, left = both[:1], both[1:]
    homes = bucket_of(both, books.buckets).tolist()
    replaced: list[Stored] = [] if state.aliases is None else [state.aliases]
    owed: list[BucketSums] = []
    with books.draft(state) as draft:

        def rewritten(files: Mapping[int, Stored], row: BucketSums, folder: str) -> dict[str, Json]:
            """Write the buckets of both without them, and with one row."""
            parts = {bucket: books.sums(files.get(bucket)).without(both) for bucket in dict.fromkeys(homes)}
            parts[homes[0]] = together([parts[homes[0]], row]) if len(parts[homes[0]]) else row
            replaced.extend(files[bucket] for bucket in parts if bucket in files)
            held = ((bucket, part) for bucket, part in parts.items() if bucket in files or len(part))
            return listed(draft.keep_sums(folder, held))

        debits: dict[str, Json] = {}
        for number, files in state.debits.items():
            row = _row(books, files, kept, left)
            owed += [row] if len(row) else []
            # Also those that stay as they are: which were written anew would tell in which this person was.
            if files.keys() & {*homes}:
                debits[str(number)] = rewritten(files, row, f"debits/{draft.mark}-{number}")
        pairs = books.aliases(state).copy()
        if len(pairs):
            pairs[pairs[:, 1] == left[0], 1] = kept[0]
        pairs = np.concatenate([pairs, np.stack([left, kept], axis=1)])
        pairs = np.ascontiguousarray(pairs[np.argsort(pairs[:, 0])])
        total = together(owed) if owed else BucketSums.nobody()
        body: dict[str, Json] = {
            "debits": debits,
            "balances": rewritten(state.balances, total, f"balances/{draft.mark}"),
            "aliases": draft.keep(f"aliases/{draft.mark}.bin", pairs.tobytes()).written(),
        }
        return draft.commit("merged", body, replaced)


def _is_in(books: Books, files: Mapping[int, Stored], name: NDArray[np.void]) -> NDArray[np.bool_]:
    (bucket,) = bucket_of(name, books.buckets).tolist()
    return np.isin(name, books.sums(files.get(bucket)).names)


def _row(books: Books, files: Mapping[int, Stored], kept: NDArray[np.void], left: NDArray[np.void]) -> BucketSums:
    """Return what one person owes for a release that has both, or one of them, or nobody."""
    here = [name for name in (kept, left) if _is_in(books, files, name).any()]
    if not here:
        return BucketSums.nobody()
    rows = books.found(np.concatenate(here), files)
    return BucketSums.joined(np.repeat(kept, len(rows)), rows.columns)
