"""Who moves the rows: on this machine's cores, on a Ray cluster, or on a Spark cluster."""

from seepage.engines._engine import Engine as Engine
from seepage.engines._files import Files as Files
from seepage.engines._files import Unit as Unit
from seepage.engines._files import naming as naming
from seepage.engines._files import read as read
from seepage.engines._files import resolve as resolve
from seepage.engines._local import Local as Local
from seepage.engines._output import Output as Output
from seepage.engines._progress import Progress as Progress
from seepage.engines._progress import followed as followed
from seepage.engines._progress import shown_on as shown_on
from seepage.engines._ray import Ray as Ray
from seepage.engines._spark import Spark as Spark
