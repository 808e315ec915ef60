"""Pages of documentation as programs: their Python blocks run one after the other, as a reader would run them."""

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Page:
    """A page after it ran."""

    names: dict[str, Any]
    printed: str


def blocks(path: Path) -> list[tuple[str, str]]:
    """Return the fenced blocks of a page with their languages."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(path: Path) -> Page:
    """Run a page; what a `text` block shows must have been printed by the Python block before it."""
    names: dict[str, Any] = {"__name__": "page"}
    everything, last = io.StringIO(), ""
    for language, text in blocks(path):
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, str(path), "exec"), names)
            last = printed.getvalue()
            everything.write(last)
        elif language == "text":
            assert text.strip() in last, f"{path.name} shows what was not printed:\n{text}\nbut\n{last}"
    return Page(names, everything.getvalue())
