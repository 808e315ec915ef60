"""What a shape of the noise saves: the excess loss of isotropic noise over that of the shape, at the same worst floor.

    python -m benchmarks shapes [--state FILE] [NAME ...]

Each row is a data set with standardized columns and one floor for every number in it, in standard deviations. Both
sides have the smallest scale that keeps everybody at the floor, with what the shape itself tells counted; "own" is the
part of what may be told that the shape alone tells, where it is most. The gap is how many times the excess loss of the
best of all shapes (by the dual of the convex program, what shapes tell aside) the noise costs at most. "best" is the
cheapest of some thirty rules, for experiments; "fixed" is the one rule that noise which leaves has. What
was measured is kept in --state FILE (shapes.json by default).
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from experiments.datasets import load_iwpc
from seepage.release import Balanced
from seepage.release._shaping import FIXED

FLOORS = (0.5, 1.0, 2.0)
# Must show, at the three floors.
GOALS = {
    "diabetes": {"best": (400, 300, 90)},
    "breast cancer": {"best": (24, 24, 24)},
    "iwpc": {"best": (1.8, 1.8, 1.8)},
}

Problem = tuple[Any, pd.DataFrame, Any, list[str]]


def standardized(frame: pd.DataFrame) -> pd.DataFrame:
    """Return columns of mean zero and deviation one, without those of one value."""
    frame = frame.loc[:, frame.std(ddof=0) > 0].astype(float)
    return (frame - frame.mean()) / frame.std(ddof=0)


def diabetes() -> Problem:
    """Return 442 people, 10 columns, squared loss."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = standardized(X)
    return Ridge(alpha=1.0).fit(X, y), X, y, list(X)


def breast_cancer() -> Problem:
    """Return 569 people, 30 columns, logistic loss."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = standardized(X)
    return LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y), X, y, list(X)


def iwpc() -> Problem:
    """Return 4,819 people, the columns that are numbers, squared loss."""
    data = load_iwpc(subset="all")
    X = standardized(pd.DataFrame(data.data)[["age", "height", "weight", "amiodarone", "decr"]])
    y = pd.Series(np.asarray(data.target), name="dose")
    return Ridge(alpha=1.0).fit(X, y), X, y, list(X)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "diabetes": diabetes,
    "breast cancer": breast_cancer,
    "iwpc": iwpc,
}


def measured(problem: Problem) -> Any:
    """Return what is known of a release with isotropic noise of scale one."""
    model, X, y, names = problem
    return seepage.measure(
        model, X, y, noise_scale=1.0, attributes=names, numbers=names, public_label=False
    ).information


def wanted(floors: dict[str, float]) -> dict[str, Any]:
    """Return the shapes to compare: "fixed" is what "best" takes for noise that may leave."""
    share, balance = FIXED
    rule = Balanced(scale=1.0, floors=floors, share=share, balance=balance)
    return {"isotropic": "isotropic", "fixed": rule, "best": "best"}


def at(information: Any, floors: dict[str, float], shape: Any) -> dict[str, Any]:
    """Return what noise of a shape costs at some floors."""
    start = time.perf_counter()
    leak = seepage.Leakage(information)
    try:
        noise = seepage.calibrate(leak, error_floor=floors, shape=shape, exact=True)
    except seepage.errors.PolicyError:
        return {"cost": np.inf, "gap": None, "shape": "none is enough", "seconds": time.perf_counter() - start}
    assert isinstance(noise, seepage.release.GaussianNoise)
    again = information.with_noise(noise)
    reached = seepage.Leakage(again).error_floor()[list(floors)].min(axis=None) / min(floors.values())
    assert reached > 1 - 1e-8, reached
    rule = "isotropic" if noise.shape is None else noise.shape.called
    if noise.shape is not None and hasattr(noise.shape, "share"):
        rule += f" (share {noise.shape.share:g}, balance {noise.shape.balance:g})"
    stays = 0.0
    if noise.shape is not None:
        # The part of what may be told that the shape itself tells, of the person and number where that is most.
        stays = max(
            float((again.column_at("attributes", name, np.inf) * floor).max() ** 2) for name, floor in floors.items()
        )
    return {
        "cost": again.excess_loss(),
        "gap": noise.gap,
        "shape": rule,
        "own": stays,
        "seconds": time.perf_counter() - start,
    }


def run(name: str, state: dict[str, Any], keep: Callable[[], None]) -> None:
    """Measure a data set, unless it is known, and print its rows."""
    problem: Problem | None = None
    for floor in FLOORS:
        key = f"{name} {floor}"
        if key in state:
            continue
        problem = problem or PROBLEMS[name]()
        _, X, _, names = problem
        information, floors = measured(problem), dict.fromkeys(names, floor)
        rows = {shape: at(information, floors, rule) for shape, rule in wanted(floors).items()}
        state[key] = {"people": len(X), "parameters": X.shape[1] + 1, "rows": rows}
        keep()
    for floor in FLOORS:
        rows = state[f"{name} {floor}"]["rows"]
        for shape, row in rows.items():
            goal = GOALS.get(name, {}).get(shape)
            asked = "" if goal is None else f"{goal[FLOORS.index(floor)]:6g}"
            gap = "" if row["gap"] is None else f"{row['gap']:8.3g}"
            print(
                f"{name:22}{floor:5g}  {shape:10}{rows['isotropic']['cost'] / row['cost']:9.3g}{asked:>7}{gap:>9}"
                f"{row.get('own', 0.0):9.2g}{row['seconds']:9.1f}  {row['shape']}"
            )


def main() -> None:
    """Print how many times cheaper each shape is than isotropic noise."""
    arguments = sys.argv[2:]
    file = Path(arguments.pop(arguments.index("--state") + 1) if "--state" in arguments else "shapes.json")
    names = [each for each in arguments if each != "--state"] or list(PROBLEMS)
    state = json.loads(file.read_text()) if file.exists() else {}
    print(f"{'data':22}{'floor':>5}  {'shape':10}{'times':>9}{'goal':>7}{'gap':>9}{'own':>9}{'seconds':>9}  rule")
    for name in names:
        run(name, state, lambda: file.write_text(json.dumps(state)) and None)
