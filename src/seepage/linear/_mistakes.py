"""What is often given instead of a fitted model, and the way out."""

import os

from seepage._tables import Data
from seepage.attackers import Tabular
from seepage.attackers.types import Known
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


def refuse_beside_tabular(table: Tabular, X: Data, **given: object) -> None:
    """Refuse what says something of a regression, and nothing of a table or of equations.

    Parameters
    ----------
    table : Tabular
        What measures itself.
    X : data frame
        What was given as the rows.
    **given : object
        Arguments that were given, or None.
    """
    strange = {name: value for name, value in given.items() if value is not None and name not in table.takes}
    if "noise_scale" in strange:
        raise UnsupportedError(
            "noise_scale= is not answered for tables: they are measured as they are printed, without noise. Leave it "
            "out; or print coefficients, and measure those with noise_scale=."
        )
    if "where" in strange:
        raise InputError(
            f"For whom {table.kind} is, is said where it is made: write where={strange['where']!r} there, or keep "
            "these rows of the frame alone."
        )
    for name in strange:
        raise InputError(
            f"{name}= says nothing of {table.kind}: leave it out. What it needs of people is in the frame: "
            f"seepage.measure({type(table).__name__.lower()}, frame)."
        )
    if X is None or are_paths(X):
        raise InputError(
            f"What {table.kind} gives away is measured with the data frame that it was fitted on: "
            f"seepage.measure({type(table).__name__.lower()}, frame)."
        )


def refuse_beside_trees(X: Data, known_records: Known | None, **given: object) -> None:
    """Refuse what says something of a regression, and nothing of trees.

    Parameters
    ----------
    X : data frame or array
        What was given as the rows.
    known_records : Known or None
        What the attacker is said to know.
    **given : object
        Arguments that were given, or None.
    """
    strange = [name for name, value in given.items() if value is not None]
    if known_records not in (None, "covariates"):
        strange.append("known_records")
    if strange or are_paths(X):
        raise UnsupportedError(
            f"{(strange or ['A path'])[0]} is not answered for trees: they are measured as their file is published, to "
            "an attacker who knows everybody's covariates.\nGive the rows alone: seepage.measure(forest, X, y)."
        )
