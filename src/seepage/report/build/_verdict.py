"""Whether a release meets its policy, as far as an edition may say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from seepage._errors import InputError, MinimizerError, UnansweredError
from seepage.leakage import Leakage
from seepage.report.write import _words as words
from seepage.report.build._attributes import untold
from seepage.report._edition import Edition


@runtime_checkable
class Targets(Protocol):
    """A policy, as a report reads it: `seepage.Policy` is one."""

    @property
    def quantile(self) -> float:
        """The share of people for whom each target must hold."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether there is no target at all."""
        ...

    def factors(self, leak: Leakage) -> Mapping[str, float]:
        """Return, for each target in words, the smallest factor on the noise scale that meets it."""
        ...


def verdict(leak: Leakage, policy: Targets | None, edition: Edition) -> dict[str, Any]:
    """Return the verdict: status, a sentence, and each target."""
    if policy is not None and not isinstance(policy, Targets):
        raise InputError(f"policy must be a seepage.Policy, not {policy!r}.")
    if policy is None or policy.is_empty:
        sentence = "Nothing is judged here: hold the errors below against what would harm a person."
        return {"status": "none", "sentence": sentence, "share": None, "targets": []}
    count = leak.information.count
    share = min(policy.quantile, edition.widest(count))
    if not edition.shares(count):
        sentence = f"There are too few people to judge without speaking of fewer than {edition.smallest_group}."
        return {"status": "withheld", "sentence": sentence, "share": None, "targets": []}
    # Which side of a target the most exposed person is on would be a value of theirs.
    judged = policy if share == policy.quantile else replace(policy, quantile=share)  # type: ignore[type-var]
    try:
        factors = judged.factors(leak)
    except (UnansweredError, MinimizerError) as reason:
        return {"status": "withheld", "sentence": untold(reason, edition), "share": None, "targets": []}
    # Another noise would have led training another way: a factor is for noise that can be chosen anew.
    told = not edition.is_public and leak.information.noise is not None
    targets = [
        {
            "sentence": _readable(target, leak.information.attribute_names),
            "met": factor <= 1 + 1e-9,
            "factor": edition.up(factor) if told else None,
        }
        for target, factor in factors.items()
    ]
    missed = sum(not target["met"] for target in targets)
    return {
        "status": "missed" if missed else "met",
        "sentence": _sentence(missed, len(targets), max(factors.values()), share, policy, edition, told),
        "share": share,
        "targets": targets,
    }


def _readable(sentence: str, names: Sequence[str]) -> str:
    """Return a sentence in which names are as short as elsewhere."""
    found = max((name for name in names if name in sentence), key=len, default="")
    return sentence if words.name(found) == found else sentence.replace(found, words.name(found))


def _sentence(
    missed: int, count: int, factor: float, share: float, policy: Targets, edition: Edition, told: bool
) -> str:
    if not missed:
        sentence = (
            ("The target is", "Both targets are")[count - 1] + " met." if count < 3 else f"All {count} targets are met."
        )
        if told and factor < 0.98:
            sentence += f" There is room: {words.percent(round(factor, 2))} of the noise would do."
    else:
        sentence = f"{missed} of {count} targets {'is' if missed == 1 else 'are'} missed."
        if told:
            sentence += f" Noise {words.number(edition.up(factor))} times as large would meet every target."
    if share < policy.quantile:
        sentence += (
            f" The policy is about {words.most(policy.quantile)}; whether it holds for the few most exposed is for the "
            "internal edition to say."
        )
    return sentence
