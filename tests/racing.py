"""Several publish at once, and some are killed, while somebody audits beside them."""

import random
import secrets
import subprocess
import sys
import time

import numpy as np
import race
from race import PEOPLE, YEARS, leak

import seepage


def raced(place, *, room, processes, kills):
    """Spend a budget for exactly so many releases, and hold what is left against what was spent."""
    key, found, chance = secrets.token_bytes(32), leak(), random.Random(0)
    floor = float(found.error_floor()["age"].min()) / np.sqrt(room)
    ledger = seepage.ledger.Ledger.create(place, key=key, error_floor={"age": floor}, units=YEARS, buckets=2)
    command = [sys.executable, race.__file__, str(place), key.hex(), str(room)]
    running = [subprocess.Popen(command) for _ in range(processes)]
    # An audit reads everything: beside forty of a race the posts are most of what happens.
    killed, audits, next_audit, moments = 0, 0, 0, sorted(chance.randrange(1, room * 9 // 10) for _ in range(kills))
    while any(process.poll() is None for process in running):
        time.sleep(0.01)
        # By what was done and not by the clock: on a busy machine everybody would die before they have begun.
        paid = len(ledger.releases)
        while killed < kills and paid >= moments[killed]:
            victim = chance.randrange(processes)
            running[victim].kill()
            running[victim].wait()
            running[victim] = subprocess.Popen(command)
            killed, next_audit = killed + 1, paid
        if paid >= next_audit:
            assert ledger.audit() == ()
            audits, next_audit = audits + 1, paid + max(room // 40, 1)
    assert all(process.returncode == 0 for process in running)
    assert (killed, len(ledger.releases)) == (kills, room)
    np.testing.assert_allclose(ledger.balance(PEOPLE)["age"], found.error_floor()["age"] / np.sqrt(room), rtol=1e-9)
    assert ledger.audit() == ()
    # Whoever was killed between paying and drawing has spent budget and released nothing.
    left = [entry for entry in ledger.entries if entry.kind == "release"]
    assert room - killed <= len(left) <= room
    ledger.sweep()
    assert ledger.orphans == ()
    return audits
