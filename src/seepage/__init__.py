"""Measure what a trained model gives away about each person in its training data."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from seepage._errors import InputError as InputError
from seepage._errors import MinimizerError as MinimizerError
from seepage._errors import MissingExtraError as MissingExtraError
from seepage._errors import SeepageError as SeepageError
from seepage._errors import UnansweredError as UnansweredError
from seepage._errors import UnsupportedError as UnsupportedError
from seepage._noise import GaussianNoise as GaussianNoise
from seepage.leakage import Leakage as Leakage

if _TYPE_CHECKING:
    from seepage import engines as engines
    from seepage.linear import fit as fit
    from seepage.linear import measure as measure
    from seepage.linear import plan as plan

__version__ = "0.1.0"

# What needs scikit-learn is imported when it is first used: `import seepage` stays fast.
_LATER = {"fit": "seepage.linear", "measure": "seepage.linear", "plan": "seepage.linear"}


def __getattr__(name: str) -> _Any:
    if name == "engines":
        return _import_module("seepage.engines")
    if name in _LATER:
        return getattr(_import_module(_LATER[name]), name)
    raise AttributeError(f"module 'seepage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(name for name in {*globals(), *_LATER, "engines"} if not name.startswith("_"))
