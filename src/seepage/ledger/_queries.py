"""Questions to a ledger: what people owe by now, and who may be in a further release."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.ledger._books import Books
from seepage.ledger._buckets import BucketSums, bucket_of
from seepage.ledger._state import State

_ATTRIBUTE = "attribute "

Of = TypeVar("Of")


def balance(books: Books, ids: Iterable[object]) -> dict[str, Array]:
    """Return the error floor of each attribute, eta and trace, of each person."""
    names = books.names.of(ids)
    found = books.asked(lambda state: books.found(books.who(names, state), state.balances))
    with np.errstate(divide="ignore"):
        shown: dict[str, Array] = {name: 1 / np.sqrt(sums) for name, sums in _attributes(found.columns).items()}
    return {**shown, "eta": np.sqrt(found.column("eta")), "trace": found.column("trace")}


def closest(books: Books) -> dict[str, float]:
    """Return the smallest error floor of each attribute, and the largest eta, of anybody."""

    def largest(state: State) -> dict[str, float]:
        found: dict[str, float] = {}
        for stored in state.balances.values():
            for name, sums in books.sums(stored).columns.items():
                found[name] = max(found.get(name, 0.0), float(sums.max(initial=0.0)))
        return found

    sums = books.asked(largest)
    floors = {name: 1 / np.sqrt(most) if most > 0 else np.inf for name, most in _attributes(sums).items()}
    return {**floors, "eta": float(np.sqrt(sums.get("eta", 0.0)))}


def knows(books: Books, ids: Iterable[object]) -> NDArray[np.bool_]:
    """Return who was in a release and was not forgotten."""
    names = books.names.of(ids)

    def found(state: State) -> NDArray[np.bool_]:
        people = books.who(names, state)
        bucket, known = bucket_of(people, books.buckets), np.zeros(len(names), dtype=bool)
        for number in np.unique(bucket).tolist():
            at = bucket == number
            known[at] = np.isin(people[at], books.sums(state.balances.get(number)).names)
        return known

    return books.asked(found)


def forgotten(books: Books, ids: Iterable[object]) -> NDArray[np.bool_]:
    """Return who was forgotten."""
    names = books.names.of(ids)
    return books.asked(lambda state: np.isin(books.who(names, state), books.gone(state)))


def history(books: Books, ids: Iterable[object]) -> dict[str, Array]:
    """Return the error floor of each attribute after each release."""
    names = books.names.of(ids)

    def found(state: State) -> list[BucketSums]:
        people = books.who(names, state)
        return [books.found(people, state.debits[number]) for number in sorted(state.debits)]

    debits = books.asked(found)
    every = dict.fromkeys(name for each in debits for name in _attributes(each.columns))
    with np.errstate(divide="ignore"):
        return {
            name: 1 / np.sqrt(np.cumsum([each.column(f"{_ATTRIBUTE}{name}") for each in debits], axis=0))
            for name in every
        }


def eligible(books: Books, ids: Iterable[object], most: Mapping[str, float]) -> NDArray[np.bool_]:
    """Return who is below some largest sums, and was not forgotten."""
    names = books.names.of(ids)

    def asked(state: State) -> tuple[BucketSums, NDArray[np.bool_]]:
        people = books.who(names, state)
        return books.found(people, state.balances), ~np.isin(people, books.gone(state))

    found, left = books.asked(asked)
    for what, limit in most.items():
        left &= found.column(what) < limit
    return left


def _attributes(columns: Mapping[str, Of]) -> dict[str, Of]:
    return {name.removeprefix(_ATTRIBUTE): each for name, each in columns.items() if name.startswith(_ATTRIBUTE)}
