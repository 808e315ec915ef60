"""The estimators of the page on any estimator: refits move as the answers say, and attackers err as they say."""

import numpy as np
import pytest
import statsmodels.api as sm
from pages import ROOT, run
from scipy.optimize import root

import seepage
from seepage.models import Equations


@pytest.fixture(scope="module")
def page():
    return run(ROOT / "docs" / "how-to" / "any-estimator.md").names


def _moved(equations, frame, column, rows):
    """Return how theta moves with a value in some rows, by solving the equations anew on both sides."""
    found, step = [], 2e-3 * frame[column].std()
    for sign in (1, -1):
        other = frame.copy()
        other.loc[rows, column] += sign * step
        found.append(root(lambda theta, f=other: equations.psi(theta, f).sum(axis=1), equations.theta, tol=1e-13).x)
    return (found[0] - found[1]) / (2 * step)


@pytest.mark.parametrize(
    ("name", "column", "known"),
    [
        ("doubly_robust", "pressure", 1),
        ("doubly_robust", "age", 1),
        ("weighted", "age", 2),
        ("standardized", "pressure", 2),
        ("surveyed", "age", 3),
        ("surveyed", "weight", 3),
        ("instrumented", "distance", 4),
        ("counted", "age", 3),
        ("repeated", "pressure", 3),
    ],
)
def test_refits_move_as_much(page, name, column, known):
    equations, frame = page[name], page["visits" if name == "repeated" else "people"]
    ids = {"ids": "person"} if name == "repeated" else {}
    published = equations.names[:known]
    leak = seepage.measure(equations, frame, published=published, noise_scale=1.0, attributes=[column], **ids)
    slopes = leak.information.solved.slopes
    for row in (0, 17, 301):
        moved = _moved(equations, frame, column, [row])[:known]
        np.testing.assert_allclose(slopes[row, :, 0], moved, rtol=1e-5, atol=1e-5 * np.abs(moved).max())
        if not ids:
            assert leak.attributes[column][row] == pytest.approx(np.linalg.norm(moved), rel=1e-5)


def test_an_attacker_who_is_simulated_errs_as_the_answer_says(page):
    """Others are drawn anew; who has which treatment and smokes is counted, as the answer takes it to be."""
    equations, people = page["doubly_robust"], page["people"]
    leak = seepage.measure(equations, people, published=["effect"])
    random, draws, rows = np.random.default_rng(1), 500, people.to_numpy(dtype=float)
    for person in (3, 200):
        others, numbers = np.setdiff1d(np.arange(len(people)), person), []
        for _ in range(draws):
            drawn = np.append(random.choice(others, len(others)), person)
            frame = type(people)(rows[drawn], columns=people.columns)
            theta = root(lambda t, f=frame: equations.psi(t, f).sum(axis=1), equations.theta, tol=1e-10).x
            numbers.append([theta[0], frame["treated"].sum(), frame["smokes"].sum()])
        slope = np.array([_moved(equations, people, "pressure", [person])[0], 0.0, 0.0])
        reached = 1 / np.sqrt(slope @ np.linalg.solve(np.cov(np.array(numbers).T), slope))
        assert 0.9 <= reached * leak.attributes["pressure"][person] <= 1.2


@pytest.mark.parametrize("structure", [sm.cov_struct.Exchangeable, sm.cov_struct.Independence])
@pytest.mark.parametrize("family", [sm.families.Gaussian, sm.families.Poisson])
def test_results_of_gee_are_read_as_they_are(page, structure, family):
    again = np.random.default_rng(4).poisson(1.0, len(page["visits"]))
    visits = page["visits"].assign(visits=lambda each: each["visits"] + again)
    label = "pressure" if family is sm.families.Gaussian else "visits"

    def fitted(frame):
        x = sm.add_constant(frame[["age", "smokes"]])
        return sm.GEE(frame[label], x, frame["person"], family=family(), cov_struct=structure()).fit(
            ctol=1e-8, maxiter=300
        )

    results = fitted(visits)
    leak = seepage.measure(results, noise_scale=0.5)
    assert leak.information.count == visits["person"].nunique()
    assert leak.information.attribute_names == ("age", "smokes", label)
    for column in ("age", label):
        at = [*leak.information.blocks].index(column)
        for row in (2, 450):
            step, moved = 1e-2 * visits[column].std(), []
            for sign in (1, -1):
                other = visits.astype({column: float})
                other.loc[row, column] += sign * step
                moved.append(fitted(other).params.to_numpy())
            by_refit = (moved[0] - moved[1]) / (2 * step)
            found = leak.information.solved.slopes[row, :, at]
            np.testing.assert_allclose(found, by_refit, rtol=1e-3, atol=1e-4 * np.abs(by_refit).max())


def test_two_outputs_of_two_estimators_tell_no_less_than_one(page):
    people = page["people"]
    alone, second = (
        seepage.measure(page[name], people, published=[number], attributes=["pressure"])
        for name, number in (("doubly_robust", "effect"), ("standardized", "treated"))
    )
    together = seepage.compose({"one": alone, "two": second})
    assert (together.attributes["pressure"] >= 0.99 * alone.attributes["pressure"]).all()


def test_rows_of_one_person_are_one_persons(page):
    equations, visits = page["repeated"], page["visits"]
    asked = {"published": ["age"], "noise_scale": 1.0, "attributes": ["pressure"]}
    leak = seepage.measure(equations, visits, ids="person", **asked)
    clustered = seepage.measure(equations, visits, clusters="person", **asked)
    slopes = clustered.information.solved.slopes[:, 0, 0]
    both = np.hypot(slopes[:400], slopes[400:])
    np.testing.assert_allclose(leak.attributes["pressure"], both, rtol=1e-9)
    assert isinstance(equations, Equations)
