"""From what a report says to pages, text and JSON."""

from seepage.report.write._findings import finding_sentences as finding_sentences
from seepage.report.write._json import from_text as from_text
from seepage.report.write._json import to_text as to_text
from seepage.report.write._markdown import markdown as markdown
from seepage.report.write._page import page as page
from seepage.report.write._page import snippet as snippet
from seepage.report.write._twins import twins as twins
from seepage.report.write._verdict import headline as headline
