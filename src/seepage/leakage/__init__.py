"""The one result that every measurement returns."""

from seepage.leakage._distribution import Distribution as Distribution
from seepage.leakage._distribution import Sketch as Sketch
from seepage.leakage._distribution import Values as Values
from seepage.leakage._groupings import groupings as groupings
from seepage.leakage._groupings import labels_by_group as labels_by_group
from seepage.leakage._groups import GroupLeakage as GroupLeakage
from seepage.leakage._histogram import Histogram as Histogram
from seepage.leakage._histogram import grid as grid
from seepage.leakage._histogram import histogram as histogram
from seepage.leakage._information import Distances as Distances
from seepage.leakage._information import Exposed as Exposed
from seepage.leakage._information import GatheredInformation as GatheredInformation
from seepage.leakage._information import Information as Information
from seepage.leakage._leakage import Leakage as Leakage
from seepage.leakage._people import People as People
from seepage.leakage._people import PeopleInMemory as PeopleInMemory
from seepage.leakage._prior import check_names as check_names
from seepage.leakage._prior import deviations as deviations
from seepage.leakage._summary import ExposedPerson as ExposedPerson
from seepage.leakage._summary import GroupMean as GroupMean
from seepage.leakage._summary import Spread as Spread
from seepage.leakage._summary import Summary as Summary
