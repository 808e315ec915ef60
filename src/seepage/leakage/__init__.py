"""The one result that every measurement returns."""

from seepage.leakage._distribution import Distribution as Distribution
from seepage.leakage._distribution import Sketch as Sketch
from seepage.leakage._distribution import Values as Values
from seepage.leakage._groups import GroupLeakage as GroupLeakage
from seepage.leakage._information import Distances as Distances
from seepage.leakage._information import Exposed as Exposed
from seepage.leakage._information import GatheredInformation as GatheredInformation
from seepage.leakage._information import Information as Information
from seepage.leakage._leakage import Leakage as Leakage
from seepage.leakage._people import People as People
from seepage.leakage._people import PeopleInMemory as PeopleInMemory
