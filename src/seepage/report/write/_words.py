"""Numbers and names as a reader sees them."""

import unicodedata
from collections.abc import Mapping
from typing import Any

NOTHING = "\u2013"
"""Stands where there is no value."""

_LONGEST_NAME = 60
# Characters that turn the direction of the text after them, and so what a reader believes to read.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def number(value: float) -> str:
    """Return a number of few digits, without an exponent where people would not write one."""
    if value == 0:
        return "0"
    size = abs(value)
    if 1e-4 <= size < 1e7:
        text = f"{value:,.6f}" if size < 1000 else f"{value:,.0f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def percent(share: float) -> str:
    """Return a share in percent, with as many digits as it needs."""
    return f"{100 * share:.6g}%"


def most(share: float) -> str:
    """Return the people that a share stands for."""
    if share == 1:
        return "everyone"
    return "half the people" if share == 0.5 else f"{percent(share)} of people"


def name(text: Any, longest: int = _LONGEST_NAME) -> str:
    """Return a name from the data as one short line that shows what it holds."""
    shown = "".join(_visible(c) for c in str(text)[: longest + 1])
    shown = " ".join(shown.split()) or "(no name)"
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _visible(character: str) -> str:
    if character in _TURNING or unicodedata.category(character) in ("Cc", "Cs"):
        return " " if character in "\t\n\r" else "\ufffd"
    return character


def sentence(text: str) -> str:
    """Return a sentence that may hold names of any length, as one that ends."""
    return name(text, 800)


def with_unit(value: float | None, unit: str | None) -> str:
    """Return "± 6 years"; a floor without limit says so."""
    if value is None:
        return "without limit"
    return f"± {number(value)}{f' {name(unit)}' if unit else ''}"


def verdict_words(verdict: Mapping[str, Any]) -> str:
    """Return the verdict in a few words, never about more people than it was judged for."""
    share = verdict["share"]
    whom = "" if share in (None, 1) else f" for {most(share)}"
    return {
        "met": f"Meets the policy{whom}",
        "missed": f"Does not meet the policy{whom}",
        "none": "No policy was given",
        "withheld": "No verdict",
    }[verdict["status"]]
