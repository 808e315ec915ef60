"""What steps of training tell about the values before a frozen network, given what they tell about its features.

The features z of a person move with the inputs x as dz = J dx, whatever the step. So information about features adds up
over steps, M = sum of U_t U_t^T, and is carried to the inputs once (eqs. 1.6 and 8.2):

    I = J^T M J,      whose trace is tr(M J J^T), and whose largest eigenvalue that of M^(1/2) J J^T M^(1/2).

No matrix over all inputs is ever formed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def floors(matrices: Array) -> Array:
    """Return the smallest errors of unbiased guesses of several values at once; infinite where nothing is told.

    Parameters
    ----------
    matrices : ndarray of shape (people, values, values)
        What is told about these values, all else being known.
    """
    found = np.empty(matrices.shape[:2])
    for i, matrix in enumerate(matrices):
        scale = np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
        root, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
        lost = root <= len(scale) * np.finfo(float).eps * max(root[-1], 0.0)
        # Of a value with a part in a direction that tells nothing, there is no unbiased guess.
        variance = (vectors**2 / np.where(lost, np.inf, root)).sum(axis=1)
        silent = (vectors[:, lost] ** 2).sum(axis=1) > 1e-12
        found[i] = np.where(silent, np.inf, np.sqrt(variance) / scale)
    return found


@dataclass(frozen=True, eq=False)
class InputInformation:
    """What steps give away about what enters a frozen network, of each person.

    It is exact where the network has a derivative. What a value gives away by crossing a kink (of a ReLU, of a maximum)
    is not in it: a unit that is off says nothing here, and may elsewhere.

    Attributes
    ----------
    ids : ndarray of shape (people,)
        Who they are.
    matrices : ndarray of shape (people, features, features)
        What the steps tell about the features.
    slopes : ndarray of shape (people, features, values)
        How everybody's features move with what enters.
    """

    ids: NDArray[Any]
    matrices: Array
    slopes: Array

    @cached_property
    def each(self) -> Array:
        """Eta of each value, shape (people, values): the root of what is told about it, all else being known."""
        return np.sqrt(
            np.maximum(np.einsum("nfv,nfg,ngv->nv", self.slopes, self.matrices, self.slopes, optimize=True), 0.0)
        )

    @property
    def dfil(self) -> Array:
        """The root of the mean information about a value."""
        return np.asarray(np.sqrt((self.each**2).mean(axis=1)))

    @property
    def eta(self) -> Array:
        """The root of the largest eigenvalue of each person's information."""
        values, vectors = np.linalg.eigh(self.matrices)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        turned = root.transpose(0, 2, 1) @ self.slopes
        return np.asarray(np.linalg.norm(turned, ord=2, axis=(1, 2)))

    def error_floor(self, values: Sequence[int] | None = None) -> Array:
        """Return the smallest error of unbiased guesses by somebody who knows everything but some values of a person.

        Parameters
        ----------
        values : sequence of int, optional
            The values that are not known, all at once, such as the pixels of a patch. By default each by itself.

        Returns
        -------
        floors : ndarray of shape (people, values)
            Infinite where nothing is told.
        """
        if values is None:
            with np.errstate(divide="ignore"):
                return np.asarray(1.0 / self.each)
        chosen = self.slopes[:, :, np.asarray(values, dtype=np.intp)]
        return floors(np.einsum("nfv,nfg,ngw->nvw", chosen, self.matrices, chosen, optimize=True))
