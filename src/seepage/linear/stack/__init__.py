"""Jacobians of the published numbers in each person's values, one a row, kept in the parts that they are made of."""

from seepage.linear.stack._pushes import Pushes as Pushes
from seepage.linear.stack._reach import Reach as Reach
