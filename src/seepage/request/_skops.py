"""Models in files of skops, which run no code when they are read."""

from pathlib import Path

from seepage._tables import Model
from seepage.errors import InputError, MissingExtraError, UnsupportedError

# Arrays of splits, which run nothing; their reader checks where they lead.
_HARMLESS = ["sklearn.tree._tree.Tree", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]


def read_skops(path: Path) -> Model:
    """Return the model in a file of skops; files with types that may run code are refused by their names."""
    try:
        from skops import io
    except ImportError:
        raise MissingExtraError(
            'Models are read with skops, which is not installed. Install it with: pip install "seepage[cli]"'
        ) from None
    try:
        unknown = io.get_untrusted_types(file=path)
    except Exception as reason:
        raise InputError(f"{path.name} cannot be read as a skops file: {reason}.") from None
    unknown = [name for name in unknown if name not in _HARMLESS]
    if unknown:
        raise UnsupportedError(
            f"{path.name} holds types that are not known to be harmless: {', '.join(unknown)}. Ask for its "
            "coefficients as a table."
        )
    return io.load(path, trusted=_HARMLESS)
