"""One mechanism: stages that are fitted to rows, and the numbers that are published of them."""

from seepage.core.dual import Dual, derivative_along, jacobian, slope
from seepage.core.outputs import Outputs
from seepage.core.stages import Root, Rows, Sum, Values

__all__ = ["Dual", "Outputs", "Root", "Rows", "Sum", "Values", "derivative_along", "jacobian", "slope"]
