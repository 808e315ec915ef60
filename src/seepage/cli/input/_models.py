"""Fitted models from files that run no code when they are read: those of skops, and tables in TOML."""

import sys
import warnings
import zipfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from shlex import quote
from types import ModuleType

from seepage._tables import Model
from seepage.cli.terminal import listing, note
from seepage.errors import InputError, MissingExtraError, UnsupportedError
from seepage.release.sealing import SkopsFile

# What supported models hold besides the types that skops trusts by itself: losses, selectors, splines and plain
# functions of scikit-learn, scipy and numpy, none of which does anything when it is made.
_HARMLESS = frozenset(
    {
        "builtins.object",
        "numpy.dtype",
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
        "scipy.interpolate._bsplines.BSpline",
        "sklearn._loss.loss.HalfTweedieLoss",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "sklearn.feature_selection._univariate_selection.r_regression",
    }
)
_HOW_TO_WRITE = 'import skops.io; skops.io.dump(model, "model.skops")'
_TABLE = """\
formula = "ill ~ age + log(dose) + ward"
family = "binomial"
numbers = "june.csv" # as it was printed, if it was"""
_IMPORTS_TORCH = "sklearn.externals.array_api_compat.torch"
_PICKLES = (".pkl", ".pickle", ".joblib", ".p", ".dill", ".cloudpickle")


def is_table(path: Path) -> bool:
    """Return whether a file should hold a model as a table."""
    return path.suffix.lower() == ".toml"


def read_model(path: Path, trust: Sequence[str] = ()) -> Model:
    """Return the model in a skops file; types that nobody vouched for are refused by name."""
    check_model(path)
    try:
        # Files that would take all memory are refused before skops reads them.
        SkopsFile.of(path)
    except InputError as reason:
        raise InputError(f"{reason} Models are written with: {_HOW_TO_WRITE}") from None
    io = _skops()
    try:
        unknown = [name for name in io.get_untrusted_types(file=path) if name not in _HARMLESS]
    except Exception as reason:
        raise _damaged(path, reason) from None
    refused = [name for name in unknown if name not in trust]
    if refused:
        flags = " ".join(f"--trust {quote(name)}" for name in refused)
        raise UnsupportedError(
            f"{path} holds types that are not known to be harmless: {listing(refused)}. Reading them could run code. "
            f"If you know where this file comes from and trust it, add: {flags}"
        )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = io.load(path, trusted=sorted({*unknown, *_HARMLESS}))
        except Exception as reason:
            raise _damaged(path, reason) from None
    for one in dict.fromkeys(str(warning.message).partition("\n")[0] for warning in told):
        note(one)
    return model


def check_model(path: Path) -> None:
    """Refuse files that are no models, with how a model is written."""
    if not path.exists():
        raise InputError(f"There is no file {path}. The first argument is the fitted model, written by {_HOW_TO_WRITE}")
    if path.is_dir():
        raise InputError(f"{path} is a folder. The first argument is the fitted model, written by {_HOW_TO_WRITE}")
    if zipfile.is_zipfile(path):
        return
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError as reason:
        raise InputError(f"{path} cannot be read: {reason.strerror}.") from None
    if path.suffix.lower() in _PICKLES or start[:1] == b"\x80":
        raise UnsupportedError(
            f"{path} is a pickle, which can run any code when it is opened, so it is never opened here. Ask for it "
            f"where the model was trained, from scikit-learn with skops: {_HOW_TO_WRITE} -- and of statsmodels or "
            "lifelines its formula: --formula and --family"
        )
    raise InputError(
        f"{path} is no model, and the model comes first. One of scikit-learn is written with: {_HOW_TO_WRITE} -- and "
        f"one of R, Stata or statsmodels is a formula: --formula, or in TOML, such as this model.toml:\n\n{_TABLE}"
    )


def _skops() -> ModuleType:
    """Import skops, and not torch: skops walks through scikit-learn, which imports torch where it is installed."""
    sys.modules.setdefault(_IMPORTS_TORCH, None)  # type: ignore[arg-type]
    try:
        return import_module("skops.io")
    except ImportError:
        raise MissingExtraError(
            'Models are read with skops, which is not installed. Install it with: pip install "seepage[cli]"'
        ) from None
    finally:
        if sys.modules[_IMPORTS_TORCH] is None:
            del sys.modules[_IMPORTS_TORCH]


def _damaged(path: Path, reason: Exception) -> InputError:
    return InputError(
        f"{path} cannot be read as a skops file ({type(reason).__name__}: {reason}). Write the model again, with the "
        f"same version of scikit-learn that is installed here: {_HOW_TO_WRITE}"
    )
