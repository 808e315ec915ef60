"""Whatever should end does."""

import signal
from contextlib import contextmanager

import pytest


@contextmanager
def ends(seconds=30):
    """Fail where something would go on for ever."""

    def stop(*_):
        pytest.fail(f"has not ended within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
