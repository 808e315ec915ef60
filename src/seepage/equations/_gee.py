"""Results of statsmodels' GEE as equations: a results object knows its rows, and its working correlation."""

from typing import Any

import numpy as np

from seepage._tables import Array, Frame
from seepage.equations._equations import Equations
from seepage.errors import UnsupportedError

GROUP = "group"


def is_gee(model: Any) -> bool:
    """Return whether a model is fitted results of GEE; nothing of statsmodels is imported."""
    return type(getattr(model, "model", None)).__name__ == "GEE" and hasattr(model, "cov_struct")


def read_gee(results: Any) -> tuple[Equations, Frame, list[str]]:
    """Return the equations of GEE, the rows that they are solved on, and the names of its coefficients."""
    import pandas as pd

    model, called = results.model, type(results.cov_struct).__name__
    names, label = [*model.exog_names], str(model.endog_names)
    if called not in ("Independence", "Exchangeable"):
        raise UnsupportedError(
            f"GEE with a working correlation of {called} is not read. Fit it with Exchangeable() or Independence(), or "
            "write its equations down: seepage.models.Equations."
        )
    if model.weights is not None or model.constraint is not None or np.any(model._offset_exposure):
        raise UnsupportedError(
            "GEE with weights, offsets or constraints is not read. Write its equations down, with these as columns of "
            "the frame: seepage.models.Equations."
        )
    frame = pd.DataFrame(np.asarray(model.exog), columns=names).assign(**{label: np.asarray(model.endog)})
    constant = None if model.data.const_idx is None else names[model.data.const_idx]
    frame = frame.drop(columns=[] if constant is None else [constant])
    frame[GROUP] = np.unique(np.asarray(model.groups), return_inverse=True)[1]
    family, p, size = model.family, len(names), frame.groupby(GROUP)[GROUP].transform("size")
    count, pairs, free = float(len(frame)), float((size - 1).sum() / 2), float(model.ddof_scale)

    def design(rows: Frame) -> Any:
        # The intercept is nobody's value.
        return np.column_stack([np.ones(len(rows)) if name == constant else rows[name] for name in names])

    def rests(beta: Array, rows: Frame) -> tuple[Any, Any, Any]:
        margin = design(rows) @ beta
        mean = family.link.inverse(margin)
        deviation = np.sqrt(family.variance(mean))
        return (rows[label].to_numpy() - mean) / deviation, deviation, family.link.inverse_deriv(margin)

    def psi(theta: Array, rows: Frame) -> Any:
        rest, deviation, slope = rests(theta[:p], rows)
        place = np.unique(rows[GROUP].to_numpy(), return_inverse=True)[1]
        total, k = np.zeros(place.max() + 1, dtype=rest.dtype), np.bincount(place)[place]
        np.add.at(total, place, rest)
        if called == "Independence":
            return design(rows).T * (slope * rest / deviation)
        scale, rho = theta[p:]
        solved = (rest - rho * total[place] / (1.0 + rho * (k - 1))) / (1.0 - rho)
        products = rest * (total[place] - rest) - rho * scale * (pairs - free) / pairs * (k - 1)
        by_mean = design(rows).T * (slope * solved / deviation)
        return np.vstack([by_mean, rest**2 - scale * (count - free) / count, products])

    theta = np.asarray(results.params, dtype=np.float64)
    if called == "Independence":
        return Equations(psi, theta, names=names), frame, names
    scale = float((rests(theta, frame)[0] ** 2).sum() / (count - free))
    theta = np.append(theta, [scale, float(results.cov_struct.dep_params)])
    return Equations(psi, theta, names=[*names, "scale", "correlation"]), frame, names
