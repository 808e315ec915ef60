"""Processes that publish at once, of which some are killed, while another one audits."""

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
    """Audit again and again, a fifth of the time, until all is over, and return the number of audits."""
    ledger, audits, pause = seepage.ledger.Ledger(place, key=key), 0, 0.0
    while not over.wait(pause):
        began = time.monotonic()
        assert ledger.audit() == ()
        audits, pause = audits + 1, 4 * (time.monotonic() - began)
    return audits


def raced(place, *, room, processes, kills, restart=None):
    """Spend a budget for exactly `room` releases, and compare the sums with what was spent.

    Processes are killed at random, and replaced; `restart`, if given, kills and restarts the server halfway.
    """
    key, release, chance = secrets.token_bytes(32), leak(), random.Random(0)
    floor = float(release.error_floor()["age"].min()) / np.sqrt(room)
    ledger = seepage.ledger.Ledger.create(place, key=key, error_floor={"age": floor}, units=YEARS)
    command = [sys.executable, race.__file__, str(place), key.hex(), str(room)]
    running = [subprocess.Popen(command) for _ in range(processes)]
    moments, over = sorted(chance.randrange(1, room * 9 // 10) for _ in range(kills)), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        auditing = pool.submit(audited, place, key, over)
        try:
            for number, moment in enumerate(moments):
                # Counted in releases, not in seconds: on a busy machine all would be killed before they have begun.
                while len(ledger.releases) < moment:
                    assert any(process.poll() is None for process in running)
                    time.sleep(0.1)
                if restart is not None and number == kills // 2:
                    restart()
                victim = chance.randrange(processes)
                running[victim].kill()
                running[victim].wait()
                running[victim] = subprocess.Popen(command)
            assert [process.wait() for process in running] == [0] * processes
        finally:
            over.set()
        audits = auditing.result()
    assert len(ledger.releases) == room
    np.testing.assert_allclose(ledger.balance(PEOPLE)["age"], release.error_floor()["age"] / np.sqrt(room), rtol=1e-9)
    assert ledger.audit() == ()
    # A process that was killed between paying and drawing has spent budget and released nothing.
    published = [entry for entry in ledger.entries if entry.kind == "release"]
    assert room - kills <= len(published) <= room
    return audits
