"""The verdict on a release: its policy target by target."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, isfinite
from typing import TYPE_CHECKING, Literal

from seepage._amounts import up_to_grid
from seepage.errors import MinimizerError, PolicyError, UnansweredError
from seepage.leakage import Leakage
from seepage.meaning import Target, Untargeted
from seepage.pages import Grid, Item, Mark, Section, most, name, number, percent
from seepage.report._rounding import up

if TYPE_CHECKING:
    from seepage.release import Policy

_NO_BASELINE = "The policy states no baseline, the error of a guess without the release, for: {}."
NO_POLICY = "Nothing is judged here: compare the errors below with what would harm a person."


@dataclass(frozen=True)
class Judgment:
    """A target of the policy, whether it is met, and the factor on the noise that would meet it.

    The factor of a missed target is rounded up to 1, 2 or 5 times a power of ten; it is infinite if no noise is enough,
    and None if it is not stated.
    """

    target: Target
    met: bool
    factor: float | None = None


@dataclass(frozen=True)
class PolicyVerdict:
    """Whether a release meets its policy.

    Attributes
    ----------
    status : {"met", "missed", "none", "withheld"}
        none: no policy was given. withheld: it could not be judged, and `reason` says why.
    judgments : tuple of Judgment
        One a target.
    quantile : float
        The share of people for whom targets must hold.
    untargeted : Untargeted or None
        The attributes without a target; None without a policy.
    enough : float or None
        Of a release that misses its policy, a noise scale that meets it; internal edition only.
    is_shaped : bool
        Whether that scale is one of a covariance, such as standard errors of each coefficient.
    """

    status: Literal["met", "missed", "none", "withheld"]
    judgments: tuple[Judgment, ...] = ()
    quantile: float = 1.0
    untargeted: Untargeted | None = None
    enough: float | None = None
    is_shaped: bool = False
    reason: str = ""

    @property
    def missed(self) -> tuple[Judgment, ...]:
        """The targets that are not met."""
        return tuple(judgment for judgment in self.judgments if not judgment.met)

    @property
    def headline(self) -> str:
        """The verdict in a few words, never about more people or attributes than it was judged for."""
        whom = "" if self.quantile == 1 or self.status in ("none", "withheld") else f" for {most(self.quantile)}"
        named = f" for what it names{',' if whom else ''}" if self._leaves_open else ""
        return {
            "met": f"Meets the policy{named}{whom}",
            "missed": f"Does not meet the policy{whom}",
            "none": "No policy was given",
            "withheld": "No verdict",
        }[self.status]

    @property
    def _leaves_open(self) -> bool:
        return self.untargeted is not None and self.untargeted.is_open

    @property
    def sentence(self) -> str:
        """The outcome of all targets."""
        if self.status == "none":
            return NO_POLICY
        return self.reason or _outcome(self)

    def in_units(self, units: Mapping[str, str]) -> "PolicyVerdict":
        """Return the verdict with its targets in the units of their attributes."""
        judgments = (
            replace(judgment, target=replace(judgment.target, unit=units.get(judgment.target.attribute or "", "")))
            for judgment in self.judgments
        )
        return replace(self, judgments=tuple(judgments))

    def section(self, is_personal: bool) -> Section:
        """Return the verdict as the first section of a document."""
        left = "" if self.untargeted is None else self.untargeted.sentence(name)
        mark: Mark = "open" if self.status == "met" and self._leaves_open else "none"
        if self.status in ("met", "missed") and mark == "none":
            mark = "met" if self.status == "met" else "missed"
        floors = [judgment.target for judgment in self.judgments if judgment.target.kind == "error_floor"]
        bare = ", ".join(name(target.attribute or "") for target in floors if target.baseline is None)
        said = tuple(filter(None, (self.sentence, left, _NO_BASELINE.format(bare) if bare else "")))
        return Section(self.headline, said, self._table(), mark=mark, is_personal=is_personal)

    def _table(self) -> tuple[Grid, ...]:
        if not self.judgments:
            return ()
        factors = any(judgment.factor is not None for judgment in self.judgments)
        rows = [
            [judgment.target.sentence(name), _word(judgment), *([_needed(judgment)] if factors else [])]
            for judgment in self.judgments
        ]
        heads = ("target", "verdict", *(["noise needed"] if factors else []))
        return (Grid.of("Targets of the policy", heads, rows),)


def judge(leak: Leakage, policy: "Policy | None") -> PolicyVerdict:
    """Return the verdict on a release, and the noise that each target takes."""
    if policy is None or policy.is_empty:
        return PolicyVerdict("none")
    left = policy.attributes_without_target(leak)
    try:
        factors = policy.factors(leak)
    except (UnansweredError, MinimizerError) as reason:
        return PolicyVerdict("withheld", quantile=policy.quantile, untargeted=left, reason=str(reason))
    # Another noise would have led training another way: a factor is for noise that can be chosen anew.
    chosen = leak.information.noise is not None
    judgments = tuple(_judged(target, factor if chosen else None, factor) for target, factor in factors.items())
    if all(judgment.met for judgment in judgments):
        return PolicyVerdict("met", judgments, policy.quantile, left)
    noise = leak.information.noise
    shaped, enough = noise is not None and noise.shape is not None, _enough(leak, max(factors.values()))
    return PolicyVerdict("missed", judgments, policy.quantile, left, enough, shaped)


def judge_for_everybody(leak: Leakage, policy: "Policy | None") -> PolicyVerdict:
    """Return the verdict for everybody: that the policy is met is the condition for publishing anything."""
    if policy is None or policy.is_empty:
        return PolicyVerdict("none")
    missed = policy.violations(leak)
    if missed:
        lines = [
            f"This release misses its policy ({len(missed)} of {len(policy.targets())} targets), so there is nothing "
            "to publish, not even a page that says so:",
            *(f"- {target.sentence()}" for target in missed),
            "The internal edition says by how much.",
        ]
        raise PolicyError("\n".join(lines), max(missed.values()))
    judgments = tuple(Judgment(target, True) for target in policy.targets())
    return PolicyVerdict("met", judgments, policy.quantile, policy.attributes_without_target(leak))


def without_factors(verdict: PolicyVerdict, *, all_of_them: bool) -> PolicyVerdict:
    """Return a verdict without the factors of targets that are met, or without any: the most exposed people decide."""
    judgments = tuple(
        replace(judgment, factor=None) if judgment.met or all_of_them else judgment for judgment in verdict.judgments
    )
    return replace(verdict, judgments=judgments, enough=None if all_of_them else verdict.enough)


def _judged(target: Target, shown: float | None, factor: float) -> Judgment:
    met = target.is_met(factor)
    return Judgment(target, met, None if shown is None else up(shown) if met else up_to_grid(shown))


def _enough(leak: Leakage, factor: float) -> float | None:
    """Return the noise scale that meets every target, on the grid that noise is published on."""
    noise = leak.information.noise
    scale = None if noise is None else noise.scale if noise.shape is None else noise.shape.scale
    return None if scale is None or not isfinite(factor) else up_to_grid(scale * factor)


def _word(judgment: Judgment) -> Item:
    return Item("met", mark="met") if judgment.met else Item("missed", mark="missed")


def _needed(judgment: Judgment) -> Item:
    if judgment.factor is None:
        return Item("")
    if not isfinite(judgment.factor):
        return Item("none is enough")
    return Item(f"{number(judgment.factor)} times", judgment.factor)


def _outcome(verdict: PolicyVerdict) -> str:
    count, missed = len(verdict.judgments), verdict.missed
    factors = [judgment.factor for judgment in verdict.judgments if judgment.factor is not None]
    if missed:
        said = f"{len(missed)} of {count} targets {'is' if len(missed) == 1 else 'are'} missed."
        if verdict.enough is not None:
            shape = " in this shape" if verdict.is_shaped else ""
            return f"{said} A noise scale of {number(verdict.enough)}{shape} meets all of them."
        if not all(map(isfinite, factors)):
            return f"{said} {Target.missing(float('inf'))}"
        return said if not factors else f"{said} Noise {number(max(factors))} times as large would meet every target."
    said = {1: "The target is met.", 2: "Both targets are met."}.get(count, f"All {count} targets are met.")
    if not factors or max(factors) >= 0.98:
        return said
    return f"{said} There is room: {percent(ceil(100 * max(factors) - 1e-9) / 100)} of the noise would be enough."
