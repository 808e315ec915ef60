"""Cost of scoring linear models, as ratios to the bare matrix products that it cannot do without."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from seepage.linear.information import LinearInformation


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _ratio(work: Callable[[], object], baseline: Callable[[], object], rounds: int = 9) -> tuple[float, float]:
    """Return the median over interleaved rounds of work / baseline, and of the baseline's seconds."""
    work()
    baseline()
    pairs = [(_seconds(work), _seconds(baseline)) for _ in range(rounds)]
    return float(np.median([w / b for w, b in pairs])), float(np.median([b for _, b in pairs]))


def _problem(n: int, p: int) -> tuple[np.ndarray, np.ndarray, seepage.Leakage]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, p)) * random.exponential(size=p)
    y = X @ random.normal(size=p) / np.sqrt(p) + random.normal(size=n)
    model = Ridge(alpha=1.0, fit_intercept=False).fit(X, y)
    return X, y, seepage.measure(model, X, y, noise_scale=1.0)


def _reference(leak: seepage.Leakage, X: np.ndarray, y: np.ndarray, row: int) -> float:
    """Return eta of one example the reference way: its whole Jacobian and a singular value decomposition."""
    geometry = leak.information.geometry
    theta = geometry.parameters[:, 0]
    inner = (X[row] @ theta - y[row]) * np.eye(len(theta)) + np.outer(X[row], theta)
    return float(np.linalg.svd(geometry.response @ np.column_stack([inner, -X[row]]), compute_uv=False)[0])


def _scoring() -> None:
    for n, p, goal in ((12_665, 784, 2.0), (30_162, 86, 4.0)):
        X, y, leak = _problem(n, p)
        information, square = leak.information, np.random.default_rng(1).normal(size=(p, p))
        first = information.rows.read(slice(0, 1))
        setup = _seconds(lambda information=information, first=first: information.scorer.examples(first))

        def score(information: LinearInformation = information) -> None:
            # A copy that has scored nothing yet, with the set-up that it shares.
            fresh = replace(information)
            fresh.__dict__["scorer"] = information.scorer
            fresh.examples()

        ratio, baseline = _ratio(score, lambda X=X, square=square: X @ square)
        print(f"eta and dfil, n = {n:,}, p = {p}: {ratio:.2f} x (X @ Q), goal {goal}; set up once {setup:.2f} s")
        few = range(0, n, n // 5)
        eta = information.examples()["eta"]
        slow = [_seconds(partial(_reference, leak, X, y, row)) for row in few]
        worst = max(abs(_reference(leak, X, y, row) / eta[row] - 1) for row in few)
        faster = float(np.median(slow)) / (ratio * baseline / n)
        print(f"  Jacobian and SVD per example: {faster:,.0f} times slower; largest relative difference {worst:.0e}")
        ratio, _ = _ratio(lambda leak=leak: leak.joint_information_loss(), lambda X=X: X.T @ X)
        model = LogisticRegression(tol=1e-6, max_iter=1000, fit_intercept=False).fit(X, y > 0)
        logistic = seepage.measure(model, X, y > 0, noise_scale=1.0)
        uneven, _ = _ratio(lambda logistic=logistic: logistic.joint_information_loss(), lambda X=X: X.T @ X)
        print(f"  joint eta of everyone: {ratio:.2f} x (X^T X), logistic {uneven:.2f} x, goal 1.5")


def _memory() -> None:
    """Print the peak memory beyond the input, in a process of its own."""
    script = """
import resource, numpy as np, seepage
from sklearn.linear_model import Ridge
random = np.random.default_rng(0)
X = random.normal(size=(1_000_000, 64)); y = X[:, 0] + random.normal(size=1_000_000)
small = slice(0, 2000)
leak = seepage.measure(Ridge().fit(X[small], y[small]), X[small], y[small], noise_scale=1.0)
leak.examples; leak.joint_information_loss()
H = X.T @ X + np.eye(64); theta = np.linalg.solve(H, X.T @ y)
model = Ridge(fit_intercept=False).fit(X[small], y[small]); model.coef_ = theta
del H
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
leak = seepage.measure(model, X, y, noise_scale=1.0); leak.examples; leak.joint_information_loss()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
leak.attributes
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    print(f"n = 1,000,000, p = 64: {found[0]} MB beyond the input for eta, dfil and joint, goal 500")
    print(f"  {found[1]} MB with the attributes, of which 520 MB are their 65 columns")


def main() -> None:
    """Print all figures."""
    _scoring()
    _memory()
    print(f"peak of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
