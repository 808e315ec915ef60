"""Fit models on files, and read files on the cores of this machine, a Ray cluster or a Spark cluster."""

from seepage.execution import Engine as Engine
from seepage.execution import Job as Job
from seepage.execution import Local as Local
from seepage.execution import Ray as Ray
from seepage.execution import Spark as Spark
from seepage.linear import fit as fit
