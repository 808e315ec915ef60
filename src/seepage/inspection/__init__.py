"""Look into files before they leave: whom they hold besides the model."""

from seepage.inspection._finding import Finding as Finding
from seepage.inspection._inspect import Finder as Finder
from seepage.inspection._inspect import inspect as inspect
from seepage.inspection._inspection import Inspection as Inspection
from seepage.inspection._inspection import as_sarif as as_sarif
