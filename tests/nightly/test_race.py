"""Several publish at once, and some are killed: nobody's budget is ever overspent, and nothing is lost."""

import random
import secrets
import subprocess
import sys
import time

import numpy as np
import pytest
import race
from race import PEOPLE, YEARS, leak

import seepage


def raced(place, key, processes, tries, kills, seconds, options=()):
    """Let processes publish, kill some at random moments and start others in their place."""
    chance, command = random.Random(0), [sys.executable, race.__file__, str(place), key.hex(), str(tries), *options]
    running = [subprocess.Popen(command) for _ in range(processes)]
    killed = 0
    while any(process.poll() is None for process in running):
        time.sleep(chance.uniform(0, seconds))
        alive = [i for i, process in enumerate(running) if process.poll() is None]
        if killed < kills and alive:
            victim = chance.choice(alive)
            running[victim].kill()
            running[victim].wait()
            running[victim] = subprocess.Popen(command)
            killed += 1
    assert all(process.returncode == 0 for process in running)
    return killed


@pytest.mark.parametrize("store", ["sqlite", "delta"])
def test_raced_publications_never_overspend(tmp_path, store):
    key, found, room = secrets.token_bytes(32), leak(), 100
    # Room for exactly so many releases.
    floor = float(found.error_floor()["age"].min()) / np.sqrt(room)
    place = tmp_path / "ledger"
    ledger = seepage.ledger.Ledger.create(
        place, key=key, error_floor={"age": floor}, units=YEARS, store=store, buckets=2
    )
    killed = raced(place, key, processes=4, tries=50, kills=5, seconds=3.0)
    assert killed > 0
    assert len(ledger.releases) == room
    np.testing.assert_allclose(ledger.balance(PEOPLE)["age"], found.error_floor()["age"] / np.sqrt(room), rtol=1e-9)
    assert ledger.audit() == ()
    # Whoever was killed between paying and drawing has spent budget and released nothing.
    left = [entry for entry in ledger.entries if entry.kind == "release"]
    assert room - killed <= len(left) <= room
