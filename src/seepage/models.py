"""Models of this library: fitted here, or written down from a table of another program."""

from seepage.aggregates import KaplanMeier as KaplanMeier
from seepage.equations import Equations as Equations
from seepage.linear import GLM as GLM
from seepage.linear import Cox as Cox
from seepage.linear import ModelTable as ModelTable
from seepage.tables import Aggregate as Aggregate
