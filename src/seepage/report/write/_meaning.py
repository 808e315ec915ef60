"""What the quantities of a report mean, and where they come from."""

from collections.abc import Mapping
from typing import Any

from seepage.meaning import glossary

# What the page adds to a term, of which the glossary knows nothing.
_ROUNDED = " Rounded to the safe side."
_SEVERAL = " Of several values, such as those of an image, it is the error per value in mean square."


def meanings(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return terms and what they mean in words that need no mathematics, those that the report uses."""
    shown = {
        "error_floor": _ROUNDED + (_SEVERAL if content["assurance"] == "estimated" else ""),
        "variance_left": "" if any(entry["deviation"] is not None for entry in content["attributes"]) else None,
        "success_rate": "" if any(entry["kind"] == "category" for entry in content["attributes"]) else None,
        "eta": "",
    }
    terms = glossary()
    return [(terms[name].title, terms[name].plain + more) for name, more in shown.items() if more is not None]


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
