"""The parts that pages are made of, and the page around them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from seepage.pages import _words as words
from seepage.pages._html import Content, Html, stylesheet, tag, together

_MOST_COLUMNS = 4
_STYLE = Path(__file__).with_name("page.css")


def page(title: str, body: Html) -> str:
    """Return a page that needs nothing else: no network, no fonts, no scripts."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # Nothing is loaded and nothing runs, whatever a name in the data says.
        tag("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", words.name(title, 120)),
        stylesheet("body{margin:0}"),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('main', body)), lang='en')}\n"


def article(*content: Content) -> Html:
    """Return an article in the style of this package, which reaches nothing outside of it."""
    rules = stylesheet(_STYLE.read_text(encoding="utf-8"))
    return together(rules, tag("article", *content, class_="seepage-report", lang="en"))


def section(head: str, *content: Content, level: int = 2) -> Html:
    """Return a section under its heading; nothing, if there is nothing in it."""
    inner = together(*content)
    return tag("section", tag(f"h{level}", head), inner) if inner else inner


def paragraph(text: str, **attributes: str) -> Html:
    """Return a paragraph of text that may hold names of any length."""
    return tag("p", words.sentence(text), **attributes)


def bullets(sentences: Iterable[str]) -> Html:
    """Return sentences as a list."""
    return tag("ul", (tag("li", words.sentence(each)) for each in sentences))


def terms(pairs: Iterable[tuple[str, str]]) -> Html:
    """Return terms and what belongs to them."""
    return tag("dl", ((tag("dt", term), tag("dd", text)) for term, text in pairs))


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Content]]) -> Html:
    """Return a table; the first cell of a row says what the row is about.

    On a narrow screen the cells of many columns stand below each other, each beside its head.
    """
    many = len(heads) > _MOST_COLUMNS
    head = tag("tr", (tag("th", each, scope="col") for each in heads))
    body = (
        tag(
            "tr",
            tag("th", first, scope="row"),
            (tag("td", each, data_head=name if many else None) for name, each in zip(heads[1:], rest, strict=True)),
        )
        for first, *rest in rows
    )
    inner = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", body))
    return tag("div", inner, class_="wide many" if many else "wide", tabindex="0", role="region", aria_label=caption)
