"""Look into files before they leave: whom they hold besides the model."""

from seepage.inspection._finding import Finding as Finding
from seepage.inspection._inspect import inspect as inspect
from seepage.inspection._inspection import Inspection as Inspection
