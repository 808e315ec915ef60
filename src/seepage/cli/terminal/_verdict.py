"""Whether a release meets its policy, and what a pipeline is told about it."""

from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from seepage._records import to_json
from seepage._version import __version__
from seepage.cli.terminal._amount import Amount

if TYPE_CHECKING:
    from seepage.meaning import Target, Untargeted

SCHEMA = "urn:seepage:check:2"


@dataclass(frozen=True)
class Judged:
    """One target of a policy, and whether a release meets it."""

    target: "Target"
    factor: float | None
    """By how much the noise must grow, rounded up, infinitely if no noise is enough; None when the target is met."""
    line: int
    """Where the policy sets it."""
    told: bool = True
    """Whether the factor may be told."""

    @property
    def met(self) -> bool:
        """Whether the release meets the target."""
        return self.factor is None

    @property
    def name(self) -> str:
        """What machines call it."""
        kind, attribute = self.target.kind, self.target.attribute
        return kind if attribute is None else f"{kind} of {attribute}"

    @property
    def reason(self) -> str:
        """The sentence, and what is missing."""
        sentence = self.target.sentence()
        return sentence if self.factor is None or not self.told else f"{sentence} {self.target.missing(self.factor)}"


@dataclass(frozen=True)
class VerdictPanel:
    """What became of each target."""

    targets: tuple[Judged, ...]
    noise: Amount
    enough: Amount
    """Noise that meets every target, rounded up unless this one does; infinite if there is none."""
    model: Path
    policy: Path
    people: int
    """Whom it is about."""
    untargeted: "Untargeted"
    """What the policy sets no target for."""
    public: tuple[str, ...] = ()
    """What it takes for granted of the steps before the model."""

    @property
    def told(self) -> bool:
        """Whether it may be told how much noise would be enough."""
        return all(each.told for each in self.targets)

    def for_everybody(self) -> "VerdictPanel":
        """Return the same without what the most exposed people decide: whether each target is met, and nothing else."""
        return replace(self, targets=tuple(replace(each, told=False) for each in self.targets))

    @property
    def missed(self) -> tuple[Judged, ...]:
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
            named = " for what it names" if self.untargeted.is_open else ""
            return f"This release meets its policy{named} ({count} of {count} targets)."
        return f"This release misses its policy ({len(self.missed)} of {count} targets)."

    def as_json(self) -> dict[str, object]:
        """Return what a program reads."""
        return {
            "schema": SCHEMA,
            "seepage": __version__,
            "passed": self.passed,
            "model": str(self.model),
            "policy": str(self.policy),
            "noise_scale": self.noise.number,
            "in_standard_errors": self.noise.standard_errors,
            "enough_noise_scale": _finite(self.enough.number) if self.told else None,
            "targets": [
                {
                    "kind": each.target.kind,
                    "attribute": each.target.attribute,
                    "limit": each.target.limit.value,
                    "met": each.met,
                    "noise_factor": _finite(each.factor) if each.told else None,
                    "sentence": each.target.sentence(),
                }
                for each in self.targets
            ],
            "untargeted": to_json(self.untargeted),
        }


def _finite(value: float | None) -> float | None:
    """Return a number as JSON knows it: nothing stands for what no noise reaches."""
    return value if value is not None and isfinite(value) else None
