"""What was decided, as a picture that is complete by itself."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seepage.display import _drawing
from seepage.display._display import Display

# Words that are good news, and bad; shapes say the same as colors once more.
_MARKS = {
    "pass": (_drawing.GREEN, "o"),
    "met": (_drawing.GREEN, "o"),
    "review": (_drawing.ORANGE, "^"),
    "not checked": (_drawing.ORANGE, "^"),
    "fail": (_drawing.RED, "s"),
    "missed": (_drawing.RED, "s"),
}
_PLAIN = (_drawing.GRAY, "D")
# Characters that fit into a line, and lines that fit into an inch.
_WIDE, _BESIDE, _LINES = 92, 76, 5.6
_INCHES = 7.0


class Line(NamedTuple):
    """One line of the picture."""

    text: str
    word: str = ""
    strong: bool = False


@dataclass(eq=False)
class DecisionDisplay(Display):
    """A verdict in a line, what it is made of, one row each with its word, and remarks: nothing but words.

    For places that show pictures and no pages.

    Examples
    --------
    >>> from seepage.display import DecisionDisplay
    >>> shown = DecisionDisplay.from_rows("REVIEW: May needs a look", [("pass", "means"), ("not checked", "log.txt")])
    >>> [line.text for line in shown.lines() if line.word]
    ['means', 'log.txt']
    """

    headline: str
    rows: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]

    @classmethod
    def from_rows(
        cls, headline: str, rows: Sequence[tuple[str, str]], *, remarks: Sequence[str] = ()
    ) -> "DecisionDisplay":
        """Take what was decided.

        Parameters
        ----------
        headline : str
            All of it, in a line.
        rows : sequence of (word, text)
            What was decided of each part: pass, met, review, not checked, fail, missed, or any other word.
        remarks : sequence of str
            Sentences below.
        """
        return cls(headline, tuple(rows), tuple(remarks))

    def lines(self) -> list[Line]:
        """Return all lines, from the top."""
        return list(self._lines())

    def _lines(self) -> Iterator[Line]:
        yield from (Line(each, strong=True) for each in textwrap.wrap(self.headline, _BESIDE))
        yield Line("")
        for word, text in self.rows:
            first, *rest = textwrap.wrap(text, _BESIDE) or [""]
            yield Line(first, word)
            # Below the text, and not below its word.
            yield from (Line(each, " ") for each in rest)
        yield Line("")
        for remark in self.remarks:
            yield from map(Line, textwrap.wrap(remark, _WIDE, initial_indent="•  ", subsequent_indent="    "))

    def _size(self) -> tuple[float, float]:
        return _INCHES, (len(self.lines()) + 1) / _LINES

    def _draw(self, ax: "_drawing.Axes") -> None:
        lines = self.lines()
        for y, line in enumerate(lines):
            if line.word.strip():
                color, mark = _MARKS.get(line.word, _PLAIN)
                ax.plot(0.012, y, mark, color=color, markersize=6, clip_on=False)
                ax.text(0.03, y, line.word, va="center", weight="bold", color=color)
            size = 11 if line.strong else None
            weight = "bold" if line.strong else "normal"
            ax.text(0.16 if line.word else 0.0, y, line.text, va="center", fontsize=size, weight=weight)
        ax.set_xlim(0, 1)
        ax.set_ylim(len(lines) - 0.4, -0.6)
        ax.set_axis_off()
