"""What solves equations leaves with noise, a certificate and a debit; what is not counted is refused."""

import json
import pickle
import secrets
import tomllib

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LinearRegression

import seepage
from seepage.errors import PolicyError, SeepageError
from seepage.models import Aggregate, Equations
from seepage.release import GaussianNoise
from seepage.release._publish import ready
from seepage.release._terms import Terms

RANDOM = np.random.default_rng(5)
N = 120
PEOPLE = pd.DataFrame({"age": RANDOM.normal(50.0, 10.0, N), "dose": RANDOM.normal(size=N)})
PEOPLE["y"] = 0.1 * PEOPLE["age"] + PEOPLE["dose"] + RANDOM.normal(size=N)
NAMES = ["age", "dose", "intercept"]
IDS = [f"patient {i}" for i in range(N)]


def _line(theta, frame):
    x = np.column_stack([frame["age"], frame["dose"], np.ones(len(frame))])
    return (x * (frame["y"].to_numpy() - x @ theta)[:, None]).T


def _equations(frame=PEOPLE):
    x = np.column_stack([frame["age"], frame["dose"], np.ones(len(frame))])
    return Equations(_line, np.linalg.lstsq(x, frame["y"], rcond=None)[0], names=NAMES)


def _publish(frame=PEOPLE, **terms):
    usual = {"published": ["dose"], "noise_scale": 0.5, "accept": None}
    return seepage.publish(_equations(frame), frame, **usual | terms)


def test_a_number_leaves_as_a_table_whose_certificate_holds(tmp_path):
    publication = _publish(accept={"error_floor": {"age": 5.0}})
    (value,) = publication.estimator.estimates.values()
    assert publication.table().columns["term"] == ["dose"]
    assert publication.table().columns["estimate"].tolist() == [value]
    publication.write(tmp_path / "effect.toml")
    text = (tmp_path / "effect.toml").read_text()
    assert tomllib.loads(text) == {"estimates": {"dose": value}}
    certificate = tmp_path / "effect.certificate.json"
    assert seepage.certify(tmp_path / "effect.toml", certificate).holds
    (tmp_path / "effect.toml").write_text(text.replace(str(value), str(value + 1.0)))
    assert not seepage.certify(tmp_path / "effect.toml", certificate).holds
    said = json.loads(certificate.read_text())
    assert said["published"]["parameters"] == ["dose"]
    assert said["targets"] == ["Everyone's age: no unbiased guess has a standard error below 5."]
    page = publication.certificate.html()
    assert "Certificate of a solution of estimating equations" in page
    assert "Predicts" not in page


def test_the_certificate_knows_its_equations_and_people():
    publication, key = _publish(), {}
    key["key"] = publication.key
    matches = publication.certificate.matches
    assert matches(_equations(), PEOPLE, **key)
    assert not matches(_equations(), PEOPLE.assign(age=PEOPLE["age"] + 1e-9), **key)
    assert not matches(Equations(_line, np.asarray(_equations().theta) + 1e-9, names=NAMES), PEOPLE, **key)


def test_the_noise_is_the_one_that_was_measured():
    release = ready(_equations(), PEOPLE, None, Terms(0.5, None, published=["age", "dose"]))
    draws = np.array([[*release.draw().estimator.estimates.values()] for _ in range(800)])
    exact = np.asarray(_equations().theta)[:2]
    np.testing.assert_allclose(draws.mean(axis=0), exact, atol=4 * 0.5 / np.sqrt(800))
    np.testing.assert_allclose(draws.std(axis=0), 0.5, rtol=0.1)
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.15


def test_nothing_but_keyed_hashes_and_the_drawn_number_moves_with_one_persons_value():
    """The attacker reruns the publication with another value of the one person who is left."""
    other = PEOPLE.copy()
    other.loc[7, "age"] += 20.0
    found = [json.loads(_publish(frame).certificate.text()) for frame in (PEOPLE, other)]
    for each in found:
        for name in ("created", "fingerprints", "seal"):
            each.pop(name)
    assert found[0] == found[1]


def test_what_leaves_holds_names_and_numbers_alone():
    publication = _publish()
    assert vars(publication.estimator).keys() == {"estimates"}
    assert len(pickle.dumps(publication.estimator)) < 300
    with pytest.raises(SeepageError, match="the owner's key"):
        pickle.dumps(publication)


def test_choices_of_the_rows_are_listed():
    kinds = {each.kind: each for each in _publish(accept={"eta": 1.0}).certificate.chosen()}
    assert [*kinds] == ["scale", "constants", "missing cells", "publication"]
    assert "Constants in them that the rows made are not counted" in kinds["constants"].how
    shaped = _publish(noise_scale=GaussianNoise(covariance=[[0.3]]), noise_chosen_without_data=True)
    assert {each.kind for each in shaped.certificate.chosen()} == {
        "scale",
        "shape",
        "constants",
        "missing cells",
        "publication",
    }


def test_noise_in_given_units_is_what_calibrate_finds_and_publish_takes():
    leak = seepage.measure(_equations(), PEOPLE, published=["age", "dose"], noise_scale=1.0)
    noise = seepage.calibrate(leak, error_floor={"y": 50.0}, shape={"age": 10.0})
    kept = seepage.measure(_equations(), PEOPLE, published=["age", "dose"], noise_scale=noise)
    deviations = np.sqrt(np.diag(kept.information.noise.known()))
    assert deviations[1] == pytest.approx(10.0 * deviations[0])
    assert kept.error_floor()["y"].min() >= 50.0
    same = np.linalg.norm(kept.information.solved.slopes[:, :, 2] / deviations, axis=1)
    np.testing.assert_allclose(kept.attributes["y"], same, rtol=1e-12)
    publication = _publish(noise_scale=noise, published=["age", "dose"], accept={"error_floor": {"y": 50.0}})
    assert publication.certificate.noise["shape"].endswith("(age: 10).")


def test_everybody_pays_what_the_same_regression_costs(tmp_path):
    def books(name):
        limits = {"error_floor": {"age": 1.0}, "units": {"age": "years"}}
        return seepage.ledger.Ledger.create(tmp_path / name, key=secrets.token_bytes(32), **limits)

    ledger, other = books("one"), books("other")
    units = {"age": "years"}
    publication = _publish(published=NAMES, ledger=ledger, ids=IDS, units=units)
    assert [entry.kind for entry in ledger.entries] == ["created", "debit", "release"]
    assert publication.certificate.ledger["entry"] == 1
    model = LinearRegression().fit(PEOPLE[["age", "dose"]], PEOPLE["y"])
    terms = {"noise_scale": 0.5, "accept": None, "ids": IDS, "units": units}
    seepage.publish(model, PEOPLE[["age", "dose"]], PEOPLE["y"], ledger=other, **terms)
    np.testing.assert_allclose(ledger.history(IDS)["age"], other.history(IDS)["age"], rtol=1e-6)


def test_results_of_gee_leave_as_their_coefficients():
    frame = PEOPLE.assign(person=np.arange(N) // 2)
    x = sm.add_constant(frame[["age", "dose"]])
    results = sm.GEE(frame["y"], x, frame["person"], cov_struct=sm.cov_struct.Exchangeable()).fit(ctol=1e-9)
    publication = seepage.publish(results, noise_scale=0.5, accept=None)
    assert [*publication.estimator.estimates] == ["const", "age", "dose"]
    assert publication.certificate.people == N // 2
    assert publication.certificate.matches(results, None, key=publication.key)


REFUSED = {
    "a policy that is missed": ({"accept": {"error_floor": {"age": 1e9}}}, PolicyError, "A noise scale of"),
    "a scale to be found": ({"noise_scale": "calibrated"}, SeepageError, "write noise_scale=0.1"),
    "a scale off the grid": ({"noise_scale": 0.37}, SeepageError, "Round it up to 0.5"),
    "noise in standard errors": (
        {"noise_scale": GaussianNoise(standard_errors=0.5)},
        SeepageError,
        "Give a scale, units of what is published",
    ),
    "no noise": ({"noise_scale": None}, SeepageError, "noise_scale is None"),
    "standard errors": ({"published": ["dose", "standard errors"]}, SeepageError, "published is a list of"),
    "classes": ({"classes": [0, 1]}, SeepageError, "classes= says nothing of a set of equations"),
    "a public penalty": ({"public_penalty": True}, SeepageError, "public_penalty= says nothing"),
    "weights beside the frame": ({"sample_weight": np.ones(N)}, SeepageError, "sample_weight= says nothing"),
    "a ledger without ids": ({"ledger": "books"}, SeepageError, "ids="),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_counted_is_refused_with_the_way_out(name, tmp_path):
    terms, error, says = REFUSED[name]
    if "ledger" in terms:
        books = seepage.ledger.Ledger.create(tmp_path / "b", key=secrets.token_bytes(32), eta=10.0)
        terms = {**terms, "ledger": books}
    with pytest.raises(error, match=says):
        _publish(**terms)


def test_numbers_are_no_model_of_scikit_learn_and_tables_carry_no_noise(tmp_path):
    with pytest.raises(SeepageError, match=r"Write them as a table: effect.toml"):
        _publish().write(tmp_path / "effect.skops")
    assert not any(tmp_path.iterdir())
    with pytest.raises(SeepageError, match="a table gives away is measured without noise"):
        seepage.publish(Aggregate(of=["age"]).fit(PEOPLE), PEOPLE, noise_scale=1.0, accept=None)
