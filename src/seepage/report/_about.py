"""Meaning, assumptions and origin of a report's numbers."""

from collections.abc import Callable, Sequence

from seepage._decision import Decision
from seepage._facts import Assumption
from seepage._noise import GaussianNoise
from seepage._version import __version__
from seepage.leakage import Information
from seepage.meaning import glossary
from seepage.pages import SCHEMA, Section, name, number

LAWYERS = f"https://seepage-privacy.github.io/seepage/{__version__}/readers/law.html"
# What the page adds to a term, of which the glossary knows nothing.
_ROUNDED = " Rounded to the safe side."
_SEVERAL = (
    " Of several values, such as those of an image, it is for the combination of them that is known best (with weights "
    "whose squares add up to 1), from an estimate of a bound on what is known of it, and no mean over the values."
)
# Assumptions that a reader must know; all others are small print.
_IMPORTANT = ("attacker", "bound", "choice", "label", "neighbors", "release")


def meanings(names: Sequence[str], assurance: str = "exact") -> Section:
    """Return quantities in words that need no mathematics."""
    more = {"error_floor": _ROUNDED + (_SEVERAL if assurance == "estimated" else "")}
    terms = glossary()
    found = ((terms[one].title, terms[one].plain + more.get(one, "")) for one in names)
    return Section("What the numbers mean", terms=tuple(found))


def assumption_sections(assumptions: Sequence[Assumption]) -> list[Section]:
    """Return the assumptions, the important ones first."""
    first = tuple(each.sentence() for each in assumptions if each.kind in _IMPORTANT)
    others = tuple(each.sentence() for each in assumptions if each.kind not in _IMPORTANT)
    return [Section("What they take for granted", first), Section("Further assumptions", others, is_small=True)]


def origin(
    information: Information,
    *,
    created: str,
    noise: str,
    policy: str | None,
) -> Section:
    """Return the origin of the report, fingerprints last."""
    terms = [
        *([("The model predicts", " and ".join(map(name, information.outcome)))] if information.outcome else []),
        ("People", f"{information.count:,}"),
        ("Private attributes", f"{len(information.attribute_names):,}"),
        ("Noise on the release", noise),
        ("Numbers are", information.assurance),
        ("Made", f"{created} with seepage {__version__}"),
        ("For lawyers", LAWYERS),
        ("Schema of the JSON version", SCHEMA),
        *([("Fingerprint of the policy's targets", policy)] if policy else []),
    ]
    return Section("Where this comes from", terms=tuple(terms), is_small=True)


def decided(decision: Decision | None) -> tuple[str, ...]:
    """Return who decided, which nothing here was computed from."""
    return () if decision is None else (f"Stated by the publisher: {decision.whole()}",)


def noise_in_words(noise: GaussianNoise | None, may_be_stated: Callable[[float], bool]) -> str:
    """Return the noise on the release, with its scale if it may be stated."""
    if noise is None:
        return "See what the numbers take for granted."
    known = noise.scale if noise.shape is None else noise.shape.scale
    scale = known if known is not None and may_be_stated(known) else None
    if noise.shape is not None:
        amount = "a scale that is not stated here" if scale is None else f"scale {number(scale)}"
        return f"Gaussian, of {amount} and this shape: {noise.shape.rule()}"
    if noise.scale is None:
        return f"Gaussian, with a covariance over {len(noise.known()):,} published parameters."
    if scale is None:
        return "Gaussian, of a standard deviation that is not stated here: it is not one of 1, 2, 5, 10, 20, ..."
    return f"Gaussian, of standard deviation {number(scale)} on every parameter."
