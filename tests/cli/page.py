"""Pages that show the command line; `PYTHONPATH=tests python -m cli.page` captures their blocks anew."""

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cli.terminal import Terminal

_DOCS = Path(__file__).parents[2] / "docs"
PAGES = tuple(_DOCS / each for each in ("how-to/command-line.md", "how-to/check-a-file.md", "readers/checkers.md"))
_BLOCK = re.compile(r"^```(console|python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def replayed(text: str, terminal: Terminal) -> Iterator[tuple[re.Match[str], str]]:
    """Do what the page says, and yield each console block with what it should be."""
    # A pickle, to be refused.
    (terminal.folder / "model.pkl").write_bytes(b"\x80\x04.")
    for block in _BLOCK.finditer(text):
        language, content = block.groups()
        if language == "python":
            with contextlib.chdir(terminal.folder):
                exec(compile(content, "a page", "exec"), {})
        elif language == "toml":
            # A block below the name of a file is the content of that file.
            named = re.match(r"# (\S+\.toml)\n", content)
            (terminal.folder / (named[1] if named else "policy.toml")).write_text(
                content.removeprefix(named[0] if named else "")
            )
        else:
            typed = re.match(r"\$ (.*?[^\\])\n", content, re.DOTALL)[1]
            shown = terminal.run(typed.replace("\\\n", " ")).text.strip("\n")
            yield block, f"```console\n$ {typed}\n" + (f"{shown}\n" if shown else "") + "```"


def _capture(page: Path) -> None:
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder:
        parts, end, terminal = [], 0, Terminal(Path(folder))
        for block, wanted in replayed(text, terminal):
            parts += [text[end : block.start()], wanted]
            end = block.end()
        terminal.close()
    page.write_text("".join(parts) + text[end:])


if __name__ == "__main__":
    for each in PAGES:
        _capture(each)
