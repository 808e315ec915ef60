"""The papers' data and models, prepared once for all experiments."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline

from experiments.datasets import (
    adult_features,
    complete_adult,
    iwpc_features,
    load_adult,
    load_cifar10,
    load_iwpc,
    load_mnist,
    unit_ball_components,
)

Array = NDArray[np.float64]

# H21's penalties of logistic regression.
PENALTY = {"mnist": 8e-4, "cifar": 8e-5}
CLASSES = {"mnist": ("0", "1"), "cifar": ("airplane", "automobile")}


@dataclass(frozen=True, eq=False)
class Images:
    """Two classes of images in 20 principal components."""

    name: str
    train: Array
    classes: NDArray[np.int64]
    test: Array
    test_classes: NDArray[np.int64]
    pictures: NDArray[np.uint8]

    def model(self, kind: str) -> Any:
        """Return H21's model, without an intercept."""
        if kind == "linear":
            return LinearRegression(fit_intercept=False)
        strength = PENALTY[self.name] * len(self.classes)
        return LogisticRegression(C=1 / strength, fit_intercept=False, tol=1e-6, max_iter=1000)

    def labels(self, kind: str) -> Array:
        """Return the labels that the model is fitted on: -1 and 1 for linear regression."""
        return 2.0 * self.classes - 1 if kind == "linear" else self.classes.astype(np.float64)

    def accuracy(self, fitted: Any) -> float:
        """Return the share of test images on the right side."""
        right = fitted.predict(self.test) > (0 if isinstance(fitted, LinearRegression) else 0.5)
        return float(np.mean(right == self.test_classes))


@cache
def images(name: str) -> Images:
    """Return MNIST's zeros and ones, or CIFAR-10's airplanes and automobiles."""
    if name == "mnist":
        train, test = load_mnist(digits=(0, 1)), load_mnist(digits=(0, 1), subset="test")
    else:
        train, test = load_cifar10(), load_cifar10(subset="test")
    components, others = unit_ball_components(train.data, test.data)
    return Images(name, components, train.target, others, test.target, train.images)


@dataclass(frozen=True, eq=False)
class People:
    """A table of people with an attribute to attack."""

    name: str
    attribute: str
    train: Any
    labels: Array
    test: Any
    test_labels: Array
    features: Any
    levels: Any
    """Everyone whose categories are encoded, also where only some are trained on."""

    def model(self, penalty: float, dropped: str) -> Pipeline:
        """Return H21's model: squared loss, no intercept, penalty lambda n, one level of each category dropped."""
        ridge = Ridge(alpha=penalty * len(self.labels), fit_intercept=False)
        return make_pipeline(self.features(self.levels, dropped=dropped), ridge)

    def first(self, count: int) -> "People":
        """Return the same with fewer people to train on."""
        return replace(self, train=self.train.iloc[:count].reset_index(drop=True), labels=self.labels[:count])


@cache
def people(name: str) -> People:
    """Return IWPC (VKORC1 is attacked) or UCI Adult (married or not)."""
    if name == "iwpc":
        train, test = load_iwpc(), load_iwpc(subset="test")
        everyone = load_iwpc(subset="all").data
        return People(name, "vkorc1", train.data, train.target, test.data, test.target, iwpc_features, everyone)
    raw, other = load_adult(), load_adult(subset="test")
    table, income = complete_adult(raw.data, raw.target)
    others, incomes = complete_adult(other.data, other.target)
    return People(name, "married", table, 2.0 * income - 1, others, 2.0 * incomes - 1, adult_features, table)
