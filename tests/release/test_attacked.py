"""A release is attacked with exact refits before anybody is told that it meets its policy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import seepage
from benchmarks.attack import SETTINGS, attacks, people_of, published, scale_of
from seepage.release.checking import Remeasured, attacked

COUNT = 1200
RANDOM = np.random.default_rng(0)
ORDINARY = pd.DataFrame(RANDOM.normal([50, 25, 120], [12, 4, 15], (COUNT, 3)), columns=["age", "bmi", "pressure"])
OUTCOME = pd.Series(ORDINARY.to_numpy() @ [0.3, 1.0, 0.2] + RANDOM.normal(0, 10, COUNT), name="outcome")
MODELS = {"ridge": Ridge(alpha=1.0), "logistic": LogisticRegression(tol=1e-10, max_iter=5000)}
NAMES = ("bmi", "age", "pressure")


def _leak(kind="ridge", X=ORDINARY, y=OUTCOME, noise_scale=0.5):
    labels = y if kind == "ridge" else (y > OUTCOME.median()).astype(int)
    return seepage.measure(seepage.engines.fit(MODELS[kind], X, labels), X, labels, noise_scale=noise_scale)


def _information(leak, names):
    return leak.attributes[list(names)].to_numpy() ** 2


@pytest.fixture(scope="module", params=MODELS)
def release(request):
    return request.param, _leak(request.param)


def test_measuring_anew_agrees_with_measuring_the_changed_data(release):
    kind, leak = release
    changes = [(3, "age", 80.0), (700, "bmi", 15.0), (9, "pressure", 200.0)]
    if kind == "ridge":
        changes.append((44, "outcome", 150.0))
    each = [{person: {name: value}} for person, name, value in changes]
    found = Remeasured(leak.information, NAMES, with_eta=True).each(each, lambda _, other: other)
    for (person, name, value), other in zip(changes, found, strict=True):
        X, y = ORDINARY.copy(), OUTCOME.copy()
        if name == "outcome":
            y[person] = value
        else:
            X.loc[person, name] = value
        again = _leak(kind, X, y)
        expected = _information(again, NAMES)
        np.testing.assert_allclose(other.information, expected, rtol=1e-6)
        np.testing.assert_allclose(other.eta, again.examples["eta"], rtol=1e-6)
        moved = again.information.geometry.parameters - leak.information.geometry.parameters
        assert other.distance == pytest.approx(np.linalg.norm(moved) / 0.5, rel=1e-6)


BEHIND = {
    "ridge": (StandardScaler(), Ridge(alpha=30.0)),
    "without means": (StandardScaler(with_mean=False), Ridge(alpha=30.0)),
    "ranges of other rows": (StandardScaler(), MinMaxScaler((2, 3)), Ridge(alpha=3.0)),
    "logistic": (StandardScaler(), LogisticRegression(C=0.02, tol=1e-11, max_iter=5000)),
}


def _scaled(kind, X=ORDINARY, y=OUTCOME, noise_scale=0.5):
    labels = (y > OUTCOME.median()).astype(int) if kind == "logistic" else y
    steps, rows = [clone(step) for step in BEHIND[kind]], X
    for step in steps[:-1]:
        step.fit(np.array([[-4.0] * 3, [4.0] * 3]) if isinstance(step, MinMaxScaler) else rows)
        rows = step.transform(rows)
    steps[-1].fit(rows, labels)
    return seepage.measure(make_pipeline(*steps), X, labels, noise_scale=noise_scale)


@pytest.mark.parametrize("kind", BEHIND)
def test_measuring_anew_takes_the_scaler_along(kind):
    leak = _scaled(kind)
    information = leak.information
    names, geometry = ("bmi", "age", "pressure"), information.geometry
    assert geometry.scales is not None
    changes = [(3, "age", 900.0), (700, "bmi", -300.0), (9, "pressure", 200.0)]
    if kind != "logistic":
        changes.append((44, "outcome", 150.0))
    each = [{person: {name: value}} for person, name, value in changes]
    found = Remeasured(information, names, with_eta=True).each(each, lambda _, other: other)
    for (person, name, value), other in zip(changes, found, strict=True):
        X, y = ORDINARY.copy(), OUTCOME.copy()
        if name == "outcome":
            y[person] = value
        else:
            X.loc[person, name] = value
        again = _scaled(kind, X, y)
        expected = _information(again, names)
        np.testing.assert_allclose(other.information, expected, rtol=1e-6)
        np.testing.assert_allclose(other.eta, again.examples["eta"], rtol=1e-6)
        by_refit = information.distances(name, [value])
        expected = by_refit.distance
        if by_refit.unlike is not None:
            # What a promise of floors is held against is the distance of Bhattacharyya, as of one noise.
            expected = by_refit.unlike.pairs.length()[by_refit.unlike.places(expected.shape)]
        assert other.distance == pytest.approx(expected[person, 0], rel=1e-8)


def test_an_attack_that_does_better_than_promised_stops_the_release():
    leak = _leak()
    largest = float(leak.attributes["age"].max())
    kept = seepage.Policy(error_floor={"age": 0.4 / largest})
    assert 0.1 < attacked(leak, kept, seed=0).reached < 1
    # A promise that is kept for small steps, and that one extreme value breaks; and one that nobody keeps.
    for times in (1, 3):
        broken = seepage.Policy(error_floor={"age": times / largest})
        with pytest.raises(seepage.errors.PolicyError, match="one more step of the grid"):
            attacked(leak, broken, seed=0)


def test_a_verdict_about_everything_together_is_attacked_through_every_number():
    leak = _leak()
    largest = float(leak.examples["eta"].max())
    assert attacked(leak, seepage.Policy(eta=2 * largest), seed=0).reached < 1
    with pytest.raises(seepage.errors.PolicyError, match="one more step of the grid"):
        attacked(leak, seepage.Policy(eta=largest), seed=0)


def test_how_many_were_attacked_is_told_by_the_sizes_and_not_by_the_values():
    """Somebody who has one of the values already, or is chosen twice, is tried less: nobody may see that."""

    def told(leak, seed):
        found = attacked(leak, seepage.Policy(error_floor={"age": 0.5}), seed=seed)
        return found.people, found.values

    exposed = int(_leak().information.attributes()["age"].argmax())
    found = set()
    for share in (0.0, 0.5, 1.0):
        people = ORDINARY.copy()
        people.loc[exposed, "age"] = np.quantile(ORDINARY["age"], share, method="nearest")
        found |= {told(_leak(X=people), seed) for seed in (0, 1)}
    assert found == {(12, 60)}


def test_the_best_attacker_of_two_people_of_diabetes_stays_within_the_promise():
    """Verdict, certificate, model card and scale, all computed anew for every candidate; at night, of ten people."""
    setting = SETTINGS["diabetes"]()
    scale = scale_of(setting)
    truth = published(setting, setting.X, scale)
    for person in people_of(setting, 2):
        tried = list(attacks(setting, person, truth, scale))
        assert len(tried) >= 40
        assert not any(each.by_words for each in tried)
        assert max(each.reached for each in tried) <= 1
