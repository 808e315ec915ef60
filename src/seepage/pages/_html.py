"""Documents as HTML: one page, or a part of one. Every text is escaped by the template."""

from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from seepage.errors import MissingExtraError
from seepage.pages._document import Document
from seepage.pages._text import text
from seepage.pages._words import visible

if TYPE_CHECKING:
    from jinja2 import Template


class Picture(Protocol):
    """A display of `seepage.display`."""

    def svg(self, title: str) -> str:
        """Return it as an element of a page."""
        ...

    def png(self) -> bytes:
        """Return it for a file."""
        ...


def html(document: Document, pictures: Mapping[str, Picture] | None = None) -> str:
    """Return one page that needs nothing else: no network, no fonts, no scripts.

    Parameters
    ----------
    document : Document
        What it says.
    pictures : mapping from heading to Display, optional
        The picture of each section that has one.
    """
    return _template("page.html").render(document=document, pictures=_drawn(pictures), level=1)


def snippet(document: Document, pictures: Mapping[str, Picture] | None = None, level: int = 2) -> str:
    """Return a document as a part of a page, such as a notebook; as text where Jinja2 is not installed."""
    try:
        template = _template("article.html")
    except MissingExtraError:
        return f"<pre>{escape(text(document))}</pre>"
    return template.render(document=document, pictures=_drawn(pictures), level=level)


def _drawn(pictures: Mapping[str, Picture] | None) -> dict[str, str]:
    return {head: picture.svg(head) for head, picture in (pictures or {}).items()}


@cache
def _template(name: str) -> "Template":
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError(
            'Pages need Jinja2, which is not installed. Install it with: pip install "seepage[report]"'
        ) from None
    folder = Path(__file__).parent
    made = Environment(
        autoescape=True,
        finalize=_shown,
        loader=FileSystemLoader(folder),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.globals["css"] = (folder / "page.css").read_text(encoding="utf-8")
    return made.get_template(name)


def _shown(value: Any) -> Any:
    """Return text in which every character shows itself; markup of the template as it is."""
    return (
        value if hasattr(value, "__html__") or not isinstance(value, str) else visible(value).replace("± ", "±\u00a0")
    )
