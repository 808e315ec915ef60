"""Numbers of a report in words: what carries noise is "about" so much."""

from seepage._facts import Number, Origin
from seepage.meaning import says_nothing
from seepage.pages import name, number, percent
from seepage.report._document import Channel, Floor

SAYS_NOTHING = "says nothing"


def about(value: Number) -> str:
    """Return a number, said to be about so much if it carries noise."""
    return f"{'about ' if value.origin is Origin.NOISED else ''}{number(value.value)}"


def floor(value: Number | None) -> str:
    """Return an error: "± 6", or "about ± 5" if it carries noise."""
    if value is None:
        return "no limit"
    return f"{'about ' if value.origin is Origin.NOISED else ''}± {number(value.value)}"


def error(found: Floor) -> str:
    """Return an error, or that the release says nothing if it leaves nearly all of what was uncertain."""
    left = found.variance_left
    return SAYS_NOTHING if left is not None and says_nothing(left.value) else floor(found.floor)


def guesses(channel: Channel) -> tuple[str, str]:
    """Return how well the attribute through which somebody is exposed most is guessed, and how well blindly."""
    if channel.success_rate is not None:
        return f"right {percent(channel.success_rate.value)}", "right 50%"
    if channel.floor is None:
        return "not refitted", "right 50%"
    unit = f" {name(channel.unit)}" if channel.unit else ""
    return f"{floor(channel.floor)}{unit}", f"{floor(channel.blind)}{unit}"


def times(value: Number) -> str:
    """Return how exposed a group is, beside everyone."""
    if value.value == 1:
        return "about as exposed as everyone"
    return "about half as exposed" if value.value == 0.5 else f"about {number(value.value)} times as exposed"
