"""Within public ranges nobody's own value decides what publish does, and a scale that it draws is counted."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from benchmarks._scale import GRID, _at_every_age, left
from benchmarks._scale import _needed as needed_there
from seepage._amounts import on_grid
from seepage.errors import InputError, PolicyError, UnsupportedError
from seepage.release import GaussianNoise
from seepage.release._ranges import Ranged
from seepage.release._scale import KAPPA

RANGES = {"age": (0.0, 100.0), "bmi": (8.0, 42.0)}
FLOORS = {"age": 15.0, "bmi": 4.0}
POLICY = seepage.Policy(error_floor=FLOORS, ranges=RANGES)


def people(count, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal([50, 25], [15, 4], (count, 2)), columns=["age", "bmi"])
    X = X.clip([0, 8], [100, 42], axis=1)
    return X, pd.Series(0.3 * X["age"] + X["bmi"] + random.normal(0, 3, count), name="cost")


X, Y = people(60)


def ranged(X=X, y=Y, model=None, policy=POLICY, noise_scale=1.0):
    model = Ridge() if model is None else model
    return Ranged.of(seepage.measure(model.fit(X, y), X, y, noise_scale=noise_scale), policy)


def _needed(rows, labels):
    """Return the noise that each person needs for the floors, by the formulas of ridge regression alone."""
    A, labels = np.column_stack([rows, np.ones(len(rows))]), np.asarray(labels)
    inverse = np.linalg.inv(A.T @ A + np.diag([1.0, 1.0, 0.0]))
    theta = inverse @ A.T @ labels
    residual, u = A @ theta - labels, inverse @ A.T
    moves = [np.linalg.norm(inverse[:, [j]] * residual + u * theta[j], axis=0) for j in range(2)]
    return np.max([floor * move for floor, move in zip(FLOORS.values(), moves, strict=True)], axis=0)


def test_what_is_needed_at_every_value_is_what_refits_say():
    found = ranged()
    assert found.needed.shape == (60, 26)
    np.testing.assert_allclose(found.needed[:, -1], _needed(X.to_numpy(), Y), rtol=1e-7)
    for person in (0, 17, 41):
        for i, point in enumerate(found.points):
            rows = X.to_numpy().copy()
            rows[person] = list(point.values())
            assert found.needed[person, i] == pytest.approx(_needed(rows, Y)[person], rel=1e-6)
    assert found.factor == found.needed.max()
    # The price of two wide ranges together, of few people.
    assert 1.0 <= found.factor / found.needed[:, -1].max() < 4


def test_nobodys_own_value_decides_what_they_need():
    other = X.copy()
    other.loc[5, ["age", "bmi"]] = 3.0, 40.0
    before, after = ranged().needed, ranged(other).needed
    np.testing.assert_allclose(before[5, :-1], after[5, :-1], rtol=1e-6)
    assert abs(before[5, -1] / after[5, -1] - 1) > 0.05


def test_slopes_are_those_of_the_noise_that_is_needed():
    """The largest need of anybody at any value, computed anew for each value of some person."""
    start = ranged()
    slopes = start.slopes()
    for person in (3, 30):
        for value in (5.0, 95.0):
            other = X.copy()
            other.loc[person, "age"] = value
            moved = abs(np.log(ranged(other).factor / start.factor)) / abs(value - X.loc[person, "age"])
            # What one's own value does as it is, and no grid point has, is the rest.
            assert moved <= slopes[person, 0] * 1.001 + 1e-12
    assert (slopes >= 0).all()
    assert 0 < np.median(slopes[:, 0]) < 0.01


MORE, COST = people(150, seed=1)


def test_a_calibrated_scale_is_drawn_counted_and_enough():
    least = ranged(MORE, COST).factor
    scales = set()
    for _ in range(2):
        found = seepage.publish(Ridge().fit(MORE, COST), MORE, COST, noise_scale="calibrated", accept=POLICY)
        said = {one.kind: one for one in found.certificate.chosen()}
        assert said["scale"].status == "counted"
        assert found.certificate.policy["ranges"] == {name: list(ends) for name, ends in RANGES.items()}
        scales.add(found.certificate.noise["scale"])
    assert all(on_grid(scale) and scale > least for scale in scales)
    assert min(scales) < 4 * least


def test_the_scale_of_few_people_tells_too_much(monkeypatch):
    few, labels = people(12)
    with pytest.raises(PolicyError, match="of few people the choice of a scale tells too much"):
        seepage.publish(Ridge().fit(few, labels), few, labels, noise_scale="calibrated", accept=POLICY)
    # What it tells is what refuses it.
    monkeypatch.setattr(Ranged, "slopes", lambda self: np.zeros((12, 2)))
    assert seepage.publish(Ridge().fit(few, labels), few, labels, noise_scale="calibrated", accept=POLICY)


def test_the_noise_on_a_scale_is_kappa(monkeypatch):
    """Without its grid, the logarithm of what is drawn has the deviation that its share is counted with."""
    monkeypatch.setattr("seepage.release._scale.up_to_grid", lambda scale: scale)
    from seepage.release._scale import counted_scale

    found = ranged(MORE, COST)
    monkeypatch.setattr(Ranged, "slopes", lambda self: np.zeros((150, 2)))
    # So that no draw comes out too small to be enough.
    monkeypatch.setattr("seepage.release._scale.MARGIN", 1.0)
    drawn = np.log([counted_scale(found, 1.0) for _ in range(400)])
    assert np.mean(drawn) - np.log(found.factor) == pytest.approx(1.0, abs=0.02)
    assert np.std(drawn) == pytest.approx(KAPPA, rel=0.2)


def test_a_scale_that_is_enough_only_for_the_values_people_have_is_refused():
    found = ranged()
    enough, everywhere = found.needed[:, -1].max(), found.factor
    own = {"noise_chosen_without_data": True}
    between = (enough * everywhere) ** 0.5
    model = Ridge().fit(X, Y)
    assert seepage.publish(model, X, Y, noise_scale=between, accept={"error_floor": FLOORS}, **own)
    with pytest.raises(PolicyError, match="if one person had another value in the ranges"):
        seepage.publish(model, X, Y, noise_scale=between, accept=POLICY, **own)
    found = seepage.publish(model, X, Y, noise_scale=everywhere * 1.001, accept=POLICY, **own)
    said = {one.kind: one.how for one in found.certificate.chosen()}
    assert "does not hang on their own value" in said["publication"]


def test_scalers_curvature_and_labels_move_along():
    X, Y = people(25)
    policy = seepage.Policy(error_floor={"age": 15.0, "cost": 5.0}, ranges={"age": (0, 100), "cost": (-20, 150)})
    found = ranged(X, Y, make_pipeline(StandardScaler(), Ridge()), policy, 30.0)
    point = found.points[7]
    rows, labels = X.copy(), Y.copy()
    rows.loc[9, "age"], labels[9] = point["age"], point["cost"]
    again = ranged(rows, labels, make_pipeline(StandardScaler(), Ridge()), policy, 30.0)
    assert found.needed[9, 7] == pytest.approx(again.needed[9, -1], rel=1e-6)
    ill = (Y.median() < Y).map({True: "ill", False: "well"})
    policy = seepage.Policy(error_floor={"age": 15.0}, ranges={"age": (0, 100)})
    curved = ranged(X, ill, LogisticRegression(tol=1e-10, max_iter=5000), policy)
    rows = X.copy()
    rows.loc[9, "age"] = curved.points[6]["age"]
    again = ranged(rows, ill, LogisticRegression(tol=1e-10, max_iter=5000), policy)
    assert curved.needed[9, 6] == pytest.approx(again.needed[9, -1], rel=1e-5)


def _publish(accept, noise_scale="calibrated", model=None, **more):
    model = Ridge() if model is None else model
    return seepage.publish(model.fit(X, Y), X, Y, noise_scale=noise_scale, accept=accept, **more)


@pytest.mark.parametrize(
    ("accept", "more", "error", "words"),
    [
        ({"error_floor": FLOORS}, {}, InputError, "for a policy with ranges"),
        ({"error_floor": FLOORS, "ranges": {"age": (0, 100)}}, {}, InputError, "and none for bmi"),
        ({"error_floor": {"age": 5}, "ranges": {"age": (30, 60)}}, {}, InputError, "does not hold everybody"),
        ({"error_floor": {"age": 5}, "ranges": {"age": (30, 3)}}, {}, InputError, "the lower one first"),
        ({"error_floor": {"age": 5}, "ranges": {"age": 3}}, {}, InputError, "two ends"),
        ({"error_floor": {"age": 5}, "ranges": 3}, {}, InputError, "two ends for each"),
        ({"error_floor": {"age": 5}, "ranges": {"age": (0, 100), "hair": (0, 1)}}, {}, InputError, "'hair'"),
        (POLICY, {"noise_scale": "best"}, InputError, "noise_scale is 'best'"),
        (POLICY, {"ids": np.arange(60) // 2}, UnsupportedError, "some people have several"),
        (POLICY, {"noise_scale": GaussianNoise(standard_errors=5.0)}, UnsupportedError, "another shape"),
        (POLICY, {"model": make_pipeline(StandardScaler(), Ridge())}, UnsupportedError, "fitted on the same rows"),
    ],
)
def test_what_ranges_cannot_do_is_refused_with_a_way_out(accept, more, error, words):
    with pytest.raises(error, match=words):
        _publish(accept, **more)


def test_a_counted_scale_leaves_what_was_promised():
    """An attacker who reruns everything, the scale included; one that is calibrated and rounded up gives away more."""
    uncounted, counted = (left(60, 15, drawn=drawn) for drawn in (False, True))
    assert counted.together <= counted.alone + 0.005 + 2 / 300
    assert uncounted.together > uncounted.alone + 0.03


def test_the_attack_needs_the_noise_that_publish_finds():
    policy = seepage.Policy(error_floor=FLOORS, ranges={"age": (0, 100)})
    # The attack asks about ages alone, and publish of all that has a target.
    narrow = seepage.Policy(error_floor=FLOORS, ranges={**policy.ranges, "bmi": (X["bmi"].min(), X["bmi"].max())})
    design = np.column_stack([X, np.ones(len(X))])
    assert _at_every_age(design, Y.to_numpy()) <= ranged(policy=narrow).factor * (1 + 1e-9)
    np.testing.assert_allclose(needed_there(design[None], Y.to_numpy())[1][0], _needed(X.to_numpy(), Y), rtol=1e-9)
    assert (np.diff(GRID) > 0).all()
