"""A note beside a publication that noise is about to be drawn for it: it stays if the run does not finish.

Two draws of one model add up: whoever has both knows more than the certificate of either says. A run that was cut off
may have drawn, and may have been read; the next one for the same file cannot know, and so asks.
"""

import glob
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from seepage._python import file_digest
from seepage.errors import InputError

AGAIN = (
    "An earlier run for the same file did not finish, and may have drawn noise as well: two draws together tell more."
)


@dataclass(frozen=True)
class Journal:
    """The note beside an output."""

    path: Path
    request: str
    """What tells one request from another."""

    @classmethod
    def beside(cls, out: Path, *, files: Sequence[str | Path | None], words: Sequence[object]) -> "Journal":
        """Name the note of a request: its files by what is in them, whatever they are called, all else by its words.

        What is not on this machine is known by its name.
        """
        found = hashlib.sha256(repr([str(word) for word in words]).encode())
        for file in files:
            for part in [] if file is None else _parts(str(file)):
                with open(part, "rb") as content:
                    found.update(file_digest(content, "sha256").digest())
            found.update(repr(str(file) if "://" in str(file) else "").encode())
        return cls(out.with_name(f"{out.name}.publishing"), found.hexdigest())

    def was_left(self, *, again: bool) -> bool:
        """Return whether an earlier run left its note; refuse to go on then unless told to draw again."""
        if not self.path.exists():
            return False
        if again:
            return True
        which = "another request"
        try:
            earlier = json.loads(self.path.read_text(encoding="utf-8"))
            which = "this request" if earlier["request"] == self.request else which
            since = f"{earlier['started']}, process {earlier['process']}"
        except (OSError, ValueError, KeyError, TypeError):
            since = "at a time that cannot be read"
        raise InputError(
            f"An earlier run ({since}) was about to draw noise for {which}, and has not finished: it left {self.path}. "
            "If it still runs, wait for it. Otherwise it may have drawn, and two draws that anybody has seen add up: "
            "--again draws once more, and the certificate says so."
        )

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Leave the note for as long as something is being drawn and written, and longer if that fails."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        note = json.dumps({"request": self.request, "started": now, "process": os.getpid()})
        # It tells a little about the exact model, and stays with the owner.
        with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(note)
            file.flush()
            os.fsync(file.fileno())
        yield
        self.path.unlink(missing_ok=True)


def _parts(file: str) -> list[str]:
    """Return the files that a name stands for: itself, those in a folder, or those that a pattern matches."""
    if os.path.isfile(file):
        return [file]
    pattern = os.path.join(glob.escape(file), "**") if os.path.isdir(file) else file
    return sorted(part for part in glob.iglob(pattern, recursive=True) if os.path.isfile(part))
