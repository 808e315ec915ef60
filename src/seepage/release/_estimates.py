"""Numbers that have names, as they are published: what leaves of equations, whose people stay inside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seepage._noise import GaussianNoise
from seepage._tables import Array
from seepage.errors import UnsupportedError
from seepage.linear.written import text_of
from seepage.release._certificate import Certificate
from seepage.release._raw import rounded
from seepage.release._table import TABLE, content_of, is_table, remarks_of


@dataclass(frozen=True, eq=False)
class Estimates:
    """Numbers by name, each with noise: what `seepage.publish` lets out of `seepage.models.Equations`.

    Attributes
    ----------
    estimates : mapping from str to float
        As they were published.
    """

    estimates: Mapping[str, float]

    @property
    def coef_(self) -> Array:
        """The numbers in order, under the name by which every published estimator is sealed."""
        return np.array([*self.estimates.values()])

    @property
    def intercept_(self) -> float:
        """Nothing: no number is apart from the others."""
        return 0.0

    def with_parameters(self, parameters: Array, *, noise: GaussianNoise | None = None) -> "Estimates":
        """Return other numbers of the same names, on a grid next to the noise that they carry."""
        values, deviations = np.ravel(parameters), np.zeros(len(self.estimates))
        if noise is not None:
            deviations += noise.scale if noise.scale is not None else np.sqrt(np.diag(noise.known()))
        return Estimates(dict(zip(self.estimates, rounded(values, deviations).tolist(), strict=True)))


@content_of.register
def _(
    estimator: Estimates, path: Path, certificate: Certificate, outcome: Sequence[str] | None, success: object
) -> bytes:
    if not is_table(path):
        raise UnsupportedError(
            f"Numbers that solve equations are no estimator of scikit-learn. Write them as a table: {path.stem}{TABLE}"
        )
    return text_of({"estimates": estimator.estimates}, tuple(remarks_of(certificate))).encode()
