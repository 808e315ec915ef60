"""Workers that hang are replaced, and a log says which worker is waited for."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from seepage.engines import Local


def pausing(unit: int) -> int:
    time.sleep(0.2)
    return unit


def computing(unit: int) -> int:
    end = time.monotonic() + 4.0
    while time.monotonic() < end:
        sum(range(1000))
    return unit


def workers() -> list[psutil.Process]:
    return [each for each in psutil.Process().children(recursive=True) if each.parent().pid != os.getpid()]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    with caplog.at_level(logging.WARNING, logger="seepage"):
        yield lambda: " ".join(record.getMessage() for record in caplog.records)


def test_the_unit_of_a_worker_that_hangs_is_given_to_another(told: Callable[[], str]) -> None:
    stopped: list[int] = []

    def stop() -> None:
        while not stopped:
            found = workers()
            if len(found) >= 2:
                time.sleep(0.3)
                found[0].send_signal(signal.SIGSTOP)
                stopped.append(found[0].pid)
            time.sleep(0.01)

    threading.Thread(target=stop, daemon=True).start()
    found = dict(Local(workers=2, stall=2.0).map(pausing, range(12)))
    assert found == {unit: unit for unit in range(12)}
    assert f"process {stopped[0]} has done nothing for 2 s at" in told()
    assert not psutil.pid_exists(stopped[0])


def test_whoever_works_long_is_only_waited_for(told: Callable[[], str]) -> None:
    # Long enough that a busy machine gives it a moment in between.
    found = dict(Local(workers=1, stall=1.5).map(computing, range(2)))
    assert found == {0: 0, 1: 1}
    assert "nothing was finished for 1.5 s. Waited for longest: process" in told()
    assert "Another process" not in told()
