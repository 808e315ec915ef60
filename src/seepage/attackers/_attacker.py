"""Who attacks: what somebody holds of the people beside the one whose value is guessed."""

from dataclasses import dataclass
from numbers import Integral, Real

from seepage.attackers.types import Known
from seepage.errors import InputError


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
        """Return the attacker of `known_records=`."""
        if others < 2:
            raise InputError(
                f"Without noise only the other people hide a person: there are {others}, and at least 2 are needed. "
                "Measure more people, or publish with noise: noise_scale=."
            )
        if known == "covariates":
            return cls(others, 0, covariates=True)
        if known in ("all", "all records"):
            return cls(others, others)
        if isinstance(known, str):
            known = {"population": 0, "half": 0.5}.get(known, known)
        if isinstance(known, str | bool) or not isinstance(known, Real):
            raise InputError(
                f"known_records is the part of the other {others} records that an attacker knows: a number, a share "
                f'below 1, "population" (none), "covariates", "half" or "all"; not {known!r}.'
            )
        if isinstance(known, Integral):
            if not 0 <= known <= others:
                raise InputError(f"known_records is {known}, and there are {others} other people.")
            return cls(others, int(known))
        if not 0 <= known < 1:
            raise InputError(f'known_records is {known!r}: a share is at least 0 and below 1; for all of them, "all".')
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
        """The records that the attacker knows, in words."""
        if self.covariates:
            return "all covariates and no outcome"
        if self.everybody:
            return "all other records"
        if not self.known:
            return "the population and no record"
        return f"{self.known:,} of the other {self.others:,} records, drawn at random"
