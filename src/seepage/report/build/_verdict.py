"""Whether a release meets its policy, as far as an edition may say."""

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from seepage._errors import MinimizerError, UnansweredError
from seepage._facts import given, personal, public
from seepage.leakage import Leakage
from seepage.report._document import Judgment, Silence, Verdict
from seepage.report._edition import Edition
from seepage.report.build._attributes import silence

if TYPE_CHECKING:
    from seepage.release import Policy


def verdict(leak: Leakage, policy: "Policy | None", edition: Edition) -> Verdict:
    """Return the verdict, and that on each target."""
    if policy is None or policy.is_empty:
        return Verdict("none", None, None, (), None)
    count, asked = leak.information.count, given(policy.quantile)
    if not edition.shares(count):
        return Verdict("withheld", asked, None, (), Silence("few", None))
    # Which side of a target the most exposed person is on would be a value of theirs.
    share = min(policy.quantile, edition.widest(count))
    try:
        factors = replace(policy, quantile=share).factors(leak)
    except (UnansweredError, MinimizerError) as reason:
        return Verdict("withheld", asked, None, (), silence(reason, edition))
    # Another noise would have led training another way: a factor is for noise that can be chosen anew.
    told = not edition.is_public and leak.information.noise is not None
    judgments = tuple(
        # No factor is told where no noise is enough.
        Judgment(target, target.is_met(factor), personal(edition.up(factor)) if told and isfinite(factor) else None)
        for target, factor in factors.items()
    )
    met = all(judgment.met for judgment in judgments)
    return Verdict("met" if met else "missed", asked, public(share), judgments, None)
