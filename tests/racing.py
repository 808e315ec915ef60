"""Several publish at once, and some are killed, while somebody audits beside them."""

import random
import secrets
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import race
from race import PEOPLE, YEARS, leak

import seepage


def audited(place, key, over):
    """Audit again and again, half of the time, until all is over, and return how often."""
    ledger, audits, pause = seepage.ledger.Ledger(place, key=key), 0, 0.0
    while not over.wait(pause):
        began = time.monotonic()
        assert ledger.audit() == ()
        audits, pause = audits + 1, time.monotonic() - began
    return audits


def raced(place, *, room, processes, kills):
    """Spend a budget for exactly so many releases, and hold what is left against what was spent."""
    key, found, chance = secrets.token_bytes(32), leak(), random.Random(0)
    floor = float(found.error_floor()["age"].min()) / np.sqrt(room)
    ledger = seepage.ledger.Ledger.create(place, key=key, error_floor={"age": floor}, units=YEARS, buckets=2)
    command = [sys.executable, race.__file__, str(place), key.hex(), str(room)]
    running = [subprocess.Popen(command) for _ in range(processes)]
    moments, over = sorted(chance.randrange(1, room * 9 // 10) for _ in range(kills)), threading.Event()
    with ThreadPoolExecutor(1) as beside:
        auditing = beside.submit(audited, place, key, over)
        try:
            for moment in moments:
                # By what was done and not by the clock: on a busy machine everybody would die before they have begun.
                began = time.monotonic()
                while len(ledger.releases) < moment:
                    assert any(process.poll() is None for process in running)
                    # Half of the time: whoever only looks must not keep a store busy.
                    time.sleep(time.monotonic() - began)
                    began = time.monotonic()
                victim = chance.randrange(processes)
                running[victim].kill()
                running[victim].wait()
                running[victim] = subprocess.Popen(command)
            assert [process.wait() for process in running] == [0] * processes
        finally:
            over.set()
        audits = auditing.result()
    assert len(ledger.releases) == room
    np.testing.assert_allclose(ledger.balance(PEOPLE)["age"], found.error_floor()["age"] / np.sqrt(room), rtol=1e-9)
    assert ledger.audit() == ()
    # Whoever was killed between paying and drawing has spent budget and released nothing.
    left = [entry for entry in ledger.entries if entry.kind == "release"]
    assert room - kills <= len(left) <= room
    ledger.sweep()
    assert ledger.orphans == ()
    return audits
