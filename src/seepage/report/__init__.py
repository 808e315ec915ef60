"""Show it: a report for the person who must decide."""

from seepage.report._document import Document as Document
from seepage.report._report import Report as Report
