"""The key of a ledger is changed: everybody gets another name, in every file; old keys are kept under the new one."""

import json
from collections.abc import Mapping

import numpy as np

from seepage._records import Json
from seepage.errors import InputError
from seepage.ledger._books import REKEYED, Books
from seepage.ledger._buckets import BucketSums, Spool
from seepage.ledger._entry import Entry
from seepage.ledger._erasure import sweep
from seepage.ledger._state import State, Stored, listed


def rotated(books: Books, key: bytes) -> Entry:
    """Commit all files under other names, with an entry that the new key seals."""
    if key in books.names.keys:
        raise InputError("The new key of a ledger is one that it never had, such as secrets.token_bytes(32).")
    names = books.names.followed_by(key)

    def tried(state: State) -> Entry | None:
        replaced: list[Stored] = list(state.forgotten)
        with books.draft(state, names) as draft:

            def renamed(files: Mapping[int, Stored], folder: str) -> dict[str, Json]:
                replaced.extend(files.values())
                with Spool(books.buckets) as spool:
                    for stored in files.values():
                        sums = books.sums(stored)
                        spool.put(names.renamed(sums.names), sums.columns)
                    return listed(draft.keep_sums(folder, spool.buckets()))

            number, previous = draft.last.number + 1, draft.last.seal
            hidden = names.hidden(json.dumps([each.hex() for each in names.older]).encode(), previous).hex()
            body: dict[str, Json] = {
                "debits": {
                    str(each): renamed(files, f"debits/{draft.mark}-{each}") for each, files in state.debits.items()
                },
                "balances": renamed(state.balances, f"balances/{draft.mark}"),
                "keys": hidden,
                # Whoever has the old key alone sees that it was changed by somebody who had it too.
                "by": books.names.seal(f"{REKEYED} {number} {previous} {hidden}"),
            }
            if state.forgotten:
                gone = BucketSums(np.sort(names.renamed(books.gone(state))), {})
                body["tombstones"] = draft.keep(f"forgotten/{draft.mark}.bin", gone.content()).written()
            if state.aliases is not None:
                replaced.append(state.aliases)
                pairs = names.renamed(books.aliases(state).ravel()).reshape(-1, 2)
                pairs = np.ascontiguousarray(pairs[np.argsort(pairs[:, 0])])
                body["aliases"] = draft.keep(f"aliases/{draft.mark}.bin", pairs.tobytes()).written()
            return draft.commit(REKEYED, body, replaced)

    while (entry := books.asked(tried)) is None:
        continue
    books.names = names
    sweep(books)
    return entry
