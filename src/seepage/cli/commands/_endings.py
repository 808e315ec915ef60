"""How a command ends: what its exit code says, also when it is stopped or nobody reads what it prints."""

import atexit
import os
import signal
import sys
from enum import IntEnum
from typing import NoReturn

WORDS = (
    "Exit code: 0 done, 1 a policy is missed, 2 the input cannot be used, 3 certificate and file do not belong "
    "together, 4 not finished (no space left, nobody reads, an error of ours), 130 stopped."
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
    reason: BaseException | None = end.__context__
    if isinstance(reason, OSError):
        return Ending.UNFINISHED
    while reason is not None:
        if isinstance(reason, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        reason = reason.__context__
    return end.code if isinstance(end.code, int) else Ending.DONE if end.code is None else Ending.UNUSABLE


def keep_interrupts() -> None:
    """Let no interrupt get lost where Python cannot raise it, such as in the midst of clearing up."""
    import _thread

    others = sys.unraisablehook

    def again(found: "sys.UnraisableHookArgs") -> None:
        if issubclass(found.exc_type, KeyboardInterrupt):
            _thread.interrupt_main()
        else:
            others(found)

    sys.unraisablehook = again


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
