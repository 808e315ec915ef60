"""A promise has a unit, and so has whatever is counted against it: kilograms and pounds are not added up."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import seepage
from seepage.ledger import Ledger

KEY = bytes(range(32))
POUNDS = 2.20462
PEOPLE = [f"patient {i}" for i in range(40)]


def _rows():
    random = np.random.default_rng(3)
    X = pd.DataFrame({"weight": random.normal(75, 14, 40), "dose": random.normal(3, 1, 40)})
    return X, pd.Series(2 * X["weight"] + random.normal(0, 10, 40), name="cost")


def _in_pounds(X):
    return X.assign(weight=X["weight"] * POUNDS)


def _leak(to=lambda X: X, scale=0.05):
    X, y = _rows()
    X = to(X)
    return seepage.measure(LinearRegression().fit(X, y), X, y, noise_scale=scale, ids=PEOPLE)


def _moved(person, to):
    """Return by how much what is published moves with a person's weight, dose and cost: per kilogram, by refitting."""
    X, y = _rows()

    def published(column, step):
        rows, labels = X.copy(), y.copy()
        if column == "cost":
            labels[person] += step
        else:
            rows.loc[person, column] += step
        model = LinearRegression().fit(to(rows).to_numpy(), labels)
        return np.r_[model.coef_, model.intercept_]

    step = 1e-4
    columns = ("weight", "dose", "cost")
    return np.stack([(published(each, step) - published(each, -step)) / (2 * step) for each in columns], axis=1)


@pytest.fixture
def ledger(tmp_path):
    place = tmp_path / "ledger"
    return Ledger.create(place, key=KEY, error_floor={"weight": 1e-6}, units={"weight": "kg"})


def test_a_release_in_pounds_costs_what_it_tells_about_kilograms(ledger):
    kilograms, pounds = _leak(), _leak(_in_pounds, 0.05 / POUNDS)
    ledger.post(kilograms, title="kg", units={"weight": "kg"})
    before = ledger.balance(PEOPLE)
    for said in (None, {}, {"weight": "lb"}, {"weight": "KG"}):
        for ask in (ledger.preview, lambda leak, **rest: ledger.post(leak, title="lb", **rest)):
            with pytest.raises(seepage.errors.InputError, match="counts 'weight' in 'kg'"):
                ask(pounds, units=said)
    assert len(ledger.releases) == 1
    np.testing.assert_array_equal(ledger.balance(PEOPLE)["weight"], before["weight"])
    ledger.post(pounds, title="lb", units={"weight": POUNDS})
    found = ledger.balance(PEOPLE)["weight"]
    for person in range(0, 40, 8):
        one = np.sum((_moved(person, lambda X: X)[:, 0] / 0.05) ** 2)
        other = np.sum((_moved(person, _in_pounds)[:, 0] / 0.05 * POUNDS) ** 2)
        assert found[person] == pytest.approx((one + other) ** -0.5, rel=1e-5)
    assert ledger.audit() == ()
    assert [entry.body["units"] for entry in ledger.releases] == [{"weight": "kg"}, {"weight": POUNDS}]


def test_publish_names_the_unit_too_and_draws_nothing_without(ledger):
    X, y = _rows()
    model = LinearRegression().fit(X, y)
    terms = {"noise_scale": 0.05, "accept": None, "ids": PEOPLE}
    for said in (None, {"weight": "lb"}):
        with pytest.raises(seepage.errors.InputError, match="counts 'weight' in 'kg'"):
            seepage.publish(model, X, y, **terms, ledger=ledger, units=said)
    assert len(ledger.entries) == 1
    seepage.publish(model, X, y, **terms, ledger=ledger, units={"weight": "kg"})
    assert [entry.kind for entry in ledger.entries] == ["created", "debit", "release"]
    with pytest.raises(seepage.errors.InputError, match="none is given"):
        seepage.publish(model, X, y, **terms, units={"weight": "kg"})


def test_a_promise_about_eta_is_kept_in_the_units_of_the_ledger(tmp_path):
    pounds, noise = _leak(_in_pounds), 0.05
    true = [np.linalg.norm(_moved(person, _in_pounds) / noise, 2) for person in range(40)]
    ledger = Ledger.create(tmp_path / "ledger", key=KEY, eta=max(true) * 0.9, units={"weight": "kg"})
    with pytest.raises(seepage.errors.PolicyError, match="promise about eta"):
        ledger.post(pounds, title="lb", units={"weight": POUNDS})
    wider = Ledger.create(tmp_path / "wider", key=KEY, eta=100.0, units={"weight": "kg"})
    wider.post(pounds, title="lb", units={"weight": POUNDS})
    bound = wider.balance(PEOPLE)["eta"]
    assert (bound >= np.array(true) * (1 - 1e-6)).all()
    assert (bound <= np.array(true) * POUNDS).all()


def test_a_unit_may_be_named_for_what_nothing_is_promised_about_and_is_then_asked_for(tmp_path):
    units = {"weight": "kg", "dose": "mg"}
    ledger = Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"weight": 1e-6}, units=units)
    assert ledger.units == units
    with pytest.raises(seepage.errors.InputError, match="counts 'dose' in 'mg'"):
        ledger.post(_leak(), title="one", units={"weight": "kg"})
    with pytest.raises(seepage.errors.InputError, match="no unit for 'cost'"):
        ledger.post(_leak(), title="one", units={**units, "cost": "dollars"})
    ledger.post(_leak(), title="one", units=units)
    X, y = _rows()
    without_dose = seepage.measure(
        LinearRegression().fit(X[["weight"]], y), X[["weight"]], y, noise_scale=1.0, ids=PEOPLE
    )
    ledger.post(without_dose, title="another", units={"weight": "kg"})


@pytest.mark.parametrize("units", [None, {"dose": "mg"}])
def test_a_promise_without_a_unit_is_refused(tmp_path, units):
    with pytest.raises(seepage.errors.InputError, match="name it, such as"):
        Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"weight": 1.0}, units=units)
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize("unit", [1.0, "", " ", None])
def test_a_unit_is_a_word(tmp_path, unit):
    with pytest.raises(seepage.errors.InputError, match="name it, such as"):
        Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"weight": 1.0}, units={"weight": unit})


@pytest.mark.parametrize("factor", [0.0, -2.0, np.inf, np.nan, None])
def test_a_conversion_is_a_positive_number(ledger, factor):
    with pytest.raises(seepage.errors.InputError, match="say how many units of this release"):
        ledger.post(_leak(), title="?", units={"weight": factor})


def test_a_factor_the_wrong_way_round_is_refused(tmp_path):
    X, y = _rows()
    grams, model = X.assign(weight=1000 * X["weight"]), LinearRegression()
    leak = seepage.measure(model.fit(grams, y), grams, y, noise_scale=0.05, ids=PEOPLE)
    ledger = Ledger.create(tmp_path / "ledger", key=KEY, error_floor={"weight": 1e-6}, units={"weight": "kg"})
    ledger.post(_leak(), title="kg", units={"weight": "kg"})
    for factor in (1 / 1000, 1.0, 300.0):
        for ask in (ledger.preview, lambda leak, **rest: ledger.post(leak, title="grams", **rest)):
            with pytest.raises(seepage.errors.InputError, match="too large keeps the promise"):
                ask(leak, units={"weight": factor})
    # Too large a factor counts too much.
    for factor in (1000.0, 10_000.0):
        ledger.post(leak, title="grams", units={"weight": factor})


def test_a_narrower_group_of_people_needs_a_word(ledger):
    X, y = _rows()
    narrow = X.assign(weight=75 + (X["weight"] - 75) / 10)
    leak = seepage.measure(LinearRegression().fit(narrow, y), narrow, y, noise_scale=0.05, ids=PEOPLE)
    ledger.post(_leak(), title="all", units={"weight": "kg"})
    with pytest.raises(seepage.errors.InputError, match=r"1\.0 if they are the same"):
        ledger.post(leak, title="of one age", units={"weight": "kg"})
    ledger.post(leak, title="of one age", units={"weight": 1.0})
    ledger.post(_leak(), title="all again", units={"weight": "kg"})


def test_a_name_that_a_ledger_has_for_whole_people_is_no_column(ledger, tmp_path):
    X, y = _rows()
    renamed = X.rename(columns={"weight": "eta"})
    leak = seepage.measure(LinearRegression().fit(renamed, y), renamed, y, noise_scale=0.05, ids=PEOPLE)
    with pytest.raises(seepage.errors.InputError, match="counts 'eta' of whole people"):
        ledger.post(leak, title="one", without=["weight"])
    with pytest.raises(seepage.errors.InputError, match="counts 'eta' of whole people"):
        Ledger.create(tmp_path / "other", key=KEY, error_floor={"eta": 1.0}, units={"eta": "kg"})
