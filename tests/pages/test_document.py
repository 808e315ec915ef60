"""Documents: text, HTML and JSON of the same facts, whatever names they hold."""

import html
import json
import re
import tempfile

import pytest
from hostile import HOSTILE, Checker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seepage
from seepage.pages import Document, Grid, Item, Section, markdown, name, sentence, snippet, text
from seepage.pages import html as page

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
CELL = st.builds(Item, TEXT, st.none() | st.floats(-1e6, 1e6), st.sampled_from(["", "met", "missed"]))


@st.composite
def documents(draw):
    """Draw a document of up to three sections."""
    sections = []
    for _ in range(draw(st.integers(1, 3))):
        width = draw(st.integers(2, 6))
        rows = draw(st.lists(st.lists(CELL, min_size=width, max_size=width), max_size=3))
        table = Grid.of(draw(TEXT), draw(st.lists(TEXT, min_size=width, max_size=width)), rows)
        said = draw(st.lists(TEXT, max_size=3))
        mark = draw(st.sampled_from(["", "met", "open", "missed", "none"]))
        sections.append(Section(draw(TEXT), tuple(said), (table,), ((draw(TEXT), draw(TEXT)),), mark))
    return Document(draw(TEXT), draw(TEXT), tuple(sections), draw(st.sampled_from(["", "internal", "publishable"])))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_a_document_is_read_from_its_json_as_it_was(document):
    found = json.loads(document.json())
    assert found.pop("schema") == "urn:seepage:document:1"
    assert from_json(document) == document
    assert Checker(page(document)).headings[0] == 1
    assert max(map(len, text(document).splitlines()), default=0) <= 80


def from_json(document):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(document.json())
        file.flush()
        return Document.read(file.name)


@pytest.mark.parametrize("words", HOSTILE)
def test_names_are_shown_and_never_obeyed(words):
    table = Grid.of(words, [words] * 3, [[words, Item(words, mark="met"), words]])
    document = Document(words, words, (Section(words, (words, words), (table,), ((words, words),), "missed"),))
    for written in (page(document), snippet(document)):
        found = Checker(written)
        assert "<script" not in written
        assert not {"\u202e", "\x00", "\x1b"} & set("".join(found.text))
    plain = text(document) + markdown(document)
    assert not {"\u202e", "\x00", "\x1b"} & set(plain)
    for wrong in ("<script", "<img", "[link](", "**bold**"):
        assert wrong not in re.sub(r"```text.*?```", "", markdown(document), flags=re.DOTALL)


def test_text_and_pages_hold_the_same_numbers():
    rows = [[f"row {i}", Item(f"± {i}.25", i + 0.25), Item(f"{i}0%", i / 10)] for i in range(8)]
    table = Grid.of("numbers", ("what", "error", "share"), rows)
    document = Document("title 7", "of 442 people", (Section("head 3", ("said 1.5",), (table,), (("term", "12"),)),))
    numbers = [re.findall(r"\d+\.?\d*", _words(written)) for written in (text(document), page(document))]
    assert sorted(numbers[0]) == sorted(numbers[1])
    (found,) = json.loads(document.json())["sections"][0]["tables"]
    values = [cell["value"] for row in found["rows"] for cell in row[1:]]
    assert values == [number for i in range(8) for number in (i + 0.25, i / 10)]


def _words(written):
    body = written.partition("<article")[2].partition(">")[2] or written
    return html.unescape(re.sub(r"<[^>]*>", " ", body))


def test_what_is_personal_is_in_no_publishable_document(tmp_path):
    section = Section("The most exposed people", ("row 7",), is_personal=True)
    with pytest.raises(ValueError, match="nothing personal, and 'The most exposed people' is"):
        Document("title", "", (section,), "publishable")
    made = Document("title", "", (section,), "internal").json().replace("internal", "publishable")
    (tmp_path / "made.json").write_text(made)
    with pytest.raises(seepage.errors.InputError, match="nothing personal"):
        Document.read(tmp_path / "made.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<html>", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"schema": "urn:seepage:document:99"}', "this version of seepage reads"),
        ('{"schema": "urn:seepage:document:1", "title": 3, "about": "", "sections": []}', "title must be text"),
        ('{"schema": "urn:seepage:document:1", "about": "", "sections": []}', "have the entry 'title'"),
    ],
)
def test_what_is_no_document_is_refused(tmp_path, content, message):
    (tmp_path / "made.json").write_text(content)
    with pytest.raises(seepage.errors.InputError, match=message):
        Document.read(tmp_path / "made.json")


def test_a_notebook_without_jinja_shows_text(monkeypatch):
    from seepage.pages import _html

    _html._template.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    document = Document("<title>", "", (Section("head", ("said",)),))
    assert snippet(document).startswith("<pre>&lt;title&gt;")
    with pytest.raises(seepage.errors.MissingExtraError, match=r'pip install "seepage\[report\]"'):
        page(document)


def test_names_are_short_and_show_themselves():
    assert name("a\tb\n c") == "a b c"
    assert name("\u202eevil\x1b") == "\ufffdevil\ufffd"
    assert name("") == "(no name)"
    assert len(name("x" * 10_000)) == 60
    assert len(sentence("x" * 10_000)) == 800
