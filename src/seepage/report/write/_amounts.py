"""Numbers of a report in words: what carries noise is "about" so much."""

from seepage._facts import Number, Origin
from seepage.pages import number


def about(value: Number) -> str:
    """Return a number, said to be about so much if it carries noise."""
    return f"{'about ' if value.origin is Origin.NOISED else ''}{number(value.value)}"


def floor(value: Number | None) -> str:
    """Return an error: "± 6", or "about ± 5" if it carries noise."""
    if value is None:
        return "no limit"
    return f"{'about ' if value.origin is Origin.NOISED else ''}± {number(value.value)}"


def times(value: Number) -> str:
    """Return how exposed a group is, beside everyone."""
    if value.value == 1:
        return "about as exposed as everyone"
    return "about half as exposed" if value.value == 0.5 else f"about {number(value.value)} times as exposed"
