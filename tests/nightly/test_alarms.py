"""Verifying seldom alarms where all is right, over as many seeds as it takes to see that."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage
from seepage.attacks import AttributeInversion, _verify


def test_a_right_measurement_alarms_for_one_seed_in_a_hundred_whatever_the_noise() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X, y = X[:20], y[:20]
    # From guesses that are linear in the noise to guesses that sit at the ends of what is plausible.
    for noise in (0.001, 0.05, 1.0, 20.0):
        leak = seepage.measure(Ridge(alpha=10.0).fit(X, y), X, y, noise_scale=noise, public_label=True)
        attack = AttributeInversion("bmi").fit(leak)
        alarms = sum(not _verify._numbers(attack, 100, seed).holds for seed in range(300))
        assert alarms <= 0.01 * 300 + 3 * np.sqrt(0.01 * 300), noise
