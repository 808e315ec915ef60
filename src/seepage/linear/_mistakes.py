"""What is often given instead of a fitted model, and the way out."""

import os

from seepage._tables import Data
from seepage.errors import InputError, UnsupportedError
from seepage.linear.files import are_paths


def refuse_mistakes(model: object) -> None:
    """Refuse what cannot be a fitted model, and say what to do instead.

    Parameters
    ----------
    model : object
        What was given as the model.
    """
    if model is None:
        raise InputError(
            "The model is None. Give the fitted model itself: model = Ridge().fit(X, y), then "
            "seepage.measure(model, X, y, noise_scale=...)."
        )
    if isinstance(model, type):
        raise InputError(
            f"{model.__name__} is a class, not a fitted model. Make one and fit it: {model.__name__}(...).fit(X, y)."
        )
    if isinstance(model, str | os.PathLike):
        raise InputError(
            f"{os.fspath(model)!r} is a path, and the model itself is wanted: load it first, with skops.io.load(path), "
            "or seepage.models.ModelTable.read(path) if it is a table in TOML. On the command line, `seepage measure "
            "MODEL DATA` reads model files."
        )
    if hasattr(model, "__array__") or hasattr(model, "__dataframe__"):
        raise InputError(
            f"A {type(model).__name__} was given as the model, which comes first: seepage.measure(model, X, y, ...)."
        )
    if any(each.__module__.startswith("torch.") and each.__name__ == "Module" for each in type(model).__mro__):
        raise UnsupportedError(
            f"{type(model).__name__} is a network of PyTorch, whose leakage is counted while it trains: "
            "seepage.network.FisherAccountant attaches to private training with Opacus, and takes a loop of your own. "
            "Once it is trained, there is nothing left to measure exactly."
        )


def refuse_beside_tabular(X: Data, **given: object) -> None:
    """Refuse what says something of a regression, and nothing of a table.

    Parameters
    ----------
    X : data frame
        What was given as the rows.
    **given : object
        Arguments that were given, or None.
    """
    if given["noise_scale"] is not None:
        raise UnsupportedError(
            "noise_scale= is not answered for tables: they are measured as they are printed, without noise. Leave it "
            "out; or print coefficients, and measure those with noise_scale=."
        )
    if given["where"] is not None:
        raise InputError(f"A table says itself for whom it is: write where={given['where']!r} where it is made.")
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name}= says nothing of a table: leave it out. seepage.measure(table, frame).")
    if X is None or are_paths(X):
        raise InputError(
            "A table is measured with the data frame that it was fitted on: seepage.measure(table, frame)."
        )
