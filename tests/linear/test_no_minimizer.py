"""A loss that falls forever along some direction has no minimizer, and nothing is said about where a solver stopped."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sksurv.linear_model import CoxPHSurvivalAnalysis

import seepage

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def people():
    """A thousand people; everybody with the rare genotype is ill, and has no visits."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 10, 1000), "geno": rng.choice(list("abc"), 1000, p=[0.6, 0.38, 0.02])})
    frame["ill"] = (rng.random(1000) < 1 / (1 + np.exp(-(frame["age"] - 50) / 10))).astype(int)
    frame["visits"] = rng.poisson(np.exp(0.02 * frame["age"]))
    frame.loc[frame["geno"] == "c", ["ill", "visits"]] = [1, 0]
    return frame


def coded(frame):
    return pd.DataFrame({"age": frame["age"], "b": frame["geno"] == "b", "c": frame["geno"] == "c"}).astype(float)


def steps():
    return make_column_transformer(
        (OneHotEncoder(drop="first"), ["geno"]), ("passthrough", ["age"]), verbose_feature_names_out=False
    )


def separated(design, sides):
    """Return whether a direction moves no row the wrong way and some row: one program over all rows at once."""
    ways = sides[:, None] * design
    held = sides == 0
    fixed = design[held]
    found = linprog(
        -ways[~held].sum(axis=0),
        A_ub=-ways[~held],
        b_ub=np.zeros(int((~held).sum())),
        A_eq=fixed if len(fixed) else None,
        b_eq=np.zeros(len(fixed)) if len(fixed) else None,
        bounds=(-1, 1),
    )
    return -found.fun > 1e-6


@pytest.mark.parametrize("settings", [{"C": np.inf}, {"C": np.inf, "solver": "newton-cholesky", "tol": 1e-10}])
def test_a_level_whose_people_share_a_label_is_named(people, settings):
    model = make_pipeline(steps(), LogisticRegression(max_iter=10_000, **settings))
    X = people[["age", "geno"]]
    with pytest.raises(seepage.errors.MinimizerError, match="'geno = c' alone tells"):
        seepage.measure(model.fit(X, people["ill"]), X, people["ill"], noise_scale=0.1)


def test_a_level_without_a_column_of_its_own_is_told_by_its_column(people):
    frame = people.assign(geno=people["geno"].map({"a": "b", "b": "c", "c": "a"}))
    X = frame[["age", "geno"]]
    model = make_pipeline(steps(), LogisticRegression(C=np.inf, max_iter=10_000)).fit(X, frame["ill"])
    with pytest.raises(seepage.errors.MinimizerError, match=r"combination of 'geno = [bc]', 'geno = [bc]' tells"):
        seepage.measure(model, X, frame["ill"], noise_scale=0.1)


def test_scaled_levels_are_told_by_their_column(people):
    X = coded(people)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, max_iter=10_000)).fit(X, people["ill"])
    with pytest.raises(seepage.errors.MinimizerError, match="'c' alone tells"):
        seepage.measure(model, X, people["ill"], noise_scale=0.1)


@pytest.mark.parametrize("link", ["logit", "probit", "cauchit", "cloglog", "loglog", "log", "logc"])
def test_every_link_of_a_share(people, link):
    X, y = coded(people)[["b", "c"]], people["ill"]
    model = seepage.models.GLM("binomial", link)
    with pytest.raises(seepage.errors.MinimizerError, match="'c' alone tells"):
        model.fit(X, y)
    # As if another package had stopped somewhere.
    model.coef_, model.intercept_ = np.array([0.1, 20.0]), 0.1
    if link in ("log", "logc"):
        model.coef_, model.intercept_ = np.array([-0.1, 0.6999 if link == "log" else -20.0]), -0.7
    model.classes_, model.n_features_in_ = np.array([0, 1]), 2
    model.feature_names_in_ = np.array(["b", "c"], dtype=object)
    with pytest.raises(seepage.errors.MinimizerError, match="'c' alone tells"):
        seepage.measure(model, X, y, noise_scale=0.1)


@pytest.mark.parametrize(
    ("family", "link", "parameter"),
    [
        ("poisson", "log", 1.0),
        ("negative binomial", "log", 0.5),
        ("negative binomial", "negative binomial", 1.0),
        ("tweedie", "log", 1.5),
        ("gaussian", "log", 1.0),
    ],
)
def test_a_level_of_zeros_under_every_family_with_positive_means(people, family, link, parameter):
    with pytest.raises(seepage.errors.MinimizerError, match="'c' alone tells"):
        seepage.models.GLM(family, link, parameter=parameter).fit(coded(people)[["b", "c"]], people["visits"])


def test_nothing_but_zeros_is_not_saved_by_a_penalty_on_the_others(people):
    X, y = coded(people), np.zeros(1000)
    model = PoissonRegressor(alpha=1.0, max_iter=1000).fit(X, y)
    with pytest.raises(seepage.errors.MinimizerError, match="no minimizer"):
        seepage.measure(model, X, y, noise_scale=0.1)


def test_several_classes_of_which_a_level_has_but_two(people):
    rng = np.random.default_rng(1)
    X, y = people[["age", "geno"]], rng.choice(["x", "y", "z"], 1000)
    y[people["geno"] == "c"] = rng.choice(["x", "y"], int((people["geno"] == "c").sum()))
    model = make_pipeline(steps(), LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-10)).fit(X, y)
    with pytest.raises(seepage.errors.MinimizerError, match=r"no minimizer: .*'geno = c'"):
        seepage.measure(model, X, y, noise_scale=0.1)


def test_people_in_files(people, tmp_path):
    frame = coded(people).assign(ill=people["ill"])
    frame.to_parquet(tmp_path / "people.parquet", row_group_size=100)
    model = LogisticRegression(C=np.inf, max_iter=10_000).fit(frame[["age", "b", "c"]], frame["ill"])
    with pytest.raises(seepage.errors.MinimizerError, match="'c' alone tells"):
        seepage.measure(model, str(tmp_path / "people.parquet"), target="ill", noise_scale=0.1)
    with pytest.raises(seepage.errors.MinimizerError, match="'c' alone tells"):
        seepage.engines.fit(LogisticRegression(C=np.inf), str(tmp_path / "people.parquet"), target="ill")


def test_somebody_without_weight_separates_nothing_and_joins_nothing(people):
    X, y = coded(people), people["ill"].copy()
    first = int(np.flatnonzero(people["geno"] == "c")[0])
    y.iloc[first] = 0
    weights = np.ones(1000)
    exists = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-10).fit(X, y, weights)
    seepage.measure(exists, X, y, noise_scale=0.1, sample_weight=weights)
    weights[first] = 0
    model = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-10).fit(X, y, weights)
    with pytest.raises(seepage.errors.MinimizerError, match="no minimizer"):
        seepage.measure(model, X, y, noise_scale=0.1, sample_weight=weights)


@pytest.mark.parametrize(
    "ask", [seepage.measure, partial(seepage.publish, accept=None, categories={"geno": ["a", "b", "c"]})]
)
def test_results_of_statsmodels_that_did_not_converge(people, ask):
    results = smf.logit("ill ~ age + geno", people).fit(disp=0)
    assert not results.mle_retvals["converged"]
    with pytest.raises(seepage.errors.MinimizerError, match="'geno = c' alone tells"):
        ask(results, noise_scale=0.1)


@pytest.mark.parametrize("kind", ["no events", "all events first"])
def test_a_partial_likelihood_that_rises_forever(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(50, 10, 1000), "rare": (rng.random(1000) < 0.3) * 1.0})
    time = rng.exponential(np.exp(-(X["age"] - 50) / 20))
    rare = (X["rare"] == 1).to_numpy()
    event, time = time < 1, np.minimum(time, 1.0)
    if kind == "no events":
        event &= ~rare
    else:
        event, time = event | rare, np.where(rare, 1e-3 * time, time + 0.1)
    y = np.rec.fromarrays([event, time], names="event,time")
    with pytest.raises(seepage.errors.MinimizerError, match="no minimizer: 'rare' alone tells"):
        seepage.models.Cox().fit(X, y)
    with pytest.raises(seepage.errors.MinimizerError, match="no minimizer: 'rare' alone tells"):
        seepage.measure(CoxPHSurvivalAnalysis().fit(X, y), X, y, noise_scale=0.1)
    # One person who goes against it is enough for a minimizer, however steep.
    last = int(np.flatnonzero(rare)[np.argmax(time[rare])])
    event[last], time[last] = True, 0.9
    y = np.rec.fromarrays([event, time], names="event,time")
    seepage.measure(seepage.models.Cox().fit(X, y), X, y, noise_scale=0.1)


@pytest.mark.parametrize("overlap", [1e-1, 1e-3, 1e-5])
def test_a_minimizer_that_is_far_away_exists(overlap):
    x = np.linspace(-1, 1, 400)
    y = (x > 0).astype(int)
    # Two people stand on the wrong side, by next to nothing.
    x = np.r_[x, -overlap, overlap]
    y = np.r_[y, 1, 0]
    model = seepage.models.GLM("binomial").fit(x[:, None], y)
    assert model.coef_[0] > 10
    seepage.measure(model, x[:, None], y, noise_scale=0.1)


@pytest.mark.parametrize("penalty", [1e-3, 1e-8])
def test_the_least_penalty_has_a_minimizer(people, penalty):
    X, y = coded(people), people["ill"]
    model = seepage.models.GLM("binomial", penalty=penalty).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.1)
    assert np.isfinite(leak.information.examples()["eta"]).all()


def test_columns_that_are_nearly_one_have_a_minimizer():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    X[:, 2] = X[:, 1] + 1e-5 * rng.normal(size=500)
    y = (rng.random(500) < 1 / (1 + np.exp(-4 * X[:, 0]))).astype(int)
    seepage.measure(seepage.models.GLM("binomial").fit(X, y), X, y, noise_scale=0.1)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(8, 60), k=st.integers(1, 5), poisson=st.booleans())
def test_refused_is_exactly_what_one_linear_program_separates(seed, n, k, poisson):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, k)) < 0.5, rng.integers(-1, 2, (n, k)), rng.normal(size=(n, k)))
    margin = rng.choice([0.5, 3.0]) * X @ rng.normal(size=k)
    y = rng.poisson(np.exp(np.clip(margin, -5, 2))) if poisson else (margin + rng.logistic(size=n) > 0).astype(int)
    if not poisson and len(np.unique(y)) < 2:
        y[0] = 1 - y[0]
    design = np.column_stack([X, np.ones(n)])
    if np.linalg.matrix_rank(design) <= k:
        return
    sides = np.where(y == 0, -1.0, 0.0 if poisson else 1.0)
    model = PoissonRegressor(alpha=0, max_iter=10_000) if poisson else LogisticRegression(C=np.inf, max_iter=10_000)
    model.set_params(tol=1e-12, solver="newton-cholesky").fit(X, y)
    if separated(design, sides):
        with pytest.raises(seepage.errors.MinimizerError, match="has no minimizer"):
            seepage.measure(model, X, y, noise_scale=0.1)
    else:
        seepage.measure(model, X, y, noise_scale=0.1)


@pytest.mark.parametrize("poisson", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 6, 9])
def test_a_value_with_which_there_is_no_minimizer_is_missing(seed, poisson):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"age": rng.normal(50 * (seed % 2), 1, 40), "geno": rng.choice(list("abc"), 40, p=[0.5, 0.4, 0.1])}
    )
    y = (X["age"] - X["age"].mean() + rng.normal(0, 0.2, 40) > 0).astype(int).rename("label")
    model = make_pipeline(
        steps(),
        PoissonRegressor(alpha=0, tol=1e-12, max_iter=10_000)
        if poisson
        else LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12),
    ).fit(X, y)

    def sides(labels):
        return np.where(labels == 0, -1.0, 0.0) if poisson else np.where(labels == 1, 1.0, -1.0)

    def design(frame):
        return np.column_stack([np.ones(40), coded(frame)])

    if separated(design(X), sides(y)):
        return
    leak = seepage.measure(model, X, y, noise_scale=0.1)
    for attribute in ["geno"] if poisson else ["geno", "label"]:
        found = leak.success_rate(attribute)
        for person, other, distance in zip(found.index, found["other"], found["distance"], strict=True):
            labels, frame = y.copy(), X.copy()
            if attribute == "label":
                labels.iloc[person] = other
            else:
                frame.loc[person, attribute] = other
            changed = design(frame)
            # A level that nobody has left says nothing of its coefficient.
            if np.linalg.matrix_rank(changed) < changed.shape[1] or separated(changed, sides(labels)):
                assert np.isnan(distance)
            elif np.isnan(distance):
                # So far away that no double says where: curvatures there are below rounding.
                again = model.fit(frame, labels)
                assert np.abs(again[:-1].transform(frame) @ again[-1].coef_.ravel() + again[-1].intercept_).max() > 30
