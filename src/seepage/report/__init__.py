"""A report for the person who must decide."""

from seepage.report._report import Report as Report
from seepage.report._verdict import Judgment as Judgment
from seepage.report._verdict import PolicyVerdict as PolicyVerdict
from seepage.report._verdict import judge as judge
from seepage.report._verdict import without_factors as without_factors
