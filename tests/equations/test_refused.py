"""What is no estimator that can be measured is refused by its name, with the way out."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import root
from scipy.special import digamma, polygamma

import seepage
from seepage.errors import SeepageError
from seepage.models import Equations

RANDOM = np.random.default_rng(0)
N = 200
FRAME = pd.DataFrame(
    {
        "age": RANDOM.normal(50.0, 10.0, N),
        "dose": RANDOM.normal(size=N),
        "treated": RANDOM.integers(0, 2, N),
        "ward": RANDOM.choice(list("ABC"), N),
    }
)
FRAME["y"] = 0.1 * FRAME["age"] + FRAME["dose"] + 2.0 * FRAME["treated"] + RANDOM.normal(size=N)
OUTCOME = FRAME["y"].to_numpy()


def _design(frame):
    return np.column_stack([np.ones(len(frame)), frame["age"], frame["dose"], frame["treated"]])


def _line(theta, frame):
    x = _design(frame)
    return (x * (frame["y"].to_numpy() - x @ theta)[:, None]).T


THETA = np.linalg.lstsq(_design(FRAME), FRAME["y"], rcond=None)[0]


def _solved(psi, start):
    return Equations(psi, root(lambda theta: psi(theta, FRAME).sum(axis=1), start, tol=1e-12).x)


def _adds_a_column(theta, frame):
    frame["rest"] = frame["y"] - theta[0]
    return np.stack([frame["rest"]])


def _overwrites_a_column(theta, frame):
    frame["y"] = frame["y"] - 1.0
    return np.stack([frame["y"] - theta[0]])


def _random(theta, frame):
    return _line(theta, frame) + np.random.default_rng().normal(size=(4, 1))


def _trimmed(theta, frame):
    share = 1 / (1 + np.exp(-(theta[1] + 2.0 * frame["dose"])))
    kept = np.clip(share, 0.1, 0.9)
    return np.stack([frame["treated"] * frame["y"] / kept - theta[0], frame["treated"] - share])


def _missing():
    frame = FRAME.copy()
    frame.loc[3, "age"] = np.nan
    return frame


WRONG = {
    "theta is not solved": (lambda: Equations(_line, THETA + 0.1), {}, "standard errors from where"),
    "theta of another fit": (lambda: Equations(_line, THETA), {"X": FRAME[:150]}, "does not solve the equations"),
    "theta in another order": (lambda: Equations(_line, THETA[::-1]), {}, "in the order of psi's equations"),
    "theta is text": (lambda: Equations(_line, "abc"), {}, "theta is the list of numbers"),
    "theta is a matrix": (lambda: Equations(_line, [THETA]), {}, "one finite number for each equation"),
    "psi is no function": (lambda: Equations(THETA, THETA), {}, "psi is a function of theta and a frame"),
    "too few names": (lambda: Equations(_line, THETA, names=["effect"]), {}, "each of the 4 parameters a name"),
    "psi is turned": (lambda: Equations(lambda t, f: _line(t, f).T, THETA), {}, "Return its transpose"),
    "psi is summed": (lambda: Equations(lambda t, f: _line(t, f).sum(axis=1), THETA), {}, "one column for each row"),
    "psi has missing values": (lambda: Equations(_line, THETA), {"X": _missing()}, "in row 3 .* Drop rows"),
    "psi adds a column": (lambda: Equations(_adds_a_column, [FRAME["y"].mean()]), {}, "'rest' .* Work on a copy"),
    "psi overwrites a column": (lambda: Equations(_overwrites_a_column, [0.0]), {}, "psi changes its frame: 'y'"),
    "psi is random": (lambda: Equations(_random, THETA), {}, "asked twice. Draw what is random before"),
    "psi reads all rows from elsewhere": (lambda: Equations(lambda t, f: _line(t, FRAME), THETA), {}, "a part of the"),
    "psi reads a column from elsewhere": (
        lambda: Equations(lambda t, f: np.stack([f["age"] * 0 + OUTCOME - t[0]]), [OUTCOME.mean()]),
        {},
        "all that it needs of a person must be in the frame",
    ),
    "psi reads nothing": (
        lambda: Equations(lambda t, f: np.full((1, len(f)), t[0]), [0.0]),
        {},
        "psi moves with no column",
    ),
    "psi mixes people": (
        lambda: Equations(lambda t, f: np.stack([f["y"] - f["y"].mean() - t[0]]), [0.0]),
        {},
        "psi mixes people.*equations of their own",
    ),
    "psi ranks people": (
        lambda: Equations(lambda t, f: np.stack([f["y"].rank() - t[0]]), [(N + 1) / 2]),
        {},
        "psi mixes people",
    ),
    "rows of a person are mixed, and nobody said whose they are": (
        lambda: _solved(lambda t, f: np.stack([f["y"] - 0.3 * f.groupby("ward")["y"].transform("mean") - t[0]]), [1.0]),
        {},
        "said by ids= or clusters=",
    ),
    "a median": (
        lambda: Equations(lambda t, f: np.stack([(f["y"] <= t[0]) - 0.5]), [FRAME["y"].median()]),
        {},
        "quantiles and medians jump.*Print a mean",
    ),
    "Huber's weights": (
        lambda: _solved(lambda t, f: np.stack([np.clip(f["y"] - t[0], -1.5, 1.5)]), [7.0]),
        {},
        "a kink in 'y'.*Use a smooth function",
    ),
    "an absolute value": (
        lambda: _solved(lambda t, f: np.stack([np.abs(f["dose"]) - t[0]]), [1.0]),
        {},
        "a kink in 'dose', as absolute values",
    ),
    "trimmed weights": (lambda: _solved(_trimmed, [6.0, 0.0]), {}, "a kink in 'dose'.*trimming"),
    "classes of a number": (
        lambda: _solved(lambda t, f: np.stack([(f["age"] > 50) * (f["y"] - t[0])]), [5.0]),
        {},
        "jumps or has a kink in 'age'.*make classes of it beforehand",
    ),
    "a parameter that nothing says": (
        lambda: Equations(lambda t, f: np.vstack([_line(t[:4], f), 0 * _line(t[:4], f)[:1]]), [*THETA, 0.0]),
        {},
        "No equation moves with 'theta 4'",
    ),
    "equations that say the same twice": (
        lambda: Equations(
            lambda t, f: np.stack([f["y"] - t[0] - t[1], 2 * (f["y"] - t[0] - t[1])]), [OUTCOME.mean(), 0]
        ),
        {},
        "do not determine .*singular",
    ),
    "a name that is not published": (lambda: Equations(_line, THETA), {"published": ["effect"]}, "published is a list"),
    "an attribute that psi does not read": (
        lambda: Equations(_line, THETA),
        {"attributes": ["ward"]},
        "psi does not move with 'ward'",
    ),
    "a strange attribute": (lambda: Equations(_line, THETA), {"attributes": ["agee"]}, "Did you mean 'age'"),
    "an outcome beside the frame": (lambda: Equations(_line, THETA), {"y": FRAME["y"]}, "y= says nothing of a set of"),
    "weights beside the frame": (lambda: Equations(_line, THETA), {"sample_weight": FRAME["age"]}, "is in the frame"),
    "no frame": (lambda: Equations(_line, THETA), {"X": None}, "measured with the data frame"),
    "noise that follows the rows": (
        lambda: Equations(_line, THETA),
        {"noise_scale": seepage.release.GaussianNoise(standard_errors=0.5)},
        "Give a scale",
    ),
    "digits beside noise": (lambda: Equations(_line, THETA), {"digits": 2}, "digits= is about attackers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_uses_are_refused_by_name(name):
    made, asked, says = WRONG[name]
    with pytest.raises(SeepageError, match=says):
        seepage.measure(made(), **{"X": FRAME, "noise_scale": 1.0, **asked})


def test_the_same_equations_are_measured_where_nothing_is_wrong():
    leak = seepage.measure(Equations(_line, THETA), FRAME, noise_scale=1.0)
    assert leak.information.attribute_names == ("age", "dose", "treated", "y")


def test_a_number_that_is_the_same_for_all_is_private_too():
    """Whoever knows everybody else's sees whether the one who is left has another."""
    frame = FRAME.assign(dose=0.0)
    equations = Equations(lambda t, f: np.stack([f["y"] - 3.0 * f["dose"] - t[0]]), [FRAME["y"].mean()])
    leak = seepage.measure(equations, frame, noise_scale=0.5)
    assert leak.information.attribute_names == ("dose", "y")
    np.testing.assert_allclose(leak.attributes["dose"], 3.0 / N / 0.5)


def test_counts_are_not_looked_at_below_zero():
    """The likelihood of a count has poles there, where nobody can be."""
    frame = FRAME.assign(visits=np.random.default_rng(1).poisson(1.0, N))
    equations = Equations(
        lambda t, f: np.stack([digamma(f["visits"] + 0.5) - t[0]]), [digamma(frame["visits"] + 0.5).mean()]
    )
    slope = polygamma(1, frame["visits"] + 0.5) / N
    np.testing.assert_allclose(
        seepage.measure(equations, frame, noise_scale=1.0).attributes["visits"], slope, rtol=1e-6
    )


def test_a_kink_in_what_attackers_know_is_let_in():
    equations = _solved(lambda t, f: np.stack([np.abs(f["dose"]) * (f["y"] - t[0])]), [5.0])
    assert seepage.measure(equations, FRAME, noise_scale=1.0, attributes=["y"]).attributes["y"].min() > 0


def test_a_page_for_everybody_names_the_equations():
    leak = seepage.measure(Equations(_line, THETA), FRAME, noise_scale=1.0)
    assert "solve the equations that were given" in seepage.Report.of(leak, "publishable").markdown()
