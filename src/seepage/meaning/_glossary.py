"""What the quantities of a report mean, in words that need no mathematics."""

from collections.abc import Mapping
from typing import Any


def meanings(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return terms and what they mean, those that the report uses."""
    several = ""
    if content["assurance"] == "estimated":
        several = " Of several values, such as those of an image, it is the error per value in mean square."
    kinds = {entry["kind"] for entry in content["attributes"]}
    found = [
        (
            "± (error floor)",
            "The smallest standard error that any unbiased guess of a person's value can have, made from the release "
            "by an attacker who already knows everything else: all other people, and all other values of this one. An "
            f"attacker who knows less does worse. Rounded to the safe side.{several}",
        ),
    ]
    if any(entry["deviation"] is not None for entry in content["attributes"]):
        found.append(
            (
                "Left unknown",
                "What share of an attribute's variance among all people is left to somebody who saw the release. 100%: "
                "they know no more than before. 0%: they know the value. For a bell-shaped distribution of values, "
                "with the information at each person's own value.",
            )
        )
    if "category" in kinds:
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


def handling(content: Mapping[str, Any]) -> str:
    """Return how this edition is to be treated."""
    if content["edition"] == "internal":
        return (
            "Internal edition: it holds values about single people, under pseudonyms. It is personal data, like the "
            "records it is about, and not for publication."
        )
    size = content["smallest_group"]
    return (
        f"Publishable edition: every number is a mean over at least {size} people, and the {size} most exposed people "
        f"enter none; counts within the data are rounded to multiples of {size}. It is no differentially private "
        "summary: it shows what larger groups have in common."
    )


def facts(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return where the report comes from."""
    return [
        ("People", f"{content['people']:,}"),
        ("Private attributes", f"{len(content['attributes']):,}"),
        ("Noise on the release", content["noise"]["sentence"]),
        ("Numbers are", content["assurance"]),
        ("Made", f"{content['created'].replace('T', ' ').replace('Z', ' UTC')}"),
        ("With", ", ".join(f"{name} {version}" for name, version in content["versions"].items())),
        ("Schema of the JSON twin", content["schema"]),
    ]
