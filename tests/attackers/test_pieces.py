"""Every piece of what is said about attackers who use averages, against people refitted and left out plainly."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.attackers import Crowd, Formed, Held

LOGISTIC = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)


def table(Z, y, weights, logistic=False, whole=True):
    """Coefficients, standard errors, dispersion or number of cases, of rows with weights, by Newton's method."""
    theta = np.zeros(Z.shape[1])
    for _ in range(60):
        mean = 1 / (1 + np.exp(-Z @ theta)) if logistic else Z @ theta
        curve = weights * (mean * (1 - mean) if logistic else 1.0)
        hessian = (Z * np.broadcast_to(curve, len(y))[:, None]).T @ Z
        step = np.linalg.solve(hessian, Z.T @ (weights * (mean - y)))
        theta = theta - step
        if np.abs(step).max() < 1e-13 * max(np.abs(theta).max(), 1):
            break
    if not whole:
        return theta
    phi = 1.0 if logistic else (weights * (y - Z @ theta) ** 2).sum() / (len(y) - Z.shape[1])
    errors = np.sqrt(phi * np.diag(np.linalg.inv(hessian)))
    return np.concatenate([theta, errors, [(weights * y).sum() if logistic else phi]])


def rise(function, at, step):
    return (function(at + step) - function(at - step)) / (2 * step)


class Plain:
    """How numbers move with people and their values, by fitting again; and eqs. 19.1 to 19.4 as they are written."""

    def __init__(self, X, y, logistic=False, whole=True):
        self.Z, self.y = np.column_stack([X, np.ones(len(X))]).astype(float), np.asarray(y, dtype=float)
        self.kind = {"logistic": logistic, "whole": whole}
        self.moves = np.array([self._move(i) for i in range(len(y))])

    def _move(self, i):
        def at(weight):
            weights = np.ones(len(self.y))
            weights[i] = weight
            return table(self.Z, self.y, weights, **self.kind)

        return rise(at, 1.0, 1e-4)

    def slope(self, i, column, value=None):
        def at(value):
            Z, y = self.Z.copy(), self.y.copy()
            if column is None:
                y[i] = value
            else:
                Z[i, column] = value
            return table(Z, y, np.ones(len(y)), **self.kind)

        start = (self.y[i] if column is None else self.Z[i, column]) if value is None else value
        return rise(at, start, 1e-4)

    def information(self, i, slope, known=0, left_out=True, skewed=True, taken_off=True):
        n = len(self.y)
        rows = np.delete(self.moves, i, 0) if left_out else self.moves
        rows = rows - rows.mean(axis=0)
        scale = rows.std(axis=0)
        values, vectors = np.linalg.eigh(rows.T @ rows / np.outer(scale, scale) / (len(rows) - 1))
        half = vectors / np.sqrt(values) / scale[:, None]
        s, j, m = rows @ half, half.T @ slope, n - 1 - known
        kappa = np.einsum("na,nb,nc->abc", s, s, s) / len(s)
        bent = 1 + j @ np.einsum("acd,bcd->ab", kappa, kappa) @ j / (j @ j) / (2 * m)
        return j @ j * (bent if skewed else 1.0) / (m - (rows.shape[1] + 1 if taken_off else 0))


@cache
def squares(seed=0, skew=False, n=120):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    X["b"] += 0.8 * X["a"]
    rest = 2 * (rng.exponential(size=n) - 1) if skew else rng.normal(size=n)
    return X, pd.Series(X["a"] - 0.5 * X["b"] + rest, name="y")


def measured(X, y, model=None, **asked):
    return seepage.measure((model or LinearRegression()).fit(X, y), X, y, **asked)


@cache
def both(whole=True, skew=False):
    X, y = squares(skew=skew)
    leak = measured(X, y, published=None if whole else ["coefficients"])
    return leak, Plain(X, y, whole=whole)


COLUMNS = [("a", 0), ("b", 1), ("y", None)]


def fairly_large(leak):
    """Somebody whose own part of the noise is large, and not so large that the fit is another without them."""
    own = leak.information.crowd.unknown(leak.information.crowd.count - 1).own(leak.information.held)
    return int(np.argmax(np.where(own < 0.2, own, 0)))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("name", "column"), COLUMNS)
@pytest.mark.parametrize("known", [0, 60])
def test_information_is_what_plain_refits_say(whole, name, column, known):
    leak, plain = both(whole)
    etas = leak.against(known).information._answers.each[:, [n for n, _ in COLUMNS].index(name)]
    for i in (0, 1, fairly_large(leak)):
        expected = plain.information(i, plain.slope(i, column), known)
        assert etas[i] == pytest.approx(expected, rel=0.03)


def test_a_person_is_left_out_of_the_noise():
    leak, plain = both()
    own = leak.information.crowd.unknown(119).own(leak.information.held)
    grown = []
    for i in np.flatnonzero((own > 0.1) & (own < 0.2)):
        slope = plain.slope(i, None)
        without, within = plain.information(i, slope), plain.information(i, slope, left_out=False)
        grown.append(without / within)
        assert leak.information._answers.each[i, 2] == pytest.approx(without, rel=0.03)
    assert max(grown) > 1.08


def test_few_unknown_people_are_known_better_than_their_mean():
    leak, plain = both()
    known = 119 - 35
    slope = plain.slope(0, None)
    plainly = plain.information(0, slope, known, taken_off=False)
    expected = plain.information(0, slope, known)
    assert expected > 1.25 * plainly
    found = leak.against(known).information._answers.each[0, 2]
    assert found == pytest.approx(expected, rel=0.02)


def test_skewness_counts():
    leak, plain = both(skew=True)
    found = leak.against(60).information._answers.each
    grown = []
    for i in range(0, 40, 4):
        slope = plain.slope(i, None)
        expected, normal = plain.information(i, slope, 60), plain.information(i, slope, 60, skewed=False)
        grown.append(expected / normal)
        assert found[i, 2] == pytest.approx(expected, rel=0.05)
    assert max(grown) > 1.12


def test_standard_errors_and_the_dispersion_are_outputs():
    (alone, plain), (whole, stacked) = both(False), both()
    assert [name for name in whole.information.printed.names if "standard error" in name]
    for name, column in COLUMNS:
        expected = [
            stacked.information(i, stacked.slope(i, column)) / plain.information(i, plain.slope(i, column))
            for i in range(12)
        ]
        at = [each for each, _ in COLUMNS].index(name)
        found = whole.information._answers.each[:12, at] / alone.information._answers.each[:12, at]
        assert found == pytest.approx(expected, rel=0.03)
    assert ((whole.attributes["a"] / alone.attributes["a"]) ** 2).median() > 1.5


def cases_of(n=400, offset=-2.2):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    return X, pd.Series((rng.random(n) < 1 / (1 + np.exp(-offset - X["a"]))).astype(int), name="y")


def test_the_number_of_cases_is_an_output_and_does_what_centering_in_classes_does():
    X, y = cases_of()
    leak = measured(X, y, LOGISTIC, published=["coefficients"])
    # Whoever prints it: how many cases there are is known.
    assert leak.information.printed.names[-1] == "number of 1"
    held = leak.information.held
    without = Crowd(Held(held[:, :-1])).unknown(len(y) - 1)
    Z = np.column_stack([X, np.ones(len(X))])
    plain = Plain(X, y, logistic=True, whole=False)
    theta = table(Z, y.to_numpy(float), np.ones(len(y)), logistic=True, whole=False)
    mean = 1 / (1 + np.exp(-Z @ theta))
    moves = Z * (mean - y.to_numpy())[:, None]
    grown = []
    for i in np.r_[np.flatnonzero(y)[:4], np.flatnonzero(y == 0)[:4]]:
        rest, classes = np.delete(moves, i, 0), np.delete(y.to_numpy(), i)
        for value in (0, 1):
            rest[classes == value] -= rest[classes == value].mean(axis=0)
        center = np.linalg.inv(rest.T @ rest)
        own = np.array([mean[i] - y.iloc[i], 0, 0]) + Z[i] * mean[i] * (1 - mean[i]) * theta[0]
        jacobian = leak.information.printed.jacobian(np.array([i])).formed()[:, :, :1]
        squared = leak.information.crowd.unknown(len(y) - 1).without(held[[i]], Formed(jacobian))
        normal = float(squared.matrices()[0, 0, 0] / squared.skewness()[0, 0])
        assert normal == pytest.approx(own @ center @ own, rel=0.04)
        fewer = without.without(held[[i], :-1], Formed(jacobian[:, :-1]))
        grown.append(squared.matrices()[0, 0, 0] / fewer.matrices()[0, 0, 0])
    assert max(grown) > 1.1
    assert plain.moves.shape == (len(y), 3)


def test_fewer_than_five_unknown_people_to_a_number_are_not_enough():
    leak, _ = both()
    assert len(leak.information.printed.names) == 7
    assert leak.against(119 - 35).not_assessed()["y"].eq("").any()
    reasons = leak.against(119 - 34)
    assert reasons.not_assessed()["y"].eq("too few unknown people for so many printed numbers").all()
    assert reasons.attributes["y"].isna().all()


@pytest.mark.parametrize(
    ("holders", "known", "claimed"), [(10, 0, True), (10, 5, False), (40, 90, True), (40, 91, False)]
)
def test_fewer_than_ten_unknown_people_with_a_value_are_not_enough(holders, known, claimed):
    rng = np.random.default_rng(4)
    n = 121
    X = pd.DataFrame({"a": rng.normal(size=n), "d": (np.arange(n) < holders).astype(float)})
    y = pd.Series(X["a"] + rng.normal(size=n), name="y")
    leak = measured(X, y, published=["coefficients"], known_records=known)
    found = leak.information.claims.reason(n - 1 - known)
    assert (found == 0) == claimed
    if not claimed:
        assert leak.not_assessed()["a"].eq("too few unknown people with one value").all()
        assert leak.attributes["a"].isna().all()


@pytest.mark.parametrize("regression", [LOGISTIC, LinearRegression()])
def test_rare_outcomes_are_not_claimed_whatever_is_fitted_to_them(regression):
    X, y = cases_of(offset=-4.6)
    assert y.sum() < 15
    leak = measured(X, y, regression)
    assert leak.attributes["a"].isna().all()
    assert leak.not_assessed()["a"].eq("too few unknown people with one value").all()


def test_digits_that_say_more_than_is_unknown_are_not_claimed():
    X, y = squares()
    # Seven numbers to eight decimals are about 7 x 25 bits, and of 59 people no more than 7 bits each are unknown.
    assert measured(X, y, digits=8, known_records=60).not_assessed()["y"].eq("").any()
    assert measured(X, y, digits=12, known_records=80).not_assessed()["y"].str.contains("digits").all()
    rounded = X.round().clip(-1, 1), (y > 0).astype(float) + (y > 1)
    assert measured(*rounded, digits=12, known_records=60).not_assessed()["y"].str.contains("digits").all()
    assert measured(*rounded, digits=1, known_records=0).not_assessed()["y"].eq("").all()


def test_bits_are_counted_as_the_mathematics_says():
    X, y = squares()
    leak = measured(X, y, digits=3, published=["coefficients"])
    moves = Plain(X, y, whole=False).moves
    sampling = np.sqrt(((moves - moves.mean(axis=0)) ** 2).sum(axis=0))
    bits = np.log2(4.13 * sampling / 1e-3).sum()
    needed = {reason: count for reason, count, _ in leak.information.claims.needed()}
    assert needed[3] == pytest.approx((1.25 * bits + 5) / np.log2(120), rel=1e-3)


def test_outcomes_that_a_rounding_error_sets_apart_are_no_finer_grid():
    X, y = squares()
    steps = (y * 2).round() / 2
    steps.iloc[0] += 1e-15
    exact, off = measured(X, (y * 2).round() / 2), measured(X, steps)
    assert off.information.printed.outcomes[0] == pytest.approx(exact.information.printed.outcomes[0], rel=0.2)


def test_a_few_people_who_are_most_of_the_noise_are_none():
    rng = np.random.default_rng(5)
    n = 200
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    y = pd.Series(rng.normal(size=n), name="y")
    X.iloc[:3, 1] = [9.0, -9.0, 9.0]
    y.iloc[:3] += [30.0, 30.0, -30.0]
    leak = measured(X, y, published=["coefficients"])
    assert leak.not_assessed()["y"].eq("a few people are most of the noise").any()
    # What is not claimed is what m_eff of the others says.
    plain = Plain(X, y, whole=False)
    for i in range(10, 60):
        rows = np.delete(plain.moves, i, 0)
        rows = rows - rows.mean(axis=0)
        t = rows @ np.linalg.solve(rows.T @ rows, plain.slope(i, None))
        worth = (t**2).sum() ** 2 / (t**4).sum()
        if abs(worth / 5 - 1) > 0.03:
            assert (leak.not_assessed()["y"].iloc[i] == "a few people are most of the noise") == (worth < 5)


def test_the_prior_knows_the_persons_other_values():
    X, y = squares()
    leak = measured(X, y)
    known = np.column_stack([X["a"], y, np.ones(len(X))])
    rest = X["b"] - known @ np.linalg.lstsq(known, X["b"], rcond=None)[0]
    deviation = np.sqrt((rest**2).sum() / (len(X) - 3))
    assert leak.information.printed.baseline["b"] == pytest.approx(deviation)
    assert deviation < 0.8 * X["b"].std()
    assert (leak.error_floor(prior="data")["b"].dropna() <= deviation).all()


def test_information_is_averaged_over_the_prior():
    X, y = squares()
    leak, plain = measured(X, y, published=["coefficients"]), Plain(X, y, whole=False)
    points, weights = np.polynomial.hermite_e.hermegauss(7)
    deviation, ratio = leak.information.printed.baseline["a"], []
    for i in range(8):
        guess = X["a"].iloc[i] - leak.information.printed.guessed["a"][i]
        # The others are where they were: only the person's own slope is looked at elsewhere, at the same fit.
        theta = table(plain.Z, plain.y, np.ones(len(y)), whole=False)
        inverse = np.linalg.inv(plain.Z.T @ plain.Z)
        total = 0.0
        for point, weight in zip(points, weights / weights.sum(), strict=True):
            z = plain.Z[i].copy()
            z[0] = guess + deviation * point
            slope = -inverse @ (np.array([z @ theta - plain.y[i], 0, 0]) + z * theta[0])
            total += weight * plain.information(i, slope)
        assert leak.information.averaged("a")[i] ** 2 == pytest.approx(total, rel=0.03)
        ratio.append(total / leak.attributes["a"].iloc[i] ** 2)
    assert max(ratio) > 1.3 or min(ratio) < 0.75


def test_the_prior_of_a_person_of_large_leverage_is_met_by_the_others_as_they_are_without_them():
    X, y = squares(7, n=600)
    X, y = X.copy(), y.copy()
    X.iloc[0], y.iloc[0] = [14.0, 11.0], 14.0
    leak = measured(X, y, published=["coefficients"])
    assert leak.information.crowd.unknown(599).own(leak.information.held)[0] > 0.2
    # The slope by a label is the same wherever the label is.
    information = leak.information
    means = [information._mean("y", unknown, whom)[0] for unknown, whom in information._noises if 0 in whom]
    assert len(means) == 2
    assert max(means) == pytest.approx(information._answers.each[0, 2], rel=1e-9)


def test_who_knows_all_covariates_tells_a_category_that_standard_errors_show():
    rng = np.random.default_rng(8)
    X = pd.DataFrame({"a": rng.normal(size=200), "d": rng.integers(0, 2, 200)})
    y = pd.Series(X["a"] + X["d"] + rng.normal(size=200), name="y")
    leak = measured(X, y, known_records="covariates")
    assert leak.success_rate("d")["success_rate"].eq(1.0).all()
    assert measured(X, y).success_rate("d")["success_rate"].between(0.5, 0.8).all()


def test_people_who_are_entered_twice_are_not_claimed():
    X, y = squares()
    twice = np.r_[np.arange(120), np.arange(5)]
    leak = measured(X.iloc[twice].reset_index(drop=True), y.iloc[twice].reset_index(drop=True))
    reasons = leak.not_assessed()["y"]
    assert reasons.iloc[[*range(5), *range(120, 125)]].str.startswith("another row is the same").all()
    assert not reasons.iloc[5:120].str.startswith("another row is the same").any()


def test_people_who_are_alike_by_chance_are_others():
    rng = np.random.default_rng(9)
    X = pd.DataFrame(rng.integers(0, 3, (300, 3)).astype(float), columns=["a", "b", "c"])
    y = pd.Series(rng.integers(0, 4, 300).astype(float), name="y")
    assert X.assign(y=y).duplicated().any()
    assert measured(X, y).not_assessed()["y"].eq("").all()


def test_a_treatment_of_six_clusters_is_six_and_not_their_people():
    rng = np.random.default_rng(10)
    cluster = np.repeat(np.arange(70), 20)
    X = pd.DataFrame({"a": rng.normal(size=1400), "treated": (cluster < 6).astype(float)})
    y = pd.Series(X["a"] + rng.normal(size=70)[cluster] + 0.7 * rng.normal(size=1400), name="y")
    leak = measured(X, y, clusters=cluster, published=["coefficients"])
    assert leak.not_assessed()["a"].eq("too few unknown people with one value").all()
    treated = [level for level in leak.information.printed.levels if level.name == "treated" and level.value == 1.0]
    assert [level.people for level in treated] == [6]


@pytest.mark.parametrize("kind", ["squares", "logistic"])
def test_units_zeros_scalers_and_parametrizations_do_not_matter(kind):
    (X, y), model = (squares(), LinearRegression()) if kind == "squares" else (cases_of(), LOGISTIC)
    factors = pd.Series({"a": 1e3, "b": 1e-2})
    mixed = pd.DataFrame(X.to_numpy() @ [[1.0, 2.0], [0.5, -3.0]] + [4.0, -1.0], columns=["p", "q"])
    # Of coefficients: the standard error of an intercept is about one zero, and another number with another.
    one, moved, scaled, other = (
        measured(rows, y, each, published=["coefficients"]).attributes
        for rows, each in (
            (X, model),
            (X * factors + [5.0, -3.0], model),
            (X, make_pipeline(StandardScaler(), model)),
            (mixed, model),
        )
    )
    same = {"rel": 1e-8, "nan_ok": True}
    for name in ("a", "b", "y"):
        assert (moved[name] * factors.get(name, 1.0)).to_numpy() == pytest.approx(one[name].to_numpy(), **same)
        assert scaled[name].to_numpy() == pytest.approx(one[name].to_numpy(), **same)
    # Of other features the label is the same.
    assert other["y"].to_numpy() == pytest.approx(one["y"].to_numpy(), **same)
    if kind == "squares":
        whole, large = measured(X, y).attributes, measured(X * factors, 7.0 * y).attributes
        for name, factor in {**factors, "y": 7.0}.items():
            assert (large[name] * factor).to_numpy() == pytest.approx(whole[name].to_numpy(), **same)
