"""Who moves the rows: on this machine's cores, on a Ray cluster, or on a Spark cluster."""

from seepage.engines._engine import Engine as Engine
from seepage.engines._job import Job as Job
from seepage.engines._local import Local as Local
from seepage.engines._ray import Ray as Ray
from seepage.engines._snapshot import Snapshot as Snapshot
from seepage.engines._spark import Spark as Spark
