"""A register of many outputs about many people, and new ones that are held against all of them, by parts too.

python -m benchmarks register                 1,000 outputs about 1,000,000 people
python -m benchmarks register 100 100000
"""

import resource
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import seepage
from seepage.ledger import OutputPeople
from seepage.ledger._register import Recorded, packed

M_MIN = 100
WARDS = 200

Kept = tuple[NDArray[np.bool_], tuple[NDArray[np.intp], ...]]


def outputs_of(random: np.random.Generator, people: int, columns: dict[str, NDArray[np.intp]]) -> Iterator[Kept]:
    """Yield whom outputs are about, as people ask for them, and how they divide these: half of them are tables."""
    ward, age, sex = columns["ward"], columns["age"], columns["sex"]
    # Everybody is known, and so is one ward.
    yield np.ones(people, dtype=bool), ()
    yield ward == 7, ()
    number = 2
    while True:
        low, high = sorted(random.integers(WARDS, size=2).tolist())
        kept = (
            ward == low,
            (age >= 20 + low % 70) & (sex == high % 2),
            (ward >= low) & (ward < high),
            age < 20 + high % 70,
        )[number % 4]
        by = ((), (ward,), (), (ward * 2 + sex, age // 10), (), (age,), (), (ward, sex))[number % 8]
        if kept.any():
            yield kept, by
            number += 1


def main() -> None:
    """Record outputs as studies make them, open the register anew, and ask what comes near."""
    outputs, people = (int(each) for each in (sys.argv[2:] or ("1000", "1000000")))
    random, key, place = np.random.default_rng(0), secrets.token_bytes(32), f"{tempfile.mkdtemp()}/ledger"
    ledger = seepage.ledger.Ledger.create(place, key=key, eta=1.0)
    ward, age, sex = (
        random.integers(WARDS, size=people),
        random.integers(20, 90, people),
        random.integers(2, size=people),
    )
    ids, made = np.arange(people), outputs_of(random, people, {"ward": ward, "age": age, "sex": sex})
    next(made)
    began, books = time.perf_counter(), ledger._books
    ledger.record("everybody", {"table.toml": "number = 0"}, ids)
    first = time.perf_counter() - began
    place_of = books.register(books.state()).places_of(books.names.of(ids))
    order = np.argsort(place_of)
    for number in range(1, outputs):
        kept, by = next(made)
        # As `record` does it, but for the hashes of the same ids again and again.
        with books.draft(books.state()) as draft:
            inside = order[kept[order]]
            bits = packed(place_of[inside], people)
            parts = tuple(each[inside].astype(np.min_scalar_type(int(each.max()))) for each in by)
            output = Recorded(books.seen.count, f"output {number}", {}, place_of[:0].view("V16"), bits, parts)
            kept_as = draft.keep(f"outputs/{draft.mark}-{output.number}.bin", output.content())
            assert draft.commit("output", {"output": kept_as.written()}) is not None
    print(f"the first is recorded in {first:.1f} s, all in {time.perf_counter() - began:.0f} s", flush=True)
    opened = seepage.ledger.Ledger(place, key=key)
    began = time.perf_counter()
    assert len(opened.outputs) == outputs
    print(f"{outputs:,} outputs about {people:,} people: opened in {time.perf_counter() - began:.1f} s", flush=True)
    # A ward and five people more, a table of everybody by wards but for five people, and one of women.
    more, fewer = ward == 7, np.ones(people, dtype=bool)
    more[np.flatnonzero(~more)[:5]] = True
    fewer[:5] = False
    asked = {
        "a ward": OutputPeople(ids[more]),
        "a table by wards": OutputPeople(ids[fewer], [ward[fewer]]),
        "one of women by wards": OutputPeople(ids[fewer & (sex == 0)], [ward[fewer & (sex == 0)]]),
    }
    for name, wanted in asked.items():
        began = time.perf_counter()
        found = opened.near(wanted, fewer_than=M_MIN)
        took = time.perf_counter() - began
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{name}, about {len(np.asarray(wanted.ids)):,} people, held against all in {took:.1f} s: {len(found)} "
            f"come near (fewer than {M_MIN} people); at most {most:.1f} GB",
            flush=True,
        )
    began = time.perf_counter()
    opened.forget([3])
    print(f"somebody is forgotten in {time.perf_counter() - began:.1f} s; audit: {len(opened.audit())} faults")
