"""The papers' preprocessing.

H21 is Hannun, Guo, van der Maaten (2021). Its text drops the last level of each nominal attribute; its code drops the
first on IWPC and the last on Adult. The choice changes its linearized eta, so it is an argument here.
"""

from collections.abc import Sequence
from typing import Literal

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from seepage._tables import Array, Column, Frame
from seepage.datasets._adult import NUMBERS
from seepage.datasets._iwpc import NOMINAL
from seepage.errors import InputError

Dropped = Literal["first", "last"]

_MARRIED = ("Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent")


def unit_ball_components(train: ArrayLike, *others: ArrayLike, components: int = 20) -> tuple[Array, ...]:
    """Scale inputs into the unit ball, then project them on principal components, as H21 does with images.

    The largest norm, the mean and the components are those of the training set.

    Parameters
    ----------
    train : array-like of shape (n, columns)
        The training set.
    *others : array-like of shape (m, columns)
        What to treat the same way.
    components : int, default=20
        How many components to keep.

    Examples
    --------
    >>> import numpy as np
    >>> from seepage.datasets import unit_ball_components
    >>> train, test = unit_ball_components(np.eye(5), np.ones((1, 5)), components=2)
    >>> train.shape, test.shape
    ((5, 2), (1, 2))
    """
    first = np.asarray(train, dtype=np.float64)
    largest = np.linalg.norm(first, axis=1).max()
    center = first.mean(axis=0) / largest
    shifted = first / largest - center
    _, vectors = np.linalg.eigh(shifted.T @ shifted)
    kept = vectors[:, -components:]
    return tuple((np.asarray(part, dtype=np.float64) / largest - center) @ kept for part in (train, *others))


def complete_adult(frame: Frame, target: ArrayLike) -> tuple[Frame, Column]:
    """Prepare UCI Adult as H21 does: complete rows, married or not, no relationship.

    Parameters
    ----------
    frame : data frame
        As `load_adult` returns it.
    target : array-like
        Its labels.

    Returns
    -------
    frame, target
        30,162 training or 15,060 test rows; `marital-status` became `married` ("no", "yes").
    """
    table = nw.from_native(frame, eager_only=True)
    texts = [name for name in table.columns if name not in NUMBERS]
    complete = np.all([table[name].to_numpy() != "?" for name in texts], axis=0)
    married = nw.when(nw.col("marital-status").is_in(_MARRIED)).then(nw.lit("yes")).otherwise(nw.lit("no"))
    columns = [nw.col(name) if name != "marital-status" else married.alias("married") for name in table.columns]
    chosen = table.select(columns).drop("relationship").filter(complete.tolist())
    native = chosen.to_native()
    if hasattr(native, "reset_index"):
        native = native.reset_index(drop=True)
    return native, np.asarray(target)[complete]


def adult_features(frame: Frame, *, dropped: Dropped) -> ColumnTransformer:
    """Return the encoder of Adult's 86 features: numbers standardized, categories one-hot with one level dropped.

    Parameters
    ----------
    frame : data frame
        As `complete_adult` returns it; its levels are the levels encoded.
    dropped : {"first", "last"}
        The level of each category, in alphabetical order, that has no column.
    """
    names = nw.from_native(frame, eager_only=True).columns
    nominal = [name for name in names if name not in NUMBERS]
    numbers = [name for name in names if name in NUMBERS]
    return ColumnTransformer(
        [("levels", one_hot(frame, nominal, dropped), nominal), ("numbers", StandardScaler(), numbers)]
    )


def iwpc_features(frame: Frame, *, dropped: Dropped) -> ColumnTransformer:
    """Return the encoder of IWPC's 14 features: categories one-hot with one level dropped, numbers as they are.

    Parameters
    ----------
    frame : data frame
        As `load_iwpc` returns it; its levels are the levels encoded.
    dropped : {"first", "last"}
        The level of each category, in alphabetical order, that has no column.
    """
    nominal = list(NOMINAL)
    return ColumnTransformer([("levels", one_hot(frame, nominal, dropped), nominal)], remainder="passthrough")


def one_hot(frame: Frame, columns: Sequence[str], dropped: Dropped) -> OneHotEncoder:
    """Return a one-hot encoder of some columns that drops the first or the last level of each.

    Parameters
    ----------
    frame : data frame
        Whose levels are encoded.
    columns : sequence of str
        The categorical columns.
    dropped : {"first", "last"}
        The level of each, in alphabetical order, that has no column.
    """
    if dropped not in ("first", "last"):
        raise InputError(f'dropped must be "first" or "last", not {dropped!r}.')
    table = nw.from_native(frame, eager_only=True)
    levels = [sorted(table[name].unique().to_list()) for name in columns]
    return OneHotEncoder(
        categories=levels, drop=[each[0 if dropped == "first" else -1] for each in levels], sparse_output=False
    )
