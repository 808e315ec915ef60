"""What is not HTML by its type is escaped, always."""

import ast
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile import HOSTILE, Checker
from hypothesis import given
from hypothesis import strategies as st

import seepage
from seepage.pages import Html, article, bullets, name, page, paragraph, section, sentence, table, tag, terms, together

SOURCE = Path(seepage.__file__).parent


class _Reader(HTMLParser):
    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


@given(st.text(), st.text())
def test_text_and_attributes_come_back_as_they_were(text, value):
    shown, aside = (each.replace("± ", "±\u00a0") for each in (text, value))
    read = _Reader(tag("p", text, tag("b", "in"), class_=value))
    assert [each for each, _ in read.tags] == ["p", "b"]
    for found, given_ in (("".join(read.text), f"{shown}in"), (read.tags[0][1]["class"], aside)):
        assert len(found) == len(given_)
        # A character that hides or moves is replaced; every other one stays.
        assert all(a == b or a in " \ufffd" for a, b in zip(found, given_, strict=True))


@pytest.mark.parametrize("text", HOSTILE)
def test_every_part_escapes(text):
    cells = table(text, [text, text], [[text, text]])
    body = article(section(text, paragraph(text), bullets([text]), terms([(text, text)])), cells)
    found = Checker(page(text, body))
    assert "<script" not in page(text, body)
    assert not {"\u202e", "\x00", "\x1b"} & set("".join(found.text))


def test_what_is_done_to_html_as_a_string_is_text_again():
    bold = tag("b", "x")
    for piece in (bold + bold, bold.replace("x", "y"), f"{bold}", bold[:], bold * 2):
        assert not isinstance(piece, Html)
        assert "<b>" not in tag("p", piece)
    assert together(bold, None, [bold, ("<", bold)]) == "<b>x</b><b>x</b>&lt;<b>x</b>"


def test_names_of_elements_and_attributes_are_names():
    for element, attributes in (("p><script", {}), ("p", {'x="" onload': "alert(1)"}), ("", {})):
        with pytest.raises(ValueError, match="is none"):
            tag(element, **attributes)


def test_html_is_made_in_one_place_only():
    """Nothing else calls the type: what a name holds cannot become HTML by a slip."""
    made = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        made += [path for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "Html"]
        made += [
            path for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and "Html" in map(_named, node.bases)
        ]
    assert {path.relative_to(SOURCE).as_posix() for path in made} == {"pages/_html.py"}


def _called(node):
    return _named(node.func)


def _named(node):
    return getattr(node, "id", None) or getattr(node, "attr", None)


def test_names_are_short_and_show_themselves():
    assert name("a\tb\n c") == "a b c"
    assert name("\u202eevil\x1b") == "\ufffdevil\ufffd"
    assert name("") == "(no name)"
    assert len(name("x" * 10_000)) == 60
    assert len(sentence("x" * 10_000)) == 800
