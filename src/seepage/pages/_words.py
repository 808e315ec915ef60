"""Numbers and names as a reader sees them."""

import textwrap

NOTHING = "\N{EN DASH}"
"""Stands where there is no value."""

_LONGEST_NAME = 60
# Characters that turn the direction of the text after them, and so what a reader believes to read; those that move a
# cursor; and halves of pairs, which no file can hold.
_HIDDEN = {
    ord(letter): "\ufffd" for letter in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
}
_HIDDEN |= dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)), "\ufffd")
_HIDDEN |= dict.fromkeys(map(ord, "\t\n\r"), " ")


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


def counted(count: int, what: str) -> str:
    """Return how many there are of something, whose plural ends in s."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def most(share: float) -> str:
    """Return the people that a share stands for."""
    if share == 1:
        return "everyone"
    return "half the people" if share == 0.5 else f"{percent(share)} of people"


def visible(text: str) -> str:
    """Return text in which every character shows itself and nothing moves."""
    return text.translate(_HIDDEN)


def name(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return a name from the data as one short line that shows what it holds."""
    shown = " ".join(visible(text[: longest + 1]).split()) or "(no name)"
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def sentence(text: str) -> str:
    """Return a sentence that may hold names of any length, as one that ends."""
    return name(text, 800)


WIDTH = 79
"""Width of text: it fits on a terminal of 80 columns."""


def wrapped(sentence: str, mark: str = "", width: int = WIDTH) -> list[str]:
    """Return a sentence as lines beside a mark."""
    aside = " " * len(mark)
    made = textwrap.TextWrapper(width, initial_indent=mark, subsequent_indent=aside, break_on_hyphens=False)
    return made.wrap(visible(sentence))
