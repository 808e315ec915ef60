"""What a written model says about columns, and what each coefficient belongs to."""

from collections.abc import Iterator
from dataclasses import dataclass

from seepage.errors import InputError
from seepage.linear.written._families import COX
from seepage.linear.written._formula import ParsedFormula
from seepage.linear.written._penalties import Glmnet
from seepage.linear.written._terms import Known, WrittenTerm, level_of, term_of


@dataclass(frozen=True, eq=False, kw_only=True)
class WrittenRoles:
    """A written model with all names as this library has them."""

    family: str
    link: tuple[str | None, float]
    parameter: float
    outcome: tuple[str, ...]
    success: object
    time: str | None
    status: str | None
    ties: str
    strata: tuple[str, ...]
    weights: str | None
    offset: str | None
    exposure: str | None
    penalty: float
    glmnet: Glmnet | None
    coefficients: tuple[tuple[str, str | None, float], ...]
    formula: ParsedFormula | None
    """Which coefficients there are, if nobody wrote them down."""

    def check(self, known: Known) -> list[str]:
        """Return the columns that are no features; refuse those that are not there."""
        roles: dict[str, tuple[str | None, ...]] = {
            "time": (self.time,),
            "status": (self.status,),
            "outcome": () if self.family == COX else self.outcome,
            "strata": self.strata,
            "weights": (self.weights,),
            "offset": (self.offset,),
            "exposure": (self.exposure,),
        }
        found = []
        for role, names in roles.items():
            for name in names:
                if name is not None:
                    known.check(name, role)
                    found.append(name)
        return found

    def terms(self, known: Known) -> dict[WrittenTerm, tuple[str, float]]:
        """Return what each coefficient belongs to, with its name and its number; of a formula these are not known."""
        found: dict[WrittenTerm, tuple[str, float]] = {}
        for name, level, number in self._coefficients(known):
            called = name if level is None else f"{name} = {level}"
            if level is None:
                term = term_of(name, known)
            elif name not in known.names and f"{name}.{level}" in known.names:
                # In TOML a dot that is not quoted goes one table down.
                term = term_of(f"{name}.{level}", known)
            else:
                term = level_of(name, level, known)
            if term is None:
                if number != 0:
                    raise InputError(f"{called!r} is a base or an omitted level, and its coefficient is {number!r}.")
                continue
            if both := [column for column in term.columns if column in (*self.outcome, self.time)]:
                raise InputError(f"{both[0]!r} is the outcome and has a coefficient: a model would find it in itself.")
            if term in found:
                raise InputError(f"{found[term][0]!r} and {called!r} are coefficients of the same thing.")
            found[term] = (called, number)
        return found

    def _coefficients(self, known: Known) -> Iterator[tuple[str, str | None, float]]:
        if self.formula is None:
            yield from self.coefficients
        else:
            yield from ((name, level, float("nan")) for name, level in self.formula.coefficients(known))
