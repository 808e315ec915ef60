"""Splits of trees, and which leaf everybody is in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.errors import InputError

# People and trees that are looked up together: their nodes stay in memory.
_AT_ONCE: Final = 2**22


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree. Nodes are numbered from 0, the root; a leaf has the feature -1."""

    feature: NDArray[np.intp]
    threshold: Array
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    missing_left: NDArray[np.bool_]
    value: Array
    """Shape (nodes, outcomes)."""


@dataclass(frozen=True, eq=False)
class Structure:
    """The splits of all trees, whose nodes are numbered one after the other.

    Attributes
    ----------
    roots, ends : array of shape (trees,)
        The first node of each tree, and the one after its last.
    strict : bool
        Whether values equal to a threshold go right.
    single : bool
        Whether values are compared as numbers of single precision.
    """

    roots: NDArray[np.intp]
    ends: NDArray[np.intp]
    feature: NDArray[np.intp]
    threshold: Array
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    missing_left: NDArray[np.bool_]
    value: Array
    strict: bool
    single: bool

    @classmethod
    def of(cls, trees: Sequence[Tree], *, strict: bool = False, single: bool = True) -> "Structure":
        """Put trees together."""
        sizes = np.array([len(tree.feature) for tree in trees])
        ends = np.cumsum(sizes)
        roots = ends - sizes

        def joined(name: str) -> NDArray[np.generic]:
            return np.concatenate([getattr(tree, name) for tree in trees])

        for tree in trees:
            _check(tree)
        shift = np.repeat(roots, sizes)
        return cls(
            roots,
            ends,
            np.asarray(joined("feature"), dtype=np.intp),
            np.asarray(joined("threshold"), dtype=np.float64),
            np.asarray(joined("left"), dtype=np.intp) + shift,
            np.asarray(joined("right"), dtype=np.intp) + shift,
            np.asarray(joined("missing_left"), dtype=bool),
            np.asarray(joined("value"), dtype=np.float64),
            strict,
            single,
        )

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return self.feature < 0

    def leaves(self, X: Array) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, by its node, shape (rows, trees)."""
        step = max(_AT_ONCE // len(self.roots), 1)
        parts = [self._leaves(X[start : start + step]) for start in range(0, len(X), step)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.roots)), dtype=np.int32)

    def _leaves(self, X: Array) -> NDArray[np.int32]:
        X = self.compared(X)
        node = np.tile(self.roots, len(X))
        row = np.repeat(np.arange(len(X)), len(self.roots))
        going = np.flatnonzero(~self.is_leaf[node])
        while len(going):
            here = node[going]
            left = self._goes_left(here, X[row[going], self.feature[here]])
            node[going] = np.where(left, self.left[here], self.right[here])
            going = going[~self.is_leaf[node[going]]]
        return node.reshape(len(X), -1).astype(np.int32)

    def compared(self, X: Array) -> Array:
        """Return values as splits compare them."""
        return X.astype(np.float32).astype(np.float64) if self.single else X

    def _goes_left(self, node: NDArray[np.intp], value: Array) -> NDArray[np.bool_]:
        below = value < self.threshold[node] if self.strict else value <= self.threshold[node]
        return np.where(np.isnan(value), self.missing_left[node], below)


def _check(tree: Tree) -> None:
    """Refuse splits that lead back, or out of the tree: files may hold anything."""
    inner, node = tree.feature >= 0, np.arange(len(tree.feature))
    for child in (tree.left, tree.right):
        if (inner & ((child <= node) | (child >= len(node)))).any():
            raise InputError("A split of this model leads to no node below it: the file is damaged.")
