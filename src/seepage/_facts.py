"""Facts as data: a number that knows what it is, and an assumption whose sentence is made last.

Every number that anybody is shown is one of three things: *given* by the user or the policy, *public* (declared so, or
known to everybody, such as a version), or *personal*: a function of the private rows. What may leave the house holds
none of the last kind, and asks the type, not the text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from string import Formatter


class Origin(Enum):
    """Where a number comes from, and so who may see it."""

    GIVEN = "given"
    PUBLIC = "public"
    PERSONAL = "personal"


@dataclass(frozen=True)
class Number:
    """A number, where it comes from, and how it is written."""

    value: float
    origin: Origin
    form: str = ".4g"
    """As `format` takes it."""

    def __post_init__(self) -> None:
        # Documents are read from files, and some formats fill the memory.
        if not re.fullmatch(r",?(\.[0-9])?[defg%]?", self.form):
            raise ValueError(f"{self.form[:40]!r} is no form of a number")

    @property
    def may_leave(self) -> bool:
        """True if a document for everybody may hold it."""
        return self.origin is not Origin.PERSONAL

    def text(self) -> str:
        """Return it in writing."""
        return format(self.value, self.form)


def given(value: float, form: str = ".4g") -> Number:
    """Return a number that the user or the policy gave."""
    return Number(value, Origin.GIVEN, form)


def public(value: float, form: str = ".4g") -> Number:
    """Return a number that everybody knows or may know."""
    return Number(value, Origin.PUBLIC, form)


def personal(value: float, form: str = ".4g") -> Number:
    """Return a number that was computed from private rows."""
    return Number(value, Origin.PERSONAL, form)


@dataclass(frozen=True)
class Assumption:
    """Something that a result takes for granted.

    Attributes
    ----------
    kind : str
        What it is about, in one word: whoever prints or leaves out assumptions asks for this, never for words of the
        sentence.
    template : str
        The sentence, with a place in braces for each number and name.
    numbers : mapping from str to Number
        The numbers in it.
    names : mapping from str to str
        The names in it: of columns, estimators, steps.
    """

    kind: str
    template: str
    numbers: Mapping[str, Number] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Braces can reach further than a name, and what is filled in can be as long as they say.
        places = {tuple(place) for _, *place in Formatter().parse(self.template) if place[0] is not None}
        if places != {(name, "", None) for name in (*self.numbers, *self.names)}:
            raise ValueError(f"the places of {self.template[:80]!r} are not those of its numbers and names")

    def sentence(self, show: Callable[[Number], str] = Number.text) -> str:
        """Return the sentence, each number written as `show` says."""
        return self.template.format(**{name: show(number) for name, number in self.numbers.items()}, **self.names)

    def of_release(self, number: int) -> "Assumption":
        """Return the same about one release of several."""
        return replace(self, template=f"Release {number}: {self.template}")


BOUND = Assumption(
    "bound", "The bounds hold for unbiased guesses; an attacker with a prior can be nearer by guessing the prior."
)
"""Assumption of every bound about the attacker's guess."""
