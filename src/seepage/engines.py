"""Work on files: fit and plan, and who moves the rows: this machine's cores, a Ray cluster, or a Spark cluster."""

from seepage.execution import Engine as Engine
from seepage.execution import Job as Job
from seepage.execution import Local as Local
from seepage.execution import Ray as Ray
from seepage.execution import Snapshot as Snapshot
from seepage.execution import Spark as Spark
from seepage.linear import fit as fit
from seepage.linear import plan as plan
