"""What is decided about a request: one word for each output and one for all of them, and why."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from seepage.inspection import Finding
from seepage.request._held import Figure

Word = Literal["pass", "review", "fail"]
_WORST: tuple[Word, ...] = ("pass", "review", "fail")
# Outputs that a sentence names.
_MOST_NAMED = 6


def worst(words: Iterable[Word]) -> Word:
    """Return the worst of some words."""
    return max(words, key=_WORST.index, default="pass")


@dataclass(frozen=True)
class Mend:
    """One way out that was tried, and what came of it.

    Attributes
    ----------
    kind : "leave out", "more people", "noise", "digits" or "none"
    outputs : tuple of str
        Which it is about.
    number : float
        How many people must differ, or how many standard errors of noise each coefficient carries.
    """

    kind: Literal["leave out", "more people", "noise", "digits", "none"]
    outputs: tuple[str, ...] = ()
    number: float = 0.0

    def sentence(self) -> str:
        """Say it."""
        named = " and ".join(self.outputs)
        if self.kind == "leave out":
            return f"Leave out {named}: then no target is missed."
        if self.kind == "more people":
            return f"Or let at least about {self.number:,.0f} people differ between {named}."
        if self.kind == "noise":
            return (
                f"Or publish {named} with noise of {self.number:g} standard errors on every coefficient, and nothing "
                "else of it: then this target is met."
            )
        if self.kind == "digits":
            return f"Round the numbers of {named} to three significant digits: then no target is missed."
        return "Neither leaving out an output nor noise on it is enough: ask for larger groups, or for fewer numbers."


@dataclass(frozen=True)
class MissedTarget:
    """People of whom a target is missed.

    Attributes
    ----------
    inside, outside : tuple of str
        The outputs that they are in, and the others that were read with them.
    attributes : tuple of str
        What becomes known.
    count : int
        How many they are.
    people : tuple
        Their ids, for those inside the house alone.
    figure : Figure or None
        What the nearest of them comes to.
    pair : tuple of str
        Two outputs whose difference is enough for it; one, if it is enough by itself; none, if it takes more than two.
    mends : tuple of Mend
    cell : str
        The number of a table that reveals them, and the people it is from; empty if there is no table.
    """

    inside: tuple[str, ...]
    outside: tuple[str, ...]
    attributes: tuple[str, ...]
    count: int
    people: tuple[object, ...]
    figure: Figure | None
    pair: tuple[str, ...] = ()
    mends: tuple[Mend, ...] = ()
    cell: str = ""

    def sentence(self) -> str:
        """State the finding without the ids."""
        some = {0: "at least one person", 1: "1 person"}.get(self.count, f"{self.count:,} people")
        values = f"{self._what} of {some}"
        if len(self.pair) == 1:
            return f"{self.pair[0]} by itself reveals {values}{f' ({self.cell})' if self.cell else ''}."
        if len(self.pair) == 2 and self.pair[1] not in self.inside:
            first, second = self.pair
            return f"Subtracting {second} from {first} reveals {values}: too few others are in {first} alone."
        every = self.pair or (*self.inside, *self.outside)
        named = _listed(every) if len(every) <= _MOST_NAMED else f"these {len(every)} outputs"
        return f"Publishing {named} together reveals {values}."

    @property
    def _what(self) -> str:
        if not self.attributes:
            return "a value"
        return _listed(self.attributes) if len(self.attributes) < 4 else f"{len(self.attributes)} attributes"


@dataclass(frozen=True)
class Rule:
    """A limit of ACRO's risk appetite, and whether an output keeps it.

    Attributes
    ----------
    name : str
        As ACRO calls it.
    word : "pass", "review" or "fail"
    limit : float
    number : float or None
        What is held against it; None where it may not be told, or is not defined.
    about : str
        What the number is.
    """

    name: str
    word: Word
    limit: float
    number: float | None
    about: str

    def sentence(self) -> str:
        """Say it."""
        if self.word == "review":
            return f"{self.name} needs a look: {self.about}" if self.about else f"{self.name} needs a look"
        kept = f"{self.name} {self.limit:g} is {'kept' if self.word == 'pass' else 'missed'}"
        if self.number is None:
            return kept
        return f"{kept} ({self.about}: {self.number:{',.0f' if self.number >= 1000 else '.3g'}})"


@dataclass(frozen=True)
class OutputVerdict:
    """What is decided about one output.

    Attributes
    ----------
    name, what : str
        What it is called, and what it is.
    word : "pass", "review" or "fail"
    checked : bool
        Whether it could be looked at here at all.
    people : int
        How many it is made of; 0 where that is not known.
    figure : Figure or None
        What comes nearest to a target.
    reasons : tuple of str
        Why it does not pass.
    findings : tuple of MissedTarget
    mends : tuple of Mend
    file : str
        Its file in the folder of the request; empty if it came from none.
    rules : tuple of Rule
        Whether it keeps ACRO's risk appetite, if one was given; the word is the worst of both.
    own : "pass", "review", "fail" or None
        The word without these rules; None if there are none.
    """

    name: str
    what: str
    word: Word
    checked: bool = True
    people: int = 0
    figure: Figure | None = None
    reasons: tuple[str, ...] = ()
    findings: tuple[MissedTarget, ...] = ()
    mends: tuple[Mend, ...] = ()
    unread: bool = False
    """Whether nothing was looked into, so that its reasons say nothing about anybody."""
    file: str = ""
    rules: tuple[Rule, ...] = ()
    own: Word | None = None

    def holding(self, inside: tuple[Finding, ...]) -> "OutputVerdict":
        """Return the same with the findings in its file; one that is not checked needs a review already."""
        found = [each for each in inside if self.checked or each.word == "fail"]
        if not found:
            return self
        word = worst((self.word, *(each.word for each in found)))
        reasons = (*(each.sentence() for each in found), *self.reasons)
        return replace(self, word=word, checked=True, unread=False, reasons=reasons)

    def held_to(self, rules: tuple[Rule, ...]) -> "OutputVerdict":
        """Return the same beside the rules of a risk appetite."""
        if not rules:
            return self
        return replace(self, word=worst((self.word, *(each.word for each in rules))), rules=rules, own=self.word)

    @property
    def by_rules(self) -> str:
        """Whether it keeps them, in a sentence or two; empty if there are none."""
        if not self.rules:
            return ""
        theirs = worst([each.word for each in self.rules])
        told = [each.sentence() for each in self.rules if each.word != "pass"]
        # Numbers of limits that are kept are in the JSON.
        told += [f"{each.name} kept" for each in self.rules if each.word == "pass"]
        return f"By ACRO's risk appetite {theirs}: {', '.join(told)}. By what it gives away {self.own}."

    @property
    def said(self) -> str:
        """Its word, or that there is none."""
        return self.word if self.checked else "not checked"


@dataclass(frozen=True)
class Stage:
    """What outputs are together: those that are asked for, or these with what was let out before."""

    name: str
    word: Word
    outputs: tuple[str, ...]
    findings: tuple[MissedTarget, ...] = ()
    reasons: tuple[str, ...] = ()
    patterns: tuple[tuple[tuple[str, ...], int], ...] = ()
    """Which outputs people are in, and how many are in these and no others."""


@dataclass(frozen=True)
class Decided:
    """What is decided about a request, without the ways of telling it: see `Verdict`."""

    name: str
    asked: str
    people: int
    outputs: tuple[OutputVerdict, ...]
    stages: tuple[Stage, ...] = ()
    told: tuple[str, ...] = ()
    internal: bool = True
    folder: Path | None = None
    """Where the outputs lie; None if they came from no folder."""
    limits: tuple[tuple[str, float], ...] = ()
    """ACRO's risk appetite, by name."""

    @property
    def word(self) -> Word:
        """The worst of all words."""
        return worst([each.word for each in self.outputs] + [each.word for each in self.stages])

    @property
    def findings(self) -> tuple[MissedTarget, ...]:
        """All of them, those of single outputs first."""
        alone = [finding for each in self.outputs for finding in each.findings]
        return (*alone, *(finding for each in self.stages for finding in each.findings))


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
