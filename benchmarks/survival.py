"""Cost of measuring a Cox model, as a ratio to logistic regression on as many people and columns."""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import seepage

_ROUNDS = 5


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    for n, p in ((100_000, 20), (1_000_000, 20)):
        random = np.random.default_rng(0)
        X = pd.DataFrame(random.normal(size=(n, p)), columns=[f"x{i}" for i in range(p)])
        beta = random.normal(size=p) / np.sqrt(p)
        time_of = random.exponential(np.exp(-X.to_numpy() @ beta))
        event = time_of < np.quantile(time_of, 0.4)
        end = np.minimum(time_of, np.quantile(time_of, 0.4))
        for what, times in (("all times differ", end), ("a hundred times", np.ceil(100 * end / end.max()))):
            y = np.rec.fromarrays([event, times], names="event,time")
            cox = seepage.models.Cox(penalty=1.0).fit(X, y)
            logistic = LogisticRegression(tol=1e-8, max_iter=1000).fit(X, event)

            def measured(model: object, labels: object, X: pd.DataFrame = X) -> None:
                leak = seepage.measure(model, X, labels, noise_scale=0.1)
                leak.information.examples()
                leak.information.attributes()

            pairs = [
                (_seconds(lambda: measured(cox, y)), _seconds(lambda: measured(logistic, event)))  # noqa: B023
                for _ in range(_ROUNDS)
            ]
            ratio = float(np.median([one / other for one, other in pairs[1:]]))
            print(f"n = {n:,}, p = {p}, {what}: {ratio:.2f} x logistic regression, goal 2.0", flush=True)
            print(f"  seconds: {[(round(one, 2), round(other, 2)) for one, other in pairs]}", flush=True)


if __name__ == "__main__":
    main()
