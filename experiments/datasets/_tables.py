"""Tables of people: a frame (`data`) and an outcome (`target`)."""

from typing import Literal

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from experiments.datasets._files import located

_ADULT = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
)
_IWPC = ("race", "age", "height", "weight", "amiodarone", "decr", "cyp2c9", "vkorc1")


def load_adult(*, subset: Literal["train", "test"] = "train") -> Bunch:
    """Load UCI Adult (Becker and Kohavi 1996; CC BY 4.0): people, and 1 for an income of 1994 above 50,000.

    Missing values are "?".
    """
    # The test file begins with a line about its making, and its labels end in a full stop.
    table = pd.read_csv(
        located("adult.data.gz" if subset == "train" else "adult.test.gz"),
        names=[*_ADULT, "income"],
        skiprows=int(subset == "test"),
        skipinitialspace=True,
        keep_default_na=False,
    )
    return Bunch(data=table[list(_ADULT)], target=table["income"].str.startswith(">50K").to_numpy().astype(np.int64))


def load_iwpc(*, subset: Literal["train", "test", "all"] = "train") -> Bunch:
    """Load warfarin doses of 4,819 patients as Yeom et al. (2018) prepared them: 80%, 20% or all, split at random.

    Genotypes are `vkorc1` (attacked in the papers) and `cyp2c9`; age, height, weight and the dose are standardized. For
    research, under the terms of PharmGKB; cite the International Warfarin Pharmacogenetics Consortium (2009).
    """
    table = pd.read_csv(located("iwpc-scaled.csv"), dtype={"cyp2c9": str})
    if subset != "all":
        shuffled, cut = np.random.default_rng(0).permutation(len(table)), int(0.8 * len(table))
        table = table.iloc[shuffled[:cut] if subset == "train" else shuffled[cut:]].reset_index(drop=True)
    numbers = table[list(_IWPC)].select_dtypes("number").columns
    return Bunch(data=table[list(_IWPC)].astype(dict.fromkeys(numbers, float)), target=table["dose"].to_numpy(float))
