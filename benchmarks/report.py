"""Time and size of a report about a million people, beyond measuring them."""

import time

import numpy as np
from sklearn.linear_model import Ridge

import seepage

GOAL_SECONDS, GOAL_BYTES = 5.0, 1e6


def main() -> None:
    """Print both for each edition."""
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
    for edition in ("internal", "publishable"):
        start = time.perf_counter()
        page = seepage.Report.of(leak, edition, groups=groups, policy=policy).html()
        seconds = time.perf_counter() - start
        print(
            f"{edition}: {seconds:.2f} s (goal {GOAL_SECONDS:g}), {len(page.encode()) / 1e3:.0f} kB "
            f"(goal {GOAL_BYTES / 1e3:g}) for {len(X):,} people, {X.shape[1] + 1} attributes, 14 groups"
        )


if __name__ == "__main__":
    main()
