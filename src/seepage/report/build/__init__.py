"""From a leakage to what a report says about it."""

from seepage.report.build._build import Question as Question
from seepage.report.build._build import build as build
from seepage.report.build._page import build_page as build_page
from seepage.report.build._people import pseudonyms as pseudonyms
