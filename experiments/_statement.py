"""What a paper states, what we found, and the verdict: one row of the table."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Numbers = dict[str, Any]
Found = tuple[str, str]
"""What we found, and the verdict."""


class NotRunError(Exception):
    """The numbers of a row are not in the results yet."""


@dataclass(frozen=True)
class Row:
    """One statement of a paper."""

    where: str
    statement: str
    printed: str
    experiment: str
    """The command that makes its number; empty where nothing can."""
    found: Callable[[Numbers], Found] | None
    """From the experiment's numbers."""
    pieces: str = ""
    """The pieces to do, where a part of the experiment is enough."""
    missing: str = ""
    """The data without which it cannot be tested, whatever else was run."""


def confirmed(text: str, holds: bool, otherwise: str = "not confirmed") -> Found:
    """Return the verdict that a comparison gives."""
    return text, "confirmed" if holds else otherwise


def of(numbers: Numbers, *path: str) -> Any:
    """Return a number by its path; it was not run if it is not there."""
    for name in path:
        if name not in numbers:
            raise NotRunError
        numbers = numbers[name]
    return numbers


def line(row: Row, folder: Path) -> str:
    """Return one row of the table."""
    command = f"`python -m experiments {row.experiment}{f' --only {row.pieces}' if row.pieces else ''}`"
    path = folder / f"{row.experiment}.json"
    try:
        if row.found is None or not path.exists():
            raise NotRunError
        ours, verdict = row.found(json.loads(path.read_text()))
    except NotRunError:
        ours, verdict = "", "not run to the end: nothing was run"
    if row.missing:
        verdict = f"could not be tested: needs {row.missing}"
        command = command if row.experiment else ""
    head, *rest = verdict.split(":", 1)
    verdict = f"**{head}**" + (f":{rest[0]}" if rest else "")
    return f"| {row.where} | {row.statement} | {row.printed} | {ours} | {verdict} | {command} |"
