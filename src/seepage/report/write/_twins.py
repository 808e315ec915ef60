"""The page of a report and its twins."""

from seepage.display import AttributeDisplay, Display
from seepage.pages import Twins
from seepage.report._document import Document
from seepage.report._edition import SHARES
from seepage.report.write._json import to_text
from seepage.report.write._outline import outline
from seepage.report.write._page import page
from seepage.report.write._section import HEADS, as_rows, as_text

_MOST = 16


def twins(document: Document) -> Twins:
    """Return a report as a page, text, table, JSON and pictures."""
    parts = outline(document)
    return Twins(
        "report",
        html=page(document),
        text=as_text(parts),
        table=[HEADS, *as_rows(parts)],
        json=to_text(document),
        pictures={name: shown.png() for name, shown in _pictures(document).items()},
        private=not document.is_public,
    )


def _pictures(document: Document) -> dict[str, Display]:
    left = {
        entry.name: tuple(each.remaining_variance.value for each in entry.floors if each.remaining_variance is not None)
        for entry in document.numbers
    }
    # One mark for each share of people; some may be missing where the prior is not known.
    told = {name: shares for name, shares in left.items() if len(shares) == len(SHARES)}
    return {"attributes": AttributeDisplay(dict(list(told.items())[:_MOST]))} if told else {}
