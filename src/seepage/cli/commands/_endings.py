"""How a command ends: what its exit code says, also when it is stopped or nobody reads what it prints."""

import _thread
import atexit
import os
import signal
import sys
import threading
import time
from enum import IntEnum
from types import FrameType
from typing import NoReturn

# Seconds until an interrupt that got lost is raised again.
_SOON = 0.05

WORDS = (
    "Exit code: 0 done, 1 a policy is missed, 2 the input cannot be used, 3 certificate and file do not belong "
    "together, or a ledger does not add up, 4 not finished (no space left, nobody reads, an error of ours), 130 "
    "stopped."
)


class Ending(IntEnum):
    """What an exit code says; 1 is never anything but a missed policy."""

    DONE = 0
    MISSED = 1
    UNUSABLE = 2
    MISMATCH = 3
    UNFINISHED = 4
    STOPPED = 130


def ending_of(end: SystemExit) -> int:
    """Return the exit code that libraries meant which leave on their own: some say 1 for whatever happened."""
    if isinstance(end.__context__, OSError):
        return Ending.UNFINISHED
    return end.code if isinstance(end.code, int) else Ending.DONE if end.code is None else Ending.UNUSABLE


class Interrupts:
    """Whether somebody interrupted: libraries make errors of their own of it, or lose it."""

    def __init__(self) -> None:
        self._came = False

    def heed(self) -> None:
        """Stop if somebody interrupted, whatever became of it on the way here."""
        if self._came:
            raise KeyboardInterrupt from None

    def note(self, signal_number: int, frame: FrameType | None) -> None:
        """Remember that it came, and raise it as Python does."""
        self._came = True
        signal.default_int_handler(signal_number, frame)


interrupts = Interrupts()


def keep_interrupts() -> None:
    """Let no interrupt get lost: not in errors of others, nor where Python cannot raise it, such as in clearing up."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupts.note)
    others = sys.unraisablehook

    def again(found: "sys.UnraisableHookArgs") -> None:
        if issubclass(found.exc_type, KeyboardInterrupt):
            # Now it would be raised in here, and lost once more.
            _thread.start_new_thread(_interrupt_soon, ())
        else:
            others(found)

    sys.unraisablehook = again


def _interrupt_soon() -> None:
    time.sleep(_SOON)
    if hasattr(signal, "pthread_kill"):
        # A real signal also wakes a thread that waits for a lock.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def leave(code: int) -> NoReturn:
    """Leave with an exit code, once everything that was printed has arrived."""
    # What is left to do is quick, and an interrupt would only leave it half done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if code == Ending.STOPPED:
        _say("Stopped.")
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as reason:
        # Python would try once more, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(reason, BrokenPipeError):
            _say(f"Not everything could be printed: {reason.strerror}.")
        code = Ending.UNFINISHED
    if code == Ending.STOPPED:
        # An interrupt that came within exec() makes Python end by a signal, whatever is said later.
        atexit._run_exitfuncs()
        os._exit(code)
    sys.exit(code)


def _say(words: str) -> None:
    try:
        print(words, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Nobody listens there either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
