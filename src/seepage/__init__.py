"""Measure what a trained model gives away about each person in its training data."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from seepage._loading import loaded as _loaded
from seepage._version import __version__ as __version__

if _TYPE_CHECKING:
    from seepage import attackers as attackers
    from seepage import attacks as attacks
    from seepage import display as display
    from seepage import engines as engines
    from seepage import errors as errors
    from seepage import inspection as inspection
    from seepage import leakage as leakage
    from seepage import ledger as ledger
    from seepage import linear as linear
    from seepage import meaning as meaning
    from seepage import models as models
    from seepage import network as network
    from seepage import release as release
    from seepage import report as report
    from seepage import request as request
    from seepage import trees as trees
    from seepage.attacks import verify as verify
    from seepage.inspection import inspect as inspect
    from seepage.leakage import Leakage as Leakage
    from seepage.linear import measure as measure
    from seepage.release import Policy as Policy
    from seepage.release import calibrate as calibrate
    from seepage.release import certify as certify
    from seepage.release import compose as compose
    from seepage.release import publish as publish
    from seepage.report import Report as Report

# In the order of the work.
__all__ = [
    "measure",
    "Leakage",
    "Policy",
    "calibrate",
    "publish",
    "certify",
    "compose",
    "verify",
    "inspect",
    "Report",
    "__version__",
]

# What needs NumPy or scikit-learn is imported when it is first used: `import seepage` stays fast.
_ROOMS = {
    "measure": "linear",
    "Leakage": "leakage",
    "Policy": "release",
    "calibrate": "release",
    "publish": "release",
    "certify": "release",
    "compose": "release",
    "verify": "attacks",
    "inspect": "inspection",
    "Report": "report",
}
_PUBLIC = (
    "attacks",
    "display",
    "engines",
    "errors",
    "inspection",
    "leakage",
    "ledger",
    "linear",
    "meaning",
    "models",
    "network",
    "attackers",
    "release",
    "report",
    "request",
    "trees",
)


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return getattr(_loaded(f"seepage.{_ROOMS[name]}"), name)
    if name in _PUBLIC:
        return _loaded(f"seepage.{name}")
    raise AttributeError(f"module 'seepage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_ROOMS, *_PUBLIC])
