"""What the file of a forest gives away, of Adult: seconds and memory, for 1,000 people x 100 trees and 30,000 x 500."""

import resource
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OrdinalEncoder

import seepage
from experiments.datasets import load_adult

_SIZES = ((1_000, 100), (30_000, 500))


def main() -> None:
    """Print the seconds of each question."""
    adult = load_adult()
    people, y = adult.data, adult.target
    text = people.select_dtypes(exclude="number").columns
    people[text] = OrdinalEncoder().fit_transform(people[text])
    order = np.random.default_rng(0).permutation(len(people))
    for count, trees in _SIZES:
        X, outcome = people.iloc[order[:count]].reset_index(drop=True), y[order[:count]]
        forest = RandomForestClassifier(trees, min_samples_leaf=10, random_state=0).fit(X, outcome)
        began, busy = time.perf_counter(), time.process_time()
        leak = seepage.measure(forest, X, outcome)
        for name, arguments in (
            ("determined", ()),
            ("values_left", ("age",)),
            ("recovered", ()),
            ("thresholds", ()),
            ("summary", ()),
        ):
            found = getattr(leak, name)(*arguments)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"{count:,} people x {trees} trees, {name}: {time.perf_counter() - began:.1f} s in all, of processor "
                f"{time.process_time() - busy:.1f} s, {memory:.1f} GB",
                flush=True,
            )
        print(found)
