"""What is often given instead of a fitted model, and the way out."""

import os

from seepage.errors import InputError, UnsupportedError


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
