"""Tables of means, counts and shares, and survival curves: models of few words, measured without noise."""

from seepage.aggregates._aggregate import STATISTICS as STATISTICS
from seepage.aggregates._aggregate import WORDS as WORDS
from seepage.aggregates._aggregate import Aggregate as Aggregate
from seepage.aggregates._kaplan_meier import KaplanMeier as KaplanMeier
from seepage.aggregates._listed import NumberTable as NumberTable
from seepage.aggregates._listed import TableNumber as TableNumber
