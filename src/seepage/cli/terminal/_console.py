"""Where text goes: answers to standard output, everything else to standard error."""

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

# What fits one screen of 24 lines together with its frame and the command itself.
_MOST_LETTERS = 1200


def screen() -> Console:
    """Return standard output."""
    return Console(highlight=False)


def aside() -> Console:
    """Return standard error."""
    return Console(stderr=True, highlight=False)


def refuse(message: str, *, title: str = "Error") -> None:
    """Print a message that fits one screen to standard error."""
    aside().print(Panel(Text(one_screen(message)), title=title, title_align="left", border_style="red"))


def note(message: str) -> None:
    """Print a remark to standard error."""
    aside().print(Text.assemble(("Note: ", "yellow"), one_screen(message)))


def printable(text: str) -> str:
    """Replace what would move the cursor or change colors: names of columns come from anywhere."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def one_screen(message: str) -> str:
    """Cut the middle out of a message that fills more than a screen: it ends with the way out."""
    message = printable(message)
    if len(message) <= _MOST_LETTERS:
        return message
    return f"{message[: _MOST_LETTERS * 2 // 3]} [...] {message[-_MOST_LETTERS // 3 :]}"


def listing(names: list[str], most: int = 12) -> str:
    """Return names as they stand in a sentence."""
    shown = ", ".join(shortened(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def shortened(name: str, letters: int = 40) -> str:
    """Return a name that fits a line, without anything that would move the cursor."""
    plain = printable(name).replace("\n", "?")
    return plain if len(plain) <= letters else f"{plain[: letters - 3]}..."
