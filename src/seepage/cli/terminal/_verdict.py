"""Whether a release meets its policy, and what a pipeline is told about it.

A factor on the noise is decided by the most exposed person, and verdicts travel to servers: factors are rounded up to
two digits here, and only those of missed targets are told.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

from seepage._version import __version__
from seepage.cli.input._policies import PolicyFile
from seepage.leakage import Leakage

SCHEMA = "urn:seepage:check:1"


@dataclass(frozen=True)
class Target:
    """One target of a policy, and whether a release meets it."""

    kind: str
    attribute: str | None
    limit: float
    sentence: str
    met: bool
    factor: float | None
    """By how much the noise must grow, rounded up; None when the target is met."""
    line: int
    """Where the policy sets it."""

    @property
    def name(self) -> str:
        """What machines call it."""
        return self.kind if self.attribute is None else f"{self.kind} of {self.attribute}"

    @property
    def reason(self) -> str:
        """The sentence, and what is missing."""
        return self.sentence if self.met else f"{self.sentence} That takes {self.factor:g} times the noise."


@dataclass(frozen=True)
class Verdict:
    """What became of each target."""

    targets: tuple[Target, ...]
    noise_scale: float
    enough: float
    """A noise scale that meets every target, rounded up unless this one does."""
    model: Path
    policy: Path

    @classmethod
    def of(cls, leak: Leakage, noise_scale: float, file: PolicyFile, model: Path) -> "Verdict":
        """Compare a release with a policy."""
        policy = file.policy
        missed = policy.shortfalls(leak)
        targets = []
        for one in policy.targets():
            factor = rounded_up(missed[one]) if one in missed else None
            line = file.line_of(one.kind, one.attribute)
            sentence = one.sentence()
            targets.append(Target(one.kind, one.attribute, one.limit.value, sentence, one not in missed, factor, line))
        enough = rounded_up(noise_scale * max(missed.values())) if missed else noise_scale
        return cls(tuple(targets), noise_scale, enough, model, file.path)

    @property
    def missed(self) -> tuple[Target, ...]:
        """The targets that are not met."""
        return tuple(target for target in self.targets if not target.met)

    @property
    def passed(self) -> bool:
        """Whether every target is met."""
        return not self.missed

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        count = len(self.targets)
        if self.passed:
            return f"This release meets its policy ({count} of {count} targets)."
        return f"This release misses its policy ({len(self.missed)} of {count} targets)."

    def as_json(self) -> dict[str, Any]:
        """Return what a program reads."""
        return {
            "schema": SCHEMA,
            "seepage": __version__,
            "passed": self.passed,
            "model": str(self.model),
            "policy": str(self.policy),
            "noise_scale": self.noise_scale,
            "enough_noise_scale": self.enough,
            "targets": [
                {
                    "kind": target.kind,
                    "attribute": target.attribute,
                    "limit": target.limit,
                    "met": target.met,
                    "noise_factor": target.factor,
                    "sentence": target.sentence,
                }
                for target in self.targets
            ],
        }


def rounded_up(value: float, digits: int = 2) -> float:
    """Return a number of a few digits that is not below `value`."""
    exact = Decimal(repr(float(value)))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=ROUND_CEILING))
