"""HTML as a type of its own: what is not of it is text, and text is escaped, always.

Whatever is done to a piece of `Html` with the methods of strings gives a plain string, which is escaped like any other:
a mistake shows on the page, and opens nothing.
"""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from seepage.pages._words import visible


class Html(str):
    """A piece of a page. Made by `tag`, `together` and the parts beside them, and by nothing else."""

    __slots__ = ()


Content: TypeAlias = "str | Iterable[Content] | None"
"""What an element may hold: HTML as it is, text that will be escaped, nothing, or several of these."""

# How elements that hold nothing are closed.
_EMPTY = {"meta": ">"} | dict.fromkeys(("line", "path", "circle", "rect"), "/>")


def tag(element: str, /, *content: Content, **attributes: str | None) -> Html:
    """Return an element; `class_` is its class, an underscore within a name a hyphen, None an attribute left out."""
    if not all(each.isidentifier() for each in (element, *attributes)):
        raise ValueError(f"The name of an element or attribute is none: {element!r} {list(attributes)}")
    opening = element + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_safe(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if element in _EMPTY:
        return Html(f"<{opening}{_EMPTY[element]}")
    return Html(f"<{opening}>{together(*content)}</{element}>")


def together(*content: Content) -> Html:
    """Return pieces of HTML and text as one piece."""
    return Html("".join(map(_piece, content)))


def stylesheet(rules: str) -> Html:
    """Return the rules of this package's own file, which are neither text nor markup."""
    assert "<" not in rules
    return Html(f"<style>{rules}</style>")


def picture(drawn: str, caption: str) -> Html:
    """Return a picture of `seepage.display`, which is markup of matplotlib, above its caption."""
    return tag("figure", Html(drawn), tag("figcaption", caption, class_="small"))


def _piece(content: Content) -> str:
    if content is None:
        return ""
    if isinstance(content, Html):
        return content
    return _safe(content) if isinstance(content, str) else together(*content)


def _safe(text: str) -> str:
    # Attributes stand in double quotes; a sign stays with its number.
    return escape(visible(text), quote=False).replace('"', "&quot;").replace("± ", "±\u00a0")
