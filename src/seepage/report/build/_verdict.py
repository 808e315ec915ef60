"""Whether a release meets its policy."""

from math import isfinite
from typing import TYPE_CHECKING

from seepage._errors import MinimizerError, PolicyError, UnansweredError
from seepage._facts import given, personal
from seepage.leakage import Leakage
from seepage.report._document import Judgment, Silence, Verdict
from seepage.report._edition import up

if TYPE_CHECKING:
    from seepage.release import Policy


def verdict(leak: Leakage, policy: "Policy | None") -> Verdict:
    """Return the verdict, that on each target, and the noise that each would take."""
    if policy is None or policy.is_empty:
        return Verdict("none", None, None, (), None)
    asked = given(policy.quantile)
    try:
        factors = policy.factors(leak)
    except (UnansweredError, MinimizerError) as reason:
        return Verdict("withheld", asked, None, (), Silence("unanswered", str(reason)))
    # Another noise would have led training another way: a factor is for noise that can be chosen anew.
    told = leak.information.noise is not None
    judgments = tuple(
        # No factor is told where no noise is enough.
        Judgment(target, target.is_met(factor), personal(up(factor)) if told and isfinite(factor) else None)
        for target, factor in factors.items()
    )
    met = all(judgment.met for judgment in judgments)
    return Verdict("met" if met else "missed", asked, asked, judgments, None)


def met_verdict(leak: Leakage, policy: "Policy | None") -> Verdict:
    """Return the verdict for everybody: that the policy is met is the condition for telling anybody anything."""
    if policy is None or policy.is_empty:
        return Verdict("none", None, None, (), None)
    missed = policy.shortfalls(leak)
    if missed:
        lines = [
            f"This release misses its policy ({len(missed)} of {len(policy.targets())} targets), so there is nothing "
            "to publish, not even a page that says so:",
            *(f"- {target.sentence()}" for target in missed),
            'Report.of(leak, "internal") says by how much. Where the page itself is too much for a promise that the '
            "model keeps, one more step of the grid of noise scales is the way out.",
        ]
        raise PolicyError("\n".join(lines), max(missed.values()))
    asked = given(policy.quantile)
    judgments = tuple(Judgment(target, True, None) for target in policy.targets())
    return Verdict("met", asked, asked, judgments, None)
