"""A ledger under load: raced publications that are killed at random, and ten million people.

python -m benchmarks ledger race folder 10000        8 processes, some of them killed again and again
python -m benchmarks ledger race store 10000         the same on an object store on loopback
python -m benchmarks ledger open 10000               a ledger with so many entries is opened; in SQLite, for comparison
python -m benchmarks ledger people 10000000          one release over so many people, beside the bare reading and
                                                     writing of the same numbers
"""

import logging
import multiprocessing
import os
import random
import resource
import secrets
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import seepage
from seepage.ledger._buckets import Spool
from seepage.ledger._entry import Entry
from seepage.ledger._posting import _tried

PROCESSES, ATTRIBUTES = 8, 10
WORKER = Path(__file__).parents[1] / "tests" / "race.py"


def race(kind: str, publications: int) -> None:
    """Let processes publish until the budget is spent, and kill one of them every now and then."""
    sys.path.insert(0, str(WORKER.parent))
    from race import PEOPLE, YEARS, leak, publish

    key, found = secrets.token_bytes(32), leak()
    place = _object_store() if kind == "store" else f"{tempfile.mkdtemp()}/ledger"
    floor = float(found.error_floor()["age"].min()) / np.sqrt(publications)
    ledger = seepage.ledger.Ledger.create(
        place,
        key=key,
        error_floor={"age": floor},
        units=YEARS,
        buckets=2,
    )
    # Who is killed is replaced at once: nobody waits for imports.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["race", "seepage.linear._warm", "seepage.ledger", "obstore"])

    def started() -> multiprocessing.process.BaseProcess:
        process = context.Process(target=publish, args=(place, key, publications))
        process.start()
        return process

    running, killed, began, chance = [started() for _ in range(PROCESSES)], 0, time.time(), random.Random(0)
    wait = 0
    while any(process.is_alive() for process in running):
        time.sleep(chance.uniform(0.05, 0.5))
        paid = len(ledger.releases)
        print(f"\r{paid:,} of {publications:,}, {time.time() - began:.0f} s", end="", flush=True)
        # By what was done and not by the clock: on a busy machine everybody would die before they have begun.
        if paid < wait:
            continue
        wait, victim = paid + chance.randrange(max(publications // 50, 10)), chance.randrange(PROCESSES)
        if running[victim].is_alive():
            running[victim].kill()
            running[victim].join()
            running[victim] = started()
            killed += 1
    left = sum(entry.kind == "release" for entry in ledger.entries)
    spent = float(np.max((floor / ledger.balance(PEOPLE)["age"]) ** 2))
    print(
        f"\n{kind}: {len(ledger.releases):,} publications paid for, {left:,} left, {killed} processes killed; the most "
        f"exposed person has spent {spent:.9f} of the budget; audit: {len(ledger.audit())} faults; "
        f"{time.time() - began:.0f} s"
    )


def _object_store() -> str:
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true"}
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1")
    client.create_bucket(Bucket="ledger")
    return f"s3://ledger/here?endpoint_override={host}:{port}&scheme=http&region=us-east-1"


def people(count: int) -> None:
    """Post one release about so many people, and read and write the same numbers bare."""
    folder = Path(tempfile.mkdtemp())
    random_state = np.random.default_rng(0)
    names = [f"attribute {i}" for i in range(ATTRIBUTES)] + ["eta", "trace"]
    for number, start in enumerate(range(0, count, 2**20)):
        rows = min(2**20, count - start)
        table = {"person": np.arange(start, start + rows), **{name: random_state.random(rows) for name in names}}
        pq.write_table(pa.table(table), folder / f"{number:05}.parquet")
    began = time.process_time()
    for path in sorted(folder.glob("*.parquet")):
        pq.write_table(pq.read_table(path), folder / f"{path.name}.copy")
    bare = time.process_time() - began
    ledger = seepage.ledger.Ledger.create(f"{folder}/ledger", key=secrets.token_bytes(32), eta=1e9, buckets=256)

    books = ledger._books
    for release in ("first", "second"):
        began = time.process_time()
        with Spool(books.buckets) as spool:
            for path in sorted(folder.glob("*.parquet")):
                for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(2**18):
                    ids = batch.column("person").to_numpy()
                    spool.put(books.names.of(ids), {name: batch.column(name).to_numpy() for name in names})
            posted = sum(len(sums) for _, sums in spool.buckets())
            entry, _ = _tried(books, {"request": release, "title": release, "people": posted}, spool, books.state())
            assert entry is not None
        took = time.process_time() - began
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(
            f"{posted:,} people x {ATTRIBUTES}, {release} release: bare {bare:.1f} s, ledger {took:.1f} s, "
            f"{took / bare:.2f} times; at most {most:.0f} MB",
            flush=True,
        )


def opening(count: int) -> None:
    """Open a ledger with so many entries, and read as many from SQLite."""
    place, key = Path(tempfile.mkdtemp()), secrets.token_bytes(32)
    ledger = seepage.ledger.Ledger.create(place / "ledger", key=key, eta=1.0)
    entry, lines = ledger.entries[-1], []
    for number in range(count):
        entry = Entry.after(entry, "swept", {"files": "x" * 10_000}, ledger._books.names)
        (place / "ledger" / "entries" / f"{number + 1:012}.json").write_text(entry.line())
        lines.append((number, entry.line()))
    with sqlite3.connect(place / "sqlite") as database:
        database.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, entry TEXT NOT NULL)")
        database.executemany("INSERT INTO entries VALUES (?, ?)", lines)
    began = time.perf_counter()
    assert len(seepage.ledger.Ledger(place / "ledger", key=key).entries) == count + 1
    files = time.perf_counter() - began
    began = time.perf_counter()
    found = [Entry.read(text) for (text,) in sqlite3.connect(place / "sqlite").execute("SELECT entry FROM entries")]
    assert all(each.is_sealed(ledger._books.names) for each in found)
    print(f"{count:,} entries: a file each {files:.2f} s, SQLite {time.perf_counter() - began:.2f} s")


def main() -> None:
    """Run what the command line names."""
    what, *rest = sys.argv[2:] or ["race", "folder", "200"]
    if what == "race":
        race(rest[0], int(rest[1]))
    elif what == "open":
        opening(int(rest[0]))
    else:
        people(int(rest[0]))
