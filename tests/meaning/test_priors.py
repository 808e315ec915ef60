"""What is left to an attacker who knows how values are spread, against attackers who guess as well as can be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge

import seepage
from seepage.meaning import EmpiricalPrior, GaussianPrior

random = np.random.default_rng(5)
N = 150
SPREADS = {
    "zero-inflated": np.where(random.random(N) < 0.8, 0.0, random.lognormal(3.0, 1.0, N)),
    "two humps": np.where(random.random(N) < 0.5, 0.0, 10.0) + random.normal(0.0, 0.1, N),
    "counts": random.poisson(2.0, N).astype(np.float64),
    "uniform": random.uniform(-3.0, 7.0, N),
    "heavy-tailed": random.standard_t(2.0, N),
    "Gaussian": random.normal(1e5, 3.0, N),
}
X = pd.DataFrame(random.normal(size=(N, 3)), columns=["a", "b", "c"])


def _guess(values: np.ndarray, seen: np.ndarray, eta: float) -> np.ndarray:
    """Return the mean of the posterior over the values, for each thing that was seen."""
    log = -0.5 * (eta * (seen[:, None] - values)) ** 2
    likely = np.exp(log - log.max(axis=1, keepdims=True))
    return (likely @ values) / likely.sum(axis=1)


def _best(values: np.ndarray, eta: float, points: int = 301) -> float:
    """Return the root mean square error of that guess: over the noise by quadrature, over the values one by one."""
    values = values - values.mean()
    noise = np.linspace(-8.0, 8.0, points)
    weights = np.exp(-0.5 * noise**2) / np.exp(-0.5 * noise**2).sum()
    each, counts = np.unique(values, return_counts=True)
    squares = [weights @ (_guess(values, value + noise / eta, eta) - value) ** 2 for value in each]
    return float(np.sqrt(counts @ squares / len(values)))


def _leak(labels: np.ndarray, times: float) -> seepage.Leakage:
    """Measure a release that tells the labels, half of the people's more closely than this many times their spread."""
    model = Ridge(alpha=1.0).fit(X, labels)
    eta = seepage.measure(model, X, labels, noise_scale=1.0).attributes["label"].median()
    return seepage.measure(model, X, labels, noise_scale=float(eta * labels.std() / times))


@pytest.mark.parametrize("times", [0.3, 1.5, 5.0])
@pytest.mark.parametrize("spread", SPREADS)
def test_the_floor_with_the_data_is_the_error_of_the_best_guess_however_values_are_spread(spread, times):
    values = SPREADS[spread]
    leak = _leak(values, times)
    floors, left = leak.error_floor(prior="data")["label"], leak.remaining_variance()["label"]
    eta = leak.attributes["label"].to_numpy()
    simulation = np.random.default_rng(1)
    for person in np.argsort(eta)[[0, N // 2, -1]]:
        best = _best(values, eta[person])
        # Never above what can be reached, and rounded down by little.
        assert floors[person] <= best * (1 + 1e-6)
        assert floors[person] == pytest.approx(best, rel=1e-3, abs=1e-5 * values.std())
        assert left[person] == pytest.approx(best**2 / values.var(), rel=2e-3, abs=1e-9)
        truth = simulation.choice(values, 20_000)
        errors = _guess(values, truth + simulation.normal(size=20_000) / eta[person], eta[person]) - truth
        squares = errors**2
        assert floors[person] ** 2 <= squares.mean() * 1.02 + 4 * squares.std() / np.sqrt(len(squares))


def test_no_guess_from_the_release_itself_beats_the_floor_with_the_data():
    labels, scale = np.where(random.random(60) < 0.7, 0.0, 10.0 + random.normal(size=60)), 0.02
    features = random.normal(size=(60, 3))
    model = LinearRegression().fit(features, labels)
    person = 7

    def release(value):
        changed = labels.copy()
        changed[person] = value
        fit = LinearRegression().fit(features, changed)
        return np.append(fit.coef_, fit.intercept_)

    leak = seepage.measure(model, features, labels, noise_scale=scale)
    scale = float(scale * leak.attributes["label"][person] * labels.std() / 2)
    leak = seepage.measure(model, features, labels, noise_scale=scale)
    # As an attacker would: fitted again with every value that somebody has.
    candidates = np.array([release(value) for value in labels])
    simulation = np.random.default_rng(2)
    truth = simulation.integers(0, 60, 40_000)
    released = candidates[truth] + scale * simulation.normal(size=(40_000, 4))
    log = (released @ candidates.T - 0.5 * (candidates**2).sum(axis=1)) / scale**2
    likely = np.exp(log - log.max(axis=1, keepdims=True))
    error = np.sqrt(np.mean(((likely @ labels) / likely.sum(axis=1) - labels[truth]) ** 2))
    assert leak.error_floor(prior="data")["label"][person] == pytest.approx(error, rel=0.03)
    # What a Gaussian of the same variance would leave is more than that attacker's error.
    assert leak.error_floor(prior={"label": labels.var()})["label"][person] > 1.3 * error


@pytest.mark.parametrize("spread", SPREADS)
def test_between_the_nodes_of_its_table_the_error_is_that_at_each_eta_alone(spread):
    values = SPREADS[spread]
    prior, eta = EmpiricalPrior.of(values), np.exp(random.uniform(np.log(1e-3), np.log(900.0), 400)) / values.std()
    many = prior.floor(eta)
    alone = np.array([float(prior.floor(each)) for each in eta])
    told = alone > 2e-5 * values.std()
    np.testing.assert_allclose(many[told], alone[told], rtol=1e-4)
    assert (many[~told] <= 3e-5 * values.std()).all()
    # Never beyond a Gaussian of the same variance, which is the prior that leaves most.
    assert (many <= GaussianPrior(values.var()).floor(eta)).all()
    for each, floor in list(zip(eta, many, strict=True))[:8]:
        best = _best(values, each, 801)
        assert floor <= best * (1 + 1e-6) + 1e-7 * values.std()


def test_a_kink_between_far_humps_and_what_is_inside_them_is_followed():
    # Of which hump a value is from is told within a few percent of eta; what is inside them much later.
    values = np.repeat([0.0, 1e4], 50) + np.tile(random.normal(size=50), 2)
    eta = np.exp(np.linspace(np.log(1e-4), np.log(0.1), 500))
    floors = EmpiricalPrior.of(values).floor(eta)
    for i in range(0, 500, 40):
        best = _best(values, eta[i], 1001)
        assert floors[i] <= best * (1 + 1e-6)
        assert floors[i] == pytest.approx(best, rel=1e-3, abs=1e-5 * values.std())


def test_values_in_parts_are_spread_like_all_of_them():
    values = np.append(random.lognormal(0.0, 1.5, 60_000), np.repeat([2.0, 3.0], 5000))
    whole = EmpiricalPrior.of(values)
    # Fewer than there are, with the same moments.
    assert len(whole.values) < 30_000
    for power in (1, 2, 3):
        assert whole.counts @ whole.values**power == pytest.approx((values**power).sum(), rel=1e-10)
    parts = [EmpiricalPrior.of(part, float(values.std())) for part in np.array_split(random.permutation(values), 7)]
    together = sum(parts[1:], parts[0])
    eta = np.array([0.01, 0.5, 3.0, 30.0])
    np.testing.assert_allclose(together.floor(eta), whole.floor(eta), rtol=1e-6)
    assert whole.deviation == pytest.approx(values.std(), rel=1e-12)


def test_nothing_everything_and_what_is_missing():
    prior = EmpiricalPrior.of([1.0, 2.0, 2.0, 7.0])
    assert float(prior.floor(0.0)) == prior.deviation
    assert float(prior.left(0.0)) == 1.0
    assert float(prior.floor(np.inf)) == 0.0
    assert np.isnan(prior.floor([np.nan, 1.0])).tolist() == [True, False]
    same = EmpiricalPrior.of([3.0, 3.0])
    assert (float(same.floor(2.0)), float(same.left(2.0))) == (0.0, 1.0)
    assert GaussianPrior(np.inf).left(0.0) == 1.0
    assert GaussianPrior(np.inf).floor(0.0) == np.inf


def test_a_release_that_tells_rare_large_values_is_not_said_to_say_nothing():
    gain = np.zeros(2000)
    gain[:4] = 1000.0
    features = pd.DataFrame({"gain": gain, "age": random.normal(50.0, 10.0, 2000)})
    labels = 0.01 * gain + features["age"] + random.normal(size=2000)
    model = Ridge().fit(features, labels)
    leak = seepage.measure(model, features, labels, noise_scale=1.0, attributes=["gain"], public_label=True)
    deviation = gain.std()
    # The most exposed person's floor is eleven times what a baseline guess is off by.
    scale = float(11 * deviation * leak.attributes["gain"].max())
    leak = seepage.measure(model, features, labels, noise_scale=scale, attributes=["gain"], public_label=True)
    eta = leak.attributes["gain"].to_numpy()
    left = _best(gain, eta.max()) ** 2 / gain.var()
    assert left < 0.98 < 0.99 < 1 / (1 + gain.var() * eta.max() ** 2)
    (line,) = [line for line in leak.summary().splitlines() if line.startswith("gain ")]
    assert not line.endswith("says nothing")
    (row,) = seepage.Report.of(leak, "internal").document.sections[2].tables[0].rows
    assert row[-1].value == pytest.approx(left, abs=0.011)
    assert leak.remaining_variance()["gain"].min() == pytest.approx(left, rel=1e-3)
