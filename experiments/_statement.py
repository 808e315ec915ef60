"""What a paper states, what we found, and the verdict: one row of the table."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments._criterion import Criterion, Decision, NotRunError, Numbers, together


@dataclass(frozen=True)
class Row:
    """One statement of a paper."""

    where: str
    statement: str
    printed: str
    experiment: str
    """The command that makes its numbers; empty where nothing can."""
    ours: Callable[[Numbers], str] | None
    """What we found, in words, from the experiment's numbers."""
    criteria: tuple[Criterion, ...] = ()
    """What it must show; all of it."""
    pieces: str = ""
    """The pieces to do, where a part of the experiment is enough."""
    missing: str = ""
    """The data without which it cannot be tested, whatever else was run."""
    remark: str = ""
    """What a reader of the verdict should know."""

    def decisions(self, folder: Path) -> list[Decision]:
        """Return what each criterion says of the results in a folder; those of a quick run decide nothing."""
        numbers = _numbers(folder, self.experiment)
        numbers = {} if numbers.get("quick") else numbers
        return [] if self.missing else [each.decide(numbers) for each in self.criteria]

    def record(self, folder: Path) -> Numbers:
        """Return the verdict as data."""
        decisions = self.decisions(folder)
        return {
            "where": self.where,
            "statement": self.statement,
            "printed": self.printed,
            "experiment": self.experiment,
            "criteria": [each.record() for each in decisions],
            "verdict": together(decisions),
        }

    def line(self, folder: Path) -> str:
        """Return one row of the table."""
        quick = _numbers(folder, self.experiment).get("quick")
        command = f"`python -m experiments {self.experiment}{f' --only {self.pieces}' if self.pieces else ''}`"
        decisions = self.decisions(folder)
        try:
            ours = "" if self.ours is None else self.ours(_numbers(folder, self.experiment))
        except NotRunError:
            ours = ""
        asked = "; ".join(each.words for each in self.criteria)
        verdict = f"**{together(decisions)}**"
        more = [f"needs {self.missing}"] if self.missing else ["these are the numbers of a quick run"] if quick else []
        if len({each.verdict for each in decisions}) > 1:
            more += [
                f"{name}: {', '.join(each.what.rstrip(',') for each in decisions if each.verdict == name)}"
                for name in dict.fromkeys(each.verdict for each in decisions)
            ]
        more += [self.remark] if self.remark else []
        verdict += f" ({'; '.join(more)})" if more else ""
        cells = (self.where, self.statement, self.printed, ours, asked, verdict, command if self.experiment else "")
        return f"| {' | '.join(cells)} |"


def _numbers(folder: Path, experiment: str) -> Numbers:
    path = folder / f"{experiment}.json"
    found: Numbers = json.loads(path.read_text()) if experiment and path.exists() else {}
    return found
