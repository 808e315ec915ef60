"""Suggestions for misspelled names."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_MOST_LETTERS = 40


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that ends with a space, or nothing."""
    lower = {other.lower(): other for other in known}
    found = get_close_matches(name.lower()[:200], lower, n=1)
    return f"Did you mean {_shortened(lower[found[0]])!r}? " if found else ""


def several(names: Sequence[object], most: int = 12) -> str:
    """Return names as they stand in a sentence."""
    shown = ", ".join(_shortened(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _shortened(name: str) -> str:
    plain = "".join(letter if letter.isprintable() else "?" for letter in name)
    return plain if len(plain) <= _MOST_LETTERS else f"{plain[: _MOST_LETTERS - 3]}..."
