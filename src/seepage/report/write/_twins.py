"""The page of a report and its twins."""

import numpy as np

from seepage.display import AttributeDisplay, DecisionDisplay, Display, GroupDisplay
from seepage.pages import Twins, name
from seepage.report._document import Document, Grouping
from seepage.report._edition import SHARES
from seepage.report.write._findings import finding_sentences
from seepage.report.write._json import to_text
from seepage.report.write._meaning import facts, handling
from seepage.report.write._outline import judged, outline
from seepage.report.write._page import page
from seepage.report.write._section import HEADS, as_rows, as_text
from seepage.report.write._verdict import headline, untargeted_sentence, verdict_sentence

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
    shown: dict[str, Display] = {"": _decision(document)}
    left = {
        entry.name: tuple(each.remaining_variance.value for each in entry.floors if each.remaining_variance is not None)
        for entry in document.numbers
    }
    # One mark for each share of people; some may be missing where the prior is not known.
    told = {name: shares for name, shares in left.items() if len(shares) == len(SHARES)}
    if told:
        shown["attributes"] = AttributeDisplay(dict(list(told.items())[:_MOST]))
    for i, grouping in enumerate(document.groupings, 1):
        found = _groups(grouping)
        if found is not None:
            shown[f"groups-{i}"] = found
    return shown


def _decision(document: Document) -> DecisionDisplay:
    left = untargeted_sentence(document)
    remarks = [verdict_sentence(document), *([left] if left else [])]
    remarks += [] if document.is_public else finding_sentences(document)
    remarks += [f"{term}: {text}" for term, text in facts(document)]
    title = f"{headline(document.verdict)}: {name(document.title, 120)}"
    return DecisionDisplay.from_rows(title, judged(document), remarks=[*remarks, handling(document)])


def _groups(grouping: Grouping) -> GroupDisplay | None:
    """Return the medians of groups; None if none has one."""
    rows = [
        (each.name, each.eta.count.value, each.eta.median.value, each.eta.interval[0].value, each.eta.interval[1].value)
        for each in grouping.groups[:_MOST]
        if each.eta.median is not None and each.eta.interval is not None
    ]
    if not rows:
        return None
    names, counts, values, low, high = zip(*rows, strict=True)
    return GroupDisplay(
        [f"{grouping.name}: {each}" for each in names],
        np.array(counts, dtype=np.int64),
        np.array(values),
        np.array(low),
        np.array(high),
        "median",
        0.95,
    )
