"""Independent releases: their information adds."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from seepage._facts import Assumption
from seepage.meaning import Guarantee
from seepage.release._compose import compose

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
BINARY = (Y > 140).rename("target")


def _measured(penalty, noise, **arguments):
    return seepage.measure(Ridge(penalty).fit(X, Y), X, Y, noise_scale=noise, **arguments)


FIRST, SECOND = _measured(1.0, 2.0), _measured(50.0, 0.7)


def _jacobians(penalty, noise):
    """The whitened Jacobian of every person, from the closed form of ridge regression."""
    model = Ridge(penalty).fit(X, Y)
    features = np.column_stack([X, np.ones(len(X))])
    theta = np.append(model.coef_, model.intercept_)
    hessian = features.T @ features + np.diag([penalty] * 10 + [0.0])
    residual = features @ theta - Y.to_numpy()
    inverse = np.linalg.inv(hessian) / noise
    for row, slope in zip(features, residual, strict=True):
        columns = slope * np.eye(11)[:, :10] + np.outer(row, theta[:10])
        yield -inverse @ np.column_stack([columns, -row])


def test_attributes_and_dfil_are_those_of_the_stacked_release():
    both = compose([FIRST, SECOND])
    stacked = [np.vstack(pair) for pair in zip(_jacobians(1.0, 2.0), _jacobians(50.0, 0.7), strict=True)]
    np.testing.assert_allclose(both.attributes.to_numpy(), [np.linalg.norm(j, axis=0) for j in stacked], rtol=1e-8)
    np.testing.assert_allclose(both.examples["dfil"], [np.linalg.norm(j) / np.sqrt(11) for j in stacked], rtol=1e-8)


def test_eta_and_joint_are_those_of_the_stacked_release():
    both = compose([FIRST, SECOND])
    stacked = [np.vstack(pair) for pair in zip(_jacobians(1.0, 2.0), _jacobians(50.0, 0.7), strict=True)]
    np.testing.assert_allclose(both.examples["eta"], [np.linalg.norm(j, 2) for j in stacked], rtol=1e-8)
    assert list(both.examples.columns) == ["eta", "dfil"]
    assert both.joint_information_loss() == pytest.approx(np.linalg.norm(np.hstack(stacked), 2), rel=1e-8)
    old = X["age"].to_numpy() > 60
    some = np.hstack([j[:, [2]] for j, one in zip(stacked, old, strict=True) if one])
    assert both.joint_information_loss(X["age"] > 60, attribute="bmi") == pytest.approx(
        np.linalg.norm(some, 2), rel=1e-8
    )


def test_who_is_in_one_release_alone_is_told_by_that_one():
    shorter = seepage.measure(Ridge(50.0).fit(X[3:], Y[3:]), X[3:], Y[3:], noise_scale=0.7)
    both = compose([FIRST, shorter])
    assert both.information.count == 442
    np.testing.assert_allclose(both.examples[:3], FIRST.examples[:3], rtol=1e-8)
    rest = np.hypot(FIRST.attributes[3:], shorter.attributes)
    np.testing.assert_allclose(both.attributes[3:], rest, rtol=1e-12)
    turned = compose([shorter, FIRST])
    assert turned.examples.index[-3:].tolist() == [0, 1, 2]
    np.testing.assert_allclose(turned.examples.sort_index(), both.examples, rtol=1e-8)


def test_equal_releases_cost_the_root_of_their_number():
    many = compose([FIRST] * 9)
    for column in ("eta", "dfil"):
        np.testing.assert_allclose(many.examples[column], 3 * FIRST.examples[column], rtol=1e-12)
    np.testing.assert_allclose(many.attributes, 3 * FIRST.attributes, rtol=1e-12)
    assert many.joint_information_loss(X["age"] > 60) == pytest.approx(3 * FIRST.joint_information_loss(X["age"] > 60))
    assert many.joint_information_loss(attribute="bmi") == pytest.approx(
        3 * FIRST.joint_information_loss(attribute="bmi")
    )


def test_composing_is_associative():
    nested, flat = compose([compose([FIRST, SECOND]), FIRST]), compose([FIRST, SECOND, FIRST])
    np.testing.assert_allclose(nested.examples, flat.examples, rtol=1e-12)
    np.testing.assert_allclose(nested.attributes, flat.attributes, rtol=1e-12)


def test_different_models_compose_and_columns_find_each_other():
    turned = X[X.columns[::-1]]
    logistic = LogisticRegression(C=0.01, max_iter=10_000, tol=1e-8).fit(turned, BINARY)
    other = seepage.measure(logistic, turned, BINARY, noise_scale=0.1, public_label=True)
    first = _measured(1.0, 2.0, public_label=True)
    both = compose([first, other])
    assert list(both.attributes.columns) == list(X.columns)
    expected = np.hypot(first.attributes["bmi"], other.attributes["bmi"])
    np.testing.assert_allclose(both.attributes["bmi"], expected, rtol=1e-12)


def test_distances_are_those_of_the_stacked_release():
    shared = {"attributes": ["age"], "public_label": True}
    first, second = _measured(1.0, 2.0, **shared), _measured(50.0, 0.7, **shared)
    found = compose([first, second]).information.distances("age", [30.0, 60.0])
    for person in (0, 100):
        moved = X.copy()
        moved.loc[person, "age"] = 60.0
        stacked = []
        for penalty, noise in ((1.0, 2.0), (50.0, 0.7)):
            before, after = Ridge(penalty).fit(X, Y), Ridge(penalty).fit(moved, Y)
            stacked += [*(after.coef_ - before.coef_) / noise, (after.intercept_ - before.intercept_) / noise]
        assert found.distance[person, 1] == pytest.approx(np.linalg.norm(stacked), rel=1e-6)


def test_differential_privacy_composes_as_one_gaussian_release():
    features = X / X.to_numpy().max()
    model = LogisticRegression(C=0.1, fit_intercept=False).fit(features, BINARY)
    leaks = [seepage.measure(model, features, BINARY, noise_scale=scale) for scale in (3.0, 4.0)]
    both = compose(leaks).information.guarantee(1e-5, None)
    each = [leak.information.guarantee(1e-5, None) for leak in leaks]
    assert both.renyi == pytest.approx(sum(one.renyi for one in each))
    # Noise 3 and 4 together are like one release with noise 2.4.
    alone = seepage.measure(model, features, BINARY, noise_scale=2.4).information.guarantee(1e-5, None)
    assert both.epsilon == pytest.approx(alone.epsilon, rel=1e-9)
    assert both.epsilon < sum(one.epsilon for one in each)
    assert any(one.sentence().startswith("Release 2: ") for one in both.assumptions)


def test_a_composition_has_the_prior_of_its_people_and_no_noise_to_choose():
    both = compose([FIRST, SECOND])
    assert both.information.variances() == FIRST.information.variances()
    assert (both.error_floor(prior="data") <= FIRST.error_floor(prior="data")).all(axis=None)
    with pytest.raises(seepage.errors.UnansweredError):
        seepage.calibrate(both, error_floor={"age": 1.0}, shape="isotropic")


def test_the_bounds_and_every_part_are_among_the_assumptions():
    sentences = " ".join(compose([FIRST, SECOND]).assumptions)
    assert "upper bounds" not in sentences
    estimated = seepage.Leakage(_Estimated("estimated", FIRST.information))
    assert "upper bounds" in " ".join(compose([FIRST, estimated]).assumptions)
    assert "Release 1: Only the parameters" in sentences
    assert "Release 2: Only the parameters" in sentences
    assert "noise of scale 0.7" in sentences


class _Estimated:
    """A measurement of another kind, with a standard error and a lower bound."""

    def __init__(self, assurance, information):
        self.assurance, self.assumptions = assurance, (Assumption("estimate", "It was estimated."),)
        self.people, self.units = information.people, information.units
        self.private_values, self.stays = information.private_values, False
        self.without_slope = frozenset()
        self.count, self.attribute_names = information.count, information.attribute_names
        self.categorical, self.attributes, self.noise = information.categorical, information.attributes, None
        self.releases, self.rows_of_releases = (self,), (np.arange(information.count),)
        self.guarantee = lambda delta, norm: Guarantee(
            0.5, 2.0, delta, (Assumption("accounting", "It was accounted."),)
        )
        self._examples = dict(information.examples())
        self._examples["eta_low"] = 0.5 * self._examples["eta"]
        self._examples["dfil_standard_error"] = 0.1 * self._examples["dfil"]

    def examples(self):
        return self._examples

    def jacobians(self, people):
        return None


def test_the_assurance_is_the_weakest():
    estimated = seepage.Leakage(_Estimated("estimated", FIRST.information))
    heuristic = seepage.Leakage(_Estimated("heuristic", FIRST.information))
    assert compose([FIRST, SECOND]).assurance == "exact"
    assert compose([estimated, FIRST]).assurance == "estimated"
    assert compose([FIRST, heuristic, estimated]).assurance == "heuristic"


def test_guarantees_of_another_kind_add_at_a_share_of_delta_each():
    estimated = seepage.Leakage(_Estimated("estimated", FIRST.information))
    found = compose([estimated] * 3).information.guarantee(1e-5, None)
    assert (found.renyi, found.epsilon, found.delta) == (1.5, 6.0, 1e-5)
    sentences = [one.sentence() for one in found.assumptions]
    assert sentences == [f"Release {number}: It was accounted." for number in (1, 2, 3)]


def test_standard_errors_propagate():
    estimated = seepage.Leakage(_Estimated("estimated", SECOND.information))
    found = compose([FIRST, estimated]).examples
    random = np.random.default_rng(0)
    dfil = estimated.examples["dfil"].to_numpy()
    drawn = np.hypot(FIRST.examples["dfil"].to_numpy(), random.normal(dfil, 0.1 * dfil, size=(4000, 442)))
    np.testing.assert_allclose(found["dfil_standard_error"], drawn.std(axis=0), rtol=0.15)
    np.testing.assert_array_equal(found["eta_low"], np.maximum(FIRST.examples["eta"], 0.5 * SECOND.examples["eta"]))


HARD = {
    "nothing": ([], "no releases"),
    "a model": ([FIRST, Ridge()], "list of Leakage.*Ridge"),
    "other people": ([FIRST, _measured(1.0, 1.0, ids=np.arange(1000, 1442))], "Nobody of release 1 .0, 1.*1000, 1001"),
    "other attributes": ([FIRST, _measured(1.0, 1.0, attributes=["age"])], "attributes=.*public_label="),
    "a public label": ([FIRST, _measured(1.0, 1.0, public_label=True)], "public_label="),
    "a category and a number": (
        [
            FIRST,
            seepage.measure(LogisticRegression(C=1e-3, max_iter=10_000).fit(X, BINARY), X, BINARY, noise_scale=1.0),
        ],
        "'target' is a category in one",
    ),
}


@pytest.mark.parametrize("what", HARD)
def test_releases_that_do_not_belong_together_are_refused(what):
    leaks, message = HARD[what]
    with pytest.raises(seepage.errors.InputError, match=message):
        compose(leaks)


def test_rows_without_ids_are_numbered():
    plain = seepage.measure(Ridge().fit(X.to_numpy(), Y), X.to_numpy(), Y, noise_scale=1.0, attributes=["x0"])
    named = X.set_axis([f"x{i}" for i in range(10)], axis=1)
    frame = seepage.measure(Ridge().fit(named, Y), named, Y, noise_scale=1.0, attributes=["x0"])
    assert compose([plain, frame]).information.count == 442


def test_the_frame_comes_in_the_library_of_the_first():
    other = seepage.measure(Ridge().fit(X, Y), pl.from_pandas(X), Y, noise_scale=1.0)
    assert isinstance(compose([other, FIRST]).examples, pl.DataFrame)
    assert isinstance(compose([FIRST, other]).examples, pd.DataFrame)
