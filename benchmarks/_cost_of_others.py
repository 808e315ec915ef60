"""What an answer without noise costs beside one with noise: processor time of one measurement of the same rows."""

import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

import seepage

WANTED = 1.6


def _seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main(rows: int = 10**6, columns: int = 20) -> None:
    rng = np.random.default_rng(0)
    X, slopes = rng.normal(size=(rows, columns)), rng.normal(size=columns) / 5
    margin = X @ slopes
    outcomes = {
        "logistic": (
            LogisticRegression(C=np.inf, tol=1e-10, max_iter=500),
            rng.random(rows) < 1 / (1 + np.exp(-margin)),
        ),
        "least squares": (LinearRegression(), margin + rng.normal(size=rows)),
    }
    for name, (model, y) in outcomes.items():
        model.fit(X, y)

        def ask(model=model, y=y, **asked) -> None:  # type: ignore[no-untyped-def]
            leak = seepage.measure(model, X, y, **asked)
            _ = leak.examples, leak.attributes

        ask(noise_scale=0.1)
        noisy = _seconds(lambda ask=ask: ask(noise_scale=0.1))  # type: ignore[misc]
        for what, published in (("coefficients", ["coefficients"]), ("the whole table", None)):
            alone = _seconds(lambda ask=ask, published=published: ask(known_records=0, published=published))  # type: ignore[misc]
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"{name}, {rows:,} x {columns}, {what}: {alone:.1f} s, {alone / noisy:.1f} times {noisy:.1f} s with "
                f"noise (wanted: {WANTED}); {memory:.1f} GB",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
