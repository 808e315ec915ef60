"""Decide what to publish: how much noise is enough, equal leakage, policies."""

from seepage.release._calibrate import calibrate as calibrate
from seepage.release._equalize import EqualizedLeakage as EqualizedLeakage
from seepage.release._policy import Policy as Policy
