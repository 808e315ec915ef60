"""What the quantities of a report mean, what they take for granted, and where they come from."""

from seepage.meaning import glossary
from seepage.pages import number
from seepage.report._document import SCHEMA, Document, Noise

# What the page adds to a term, of which the glossary knows nothing.
_ROUNDED = " Rounded to the safe side."
_SEVERAL = " Of several values, such as those of an image, it is the error per value in mean square."


def meanings(document: Document) -> list[tuple[str, str]]:
    """Return terms and what they mean in words that need no mathematics, those that the report uses."""
    shown = {
        "error_floor": _ROUNDED + (_SEVERAL if document.assurance == "estimated" else ""),
        "variance_left": "" if any(entry.deviation is not None for entry in document.numbers) else None,
        "success_rate": "" if document.categories else None,
        "eta": "",
    }
    terms = glossary()
    return [(terms[name].title, terms[name].plain + more) for name, more in shown.items() if more is not None]


def assumption_sentences(document: Document) -> list[str]:
    """Return what the numbers take for granted."""
    return [each.sentence() for each in document.assumptions]


def handling(document: Document) -> str:
    """Return how this edition is to be treated."""
    if document.smallest_group is None:
        return (
            "Internal edition: it holds values about single people, under pseudonyms. It is personal data, like the "
            "records it is about, and not for publication."
        )
    size = number(document.smallest_group.value)
    return (
        f"Publishable edition: every number is a mean over at least {size} people, and the {size} most exposed people "
        f"enter none; counts within the data are rounded to multiples of {size}. It is no differentially private "
        "summary: it shows what larger groups have in common."
    )


def facts(document: Document) -> list[tuple[str, str]]:
    """Return where the report comes from."""
    decided = [] if document.decision is None else [("Decided", document.decision.whole())]
    return [
        *decided,
        ("People", f"{document.people.value:,.0f}"),
        ("Private attributes", f"{len(document.attributes):,}"),
        ("Noise on the release", _noise(document.noise, about="about " if document.is_public else "")),
        ("Numbers are", document.assurance),
        ("Made", document.created.replace("T", " ").replace("Z", " UTC")),
        ("With", ", ".join(f"{name} {version}" for name, version in document.versions.items())),
        ("Schema of the JSON twin", SCHEMA),
    ]


def _noise(noise: Noise, *, about: str) -> str:
    if noise.scale is not None:
        return f"Gaussian, of standard deviation {about}{number(noise.scale.value)} on every parameter."
    if noise.parameters is not None:
        return f"Gaussian, with a covariance over {noise.parameters.value:.0f} published parameters."
    return "See what the numbers take for granted."
