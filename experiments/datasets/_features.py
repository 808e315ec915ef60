"""The papers' preprocessing.

H21 is Hannun, Guo, van der Maaten (2021). Its text drops the last level of each nominal attribute; its code drops the
first on IWPC and the last on Adult. The choice changes its linearized eta, so it is an argument here.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

Dropped = Literal["first", "last"]


def unit_ball_components(train: ArrayLike, *others: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    """Scale inputs into the unit ball, then project them on 20 principal components, as H21 does with images.

    The largest norm, the mean and the components are those of the training set.
    """
    first = np.asarray(train, dtype=np.float64)
    largest = np.linalg.norm(first, axis=1).max()
    center = first.mean(axis=0) / largest
    shifted = first / largest - center
    _, vectors = np.linalg.eigh(shifted.T @ shifted)
    return tuple(
        (np.asarray(part, dtype=np.float64) / largest - center) @ vectors[:, -20:] for part in (train, *others)
    )


def complete_adult(frame: pd.DataFrame, target: ArrayLike) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return the 30,162 (test: 15,060) complete rows of UCI Adult as H21 has them, and their labels.

    `marital-status` becomes `married` ("no", "yes"), and `relationship` is dropped.
    """
    complete = ~(frame == "?").any(axis=1).to_numpy()
    married = np.where(frame["marital-status"].str.startswith("Married"), "yes", "no")
    table = frame.assign(**{"marital-status": married}).rename(columns={"marital-status": "married"})
    return table.drop(columns="relationship")[complete].reset_index(drop=True), np.asarray(target)[complete]


def adult_features(frame: pd.DataFrame, *, dropped: Dropped) -> ColumnTransformer:
    """Return the encoder of Adult's 86 features: numbers standardized, categories one-hot with one level dropped."""
    numbers = list(frame.select_dtypes("number"))
    nominal = [name for name in frame if name not in numbers]
    return ColumnTransformer(
        [("levels", _one_hot(frame, nominal, dropped), nominal), ("numbers", StandardScaler(), numbers)]
    )


def iwpc_features(frame: pd.DataFrame, *, dropped: Dropped) -> ColumnTransformer:
    """Return the encoder of IWPC's 14 features: categories one-hot with one level dropped, numbers as they are."""
    nominal = ["race", "cyp2c9", "vkorc1"]
    return ColumnTransformer([("levels", _one_hot(frame, nominal, dropped), nominal)], remainder="passthrough")


def _one_hot(frame: pd.DataFrame, columns: Sequence[str], dropped: Dropped) -> OneHotEncoder:
    """Return a one-hot encoder of some columns without the first or last level of each, in alphabetical order."""
    levels = [sorted(frame[name].unique()) for name in columns]
    drop = [values[0 if dropped == "first" else -1] for values in levels]
    return OneHotEncoder(categories=levels, drop=drop, sparse_output=False)
