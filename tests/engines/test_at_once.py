"""Whoever interrupts many requests at once does not wait for their answers."""

import signal
import threading
import time

import pytest

from seepage.execution.storage._at_once import at_once


def test_results_keep_their_order():
    assert at_once(lambda i: time.sleep(0.01 * (5 - i)) or i * i, range(5)) == [0, 1, 4, 9, 16]


@pytest.fixture
def interruptible():
    """Workers of a test run may be deaf to interrupts; a user's Python is not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_heard_while_nobody_answers():
    answered = threading.Event()
    main = threading.main_thread().ident
    threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        at_once(lambda _: answered.wait(20), range(40))
    assert time.perf_counter() - began < 10
    answered.set()
