"""Tables of means, counts and shares: as they are declared, and as people print them."""

from seepage.tables._aggregate import STATISTICS as STATISTICS
from seepage.tables._aggregate import WORDS as WORDS
from seepage.tables._aggregate import Aggregate as Aggregate
from seepage.tables._listed import NumberTable as NumberTable
from seepage.tables._listed import TableNumber as TableNumber
