"""What the quantities of a report mean, what they take for granted, and where they come from."""

from seepage.meaning import glossary
from seepage.pages import name, number, percent
from seepage.report._document import SCHEMA, Coefficient, Document, Noise, Utility

# What the page adds to a term, of which the glossary knows nothing.
_ROUNDED = " Rounded to the safe side."
_SEVERAL = (
    " Of several values, such as those of an image, it is for the combination of them that is known best (with weights "
    "whose squares add up to 1), from an estimate of a bound on what is known of it, and no mean over the values."
)

_MOST_COEFFICIENTS = 12


def meanings(document: Document) -> list[tuple[str, str]]:
    """Return terms and what they mean in words that need no mathematics, those that the report uses."""
    told = any(entry.floors for entry in document.numbers)
    asked = any(each.target.kind == "error_floor" for each in document.verdict.judgments)
    shown = {
        "error_floor": _error_floor(document) if told else "" if asked else None,
        "remaining_variance": "" if any(entry.deviation is not None for entry in document.numbers) else None,
        "success_rate": "" if any(entry.rates for entry in document.categories) else None,
        "eta": None if document.eta is None else "",
    }
    terms = glossary()
    return [(terms[name].title, terms[name].plain + more) for name, more in shown.items() if more is not None]


def _error_floor(document: Document) -> str:
    return _ROUNDED + (_SEVERAL if document.assurance == "estimated" else "")


def assumption_sentences(document: Document) -> list[str]:
    """Return what the numbers take for granted."""
    return [each.sentence() for each in document.assumptions]


def handling(document: Document) -> str:
    """Return how this edition is to be treated."""
    if not document.is_public:
        return (
            "Internal edition: it holds values about single people, under pseudonyms. It is personal data, like the "
            "records it is about, and not for publication."
        )
    return (
        "Publishable edition: every number on this page was given or is public; what is said about the data is the "
        "verdict alone."
    )


ALTERNATIVES = "What other noises would leave about whoever is seen best"


def told_coefficients(found: Utility) -> tuple[Coefficient, ...]:
    """Return the coefficients that a page has room for: of many, those with the most noise for their standard error."""
    every = found.coefficients
    if len(every) <= _MOST_COEFFICIENTS:
        return every
    return tuple(sorted(every, key=lambda each: -each.noise.value)[:_MOST_COEFFICIENTS])


def utility_sentence(found: Utility) -> str:
    """Return what the noise costs, in words."""
    share = "" if found.without.value == 0 else f" ({_share(found.added.value / found.without.value)})"
    how = "Exactly so, in the mean over all draws." if found.exact else "To second order, in the mean over all draws."
    return (
        f"On its own rows the model's mean {found.loss} is {number(found.without.value)}, and the noise adds "
        f"{number(found.added.value)}{share}. {how}"
    )


def _share(share: float) -> str:
    rounded = float(f"{share:.2g}")
    return f"{percent(rounded)} of it" if rounded < 2 else f"{number(rounded)} times as much"


def facts(document: Document) -> list[tuple[str, str]]:
    """Return where the report comes from."""
    decided = [] if document.decision is None else [("Decided", document.decision.whole())]
    # A verdict from estimates is one of estimates, also where no number is told.
    told = not document.is_public or document.assurance != "exact"
    predicts = [("The model predicts", " and ".join(name(one) for one in document.outcome))] if document.outcome else []
    policy = [] if document.policy is None else [("Fingerprint of the policy's targets", document.policy)]
    certificate = (
        [] if document.certificate is None else [("Certificate of this release", f"SHA-256 {document.certificate}")]
    )
    return [
        *decided,
        *policy,
        *certificate,
        *predicts,
        ("People", f"{document.people.value:,.0f}"),
        ("Private attributes", f"{len(document.attributes):,}"),
        ("Noise on the release", _noise(document.noise)),
        *([("Numbers are", document.assurance)] if told else []),
        ("Made", document.created.replace("T", " ").replace("Z", " UTC")),
        ("With", ", ".join(f"{name} {version}" for name, version in document.versions.items())),
        ("Schema of the JSON twin", SCHEMA),
    ]


def _noise(noise: Noise) -> str:
    if noise.rule is not None:
        told = "a scale that is not told here" if noise.scale is None else f"scale {number(noise.scale.value)}"
        return f"Gaussian, of {told} and this shape: {noise.rule}"
    if noise.scale is not None:
        return f"Gaussian, of standard deviation {number(noise.scale.value)} on every parameter."
    if noise.parameters is not None:
        return f"Gaussian, with a covariance over {noise.parameters.value:.0f} published parameters."
    if noise.kind == "scale":
        return "Gaussian, of a standard deviation that is not told here: it is not one of 1, 2, 5, 10, 20, ..."
    return "See what the numbers take for granted."
