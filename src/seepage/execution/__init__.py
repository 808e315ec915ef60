"""Who moves the rows: on this machine's cores, on a Ray cluster, or on a Spark cluster."""

from seepage.execution._engine import Engine as Engine
from seepage.execution._job import Job as Job
from seepage.execution._local import Local as Local
from seepage.execution._ray import Ray as Ray
from seepage.execution._runs import OverRun as OverRun
from seepage.execution._runs import UnitRun as UnitRun
from seepage.execution._runs import in_runs as in_runs
from seepage.execution._spark import Spark as Spark
