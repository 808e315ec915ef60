"""Cost of attacking one's own release, against retraining the model for every person and value."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage.attacks import AttributeInversion

_ADULT = [
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
]


def _adult(home: Path) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(home / "adult.data.gz", names=_ADULT, skipinitialspace=True, na_values="?").dropna()
    table["married"] = np.where(table["marital-status"].str.startswith("Married"), "yes", "no")
    numbers = table.select_dtypes("number").columns
    table[numbers] = (table[numbers] - table[numbers].mean()) / table[numbers].std()
    return table.drop(columns=["income", "marital-status", "fnlwgt", "education-num"]), table["income"]


def _median_seconds(run: Callable[[], object]) -> float:
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def _compare(
    name: str, model: Pipeline, X: pd.DataFrame, y: pd.Series, attribute: str, trials: int, goal: float
) -> None:
    leak = seepage.measure(model.fit(X, y), X, y, noise_scale=1e-3)
    start = time.perf_counter()
    attack = AttributeInversion(attribute).fit(leak)
    attack.evaluate(trials=trials)
    seconds = time.perf_counter() - start
    features = model[:-1].transform(X)
    alone = _median_seconds(lambda: clone(model[-1]).fit(features, y)) * len(y) * len(attack.values_)
    whole = _median_seconds(lambda: clone(model).fit(X, y)) * len(y) * len(attack.values_)
    print(
        f"{name}: {len(y):,} people, {features.shape[1]} features, {len(attack.values_)} values, {trials} draws: "
        f"{seconds:.2f} s, {whole / seconds:,.0f} times faster than retraining the pipeline (goal {goal:g}), "
        f"{alone / seconds:,.0f} times than its last step alone"
    )


def main() -> None:
    """Print the figures for IWPC with squared loss and Adult with logistic loss."""
    home = Path(os.environ["SEEPAGE_DATA"])
    table = pd.read_csv(home / "iwpc-scaled.csv", dtype={"cyp2c9": str}).iloc[:3855]
    encode = OneHotEncoder(drop="first", sparse_output=False)
    ridge = make_pipeline(
        make_column_transformer((encode, ["race", "cyp2c9", "vkorc1"]), remainder="passthrough"),
        Ridge(alpha=1e-2 * len(table), fit_intercept=False),
    )
    _compare("IWPC, squared loss", ridge, table.drop(columns="dose"), table["dose"], "vkorc1", 100, 100)
    X, y = _adult(home)
    logistic = make_pipeline(
        make_column_transformer(
            (encode, list(X.select_dtypes(exclude="number").columns)), remainder="passthrough", n_jobs=1
        ),
        LogisticRegression(C=1 / (1e-3 * len(y)), fit_intercept=False, tol=1e-6, max_iter=1000),
    )
    _compare("Adult, logistic loss", logistic, X, y, "married", 20, 50)
