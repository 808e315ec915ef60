"""What the quantities of a report mean, what they take for granted, and where they come from."""

from seepage.pages import number
from seepage.report._document import SCHEMA, Document, Noise


def meanings(document: Document) -> list[tuple[str, str]]:
    """Return terms and what they mean in words that need no mathematics, those that the report uses."""
    several = ""
    if document.assurance == "estimated":
        several = " Of several values, such as those of an image, it is the error per value in mean square."
    found = [
        (
            "± (error floor)",
            "The smallest standard error that any unbiased guess of a person's value can have, made from the release "
            "by an attacker who already knows everything else: all other people, and all other values of this one. An "
            f"attacker who knows less does worse. Rounded to the safe side.{several}",
        ),
    ]
    if any(entry.deviation is not None for entry in document.numbers):
        found.append(
            (
                "Left unknown",
                "What share of an attribute's variance among all people is left to somebody who saw the release. 100%: "
                "they know no more than before. 0%: they know the value. For a bell-shaped distribution of values, "
                "with the information at each person's own value.",
            )
        )
    if document.categories:
        found.append(
            (
                "Success rate",
                "How often the best attacker tells a person's true category from the other one that is easiest to tell "
                "from it, if both were as likely before. 50% is a coin, 100% is certainty.",
            )
        )
    found.append(
        (
            "eta",
            "One number for all of a person's values: a guess of any combination of them has a standard error of at "
            "least 1/eta. Twice the eta is half the error. It compares people with each other; its unit is that of the "
            "values, mixed.",
        )
    )
    return found


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
    return [
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
