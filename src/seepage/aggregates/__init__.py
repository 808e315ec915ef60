"""Means, counts, shares and survival curves: their numbers, and the leakage of these without noise."""

from seepage.aggregates._cells import EVERYBODY as EVERYBODY
from seepage.aggregates._cells import CellGrouping as CellGrouping
from seepage.aggregates._cells import groupings as groupings
from seepage.aggregates._estimator import TableEstimator as TableEstimator
from seepage.aggregates._estimator import checked_names as checked_names
from seepage.aggregates._kaplan_meier import KaplanMeier as KaplanMeier
from seepage.aggregates._measured import Made as Made
from seepage.aggregates._measured import made_of as made_of
from seepage.aggregates._numbers import Series as Series
from seepage.aggregates._numbers import TableNumbers as TableNumbers
from seepage.aggregates._records import Records as Records
