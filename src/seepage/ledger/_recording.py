"""An output that was let out without noise enters the register."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from seepage.errors import InputError
from seepage.ledger._books import Books
from seepage.ledger._entry import Entry
from seepage.ledger._register import OutputPeople
from seepage.ledger._state import State


def recorded(books: Books, name: str, files: Mapping[str, str], people: OutputPeople) -> Entry:
    """Commit an output; the same about the same people is one."""
    named = people.named(books.names)
    if not len(named.names):
        raise InputError(f"The output {name!r} is about nobody: name the people whom it is about.")

    def tried(state: State) -> Entry | None:
        people = replace(named, names=books.who(named.names, state))
        gone = books.gone(state)
        if len(gone) and (count := int(np.isin(people.names, gone).sum())):
            raise InputError(f"The output {name!r} is about {count} people who are forgotten. Leave them out of it.")
        register = books.register(state)
        output = register.output(state.count, name, dict(files), people)
        if same := next((each for each in register.outputs if each.is_same(output)), None):
            return books.log.known[same.number]
        with books.draft(state) as draft:
            kept = draft.keep(f"outputs/{draft.mark}-{output.number}.bin", output.content())
            entry = draft.commit("output", {"output": kept.written()})
            if entry is not None:
                books.shown[kept.path] = output
            return entry

    while (entry := books.asked(tried)) is None:
        continue
    return entry
