"""Numbers of a report in words."""

from seepage._facts import Number
from seepage.meaning import says_nothing
from seepage.pages import name, number, percent
from seepage.report._document import Alternatives, Channel, Floor

SAYS_NOTHING = "says nothing"


def floor(value: Number | None) -> str:
    """Return an error, such as "± 6"."""
    return "no limit" if value is None else f"± {number(value.value)}"


def error(found: Floor) -> str:
    """Return an error, or that the release says nothing if it leaves nearly all of what was uncertain."""
    left = found.remaining_variance
    return SAYS_NOTHING if left is not None and says_nothing(left.value) else floor(found.floor)


def guesses(channel: Channel) -> tuple[str, str]:
    """Return how well the attribute through which somebody is exposed most is guessed, and how well blindly."""
    if channel.success_rate is not None:
        return f"right {percent(channel.success_rate.value)}", "right 50%"
    if channel.floor is None:
        return "not refitted", "right 50%"
    unit = f" {name(channel.unit)}" if channel.unit else ""
    return f"{floor(channel.floor)}{unit}", f"{floor(channel.baseline)}{unit}"


def alternatives(found: Alternatives) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of a table of what noises in standard errors would leave."""
    heads = ["noise, in standard errors", *(f"{each.value:g}" for each in found.standard_errors)]
    rows = [["intervals wider by", *(f"{100 * each.value:.2g}%" for each in found.wider)]]
    for each in found.attributes:
        rows.append([name(each.name), *(floor(value) for value in each.values)])
    return heads, rows
