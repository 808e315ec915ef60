"""Whether a release meets its policy."""

from math import isfinite
from typing import TYPE_CHECKING

from seepage._amounts import up_to_grid
from seepage._facts import Number, given, personal
from seepage.errors import MinimizerError, PolicyError, UnansweredError
from seepage.leakage import Leakage
from seepage.meaning import Target
from seepage.report._document import Judgment, PolicyVerdict, Silence
from seepage.report._edition import up

if TYPE_CHECKING:
    from seepage.release import Policy


def verdict(leak: Leakage, policy: "Policy | None") -> PolicyVerdict:
    """Return the verdict, that on each target, and the noise that each would take."""
    if policy is None or policy.is_empty:
        return PolicyVerdict("none", None, None, (), None)
    asked, left = given(policy.quantile), policy.attributes_without_target(leak)
    try:
        factors = policy.factors(leak)
    except (UnansweredError, MinimizerError) as reason:
        return PolicyVerdict("withheld", asked, None, (), Silence("unanswered", str(reason)), untargeted=left)
    # Another noise would have led training another way: a factor is for noise that can be chosen anew.
    told = leak.information.noise is not None
    judgments = tuple(_judged(target, factor, told) for target, factor in factors.items())
    if all(judgment.met for judgment in judgments):
        return PolicyVerdict("met", asked, asked, judgments, None, untargeted=left)
    return PolicyVerdict("missed", asked, asked, judgments, None, _enough(leak, max(factors.values())), left)


def _judged(target: Target, factor: float, told: bool) -> Judgment:
    met = target.is_met(factor)
    # No factor is told where no noise is enough.
    needed = personal(up(factor) if met else up_to_grid(factor)) if told and isfinite(factor) else None
    return Judgment(target, met, needed)


def _enough(leak: Leakage, factor: float) -> Number | None:
    """Return the noise scale that meets every target, on the grid that noise is published on."""
    noise = leak.information.noise
    scale = None if noise is None else noise.scale if noise.shape is None else noise.shape.scale
    return None if scale is None or not isfinite(factor) else personal(up_to_grid(scale * factor))


def met_verdict(leak: Leakage, policy: "Policy | None") -> PolicyVerdict:
    """Return the verdict for everybody: that the policy is met is the condition for telling anybody anything."""
    if policy is None or policy.is_empty:
        return PolicyVerdict("none", None, None, (), None)
    missed = policy.violations(leak)
    if missed:
        lines = [
            f"This release misses its policy ({len(missed)} of {len(policy.targets())} targets), so there is nothing "
            "to publish, not even a page that says so:",
            *(f"- {target.sentence()}" for target in missed),
            "The internal edition says by how much.",
        ]
        raise PolicyError("\n".join(lines), max(missed.values()))
    asked = given(policy.quantile)
    judgments = tuple(Judgment(target, True, None) for target in policy.targets())
    return PolicyVerdict("met", asked, asked, judgments, None, untargeted=policy.attributes_without_target(leak))
