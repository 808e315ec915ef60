"""What somebody who misspelled a name probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches

from seepage.cli.terminal._console import shortened


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that ends with a space, or nothing."""
    lower = {other.lower(): other for other in known}
    found = get_close_matches(name.lower()[:200], lower, n=1)
    return f"Did you mean {shortened(lower[found[0]])!r}? " if found else ""
