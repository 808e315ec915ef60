"""The verdict in words."""

from math import ceil

from seepage.meaning import Target
from seepage.pages import most, name, number, percent
from seepage.report._document import Document, PolicyVerdict, Silence


def headline(verdict: PolicyVerdict) -> str:
    """Return the verdict in a few words, never about more people or attributes than it was judged for."""
    whom = "" if verdict.share is None or verdict.share.value == 1 else f" for {most(verdict.share.value)}"
    named = f" for what it names{',' if whom else ''}" if verdict.leaves_open else ""
    return {
        "met": f"Meets the policy{named}{whom}",
        "missed": f"Does not meet the policy{whom}",
        "none": "No policy was given",
        "withheld": "No verdict",
    }[verdict.status]


def verdict_sentence(document: Document) -> str:
    """Return what the verdict comes to."""
    verdict = document.verdict
    if verdict.status == "none":
        return "Nothing is judged here: hold the errors below against what would harm a person."
    if verdict.silence is not None:
        return silence_sentence(verdict.silence, document)
    return _outcome(verdict)


def untargeted_sentence(document: Document) -> str:
    """Return what the policy sets no target for, with names as short as elsewhere; nothing if that is nothing."""
    left = document.verdict.untargeted
    return "" if left is None else left.sentence(name)


def target_sentence(target: Target, document: Document) -> str:
    """Return a target in words, with a name as short as elsewhere, in the unit of its attribute."""
    unit = next((entry.unit for entry in document.numbers if entry.name == target.attribute), None)
    return target.sentence(name, None if unit is None else name(unit))


def silence_sentence(silence: Silence, document: Document) -> str:
    """Return why something is not told."""
    return {
        "slow": f"Exact refits for {document.people.value:,.0f} people take a while: ask with categories=[...].",
        "unanswered": silence.reason or "This could not be found.",
    }[silence.kind]


def _outcome(verdict: PolicyVerdict) -> str:
    judgments = verdict.judgments
    count, missed = len(judgments), sum(not each.met for each in judgments)
    factor = max((each.factor.value for each in judgments if each.factor is not None), default=None)
    if missed:
        said = f"{missed} of {count} targets {'is' if missed == 1 else 'are'} missed."
        if verdict.enough is not None:
            return f"{said} A noise scale of {number(verdict.enough.value)} meets all of them."
        if factor is None or any(each.factor is None for each in judgments):
            return said
        return f"{said} Noise {number(factor)} times as large would meet every target."
    said = {1: "The target is met.", 2: "Both targets are met."}.get(count, f"All {count} targets are met.")
    if factor is None or factor >= 0.98:
        return said
    return f"{said} There is room: {percent(ceil(100 * factor - 1e-9) / 100)} of the noise would do."
