"""How what is published moves with each person's values: one Jacobian a row, kept in the parts that it is made of."""

from seepage.linear.stack._jacobians import RowJacobians as RowJacobians
from seepage.linear.stack._reach import Reach as Reach
from seepage.linear.stack._reach import Reached as Reached
