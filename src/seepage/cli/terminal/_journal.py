"""Notes next to publications whose noise is being drawn: a note that stays names a run that did not finish.

Two draws of one model add up: an attacker with both knows more than the certificate of either states. A run that was
cut off may have drawn, and its files may have been read.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from seepage.errors import InputError

AGAIN = (
    "An earlier run for the same file did not finish, and may have drawn noise as well: two draws together reveal more."
)


def was_left(out: Path, *, again: bool) -> bool:
    """Return whether an earlier run left its note; refuse to draw a second time unless asked to."""
    note = _note(out)
    if note.exists() and not again:
        raise InputError(
            f"An earlier run ({note.read_text(encoding='utf-8', errors='replace')[:80]}) was about to draw noise, and "
            f"has not finished: it left {note}. If it still runs, wait for it. Otherwise it may have drawn, and two "
            "draws add up: --again draws once more, and the certificate says so."
        )
    return note.exists()


@contextmanager
def drawing(out: Path) -> Iterator[None]:
    """Leave a note while noise is drawn and written, and longer if that fails."""
    started = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}, process {os.getpid()}"
    with os.fdopen(os.open(_note(out), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(started)
        file.flush()
        os.fsync(file.fileno())
    yield
    _note(out).unlink(missing_ok=True)


def _note(out: Path) -> Path:
    return out.with_name(f"{out.name}.publishing")
