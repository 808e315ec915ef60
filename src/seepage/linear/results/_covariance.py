"""Kinds of standard errors that tables print."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Covariance:
    """The kind of standard errors that a table prints.

    Attributes
    ----------
    kind : str
        "classical", "HC0", "HC1", "HC2", "HC3" or "cluster"; other kinds are not supported.
    expected : bool
        Whether classical errors are those of the expected information.
    estimated : bool, optional
        Whether a dispersion is estimated; None if the family decides.
    clusters : ndarray of int, optional
        Number of each row's cluster.
    corrected : bool
        Whether errors by clusters have the factor for small samples.
    """

    kind: str = "classical"
    expected: bool = False
    estimated: bool | None = None
    clusters: NDArray[np.intp] | None = None
    corrected: bool = True

    @property
    def is_supported(self) -> bool:
        return self.kind in ("classical", "HC0", "HC1", "HC2", "HC3", "cluster")

    @property
    def is_robust(self) -> bool:
        return self.kind != "classical"

    def factor(self, rows: int, coefficients: int) -> float:
        """Return the constant that squares of robust errors are multiplied by."""
        if self.kind == "HC1":
            return rows / (rows - coefficients)
        if self.clusters is None or not self.corrected:
            return 1.0
        count = int(self.clusters.max()) + 1
        return count / (count - 1) * (rows - 1) / (rows - coefficients)


def covariance_of(results: Any, *, dispersed: bool) -> Covariance:
    """Return the kind of standard errors that results of statsmodels name.

    Parameters
    ----------
    results : results of statsmodels
    dispersed : bool
        Whether the family has a dispersion.
    """
    kind, settings = str(results.cov_type), results.cov_kwds
    linear = type(results.model).__name__ in ("OLS", "WLS")
    fixed = kind == "fixed scale" or (not linear and results.scale == 1.0)
    clusters = None
    if kind in ("nonrobust", "fixed scale"):
        kind = "classical"
    elif kind.upper() in ("HC0", "HC1", "HC2", "HC3"):
        # Only least squares has others than HC0.
        kind = kind.upper() if linear else "HC0"
    elif kind == "cluster" and np.ndim(settings["groups"]) == 1:
        clusters = np.unique(np.asarray(settings["groups"]), return_inverse=True)[1]
    return Covariance(
        kind if kind != "cluster" or clusters is not None else "clusters of two kinds",
        expected=getattr(results, "method", "") == "IRLS",
        estimated=not fixed if dispersed or not fixed else None,
        clusters=clusters,
        corrected=settings.get("use_correction", True) is not False,
    )
