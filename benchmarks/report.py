"""Time and size of an internal report about a million people, beyond measuring them; `page` is about the other."""

import time

import numpy as np
from sklearn.linear_model import Ridge

import seepage

GOAL_SECONDS, GOAL_BYTES = 5.0, 1e6


def main() -> None:
    """Print both."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1_000_000, 20))
    y = X @ random.normal(size=20) + random.standard_t(3, size=len(X))
    groups = {
        "region": random.choice(["north", "south", "east", "west"], len(X)),
        "age group": random.integers(0, 10, len(X)),
    }
    leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1e-3)
    leak.information.examples(), leak.information.attributes(), leak.information.variances()
    policy = seepage.Policy(error_floor={"x0": 0.1}, eta=1.0)
    start = time.perf_counter()
    page = seepage.Report.of(leak, "internal", groups=groups, policy=policy).html()
    seconds = time.perf_counter() - start
    print(
        f"{seconds:.2f} s (goal {GOAL_SECONDS:g}), {len(page.encode()) / 1e3:.0f} kB (goal {GOAL_BYTES / 1e3:g}) for "
        f"{len(X):,} people, {X.shape[1] + 1} attributes, 14 groups"
    )


if __name__ == "__main__":
    main()
