"""Equations as MathML, which browsers draw by themselves: no script, no picture, no network.

Docutils translates. An equation's label is its number, so that what a comment in the code cites can be found on the
page, and stays when another equation is put in before it.
"""

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.domains.math import MathDomain
from sphinx.util import logging

_logger = logging.getLogger(__name__)


class NumberedByLabel(MathDomain):
    """The equations of the pages, each under the number that it was given."""

    def note_equation(self, docname: str, labelid: str, location: Any = None) -> None:
        super().note_equation(docname, labelid, location=location)
        self.equations[labelid] = docname, labelid  # type: ignore[assignment]


def translated(node: nodes.Element, *, as_block: bool) -> str:
    """Return an equation as MathML, or as it was written if it cannot be translated."""
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        _logger.warning("%s in %s", error, node.astext(), location=node)
        return f"<code>{escape(node.astext())}</code>"


def visit_inline(writer: Any, node: nodes.math) -> None:
    """Write an equation in the text."""
    writer.body.append(f'<span class="math notranslate nohighlight">{translated(node, as_block=False)}</span>')
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.math_block) -> None:
    """Write an equation of its own line, with its number at the right."""
    formula = translated(node, as_block=True)
    number = ""
    if node["number"]:
        place = escape(node["ids"][0]) if node["ids"] else ""
        link = f'<a class="headerlink" href="#{place}" title="Link to this equation">#</a>'
        number = f'<span class="eqno">({escape(str(node["number"]))}){link}</span>'
    writer.body.append(writer.starttag(node, "div", CLASS="math notranslate nohighlight"))
    writer.body.append(f"{formula}{number}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the domain and the renderer."""
    app.add_domain(NumberedByLabel, override=True)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
