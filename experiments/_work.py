"""The pieces of an experiment: each is kept as soon as it is done, so that a run that was stopped goes on there."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from experiments._result import plain

Piece = Callable[[], Any]
EARLIER = "an earlier run"
"""What a result without pieces counts as where another one goes on from it."""


@dataclass(frozen=True)
class Work:
    """Where an experiment keeps its pieces.

    Parameters
    ----------
    name : str
        Of the experiment.
    folder : Path or None
        Where pieces go, one JSON file each; nowhere without it.
    only : tuple of str
        Do only the pieces whose name begins with one of these; of the others, those that are kept already count.
    version : int
        Of the script. A piece that another version made is not used: it is done again, so that versions never mix.
    commit : str
        What is written beside each piece that is done.
    """

    name: str
    folder: Path | None = None
    only: tuple[str, ...] = ()
    version: int = 1
    commit: str = ""
    before: dict[str, Any] = field(default_factory=dict)
    """What an earlier run of this version of the script wrote where this one writes; empty without one."""
    stamps: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Version and commit of each piece that was returned."""

    def pieces(self, todo: dict[str, Piece]) -> dict[str, Any]:
        """Return what each piece finds, from what is kept or by doing it.

        The name of a piece says all that it depends on: a piece with other settings has another name.
        """
        found: dict[str, Any] = {}
        left = {}
        for key, make in todo.items():
            kept = self._kept(key)
            if kept is not None:
                self.stamps[key], found[key] = kept["made"], kept["found"]
            elif not self.only or key.startswith(self.only):
                left[key] = make
        start = time.perf_counter()
        for done, (key, make) in enumerate(left.items(), 1):
            # As read back from a file, so that a run that was stopped and one that was not give the same digits.
            found[key] = json.loads(json.dumps(plain(make())))
            self.stamps[key] = {"version": self.version, "commit": self.commit}
            path = self._path(key, "json")
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                partial = path.with_suffix(".partial")
                partial.write_text(json.dumps({"made": self.stamps[key], "found": found[key]}))
                partial.rename(path)
            spent = time.perf_counter() - start
            minutes = spent / done * (len(left) - done) / 60
            self.say(f"{key} is done ({done} of {len(left)}; about {minutes:.0f} minutes left)")
        return {key: found[key] for key in todo if key in found}

    def keep_stamps(self) -> None:
        """Count what an earlier result is made of among what this one is made of, which holds some of it."""
        made = self.before["made"]
        own = {"version": made["version"], "commit": made["commit"]}
        self.stamps.update({**(made["pieces"] or {EARLIER: own}), **self.stamps})

    def say(self, text: str) -> None:
        """Tell whoever waits how far it is."""
        print(f"{time.strftime('%H:%M:%S')} {self.name}: {text}", file=sys.stderr, flush=True)

    def load(self, key: str) -> Any:
        """Return the checkpoint within a piece, or None."""
        path = self._path(key, "pt")
        return torch.load(path, weights_only=False) if path is not None and path.exists() else None

    def save(self, key: str, state: Any) -> None:
        """Keep a checkpoint within a piece; None forgets it."""
        path = self._path(key, "pt")
        if path is None:
            return
        if state is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, path.with_suffix(".partial"))
        path.with_suffix(".partial").rename(path)

    def _kept(self, key: str) -> dict[str, Any] | None:
        """Return a piece that this version of the script made."""
        path = self._path(key, "json")
        if path is None or not path.exists():
            return None
        kept: dict[str, Any] = json.loads(path.read_text())
        if kept.get("made", {}).get("version") == self.version:
            return kept
        self.say(f"{key} was made by another version of the script: it is done again")
        return None

    def _path(self, key: str, suffix: str) -> Path | None:
        if self.folder is None:
            return None
        # A checkpoint is not asked who made it: its name says so.
        part = f"{key}.v{self.version}.{suffix}" if suffix == "pt" else f"{key}.{suffix}"
        return self.folder / self.name / part
