"""A table that can be printed: estimates, and standard errors and intervals that include the noise."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import t
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage.errors import InputError, PolicyError, UnsupportedError
from seepage.release import GaussianNoise, RobustCovariance
from seepage.release._results import PublishedErrors, ResultTable
from seepage.release.sealing import Terms, ready

BOTH = ["coefficients", "standard errors"]


def _people(n=300, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"age": random.normal(50, 12, n), "dose": random.gamma(2.0, 3.0, n)})
    y = 2.0 + 0.1 * X["age"] - 0.3 * X["dose"] + random.normal(size=n) * (1 + 0.1 * X["dose"])
    return X, y.to_numpy()


def _published(model, X, y, noise, **more):
    return seepage.publish(model, X, y, noise_scale=noise, accept=None, published=BOTH, **more)


def test_standard_errors_are_those_of_statsmodels_with_the_noise_added():
    X, y = _people()
    robust = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC1").bse.to_numpy()[[1, 2, 0]]
    # So little noise that every draw is what it is drawn around.
    noise = GaussianNoise(shape=RobustCovariance(scale=0.5, variances=1e-6))
    for model in (LinearRegression(), make_pipeline(StandardScaler(), LinearRegression())):
        found = _published(model.fit(X, y), X, y, noise).table().frame()
        assert found["term"].tolist() == ["age", "dose", "intercept"]
        np.testing.assert_allclose(found["standard error"], np.sqrt(1.25) * robust, rtol=1e-4)


def test_variances_carry_the_noise_that_was_counted():
    X, y = _people()
    model, noise = LinearRegression().fit(X, y), GaussianNoise(shape=RobustCovariance(scale=0.5, variances=0.3))
    release = ready(model, X, y, Terms(noise, None, published=BOTH, noise_chosen_without_data=True))
    drawn = np.log([release.draw().table().frame()["standard error"] ** 2 for _ in range(300)])
    exact = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC1").bse.to_numpy()[[1, 2, 0]]
    scaled = (drawn - np.log(1.25 * exact**2)) / 0.3
    assert abs(scaled.mean()) < 4 / np.sqrt(900)
    assert abs(scaled.std() - 1.0) < 4 / np.sqrt(1800)
    assert abs(np.corrcoef(scaled.T)[0, 1]) < 4 / np.sqrt(300)


def test_intervals_and_p_values_belong_to_the_printed_numbers():
    X, y = _people()
    table = _published(LinearRegression().fit(X, y), X, y, GaussianNoise(standard_errors=0.5)).table(level=0.9)
    found = table.frame()
    # A variance that scatters by 0.1 has 2 / 0.1^2 degrees of freedom; 297 residuals have theirs.
    freedom = 2 / (2 / 297 + 0.01)
    reach = t.ppf(0.95, freedom) * found["standard error"]
    np.testing.assert_allclose(found["high"] - found["estimate"], reach, rtol=1e-12)
    np.testing.assert_allclose(found["estimate"] - found["low"], reach, rtol=1e-12)
    np.testing.assert_allclose(found["p"], 2 * t.sf(np.abs(found["estimate"]) / found["standard error"], freedom))
    assert "90% interval" in repr(table)


def test_ratios_are_exponentials_and_standard_errors_stay_what_they_are():
    X, y = _people()
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y > y.mean())
    publication = _published(model, X, y > y.mean(), GaussianNoise(standard_errors=0.5))
    plain, ratio = publication.table().frame(), publication.table(exponentiated=True).frame()
    for name in ("estimate", "low", "high"):
        np.testing.assert_allclose(ratio[name], np.exp(plain[name]))
    pd.testing.assert_series_equal(ratio["standard error"], plain["standard error"])
    assert "exp(estimate)  standard error of the logarithm" in repr(publication.table(exponentiated=True))


def test_every_form_of_the_table_has_the_same_numbers():
    X, y = _people()
    table = _published(LinearRegression().fit(X, y), X, y, GaussianNoise(standard_errors=0.5)).table()
    frame = table.frame()
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    for name in ("estimate", "standard error", "low", "high", "p"):
        assert [float(row[name]) for row in rows] == frame[name].tolist()
    for text in (table.to_markdown(), table.to_latex(), repr(table), table._repr_html_()):
        found = re.findall(r"(-?[\d.]+) to (-?[\d.]+)", text.replace("$-$", "-"))
        intervals = [tuple(map(float, pair)) for pair in found]
        for (low, high), each in zip(intervals, frame.itertuples(), strict=True):
            assert each.term in text
            near = 0.02 * (each.high - each.low)
            assert (low, high) == (pytest.approx(each.low, abs=near), pytest.approx(each.high, abs=near))
        assert "include it" in text
    assert table.frame("polars").columns == frame.columns.tolist()


def test_a_table_in_latex_prints_its_notes_and_minus_signs():
    errors = PublishedErrors(np.full(2, 0.01), 0.5, 0.1, 99.0)
    notes = ("Noise of 0.5 & more.",)
    table = ResultTable(("pre-term", "50%_x"), np.array([-0.5, 2.0]), errors, 0.95, False, notes)
    lines = table.to_latex().splitlines()
    assert lines[4] == r"pre-term & $-$0.50 & 0.11 & $-$0.72 to $-$0.28 & $<$0.001 \\"
    assert lines[5].startswith(r"50\%\_x & ")
    assert lines[-2] == r"\multicolumn{5}{p{0.9\linewidth}}{\footnotesize Noise of 0.5 \& more.} \\"


def test_digits_are_those_that_two_digits_of_the_standard_error_have():
    errors = PublishedErrors(np.array([0.0997, 0.0994, 0.12]) ** 2, 0.0, 0.1, 1e9)
    table = ResultTable(("a", "b", "c"), np.ones(3), errors, 0.95, False, ())
    assert [line.split()[2] for line in repr(table).splitlines()[1:4]] == ["0.10", "0.099", "0.12"]


def test_the_level_that_others_are_compared_with_has_no_interval():
    X, y = _people()
    X["ward"] = np.where(np.arange(300) % 3 == 0, "north", "south")
    wards = OneHotEncoder(drop="first", categories=[["north", "south"]])
    model = make_pipeline(make_column_transformer((wards, ["ward"]), remainder="passthrough"), LinearRegression())
    table = _published(model.fit(X, y), X, y, GaussianNoise(standard_errors=0.5)).table()
    found = table.frame().set_index("term")
    assert np.isnan(found.loc["ward = north", "standard error"])
    assert found.loc["ward = south", "standard error"] > 0
    assert "reference" in repr(table)
    alone = seepage.publish(model, X, y, noise_scale=0.1, accept=None).table()
    assert re.search(r"ward = north +reference\n", repr(alone))


def test_a_model_without_an_intercept_has_a_table_without_one():
    X, y = _people()
    robust = sm.OLS(y, X).fit(cov_type="HC1").bse.to_numpy()
    noise = GaussianNoise(shape=RobustCovariance(scale=0.5, variances=1e-6))
    for model in (LinearRegression(fit_intercept=False), seepage.models.GLM("gaussian", fit_intercept=False)):
        found = _published(model.fit(X, y), X, y, noise).table().frame()
        assert found["term"].tolist() == ["age", "dose"]
        np.testing.assert_allclose(found["standard error"], np.sqrt(1.25) * robust, rtol=1e-4)


def test_rows_that_stand_for_several_people_have_no_standard_errors():
    X, y = _people(n=60)
    counts, noise = np.tile([1.0, 3.0], 30), GaussianNoise(standard_errors=0.5)
    frequent = sm.GLM(y, sm.add_constant(X), freq_weights=counts).fit()
    for ask in (seepage.measure, lambda *given, **how: seepage.publish(*given, accept=None, **how)):
        with pytest.raises(UnsupportedError, match=r"its rows stand for several people.*index\.repeat\(counts\)"):
            ask(frequent, noise_scale=noise, published=BOTH)
    for results in (sm.GLM(y, sm.add_constant(X), freq_weights=np.ones(60)), sm.GLM(y, sm.add_constant(X))):
        assert seepage.measure(results.fit(), noise_scale=noise, published=BOTH).examples["eta"].max() > 0


def test_what_is_fitted_beside_the_coefficients_is_named():
    X, y = _people()
    counts = np.random.default_rng(1).negative_binomial(1, 1 / (1 + np.exp(y - y.mean())))
    results = sm.NegativeBinomial(counts, sm.add_constant(X)).fit(disp=0, maxiter=500)
    with pytest.raises(UnsupportedError, match="fits alpha beside its coefficients"):
        seepage.measure(results, noise_scale=GaussianNoise(standard_errors=0.5), published=BOTH)
    with pytest.raises(UnsupportedError, match="nothing fitted beside their coefficients"):
        seepage.measure(results, noise_scale=GaussianNoise(standard_errors=0.5))


def test_without_standard_errors_there_are_estimates_and_a_sentence():
    X, y = _people()
    publication = seepage.publish(Ridge().fit(X, y), X, y, noise_scale=0.1, accept=None)
    assert publication.errors is None
    assert publication.table().frame().columns.tolist() == ["term", "estimate"]
    assert "Standard errors were not published." in repr(publication.table())
    with pytest.raises(UnsupportedError, match="has a penalty"):
        _published(Ridge().fit(X, y), X, y, GaussianNoise(standard_errors=0.5))
    with pytest.raises(InputError, match=r"such as 0\.95, not 95"):
        publication.table(level=95)


def test_what_standard_errors_tell_is_part_of_the_promise():
    X, y = _people(n=60)
    model = LinearRegression().fit(X, y)
    alone = seepage.measure(model, X, y, noise_scale=GaussianNoise(standard_errors=0.2))
    both = seepage.measure(model, X, y, noise_scale=GaussianNoise(standard_errors=0.2), published=BOTH)
    between = 0.5 * (both.error_floor()["age"].min() + alone.error_floor()["age"].min())
    accept = {"error_floor": {"age": float(between)}}
    noise = GaussianNoise(standard_errors=0.2)
    seepage.publish(model, X, y, noise_scale=noise, accept=accept)
    with pytest.raises(PolicyError, match="misses its policy"):
        seepage.publish(model, X, y, noise_scale=noise, accept=accept, published=BOTH)
    certificate = seepage.publish(model, X, y, noise_scale=noise, accept=None, published=BOTH).certificate
    assert certificate.published["standard_errors"] == 0.1
    assert "and their standard errors are published" in certificate.assumptions[0]


def test_calibrate_keeps_the_shape_and_counts_the_standard_errors():
    X, y = _people()
    model = LinearRegression().fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(standard_errors=1.0), published=BOTH)
    noise = seepage.calibrate(leak, error_floor={"age": 8.0})
    assert isinstance(noise.shape, RobustCovariance)
    kept = seepage.measure(model, X, y, noise_scale=noise, published=BOTH)
    assert kept.error_floor()["age"].min() >= 8.0
    exact = seepage.calibrate(leak, error_floor={"age": 8.0}, exact=True)
    close = seepage.measure(model, X, y, noise_scale=exact, published=BOTH).error_floor()["age"].min()
    assert close == pytest.approx(8.0, rel=1e-6)


def test_digits_of_the_noise_on_variances_are_on_the_grid():
    X, y = _people()
    noise = GaussianNoise(shape=RobustCovariance(scale=0.5, variances=0.3))
    with pytest.raises(InputError, match=r"variances is 0\.3, .* Round it up to 0\.5"):
        _published(LinearRegression().fit(X, y), X, y, noise)
