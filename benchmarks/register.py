"""A register of many outputs about many people, and a new one that is held against all of them.

python -m benchmarks register                 1,000 outputs about 1,000,000 people
python -m benchmarks register 100 100000
"""

import resource
import secrets
import sys
import tempfile
import time

import numpy as np

import seepage
from seepage.ledger._register import Recorded, packed

M_MIN = 100


def main() -> None:
    """Record outputs as studies make them, open the register anew, and ask what comes near."""
    outputs, people = (int(each) for each in (sys.argv[2:] or ("1000", "1000000")))
    random, key, place = np.random.default_rng(0), secrets.token_bytes(32), f"{tempfile.mkdtemp()}/ledger"
    ledger = seepage.ledger.Ledger.create(place, key=key, eta=1.0)
    ward, age, sex = random.integers(200, size=people), random.integers(20, 90, people), random.integers(2, size=people)
    ids = np.arange(people)
    # Filters of one table, as people ask for them: everybody, a ward, an age and a sex, wards from one to another.
    filters = [np.ones(people, dtype=bool), ward == 7]
    while len(filters) < outputs:
        low, high = sorted(random.integers(200, size=2).tolist())
        kind = len(filters) % 4
        filters.append(
            (
                ward == low,
                (age >= 20 + low % 70) & (sex == high % 2),
                (ward >= low) & (ward < high),
                age < 20 + high % 70,
            )[kind]
        )
    began, books = time.perf_counter(), ledger._books
    ledger.record("everybody", {"table.toml": "number = 0"}, ids)
    first = time.perf_counter() - began
    place_of = books.register(books.state()).places_of(books.names.of(ids))
    for number, kept in enumerate(filter(np.any, filters[1:]), 1):
        # As `record` does it, but for the hashes of the same ids again and again.
        with books.draft(books.state()) as draft:
            bits = packed(place_of[kept], people)
            output = Recorded(
                books.seen.count, f"output {number}", {"table.toml": "..."}, place_of[:0].view("V16"), bits
            )
            kept_as = draft.keep(f"outputs/{draft.mark}-{output.number}.bin", output.content(books.names))
            assert draft.commit("output", {"output": kept_as.written()}) is not None
    print(f"the first is recorded in {first:.1f} s, all in {time.perf_counter() - began:.0f} s", flush=True)
    # A ward, and five people more.
    wanted = ward == 7
    wanted[np.flatnonzero(~wanted)[:5]] = True
    opened = seepage.ledger.Ledger(place, key=key)
    began = time.perf_counter()
    assert len(opened.outputs) == number + 1
    read = time.perf_counter() - began
    began = time.perf_counter()
    found = opened.near(ids[wanted], fewer_than=M_MIN)
    took = time.perf_counter() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(
        f"{number + 1:,} outputs about {people:,} people: opened in {read:.1f} s, a new one about {wanted.sum():,} "
        f"held against all in {took:.1f} s, {len(found)} come near (fewer than {M_MIN} people); at most {most:.0f} MB"
    )
    began = time.perf_counter()
    opened.forget([3])
    print(f"somebody is forgotten in {time.perf_counter() - began:.1f} s; audit: {len(opened.audit())} faults")
