"""A ledger under load: processes that post at once and are killed at random, and releases about many people.

python -m benchmarks ledger race 2000 [PLACE]        8 processes, 20 kills; SQLite unless a PostgreSQL address is given
python -m benchmarks ledger people 1000000 3 [PLACE] two releases about so many people with so many attributes
"""

import resource
import secrets
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from seepage.ledger import Ledger
from seepage.ledger._charges import Charge, Units
from seepage.ledger._preview import weigh
from seepage.ledger._sums import PersonSums


def race(publications: int, place: str) -> None:
    """Let processes publish until the budget is spent, and kill them at random."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from racing import raced

    began = time.monotonic()
    audits = raced(place, room=publications, processes=8, kills=20)
    print(f"{publications:,} posts, spent exactly; {audits} audits without faults; {time.monotonic() - began:.0f} s")


def people(count: int, attributes: int, place: str) -> None:
    """Post two releases about the same people."""
    ledger = Ledger.create(place, key=secrets.token_bytes(32), eta=1e9)
    books, random_state = ledger._books, np.random.default_rng(0)
    names = ["eta", "trace", *(f"attribute {number}" for number in range(attributes))]
    for release in ("first", "second"):
        ids, columns = np.arange(count), {name: random_state.random(count) for name in names}
        columns["releases"] = np.ones(count)
        began, processor = time.monotonic(), time.process_time()
        charge = Charge(None, Units({}), PersonSums.of(books.names.of(ids), columns), {})  # type: ignore[arg-type]
        hashed = time.monotonic() - began

        def change(view, charge=charge):  # type: ignore[no-untyped-def]
            assert weigh(view, charge, {"eta": 1e18}, new_people=False).fits
            view.add(charge.sums)
            return view.append("debit", {"request": "", "title": "", "spreads": {}, "categories": []})

        books.write(change)
        took, used = time.monotonic() - began, time.process_time() - processor
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{count:,} people x {attributes}, {release} release: {took:.1f} s ({hashed:.1f} s for pseudonyms; "
            f"{used:.1f} s of this processor); at most {memory:.1f} GB",
            flush=True,
        )


def main() -> None:
    """Run the benchmark that the command line names."""
    task, *rest = sys.argv[2:] or ["race", "200"]
    numbers = [int(word) for word in rest if word.isdigit()]
    place = next((word for word in rest if not word.isdigit()), f"{tempfile.mkdtemp()}/ledger.db")
    if task == "race":
        race(numbers[0], place)
    else:
        people(numbers[0], numbers[1], place)
