"""The one result that every measurement returns."""

from seepage.leakage._groups import GroupLeakage as GroupLeakage
from seepage.leakage._information import Distances as Distances
from seepage.leakage._information import Information as Information
from seepage.leakage._leakage import Leakage as Leakage
