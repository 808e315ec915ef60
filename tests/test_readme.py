"""The README's code runs, and prints what the README says it prints."""

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_first_example_prints_the_summary_that_is_shown():
    blocks = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
    code = [text for language, text in blocks if language == "python"]
    shown = next(text for language, text in blocks if language == "text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("".join(code), "README.md", "exec"), {})
    assert shown.strip() in printed.getvalue()
