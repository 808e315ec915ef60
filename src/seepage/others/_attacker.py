"""Who attacks: what somebody holds of the people beside the one whose value is guessed."""

from dataclasses import dataclass
from numbers import Integral, Real

from seepage.errors import InputError
from seepage.others.types import Known


@dataclass(frozen=True)
class Attacker:
    """Somebody who uses averages, and holds the complete records of some of the other people.

    Attributes
    ----------
    others : int
        How many other people, or families, there are.
    known : int
        How many of these are known completely.
    covariates : bool
        Whether of all the rest everything but the outcome is known.
    """

    others: int
    known: int
    covariates: bool = False

    @classmethod
    def of(cls, known: Known, others: int) -> "Attacker":
        """Return the attacker of `others_known=`."""
        if known == "covariates":
            return cls(others, 0, covariates=True)
        if known == "all":
            return cls(others, others)
        if isinstance(known, str | bool) or not isinstance(known, Real):
            raise InputError(
                f"others_known says what an attacker holds of the other {others} people: a number (0 for nobody), a "
                f'share below 1 (0.5 for half), "covariates" (a registry) or "all"; not {known!r}.'
            )
        if isinstance(known, Integral):
            if not 0 <= known <= others:
                raise InputError(f"others_known is {known}, and there are {others} other people.")
            return cls(others, int(known))
        if not 0 <= known < 1:
            raise InputError(f'others_known is {known!r}: a share is at least 0 and below 1; for all of them, "all".')
        return cls(others, int(known * others))

    @property
    def unknown(self) -> int:
        """How many people are not known."""
        return self.others - self.known

    @property
    def everybody(self) -> bool:
        """Whether nobody is left who is not known."""
        return self.known == self.others and not self.covariates

    @property
    def words(self) -> str:
        """What they hold, in words."""
        if self.covariates:
            return "everybody's covariates and nobody's outcome"
        if self.everybody:
            return "everybody else's record"
        if not self.known:
            return "the population and nobody's record"
        return f"{self.known:,} of the other {self.others:,} records, drawn at random"
