"""The glossary as a page, from the same words that `seepage explain` and the reports use."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from seepage.meaning import glossary


def page() -> str:
    """Return the text of the page."""
    found = "Glossary\n========\n\nWhat every quantity means; `seepage explain QUANTITY` says the same.\n\n"
    found += ".. glossary::\n\n"
    for name, term in sorted(glossary().items()):
        found += "".join(f"   {each}\n" for each in (name, *term.also))
        found += f"      {' '.join(term.sentences)}\n\n"
        if term.plain:
            found += f"      In other words: {term.plain}\n\n"
        if term.see:
            found += f"      See also {', '.join(f':term:`{other}`' for other in term.see)}.\n\n"
    return found


def _write(app: Sphinx) -> None:
    path = Path(app.srcdir) / "reference" / "glossary.rst"
    path.parent.mkdir(exist_ok=True)
    # Left alone when nothing changed, so that a second build reads only what did.
    if not path.exists() or path.read_text(encoding="utf-8") != page():
        path.write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the page before any is read."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
