"""Leaf values as linear equations in the outcomes of the people.

With a person's weight w_i, a leaf l of people i in l, its value v, and p_i the answer of the trees before it:

    a forest    sum_i w_i y_i = v sum_i w_i
    boosting    sum_i w_i y_i = sum_i w_i p_i + v (sum_i w_i p'_i + penalty) / rate

p' is the slope of p in the margin: 1 for squared loss, p (1 - p) for logistic loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import optimize, special

from seepage._tables import Array
from seepage.errors import InputError
from seepage.trees._read import Trees

# Of the outcomes' deviation: how far the value of a leaf may be from that of its people.
_FITS: Final = 1e-4


@dataclass(frozen=True, eq=False)
class LeafEquations:
    """The equations A y = s of one column of outcomes.

    Attributes
    ----------
    matrix : sparse array of shape (leaves, people)
    sums : array of shape (leaves,)
        As the file says them.
    outcome : array of shape (people,)
    rounding : array of shape (leaves,)
        How far the sums of the file are from those of the people.
    """

    matrix: sp.csr_array
    sums: Array
    outcome: Array

    @property
    def rounding(self) -> Array:
        error = np.abs(self.sums - self.matrix @ self.outcome)
        return np.asarray(np.maximum(error, np.finfo(float).eps * np.abs(self.sums)))

    def scaled(self) -> "LeafEquations":
        """Return the same equations, each divided by the size of its weights: leaves of many drown no others."""
        size = 1.0 / np.sqrt((self.matrix**2).sum(axis=1))
        return LeafEquations(sp.csr_array(sp.diags_array(size) @ self.matrix), size * self.sums, self.outcome)

    def of(self, people: NDArray[np.intp]) -> "LeafEquations":
        """Return the equations about some people, where the outcomes of all others are known."""
        others = np.ones(len(self.outcome), dtype=bool)
        others[people] = False
        rest = self.matrix[:, np.flatnonzero(others)] @ self.outcome[others]
        matrix = sp.csr_array(self.matrix[:, people])
        filled = np.diff(matrix.indptr) > 0
        return LeafEquations(matrix[filled], (self.sums - rest)[filled], self.outcome[people])


def outcomes(trees: Trees, y: Array) -> Array:
    """Return the outcomes as columns of numbers: one, or one for each class beyond two."""
    if trees.classes is None:
        try:
            result = np.asarray(y, dtype=np.float64).reshape(len(y), 1)
        except (TypeError, ValueError) as error:
            raise InputError("The outcome of this model is a number, and y holds something else.") from error
        if not np.isfinite(result).all():
            raise InputError(f"y has no number in row {np.argmin(np.isfinite(result))}. Give the rows of the fit only.")
        return result
    if len(trees.classes) < 2:
        raise InputError("The outcome of this model has one class, which every file of it shows. Give two classes.")
    place = {label: i for i, label in enumerate(trees.classes.tolist())}
    result = np.array([place.get(label, -1) for label in np.asarray(y).tolist()])
    if (result < 0).any():
        row = int(np.argmax(result < 0))
        raise InputError(f"y has {np.asarray(y).tolist()[row]!r} in row {row}, which is no class of this model.")
    indicator = np.equal.outer(result, np.arange(len(trees.classes))).astype(np.float64)
    return np.asarray(indicator if indicator.shape[1] > 2 else indicator[:, 1:])


def equations(trees: Trees, leaves: NDArray[np.int32], y: Array, weights: Array) -> tuple[LeafEquations, ...]:
    """Return the equations of each column of outcomes, or refuse rows that do not fit the leaf values.

    Parameters
    ----------
    trees : Trees
    leaves : array of shape (people, trees)
        The leaf of each person in each tree.
    y : array of shape (people, columns)
    weights : array of shape (people, trees)
        The weight of each person in each tree.
    """
    result = _of_means(trees, leaves, y, weights) if trees.link is None else _of_gradients(trees, leaves, y, weights)
    for one in result:
        allowed = _FITS * one.matrix.sum(axis=1) * (one.outcome.std() or 1.0)
        off = ~(np.abs(one.sums - one.matrix @ one.outcome) <= allowed)
        if off.any():
            raise InputError(_misfit(trees, int(off.sum()), len(off)))
    return result


def _misfit(trees: Trees, off: int, leaves: int) -> str:
    order = " in the order in which the model was fitted" if trees.draws is not None else ""
    return (
        f"{off:,} of {leaves:,} leaves hold another value than these rows give, so nothing is said of this model.\n"
        f"Give the rows and outcomes of the fit{order}, its columns in its order, and its sample_weight.\n"
        "Boosting that draws rows or shrinks otherwise than by a rate and an L2 penalty is not measured. If it weighs "
        "classes, as by scale_pos_weight, give these weights in sample_weight."
    )


def _matrix(leaves: NDArray[np.int32], weights: Array) -> tuple[sp.csr_array, NDArray[np.int32]]:
    """Return the weight of each person in each leaf that has people, and which leaves these are."""
    some = weights > 0
    person, tree = np.nonzero(some)
    nodes, row = np.unique(leaves[person, tree], return_inverse=True)
    shape = len(nodes), len(leaves)
    return sp.csr_array(sp.coo_array((weights[some], (row.ravel(), person)), shape=shape)), nodes


def _of_means(trees: Trees, leaves: NDArray[np.int32], y: Array, weights: Array) -> tuple[LeafEquations, ...]:
    matrix, nodes = _matrix(leaves, weights)
    value = trees.structure.value[nodes]
    if trees.classes is not None:
        value = value / _class_weights(trees, y)
        value = value / value.sum(axis=1, keepdims=True)
        value = value if value.shape[1] > 2 else value[:, 1:]
    count = matrix.sum(axis=1)
    return tuple(LeafEquations(matrix, value[:, k] * count, y[:, k]) for k in range(y.shape[1]))


def _class_weights(trees: Trees, y: Array) -> Array:
    """Return the weight of each class: the number of people in each is known to everybody."""
    assert trees.classes is not None
    if trees.class_weight is None:
        return np.ones(len(trees.classes))
    if trees.class_weight == "balanced":
        counts = y.sum(axis=0) if y.shape[1] > 1 else np.array([len(y) - y.sum(), y.sum()])
        return np.asarray(len(y) / (len(counts) * counts))
    return np.array([trees.class_weight.get(label, 1.0) for label in trees.classes.tolist()])


def _of_gradients(trees: Trees, leaves: NDArray[np.int32], y: Array, weights: Array) -> tuple[LeafEquations, ...]:
    value = trees.structure.value[:, 0].copy()
    count, columns = y.shape
    assert trees.start is not None
    start = np.resize(trees.start, columns)
    mean = _mean_margin(trees, y, weights[:, 0])
    first = value[leaves[:, :columns]].mean(axis=0)
    if trees.first_has_mean and (np.abs(first - mean) < np.abs(first)).all():
        # The leaf values of the first trees tell this mean: weighted by their people they add up to it.
        start = start + mean
        for k in range(columns):
            value[trees.structure.roots[k] : trees.structure.ends[k]] -= mean[k]
    parts: list[list[_LeafSums]] = [[] for _ in range(columns)]
    margin = np.tile(start, (count, 1))
    for first_tree in range(0, leaves.shape[1], columns):
        answer, slope = _answers(trees, margin)
        for k in range(columns):
            tree = first_tree + k
            matrix, nodes = _matrix(leaves[:, [tree]], weights[:, [tree]])
            parts[k].append(_LeafSums(matrix, value[nodes], matrix @ answer[:, k], matrix @ slope[:, k]))
        margin = margin + value[leaves[:, first_tree : first_tree + columns]]
    whole = [_LeafSums.together(one) for one in parts]
    rate, penalty = _rate_and_penalty(whole, y)
    return tuple(
        LeafEquations(one.matrix, one.expected + one.value * (one.slope + penalty) / rate, y[:, k])
        for k, one in enumerate(whole)
    )


@dataclass(frozen=True, eq=False)
class _LeafSums:
    """Some leaves: who is in them, their values, and the sums of answers and of slopes of their people."""

    matrix: sp.csr_array
    value: Array
    expected: Array
    slope: Array

    @classmethod
    def together(cls, parts: "Sequence[_LeafSums]") -> "_LeafSums":
        return cls(
            sp.csr_array(sp.vstack([part.matrix for part in parts])),
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("value", "expected", "slope")),
        )


def _mean_margin(trees: Trees, y: Array, weight: Array) -> Array:
    mean = np.average(y, axis=0, weights=weight)
    if trees.link == "identity":
        return np.asarray(mean)
    return np.asarray(special.logit(mean) if trees.link == "logistic" else np.log(mean))


def _answers(trees: Trees, margin: Array) -> tuple[Array, Array]:
    """Return the answers at some margins, and their slopes."""
    if trees.link == "identity":
        return margin, np.ones(margin.shape)
    p = special.expit(margin) if trees.link == "logistic" else special.softmax(margin, axis=1)
    return p, p * (1.0 - p)


def _rate_and_penalty(parts: Sequence[_LeafSums], y: Array) -> tuple[float, float]:
    """Return the rate and the penalty of a boosted model, which its methods section says, from people and leaf values.

    Factors by which libraries multiply slopes are part of both.
    """
    gradient = np.concatenate([part.matrix @ y[:, k] - part.expected for k, part in enumerate(parts)])
    value, slope = (np.concatenate([getattr(part, name) for part in parts]) for name in ("value", "slope"))
    rate, penalty = optimize.nnls(np.column_stack([gradient, -value]), value * slope)[0]
    # Models without splits have values near 0, from which no rate follows.
    return float(rate) or 1.0, float(penalty)
