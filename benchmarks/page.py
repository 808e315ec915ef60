"""What a publishable page costs: counting what its numbers tell about everybody, and attacking it beforehand."""

import time

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import seepage
from seepage.datasets import adult_features, complete_adult, load_adult
from seepage.leakage import Leakage
from seepage.report.count import attacked, contents_of, counted

GOAL_SECONDS = 60.0
NOISE = 0.05


def adult() -> tuple[seepage.Leakage, pd.DataFrame]:
    """Return the logistic model of Adult, measured, and its rows."""
    found = load_adult()
    X, y = complete_adult(found.data, found.target)
    penalty = LogisticRegression(C=1 / (1e-3 * len(y)), tol=1e-6, max_iter=1000)
    model = make_pipeline(adult_features(X, dropped="first"), penalty).fit(X, y)
    return seepage.measure(model, X, y, noise_scale=NOISE), X


def main() -> None:
    """Print seconds, of the clock and of all cores together."""
    leak, X = adult()
    information = leak.information
    floors = {"age": 40.0, "capital-gain": 5000.0, "education-num": 5.0, "hours-per-week": 40.0}
    policy = seepage.Policy(error_floor=floors)
    known = information.attributes()
    print(", ".join(f"{name} at least ± {1 / known[name].max():.3g}" for name in floors))
    start, work = time.perf_counter(), time.process_time()
    contents = contents_of(information, policy=policy, groups=X[["sex", "race"]], smallest_group=10)
    assert contents is not None
    page = counted(information, contents)
    print(
        f"Counting {3 * len(contents.attributes) + 2 * len(contents.groups)} numbers about {len(X):,} people: "
        f"{time.perf_counter() - start:.1f} s, {time.process_time() - work:.1f} s of cores"
    )
    both = seepage.compose([leak, Leakage(page)])
    start, work = time.perf_counter(), time.process_time()
    trials = attacked(leak, contents, page, policy, composed=both, seed=0)
    assert trials is not None
    print(
        f"Attacking {trials.people} people with {trials.values} other values: {time.perf_counter() - start:.1f} s "
        f"(goal {GOAL_SECONDS:g}), {time.process_time() - work:.1f} s of cores; the best attack reached "
        f"{trials.reached:.3f} of what is promised"
    )
