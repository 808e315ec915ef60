"""An output that was let out without noise enters the register."""

from collections.abc import Iterable, Mapping

import numpy as np

from seepage.errors import InputError
from seepage.ledger._books import Books
from seepage.ledger._entry import Entry
from seepage.ledger._state import State


def recorded(books: Books, name: str, files: Mapping[str, str], ids: Iterable[object]) -> Entry:
    """Commit an output; the same about the same people is one."""
    names = books.names.of(ids)
    if not len(names):
        raise InputError(f"The output {name!r} is about nobody: name the people whom it is about.")

    def tried(state: State) -> Entry | None:
        people = books.who(names, state)
        gone = books.gone(state)
        if len(gone) and (count := int(np.isin(people, gone).sum())):
            raise InputError(f"The output {name!r} is about {count} people who are forgotten. Leave them out of it.")
        register = books.register(state)
        output = register.output(state.count, name, dict(files), people)
        for each in register.outputs:
            # Of one that held people who are forgotten since, nobody knows whether it was the same.
            same = (each.name, each.files, each.forgotten) == (name, dict(files), 0)
            if same and np.array_equal(each.places(), output.places()):
                return books.log.known[each.number]
        with books.draft(state) as draft:
            kept = draft.keep(f"outputs/{draft.mark}-{output.number}.bin", output.content(books.names))
            entry = draft.commit("output", {"output": kept.written()})
            if entry is not None:
                books.shown[kept.path] = output
            return entry

    while (entry := books.asked(tried)) is None:
        continue
    return entry
