"""Trees, forests and boosted models: the outcomes and attributes that their files give away."""

from seepage.trees._attack import Recovered as Recovered
from seepage.trees._decided import decided as decided
from seepage.trees._leakage import TreeLeakage as TreeLeakage
from seepage.trees._leakage import measure_trees as measure_trees
from seepage.trees._read import is_trees as is_trees
from seepage.trees._read import read_file as read_file
