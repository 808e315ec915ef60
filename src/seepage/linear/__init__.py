"""Exact information of linear models."""

from seepage.linear._fit import fit as fit
from seepage.linear._measure import measure as measure
from seepage.linear._plan import plan as plan
from seepage.linear.columns._affine import Affine as Affine
from seepage.linear.columns._steps import through as through
