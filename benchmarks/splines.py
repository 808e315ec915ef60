"""Cost of measuring a model behind splines, as a ratio to its affine twin: as many parameters behind a scaler."""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

import seepage

_ROUNDS = 4
_COLUMNS = 10


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Measure ten columns behind cubic splines, and as many spline values as columns of their own."""
    for n in (20_000, 200_000):
        random = np.random.default_rng(0)
        X = pd.DataFrame(random.normal(size=(n, _COLUMNS)), columns=[f"x{i}" for i in range(_COLUMNS)])
        score = X.to_numpy() @ random.normal(size=_COLUMNS) / np.sqrt(_COLUMNS)
        knots = np.repeat(np.linspace(-6, 6, 5)[:, np.newaxis], _COLUMNS, axis=1)
        spline = SplineTransformer(knots=knots, include_bias=False).fit(X)
        values = spline.transform(X)
        wide = pd.DataFrame(values, columns=[f"value {i}" for i in range(values.shape[1])])
        for head, y in (
            (Ridge(1.0), score + random.normal(size=n)),
            (LogisticRegression(tol=1e-8, max_iter=1000), random.uniform(size=n) < 1 / (1 + np.exp(-score))),
        ):
            curved = make_pipeline(spline, head).fit(X, y)
            twin = make_pipeline(StandardScaler(), type(head)(**head.get_params())).fit(wide, y)

            def measured(model: object, rows: pd.DataFrame, step: str, y: object = y) -> None:
                leak = seepage.measure(model, rows, y, noise_scale=1.0, public_preprocessing=[step])
                leak.information.examples()
                leak.information.attributes()

            pairs = [
                (
                    _seconds(lambda: measured(curved, X, "splinetransformer")),  # noqa: B023
                    _seconds(lambda: measured(twin, wide, "standardscaler")),  # noqa: B023
                )
                for _ in range(_ROUNDS)
            ]
            ratio = float(np.median([one / other for one, other in pairs[1:]]))
            what = f"n = {n:,}, {_COLUMNS} columns, {values.shape[1]} values, {type(head).__name__}"
            print(f"{what}: {ratio:.2f} x its affine twin, goal 4.0", flush=True)
            print(f"  seconds: {[(round(one, 2), round(other, 2)) for one, other in pairs]}", flush=True)


if __name__ == "__main__":
    main()
