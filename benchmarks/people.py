"""Scoring people of models with several outputs: against a decomposition for each of them, and against one output."""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

import seepage
from experiments.datasets import load_mnist
from seepage.linear.information._scorer import Plain
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch, one_threaded_blas

# What these took at commit dd007db, on a machine of two cores.
_BEFORE = {"a person of 10 classes x 784 pixels": 0.39, "3 classes": 39.0, "2 classes": 4.0}
# Numbers in the largest temporary of the decompositions, as it was.
_MOST_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class _Decomposed:
    """The largest eigenvalue of each person's information from the whole matrix, as it was computed at dd007db."""

    scorer: Plain

    def __post_init__(self) -> None:
        metric, geometry = self.scorer._metric, self.scorer.geometry
        outputs, p = metric.shape[:2]
        across = np.asarray(metric.transpose(1, 0, 2, 3).reshape(-1, p) @ geometry.reading)
        k = across.shape[1]
        within = np.asarray(geometry.reading.T @ across.reshape(p, -1)).reshape(k, outputs, outputs, k)
        object.__setattr__(self, "across", across.reshape(p, -1))
        object.__setattr__(self, "within", within.transpose(1, 2, 0, 3).reshape(outputs**2, -1))

    def tops(self, batch: Batch) -> np.ndarray:
        geometry, metric = self.scorer.geometry, self.scorer._metric
        outputs, k, size = geometry.outputs, geometry.reading.shape[1], geometry.values
        slope, curvature, label = derivatives(batch, geometry.loss, batch.project(geometry.parameters))
        sensitivity = np.einsum("ncd,jd->njc", curvature, geometry.tau)
        step = max(_MOST_NUMBERS // max(size**2, outputs**2 * k), 1)
        found = []
        for start in range(0, len(batch), step):
            rows = slice(start, start + step)
            part, rho, s, b = batch.take(rows), slope[rows], sensitivity[rows], label[rows]
            dense = part.augmented()
            across = part.project(self.across).reshape(len(part), outputs, outputs, k)
            e = np.einsum("nd,ncdk->nck", rho, across)
            q = np.empty((len(part), outputs, outputs))
            for c in range(outputs):
                for d in range(outputs):
                    half = part.project(np.ascontiguousarray(metric[c, :, d, :]))
                    q[:, c, d] = np.einsum("ij,ij->i", dense, half)
            inner = ((rho[:, :, None] * rho[:, None, :]).reshape(len(part), -1) @ self.within).reshape(-1, k, k)
            mixed = np.einsum("ndj,nld->njl", e, s)
            whole = np.empty((len(part), size, size))
            whole[:, :k, :k] = inner + mixed + mixed.transpose(0, 2, 1) + s @ q @ s.transpose(0, 2, 1)
            border = e.transpose(0, 2, 1) @ b + s @ q @ b
            whole[:, :k, k:], whole[:, k:, :k] = border, border.transpose(0, 2, 1)
            whole[:, k:, k:] = b.transpose(0, 2, 1) @ q @ b
            found.append(np.linalg.eigvalsh(whole)[:, -1])
        return np.concatenate(found)


def _seconds(run: Callable[[], object]) -> float:
    """Return the processor's seconds: what else the machine does is not counted."""
    start = time.process_time()
    run()
    return time.process_time() - start


def _pixels(people: int, sample: int) -> None:
    """Print what a person of a model with many pixels and classes takes."""
    digits = load_mnist()
    X, y = digits.data[:people], digits.target[:people]
    model = LogisticRegression(C=0.01, tol=1e-8, max_iter=2000).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=1.0)
    scorer, batch = leak.information.scorer, leak.information.rows.read(slice(0, 264))
    few = batch.take(slice(0, sample))
    decomposed = _Decomposed(scorer)
    scorer.examples(few)
    decomposed.tops(batch.take(slice(0, 1)))
    # Passes give each thread whole batches and a BLAS of its own that does not split them.
    with one_threaded_blas():
        rounds = [
            (
                _seconds(lambda: scorer.examples(batch)) / len(batch),
                _seconds(lambda: decomposed.tops(few)) / len(few),
            )
            for _ in range(3)
        ]
    now, then = np.median(rounds, axis=0)
    ratio = float(np.median([before / after for after, before in rounds]))
    worst = np.abs(np.sqrt(scorer.examples(few)[0] / decomposed.tops(few)) - 1).max()
    print(
        f"10 classes x 784 pixels: {1e3 * now:.1f} ms a person, a decomposition each {1e3 * then:.0f} ms "
        f"({_BEFORE['a person of 10 classes x 784 pixels']} s at dd007db): {ratio:.0f} times faster, goal 50; "
        f"eta differs by at most {worst:.0e}"
    )


def _classes(rows: int) -> None:
    """Print what three classes take beside two."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 10))
    score = X @ np.arange(10) + random.normal(size=rows)
    labels = {2: (score > 0).astype(int), 3: np.digitize(score, [-10, 10])}
    models = {classes: LogisticRegression().fit(X, y) for classes, y in labels.items()}
    measured = {}

    def run(classes: int) -> None:
        leak = seepage.measure(models[classes], X, labels[classes], noise_scale=1.0)
        leak.information.examples()
        leak.information.attributes()
        leak.joint_information_loss()
        measured[classes] = leak

    # Whatever is compiled, is compiled now.
    for classes in (2, 3):
        run(classes)
    rounds = [(_seconds(lambda: run(3)), _seconds(lambda: run(2))) for _ in range(3)]
    three, two = np.median(rounds, axis=0)
    ratio = float(np.median([more / less for more, less in rounds]))
    information = measured[3].information
    few = information.rows.read(slice(0, 2000))
    now = _seconds(lambda: information.scorer.examples(few)) / len(few)
    then = _seconds(lambda: _Decomposed(information.scorer).tops(few)) / len(few)
    print(
        f"3 classes, {rows:,} x 10: {three:.1f} s for eta, attributes and joint, {ratio:.1f} x two classes "
        f"({two:.1f} s), goal 3 ({_BEFORE['3 classes']:.0f} s and {_BEFORE['2 classes']:.0f} s at dd007db); "
        f"eta of a person {then / now:.0f} times faster than a decomposition each"
    )


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks people")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=2_000)
    parser.add_argument("--sample", type=int, default=12)
    options = parser.parse_args(sys.argv[2:])
    _classes(options.rows)
    _pixels(options.people, options.sample)
