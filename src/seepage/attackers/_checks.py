"""The rules that output checkers know for regressions, each with its number."""

from seepage.attackers._check import Check
from seepage.attackers._information import SamplingInformation

# Of residual degrees of freedom, and of people with one value, the least that is let out by rule.
_LEAST = 10
_MOST_LEVERAGE = 0.5


def checks_of(information: SamplingInformation) -> tuple[Check, ...]:
    """Return what an output checker asks of a regression, or of what brings its own rules."""
    printed, people = information.printed, information.count
    if printed.checks is not None:
        return printed.checks
    free = people - printed.parameters
    leverage = float(printed.leverage.max())
    small = min(printed.levels, key=lambda level: level.people, default=None)
    found = [
        Check("residual degrees of freedom", free, free >= _LEAST, f"at least {_LEAST}"),
        Check("largest leverage of a person", leverage, leverage <= _MOST_LEVERAGE, f"at most {_MOST_LEVERAGE}"),
        Check("people to a coefficient", people / max(printed.parameters, 1), free > 0, "more than 1: not saturated"),
    ]
    if small is not None:
        rule = f"at least {_LEAST}; {small.named}"
        found.append(Check("people with the rarest value", small.people, small.people >= _LEAST, rule))
    return tuple(found)
