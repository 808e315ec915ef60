"""What the documentation shows is what the command line prints."""

import re
from pathlib import Path

import pytest
from cli.page import PAGES, replayed
from cli.terminal import Terminal

# What differs between runs and machines.
_VARYING = {
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC": "TIME",
    r"\d{4}-\d\d-\d\d": "DAY",
    r"\d(\.\d+)?e-\d+ standard errors": "FEW standard errors",
    r"memory +\d+ [MG]B": "memory SOME",
    r"on \d+ cores?": "on SOME cores",
    r'"seepage": "[^"]+"': '"seepage": "VERSION"',
    r"([0-9a-f]{4} ){7}[0-9a-f]{4}": "KEY",
    r"[0-9a-f]{64}": "HASH",
}


def _steady(text: str) -> str:
    for pattern, word in _VARYING.items():
        text = re.sub(pattern, word, re.sub(r"\s+", " ", text))
    return text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_the_page(page: Path, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    seen = 0
    for block, wanted in replayed(page.read_text(), terminal):
        assert _steady(block.group(0)) == _steady(wanted)
        assert len(block.group(2).splitlines()) > 1 or "--quiet" in block.group(2)
        seen += 1
    terminal.close()
    assert seen >= {"command-line": 10, "check-a-file": 2, "checkers": 3}[page.stem]
