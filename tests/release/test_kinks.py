"""What is done with a model whose penalty keeps coefficients at zero, and what is refused, with the way out."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
MODEL = Lasso(alpha=20.0, tol=1e-8).fit(X, Y)
NOISE = 0.05
LEAK = seepage.measure(MODEL, X, Y, noise_scale=NOISE)
ZERO = [name for name, each in zip(X, MODEL.coef_, strict=True) if each == 0]


def test_a_support_never_leaves_without_noise():
    assert ZERO == ["age", "sex", "s4", "s5"]
    with pytest.raises(
        seepage.errors.UnsupportedError, match=r"Lasso with an L1 penalty is not published.*without noise"
    ):
        seepage.publish(MODEL, X, Y, noise_scale=NOISE, accept=None)
    with pytest.raises(
        seepage.errors.UnsupportedError, match=r"(?s)no publishable edition.*coefficients are zero: refused"
    ):
        seepage.Report.of(LEAK, "publishable", policy={"error_floor": {"bp": 0.1}})
    both = seepage.compose([LEAK, seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=1.0)])
    with pytest.raises(seepage.errors.UnsupportedError, match="no publishable edition"):
        seepage.Report.of(both, "publishable", policy={"error_floor": {"bp": 0.1}})


def test_a_choice_that_everybody_may_know_is_a_step():
    model = make_pipeline(SelectFromModel(Lasso(alpha=20.0)), Ridge()).fit(X, Y)
    publication = seepage.publish(model, X, Y, noise_scale=1.0, accept=None, public_preprocessing=["selectfrommodel"])
    assert publication.estimator.predict(X).shape == (442,)


def test_attributes_at_zero_are_unanswered_and_not_safe():
    assert LEAK.attributes[ZERO].isna().all().all()
    assert LEAK.error_floor()[["age", "s4", "s5"]].isna().all().all()
    assert "Unanswered, as the release jumps: age, s4, s5" in LEAK.summary()
    with pytest.raises(seepage.errors.UnansweredError, match="moves with 's4' by jumps"):
        seepage.calibrate(LEAK, error_floor={"s4": 1.0}, shape="isotropic")
    with pytest.raises(seepage.errors.UnansweredError, match="All coefficients of 's4' are kept at zero"):
        LEAK.joint_information_loss(attribute="s4")
    # Where nothing else is private there is no answer about the person either.
    alone = seepage.measure(MODEL, X, Y, noise_scale=NOISE, attributes=["s4", "age"], public_label=True)
    assert alone.examples.isna().all().all()
    assert "nobody" in alone.summary()
    for ask in (
        lambda: seepage.Report.of(alone, "internal"),
        lambda: seepage.calibrate(alone, eta=1.0, shape="isotropic").scale,
    ):
        with pytest.raises(seepage.errors.UnansweredError, match="Nobody has a private value"):
            ask()
    assert not seepage.measure(MODEL, X, Y, noise_scale=NOISE, attributes=["s4", "bp"]).examples.isna().any().any()
    told = LEAK.privacy_measures().set_index("quantity")["meaning"]
    assert told["error of s4"] == "unanswered"
    # Some value lets a coefficient go.
    assert LEAK.success_rate("s4", values=[4.0, 1000.0])["success_rate"].max() > 0.9
    assert (LEAK.success_rate("s4", values=[4.0, 4.5])["success_rate"] == 0.5).all()


def test_noise_is_calibrated_for_what_has_a_floor():
    scale = seepage.calibrate(LEAK, error_floor={"bp": 5.0}, exact=True, shape="isotropic").scale
    again = seepage.measure(MODEL, X, Y, noise_scale=scale)
    assert again.error_floor()["bp"].min() == pytest.approx(5.0)
    units = seepage.calibrate(LEAK, error_floor={"bp": 5.0}, shape={name: 1 / X[name].std() for name in X})
    assert seepage.measure(MODEL, X, Y, noise_scale=units).error_floor()["bp"].min() >= 5
    with pytest.raises(seepage.errors.UnansweredError, match="not counted for models with an L1 penalty"):
        seepage.calibrate(LEAK, error_floor={"bp": 5.0}, shape="best")
    with pytest.raises(seepage.errors.UnsupportedError, match="would have none for the coefficients"):
        seepage.measure(MODEL, X, Y, noise_scale=seepage.release.GaussianNoise(standard_errors=1.0))


def test_numbers_hold_while_the_same_coefficients_are_zero():
    zeros = next(one for one in LEAK.assumptions if "are exact while the same coefficients are zero" in one)
    assert zeros.startswith("The L1 penalty keeps 4 of 11 parameters at zero.")


def test_the_internal_report_says_what_has_no_floor():
    text = seepage.Report.of(LEAK, "internal", policy={"error_floor": {"s4": 1.0}}).html()
    assert "No verdict" in text
    assert "no floor is known, which is no safety" in text


def test_what_noise_costs_is_counted_on_the_zeros_too():
    design = np.column_stack([X, np.ones(442)])
    expected = 0.5 * NOISE**2 * (design**2).sum()
    assert LEAK.information.excess_loss() == pytest.approx(expected)
    found = re.search(r"the noise adds ([\d.]+)", seepage.Report.of(LEAK, "internal").html())
    assert float(found[1]) == pytest.approx(expected / 442, rel=0.1)


def test_attacks_that_refit_do_no_better_than_the_measured_bound():
    leak = seepage.measure(MODEL, X, Y, noise_scale=5.0)
    for attack in (seepage.attacks.MembershipScore(), seepage.attacks.AttributeInversion("sex")):
        assert seepage.verify(leak, attack.fit(leak), trials=200, people=range(12)).holds
    with pytest.raises(seepage.errors.UnansweredError, match=r"have kinks.*candidates="):
        seepage.attacks.AttributeInversion("bp").fit(leak)
    with pytest.raises(
        seepage.errors.UnansweredError, match="AttributeInversion and MembershipScore attack such a model"
    ):
        seepage.attacks.Reconstruction([0]).fit(leak)


def test_over_files_only_fitting_is_done(tmp_path):
    path = str(tmp_path / "people.parquet")
    X.assign(progression=Y).to_parquet(path)
    with pytest.raises(seepage.errors.UnsupportedError, match=r"not measured over files.*into memory"):
        seepage.measure(MODEL, path, target="progression", noise_scale=1.0)
    fitted = seepage.engines.fit(Lasso(alpha=20.0), path, target="progression")
    np.testing.assert_allclose(fitted.coef_, LEAK.information.geometry.parameters[:-1, 0], rtol=1e-9)


def test_a_penalized_intercept_behind_a_fitted_scaler_is_refused_with_the_way_out():
    y = (Y > 140).astype(int)
    model = LogisticRegression(C=0.1, l1_ratio=1.0, solver="liblinear", tol=1e-6)
    piped = make_pipeline(StandardScaler(), model).fit(X, y)
    with pytest.raises(seepage.errors.UnsupportedError, match=r'L1 penalty on its intercept.*solver="saga"'):
        seepage.measure(piped, X, y, noise_scale=1.0)
    public = seepage.measure(piped, X, y, noise_scale=1.0, public_preprocessing=["standardscaler"])
    scaled = pd.DataFrame(StandardScaler().fit_transform(X), columns=X.columns)
    alone = seepage.measure(model, scaled, y, noise_scale=1.0)
    np.testing.assert_allclose(public.attributes["bmi"] * X["bmi"].std(ddof=0), alone.attributes["bmi"])


def test_differential_privacy_of_an_elastic_net_is_that_of_its_l2_part():
    scaled = StandardScaler().fit_transform(X)
    y = (Y > 140).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both, smooth = (
            LogisticRegression(C=c, l1_ratio=r, solver="saga", fit_intercept=False, max_iter=10_000, tol=1e-6).fit(
                scaled, y
            )
            for c, r in ((0.05, 0.5), (0.1, 0.0))
        )
    found, expected = (
        seepage.measure(model, scaled, y, noise_scale=1.0).information.guarantee(1e-5, None) for model in (both, smooth)
    )
    # The same strength of the squares, so the same sensitivity: absolute values make no minimizer less stable.
    assert found.renyi == pytest.approx(expected.renyi)


def test_the_frontier_of_an_elastic_net():
    found = seepage.release.frontier(
        ElasticNet(tol=1e-8, max_iter=100_000).fit(X, Y), X, Y, X, Y, attribute="bmi", noise_scales=[0.1, 1.0], draws=5
    )
    assert found.frame["penalty"].tolist() == [442.0, 442.0]
    assert found.frame["score"].is_monotonic_decreasing
