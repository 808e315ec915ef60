"""Tables of R, Stata and others: a formula, a family, and printed numbers."""

from seepage.linear.written._assembled import AssembledTable as AssembledTable
from seepage.linear.written._matched import MismatchError as MismatchError
from seepage.linear.written._table import ModelTable as ModelTable
from seepage.linear.written._toml import text_of as text_of
