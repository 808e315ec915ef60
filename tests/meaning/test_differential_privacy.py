"""The differential privacy beside the Fisher information."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from seepage import meaning


def test_the_renyi_epsilon_is_the_divergence_of_two_gaussians():
    for ratio in (0.3, 1.0, 1.58):
        # Order 2: log of the mean square of the likelihood ratio.
        divergence, _ = quad(lambda t, r=ratio: norm.pdf(t - r) ** 2 / norm.pdf(t), -15, 20, limit=400)
        found = meaning.output_perturbation(sensitivity=ratio, noise_scale=1.0, delta=1e-5)
        assert found.renyi == pytest.approx(np.log(divergence), rel=1e-6)


def test_epsilon_and_delta_are_those_of_the_privacy_profile():
    for ratio in (0.2, 1.0, 3.0):
        for delta in (1e-3, 1e-6):
            epsilon = meaning.gaussian_epsilon(ratio, delta)
            profile, _ = quad(
                lambda t, r=ratio, e=epsilon: max(norm.pdf(t - r) - np.exp(e) * norm.pdf(t), 0), -10, 20, limit=500
            )
            assert profile == pytest.approx(delta, rel=1e-4, abs=1e-9)
    assert meaning.gaussian_epsilon(1e-9, 1e-5) == 0


def test_replacing_a_record_never_moves_the_parameters_further_than_the_sensitivity():
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 3))
    X /= np.linalg.norm(X, axis=1).max()
    y = random.integers(0, 2, 50)
    model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10)
    leak = seepage.measure(model.fit(X, y), X, y, noise_scale=0.1, public_label=True)
    found = leak.information.guarantee(1e-5, None)
    sensitivity = 0.1 * np.sqrt(found.renyi)
    assert sensitivity == pytest.approx(2 * 1.0 * 0.5)
    base = model.coef_.copy()
    for _ in range(40):
        other, labels = X.copy(), y.copy()
        other[0] = random.normal(size=3)
        other[0] /= np.linalg.norm(other[0])
        labels[0] = random.integers(0, 2)
        assert np.linalg.norm(model.fit(other, labels).coef_ - base) <= sensitivity


def test_where_differential_privacy_promises_nothing_the_reason_is_given():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 2)), random.normal(size=30)
    squared = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0)
    with pytest.raises(seepage.errors.UnansweredError, match="Squared loss"):
        squared.information.guarantee(1e-5, None)
    with_intercept = seepage.measure(LogisticRegression().fit(X, y > 0), X, y > 0, noise_scale=1.0)
    with pytest.raises(seepage.errors.UnansweredError, match="intercept"):
        with_intercept.information.guarantee(1e-5, None)
    assert "no guarantee" in set(squared.privacy_measures()["meaning"])
    model = LogisticRegression(fit_intercept=False).fit(X, y > 0)
    leak = seepage.measure(model, X, y > 0, noise_scale=1.0)
    with pytest.raises(seepage.errors.InputError, match="has norm"):
        leak.privacy_measures(input_norm=0.1)


@pytest.mark.parametrize("delta", [0, 1, 2, -1e-5, np.nan])
def test_a_delta_that_is_no_probability_is_refused(delta):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 2)), random.normal(size=30)
    bounded = seepage.measure(LogisticRegression(fit_intercept=False).fit(X, y > 0), X, y > 0, noise_scale=1.0)
    for leak in (bounded, seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0), seepage.compose([bounded])):
        with pytest.raises(seepage.errors.InputError, match="above 0 and below 1"):
            leak.privacy_measures(delta=delta)
    with pytest.raises(seepage.errors.InputError, match="above 0 and below 1"):
        meaning.gaussian_epsilon(0.0, delta)


def _drawn(random, classes, weighted):
    """Return a few rows in the unit ball, most of them in one class, with another data set that differs in one."""
    rows = int(random.integers(classes + 1, 9))
    X = random.normal(size=(rows, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.zeros(rows, dtype=int)
    y[1:classes] = np.arange(1, classes)
    y[classes:] = random.choice(classes, rows - classes, p=[0.8, *[0.2 / (classes - 1)] * (classes - 1)])
    other, labels = X.copy(), y.copy()
    person = int(random.integers(rows))
    other[person] = random.choice([-1.0, 1.0]) * X[person] if random.random() < 0.5 else random.permutation(X[person])
    if (y == y[person]).sum() > 1:
        labels[person] = random.integers(classes)
    return X, y, other, labels, random.uniform(0.01, 3, rows) if weighted else None


# Every two of the three choices meet.
@pytest.mark.parametrize(
    ("kind", "classes", "weighted"),
    [
        ("balanced", 2, False),
        ("balanced", 3, True),
        ("listed", 2, True),
        ("listed", 3, False),
        (None, 2, True),
        (None, 3, False),
    ],
)
def test_no_two_neighbors_are_further_apart_than_the_sensitivity(kind, classes, weighted):
    random = np.random.default_rng(classes)
    setting = {k: 1.0 + 9 * (k == 1) for k in range(classes)} if kind == "listed" else kind
    # A strong penalty keeps margins small, where slopes are near their bound.
    model = LogisticRegression(C=0.01, class_weight=setting, fit_intercept=False, tol=1e-12, solver="newton-cholesky")
    closest = 0.0
    for _ in range(150):
        X, y, other, labels, weights = _drawn(random, classes, weighted)
        leak = seepage.measure(model.fit(X, y, weights), X, y, noise_scale=1.0, sample_weight=weights)
        one = model.coef_.copy()
        sensitivity = np.sqrt(leak.information.guarantee(1e-5, 1.0).renyi)
        moved = np.linalg.norm(model.fit(other, labels, weights).coef_ - one)
        assert moved <= sensitivity
        closest = max(closest, moved / sensitivity)
    # Near its bound, so that a sensitivity of half the size would have been noticed.
    assert closest > (0.2 if weighted else 0.4)
