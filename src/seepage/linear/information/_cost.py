"""What noise costs the model that carries it."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from seepage.leakage import Cost
from seepage.linear.information._geometry import Geometry
from seepage.linear.objective import NewtonSums, Squared, newton_sums
from seepage.linear.rows import RowData

Array = NDArray[np.float64]


def cost_of(geometry: Geometry, rows: RowData, excess: float, covariance: Array) -> Cost:
    """Return what noise costs the model, next to its loss and its standard errors.

    Parameters
    ----------
    geometry : Geometry
        Of the fit.
    rows : RowData
        All of them.
    excess : float
        By how much the noise raises the loss of all rows in the mean.
    covariance : ndarray
        Of the noise, seen from the parameters in which the minimizer is unique.
    """
    frame, position, outputs = geometry.frame, geometry.position, geometry.outputs
    sums: NewtonSums = rows.total(partial(newton_sums, loss=geometry.loss, position=position, frame=frame))
    p = len(geometry.parameters)
    q = len(position)
    squared = isinstance(geometry.loss, Squared) and outputs == 1
    inverse = geometry.minimizer.inverse
    sandwich = inverse @ sums.hessian @ inverse
    outer = frame.matrix(p)
    blocks = sandwich.reshape(outputs, q, outputs, q)
    variances = [np.einsum("iq,qs,is->i", outer, blocks[c, :, c], outer) for c in range(outputs)]
    scatter = 2 * sums.value / max(sums.weight - q, 1.0) if squared else 1.0
    names = geometry.minimizer.names
    called = tuple(names) if outputs == 1 else tuple(f"{name} ({c + 1})" for c in range(outputs) for name in names)
    kept = np.ones(p * outputs, dtype=bool)
    if geometry.minimizer.free is not None:
        # Only what is published carries noise.
        kept = np.asarray(np.diag(covariance) > 0)
        every = (*names, *(name for name in geometry.minimizer.beside for _ in range(p)))
        called = tuple(every[i] for i in np.flatnonzero(kept).tolist())
    return Cost(
        loss="half the squared error" if squared else "loss",
        exact=squared,
        without=sums.value / sums.weight,
        added=excess / sums.weight,
        names=called,
        parameters=geometry.parameters.T.ravel()[kept],
        standard_errors=np.sqrt(np.maximum(np.concatenate(variances) * scatter, 0.0))[kept],
        noise=np.sqrt(np.diag(covariance))[kept],
    )
