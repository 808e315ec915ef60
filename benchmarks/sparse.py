"""Sparse rows: equal to their dense twin, and never dense beyond one batch."""

import resource
import time

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

import seepage

ROWS, COLUMNS, FILLED = 200_000, 5_000, 50
# Of which so many are made dense for comparison.
FEW = 20_000


def _rows(count: int) -> tuple[sparse.csr_array, np.ndarray]:
    random = np.random.default_rng(0)
    columns = random.integers(COLUMNS, size=(count, FILLED))
    values = random.normal(size=(count, FILLED))
    X = sparse.csr_array(
        (values.ravel(), columns.ravel(), np.arange(0, count * FILLED + 1, FILLED)), shape=(count, COLUMNS)
    )
    X.sum_duplicates()
    return X, X @ random.normal(size=COLUMNS) / np.sqrt(FILLED) + random.normal(size=count)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    X, y = _rows(ROWS)
    before, start = _peak(), time.perf_counter()
    leak = seepage.measure(seepage.engines.fit(Ridge(), X, y), X, y, noise_scale=0.1)
    eta = leak.information.examples()["eta"]
    seconds = time.perf_counter() - start
    print(f"{ROWS:,} x {COLUMNS:,}, {FILLED} numbers a row: {seconds:.0f} s, median eta {np.median(eta):.3g}")
    print(f"peak memory {_peak():.1f} GB, {_peak() - before:.1f} GB of it measuring")
    print(f"for comparison: one matrix of features {8 * COLUMNS**2 / 1e9:.1f} GB, the rows made dense 8.0 GB")
    X, y = X[:FEW], y[:FEW]
    model = seepage.engines.fit(Ridge(), X, y)
    thin = seepage.measure(model, X, y, noise_scale=0.1)
    thick = seepage.measure(model, X.toarray(), y, noise_scale=0.1)
    apart = np.abs(thin.information.examples()["eta"] / thick.information.examples()["eta"] - 1).max()
    joint = abs(thin.joint_information_loss() / thick.joint_information_loss() - 1)
    print(f"{FEW:,} rows against their dense twin: eta within {apart:.0e}, joint within {joint:.0e}")
