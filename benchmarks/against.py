"""What the same measurements take here and at another commit, in alternated processes of one run.

    python -m benchmarks against COMMIT [--rounds N] [NAME ...]

The other commit's sources are taken from the repository into a temporary folder. Each process works once to compile
what is compiled, and then with a clock: processor seconds, because what else a machine does is not counted in
them. A ratio is the median over the rounds of here / there, and 1.1 is the most that it may be (behind a scaler, 0.8).
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

Work = Callable[[], object]
_ROOT = Path(__file__).parent.parent
# Short works are done until the clock has seen so much.
_LEAST_SECONDS = 2.0


def _table(rows: int, columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return drawn rows of uneven columns, and scores of deviation one beside noise of deviation one."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, columns))
    score = X @ random.normal(size=columns) / np.sqrt(columns) + random.normal(size=rows)
    return pd.DataFrame(X * random.exponential(size=columns), columns=[f"x{i}" for i in range(columns)]), score


def _everything(model: Any, X: Any, y: Any, **given: Any) -> Work:
    import seepage

    def work() -> None:
        leak = seepage.measure(model, X, y, noise_scale=1.0, **given)
        leak.information.examples()
        leak.information.attributes()
        # The name of earlier commits.
        getattr(leak, "joint_information_loss" if hasattr(leak, "joint_information_loss") else "joint")()

    return work


def _linear(rows: int, columns: int, model: Any) -> Work:
    X, score = _table(rows, columns)
    y = score if isinstance(model, Ridge) else score > 0
    return _everything(model.fit(X, y), X, y)


def _classes() -> Work:
    X, score = _table(100_000, 10)
    y = np.digitize(score, [-1, 1])
    return _everything(LogisticRegression(tol=1e-8, max_iter=1000).fit(X, y), X, y)


def _pixels() -> Work:
    import seepage
    from experiments.datasets import load_mnist

    digits = load_mnist()
    X, y = digits.data[:2000], digits.target[:2000]
    leak = seepage.measure(LogisticRegression(C=0.01, tol=1e-8, max_iter=2000).fit(X, y), X, y, noise_scale=1.0)
    scorer, batch = leak.information.scorer, leak.information.rows.read(slice(0, 264))  # type: ignore[attr-defined]
    return lambda: scorer.examples(batch)


def _categories() -> Work:
    import seepage

    random = np.random.default_rng(0)
    names = [f"c{i:02d}" for i in range(50)]
    X = pd.DataFrame({"age": random.normal(size=3000), "city": random.choice(names, 3000)})
    y = (X["age"] + random.normal(size=3000) > 0).to_numpy().astype(int)
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["city"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(tol=1e-8)).fit(X, y)

    def work() -> None:
        seepage.measure(model, X, y, noise_scale=1.0).information.distances("city", None)  # type: ignore[attr-defined]

    return work


def _inversion() -> Work:
    import seepage
    from experiments.datasets import iwpc_features, load_iwpc
    from seepage.attacks import AttributeInversion

    iwpc = load_iwpc()
    X, y = iwpc.data, iwpc.target
    model = make_pipeline(iwpc_features(X, dropped="first"), Ridge(alpha=1e-2 * len(y), fit_intercept=False))
    leak = seepage.measure(model.fit(X, y), X, y, noise_scale=1e-3)
    return lambda: AttributeInversion("vkorc1").fit(leak)


def _cox(ties: bool) -> Work:
    import seepage

    cox = seepage.models.Cox if hasattr(seepage, "models") else seepage.Cox
    X, score = _table(50_000, 20)
    end = np.random.default_rng(1).exponential(np.exp(-score))
    event, end = end < np.quantile(end, 0.4), np.minimum(end, np.quantile(end, 0.4))
    y = np.rec.fromarrays([event, np.ceil(100 * end / end.max()) if ties else end], names="event,time")
    return _everything(cox(penalty=1.0).fit(X, y), X, y)


def _spline(head: Any) -> Work:
    X, score = _table(20_000, 10)
    X = X / X.std()
    knots = np.repeat(np.linspace(-6, 6, 5)[:, np.newaxis], 10, axis=1)
    y = score if isinstance(head, Ridge) else score > 0
    model = make_pipeline(SplineTransformer(knots=knots, include_bias=False), head).fit(X, y)
    return _everything(model, X, y, public_preprocessing=["splinetransformer"])


def _scaler(head: Any) -> Work:
    X, score = _table(100_000, 20)
    y = score if isinstance(head, Ridge) else score > 0
    return _everything(make_pipeline(StandardScaler(), head).fit(X, y), X, y)


def _shape(shape: str) -> Work:
    from sklearn.datasets import load_diabetes

    import seepage

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = (X - X.mean()) / X.std(ddof=0)
    model, names = Ridge(alpha=1.0).fit(X, y), list(X)

    def work() -> None:
        leak = seepage.measure(model, X, y, noise_scale=1.0, attributes=names, numbers=names, public_label=False)
        seepage.calibrate(leak, error_floor=dict.fromkeys(names, 1.0), shape=shape, exact=True)  # type: ignore[arg-type]

    return work


def _logistic() -> LogisticRegression:
    return LogisticRegression(tol=1e-8, max_iter=1000)


_WORKS: dict[str, Callable[[], Work]] = {
    "linear, ridge, 30,162 x 86": lambda: _linear(30_162, 86, Ridge()),
    "linear, logistic, 30,162 x 86": lambda: _linear(30_162, 86, _logistic()),
    "linear, ridge, 6,000 x 784": lambda: _linear(6_000, 784, Ridge()),
    "people, three classes, 100,000 x 10": _classes,
    "people, ten digits x 784 pixels": _pixels,
    "refit, 50 categories of 3,000 people": _categories,
    "refit, attribute inversion on IWPC": _inversion,
    "survival, all times differ, 50,000 x 20": lambda: _cox(ties=False),
    "survival, a hundred times, 50,000 x 20": lambda: _cox(ties=True),
    "splines, ridge, 20,000 x 10": lambda: _spline(Ridge()),
    "splines, logistic, 20,000 x 10": lambda: _spline(_logistic()),
    "scaler, ridge, 100,000 x 20": lambda: _scaler(Ridge()),
    "scaler, logistic, 100,000 x 20": lambda: _scaler(_logistic()),
    "shapes, diabetes, best": lambda: _shape("best"),
}


def _timed(names: list[str]) -> dict[str, float]:
    """Return the processor seconds of each work, done once before."""
    seconds = {}
    for name in names:
        work = _WORKS[name]()
        work()
        start, done = time.process_time(), 0
        while time.process_time() - start < _LEAST_SECONDS:
            work()
            done += 1
        seconds[name] = (time.process_time() - start) / done
    return seconds


def _in_a_process(sources: Path, names: list[str]) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(sources), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.against", *names]
    done = subprocess.run(command, env=environment, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the ratio of every work that the command line names; all of them if it names none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks against")
    parser.add_argument("commit")
    parser.add_argument("names", nargs="*", help="how the names of works begin")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_intermixed_args(sys.argv[2:])
    names = [name for name in _WORKS if name.startswith(tuple(options.names) or ("",))]
    archive = ["git", "archive", options.commit, "src"]
    packed = io.BytesIO(subprocess.run(archive, cwd=_ROOT, check=True, capture_output=True).stdout)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=packed) as sources:
        sources.extractall(folder, filter="data")
        for name in names:
            pairs = [
                (_in_a_process(_ROOT / "src", [name])[name], _in_a_process(Path(folder) / "src", [name])[name])
                for _ in range(options.rounds)
            ]
            ratio = statistics.median(here / there for here, there in pairs)
            here, there = (statistics.median(each) for each in zip(*pairs, strict=True))
            goal = 0.8 if name.startswith("scaler") else 1.1
            print(f"{name:42} {ratio:5.2f}, goal {goal}; {here:.2f} s here, {there:.2f} s there", flush=True)


if __name__ == "__main__":
    print(json.dumps(_timed(sys.argv[1:])))
