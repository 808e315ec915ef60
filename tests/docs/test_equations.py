"""The equations that the code cites are on the page, and the page is in order."""

import re

from pages import ROOT

PAGE = (ROOT / "docs" / "explanation" / "mathematics.md").read_text(encoding="utf-8")
NUMBERS = re.findall(r"^\$\$ \((\d+\.\d+)\)$", PAGE, re.MULTILINE)


def _cited():
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for citation in re.findall(r"\beqs?\. ((?:\d+\.\d+(?:, | and | to )?)+)", text):
            for number in re.findall(r"\d+\.\d+", citation):
                yield path.name, number


def test_equations_are_numbered_without_gaps_within_their_sections():
    sections = re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)
    assert sections == [str(i + 1) for i in range(len(sections))]
    for section in sections:
        own = [int(number.split(".")[1]) for number in NUMBERS if number.split(".")[0] == section]
        assert own == list(range(1, len(own) + 1))
    order = [tuple(map(int, number.split("."))) for number in NUMBERS]
    assert order == sorted(order)


def test_every_display_has_a_number():
    assert len(re.findall(r"^\$\$", PAGE, re.MULTILINE)) == 2 * len(NUMBERS)


def test_every_equation_that_the_code_cites_is_on_the_page():
    cited = list(_cited())
    assert len(cited) > 30
    missing = [(name, number) for name, number in cited if number not in NUMBERS]
    assert not missing


def test_equations_that_pages_refer_to_exist():
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for number in re.findall(r"\{eq\}`([^`]+)`", path.read_text(encoding="utf-8")):
            assert number in NUMBERS, f"{path.name} refers to equation {number}."
