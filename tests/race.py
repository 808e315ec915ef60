"""Somebody who publishes again and again, and may be killed at any moment."""

import sys
import time

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

import seepage

PEOPLE = [f"patient {i}" for i in range(12)]
YEARS = {"age": "years"}


def leak() -> seepage.Leakage:
    """Return the release that everybody tries to post."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(20, 90, 12)})
    y = X["age"] * 0.1 + random.normal(size=12)
    return seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0, ids=PEOPLE)


def opened(place: str, key: bytes) -> seepage.ledger.Ledger:
    """Open a ledger, whose server may be about to start again."""
    until = time.monotonic() + 60
    while True:
        try:
            return seepage.ledger.Ledger(place, key=key)
        except seepage.errors.StorageError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def publish(place: str, key: bytes, tries: int) -> None:
    """Pay for a release, and say that it has left, so many times or until it is refused."""
    ledger, found = opened(place, key), leak()
    for _ in range(tries):
        try:
            debit = ledger.post(found, title="raced", units=YEARS)
        except seepage.errors.PolicyError:
            return
        ledger.released(debit, "{}")


if __name__ == "__main__":
    publish(sys.argv[1], bytes.fromhex(sys.argv[2]), int(sys.argv[3]))
