"""From a leakage to what a report says about it."""

from seepage.report.content._internal import ReportQuestion as ReportQuestion
from seepage.report.content._internal import internal_document as internal_document
from seepage.report.content._people import pseudonyms as pseudonyms
from seepage.report.content._publishable import publishable_document as publishable_document
