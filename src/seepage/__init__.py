"""Measure what a trained model gives away about each person in its training data."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from seepage._errors import DatasetError as DatasetError
from seepage._errors import EngineError as EngineError
from seepage._errors import InputError as InputError
from seepage._errors import LedgerError as LedgerError
from seepage._errors import MinimizerError as MinimizerError
from seepage._errors import MissingExtraError as MissingExtraError
from seepage._errors import PolicyError as PolicyError
from seepage._errors import SeepageError as SeepageError
from seepage._errors import StorageError as StorageError
from seepage._errors import UnansweredError as UnansweredError
from seepage._errors import UnreadableError as UnreadableError
from seepage._errors import UnsupportedError as UnsupportedError
from seepage._version import __version__ as __version__

if _TYPE_CHECKING:
    from seepage import attacks as attacks
    from seepage import datasets as datasets
    from seepage import display as display
    from seepage import engines as engines
    from seepage import federated as federated
    from seepage import leakage as leakage
    from seepage import ledger as ledger
    from seepage import linear as linear
    from seepage import meaning as meaning
    from seepage import network as network
    from seepage import release as release
    from seepage import report as report
    from seepage._noise import GaussianNoise as GaussianNoise
    from seepage.attacks import verify as verify
    from seepage.engines import Job as Job
    from seepage.engines import Snapshot as Snapshot
    from seepage.leakage import Leakage as Leakage
    from seepage.ledger import Ledger as Ledger
    from seepage.linear import GLM as GLM
    from seepage.linear import Cox as Cox
    from seepage.linear import ModelTable as ModelTable
    from seepage.linear import SurvivalAt as SurvivalAt
    from seepage.linear import fit as fit
    from seepage.linear import measure as measure
    from seepage.linear import plan as plan
    from seepage.release import Certificate as Certificate
    from seepage.release import Certification as Certification
    from seepage.release import Decision as Decision
    from seepage.release import EqualizedLeakage as EqualizedLeakage
    from seepage.release import Frontier as Frontier
    from seepage.release import Policy as Policy
    from seepage.release import Publication as Publication
    from seepage.release import calibrate as calibrate
    from seepage.release import certify as certify
    from seepage.release import compose as compose
    from seepage.release import frontier as frontier
    from seepage.release import publish as publish
    from seepage.release import suggest as suggest
    from seepage.report import Report as Report

__all__ = [
    "Certificate",
    "Certification",
    "Cox",
    "DatasetError",
    "Decision",
    "EngineError",
    "EqualizedLeakage",
    "Frontier",
    "GLM",
    "GaussianNoise",
    "InputError",
    "Job",
    "Leakage",
    "Ledger",
    "LedgerError",
    "MinimizerError",
    "MissingExtraError",
    "Policy",
    "PolicyError",
    "Publication",
    "Report",
    "SeepageError",
    "Snapshot",
    "StorageError",
    "UnansweredError",
    "UnreadableError",
    "UnsupportedError",
    "__version__",
    "calibrate",
    "certify",
    "compose",
    "fit",
    "frontier",
    "measure",
    "plan",
    "publish",
    "suggest",
    "verify",
    "ModelTable",
    "SurvivalAt",
]

# What needs NumPy or scikit-learn is imported when it is first used: `import seepage` stays fast.
_SHOWN = (
    ("_noise", ("GaussianNoise",)),
    ("attacks", ("verify",)),
    ("datasets", ()),
    ("display", ()),
    ("engines", ("Job", "Snapshot")),
    ("federated", ()),
    ("leakage", ("Leakage",)),
    ("ledger", ("Ledger",)),
    ("linear", ("GLM", "Cox", "ModelTable", "SurvivalAt", "fit", "measure", "plan")),
    ("meaning", ()),
    ("network", ()),
    ("release", ("Certificate", "Certification", "Decision", "EqualizedLeakage", "Frontier", "Policy", "Publication")),
    ("release", ("calibrate", "certify", "compose", "frontier", "publish", "suggest")),
    ("report", ("Report",)),
)
_LATER = {name: f"seepage.{room}" for room, names in _SHOWN for name in names}
_PACKAGES = {room for room, _ in _SHOWN if not room.startswith("_")}
# What other packages are made with, and the command line: nothing to import from outside.
_INNER = ("cli", "pages")


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(_import_module(_LATER[name]), name)
    if name in _PACKAGES:
        return _import_module(f"seepage.{name}")
    raise AttributeError(f"module 'seepage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(name for name in {*globals(), *_LATER, *_PACKAGES} - {*_INNER} if not name.startswith("_"))
