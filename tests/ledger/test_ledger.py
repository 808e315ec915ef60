"""What all releases together gave away about each person, and the one that must not follow."""

import json
import secrets

import numpy as np
import pandas as pd
import pytest
from ledger.revealed import opened, revealed
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.ledger import Ledger

KEY = secrets.token_bytes(32)
PEOPLE = [f"patient {i}" for i in range(60)]
YEARS = {"age": "years"}


def _rows(seed=0, people=60):
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"age": random.uniform(20, 90, people), "dose": random.normal(3, 1, people)})
    return X, pd.Series(X["age"] * 0.1 + random.normal(size=people), name="outcome")


def _leak(alpha=1.0, scale=1.0, ids=PEOPLE, seed=0):
    X, y = _rows(seed, len(ids))
    return seepage.measure(Ridge(alpha=alpha).fit(X, y), X, y, noise_scale=scale, ids=ids)


def _ledger(tmp_path, **promise):
    return Ledger.create(
        tmp_path / "ledger",
        key=KEY,
        buckets=4,
        units=YEARS,
        **(promise or {"error_floor": {"age": 5.0}}),
    )


def test_five_releases_add_up_to_what_compose_says(tmp_path):
    ledger, leaks = _ledger(tmp_path), [_leak(alpha) for alpha in (0.1, 1.0, 2.0, 5.0, 9.0)]
    for number, leak in enumerate(leaks):
        ledger.post(leak, title=f"release {number}", units=YEARS)
    together = seepage.compose(leaks)
    found = Ledger(tmp_path / "ledger", key=KEY).balance(PEOPLE)
    for name in ("age", "dose"):
        np.testing.assert_allclose(found[name], together.error_floor()[name], rtol=1e-12)
    # A ledger holds squares, no matrices: of the largest eigenvalue it knows a bound.
    squares = [leak.examples["eta"].to_numpy() ** 2 for leak in leaks]
    np.testing.assert_allclose(found["eta"], np.sqrt(np.sum(squares, axis=0)), rtol=1e-12)
    assert (found["eta"] >= together.examples["eta"] * (1 - 1e-12)).all()
    np.testing.assert_allclose(found["trace"], together.examples["dfil"] ** 2 * 3, rtol=1e-12)
    assert ledger.audit() == ()


def test_people_are_found_whatever_the_order_and_strangers_owe_nothing(tmp_path):
    ledger, leak = _ledger(tmp_path), _leak()
    ledger.post(leak, title="one", units=YEARS)
    found = ledger.balance([PEOPLE[7], "a stranger", PEOPLE[3]])["age"]
    expected = leak.error_floor()["age"].to_numpy()
    np.testing.assert_allclose(found, [expected[7], np.inf, expected[3]], rtol=1e-12)


@pytest.mark.parametrize("promise", ["age", "eta"])
def test_the_release_that_would_break_the_promise_is_refused_and_leaves_no_trace(tmp_path, promise):
    leak = _leak()
    if promise == "age":
        # Room for three and a half.
        limit = {"error_floor": {"age": float(leak.error_floor()["age"].min()) / np.sqrt(3.5)}}
    else:
        limit = {"eta": float(leak.examples["eta"].max()) * np.sqrt(3.5)}
    ledger = _ledger(tmp_path, **limit)
    for _ in range(3):
        ledger.post(leak, title="fits", units=YEARS)
    preview, before = ledger.preview(leak, units=YEARS), set((tmp_path / "ledger").rglob("*"))
    assert not preview.fits
    assert list(preview.short) == [promise]
    with pytest.raises(seepage.errors.PolicyError, match="break a promise") as refused:
        ledger.post(leak, title="too much", units=YEARS)
    assert len(ledger.releases) == 3
    assert {path for path in (tmp_path / "ledger").rglob("*") if path.is_file()} <= before
    # Half a release is left: noise of sqrt(2), which is 2 on the grid, makes it fit.
    assert refused.value.factor == preview.factor == 2.0
    ledger.post(_leak(scale=2.0), title="fits", units=YEARS)
    assert ledger.audit() == ()


def test_where_the_budget_is_spent_no_noise_is_enough_and_others_are_eligible(tmp_path):
    leak = _leak()
    floors = leak.error_floor()["age"].to_numpy()
    ledger = _ledger(tmp_path, error_floor={"age": float(floors.min())})
    ledger.post(leak, title="all of it", units=YEARS)
    preview = ledger.preview(leak, units=YEARS)
    assert preview.factor == np.inf or preview.factor > 1e4
    spent = ~ledger.eligible(PEOPLE)
    assert spent[np.argmin(floors)]
    assert not spent.all()


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_the_noise_that_would_fit_counts_what_no_noise_hides(tmp_path, scale):
    X, y = _rows()
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, y)

    def leak(noise):
        return seepage.measure(model, X, y, noise_scale=noise, ids=PEOPLE)

    floor = float(leak(scale).error_floor()["age"].min())
    ledger = _ledger(tmp_path, error_floor={"age": floor * 1.3})
    factor = ledger.preview(leak(scale), units=YEARS).factor
    least = leak(scale * factor).error_floor()["age"].min()
    assert np.isinf(factor) or least >= floor * 1.3
    below = {1.0: 0.5, 2.0: 0.5, 5.0: 0.4}[float(f"{factor:.0e}"[0])] if np.isfinite(factor) else 1.0
    assert np.isinf(factor) or leak(scale * factor * below).error_floor()["age"].min() < floor * 1.3


def test_another_unit_is_noticed_by_its_spread_and_another_name_by_its_absence(tmp_path):
    ledger, (X, y) = _ledger(tmp_path), _rows()
    ledger.post(_leak(), title="years", units=YEARS)
    months = X.assign(age=X["age"] * 12)
    in_months = seepage.measure(Ridge(alpha=1.0).fit(months, y), months, y, noise_scale=1.0, ids=PEOPLE)
    for ask in (ledger.preview, lambda leak, **said: ledger.post(leak, title="months", **said)):
        with pytest.raises(seepage.errors.InputError, match="another unit"):
            ask(in_months, units=YEARS)
    ledger.post(in_months, title="months", units={"age": 12.0})
    with pytest.raises(seepage.errors.InputError, match="none of the attributes"):
        ledger.post(in_months, title="?", units={"weight": 2.0})
    others = X.rename(columns={"age": "Age"})
    renamed = seepage.measure(Ridge().fit(others, y), others, y, noise_scale=1.0, ids=PEOPLE)
    with pytest.raises(seepage.errors.InputError, match="promises something about 'age'"):
        ledger.post(renamed, title="renamed", units=YEARS)
    assert len(ledger.releases) == 2
    before = ledger.balance(PEOPLE)["age"]
    ledger.post(renamed, title="of something else", without=["age"])
    np.testing.assert_array_equal(ledger.balance(PEOPLE)["age"], before)


def test_people_in_files_owe_what_people_in_memory_do(tmp_path, monkeypatch):
    monkeypatch.setattr("seepage.linear.files._people._ROWS", 7)
    X, y = _rows()
    rows = X.assign(outcome=y, patient=PEOPLE)
    rows[:25].to_parquet(tmp_path / "a.parquet")
    rows[25:].to_parquet(tmp_path / "b.parquet")
    model = Ridge().fit(X, y)
    there = seepage.measure(
        model,
        f"{tmp_path}/*.parquet",
        target="outcome",
        ids="patient",
        noise_scale=1.0,
        job=seepage.engines.Job(output=tmp_path / "scores"),
    )
    ledger = _ledger(tmp_path)
    assert ledger.preview(there, units=YEARS).fits
    assert ledger.post(there, title="files", units=YEARS).body["people"] == 60
    for name in ("age", "dose"):
        expected = _leak().error_floor()[name].to_numpy()
        np.testing.assert_allclose(ledger.balance(PEOPLE)[name], expected, rtol=1e-9)
    assert ledger.audit() == ()


def test_rows_without_ids_are_refused(tmp_path):
    X, y = _rows()
    leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0)
    with pytest.raises(seepage.errors.InputError, match="ids="):
        _ledger(tmp_path).post(leak, title="?", units=YEARS)


def test_a_release_is_paid_for_before_it_is_drawn_and_once(tmp_path, monkeypatch):
    ledger, (X, y) = _ledger(tmp_path), _rows()
    model = Ridge().fit(X, y)
    terms = {"noise_scale": 1.0, "accept": None, "ids": PEOPLE, "ledger": ledger, "units": YEARS}
    with monkeypatch.context() as broken:
        broken.setattr("seepage.release._publish.drawn", lambda *_: 1 / 0)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                seepage.publish(model, X, y, **terms)
    assert [entry.kind for entry in ledger.entries] == ["created", "debit"]
    publication = seepage.publish(model, X, y, **terms)
    assert [entry.kind for entry in ledger.entries] == ["created", "debit", "release"]
    stored = tmp_path / "ledger" / ledger.entries[-1].body["certificate"][0]
    kept = opened(ledger.entries[-1].body["certificate"][0], stored.read_bytes(), KEY)
    assert json.loads(kept) == json.loads(publication.certificate.text())
    seepage.publish(model, X, y, **terms)
    assert [entry.kind for entry in ledger.entries][3:] == ["debit", "release"]
    seepage.publish(model, X, y, **{**terms, "noise_scale": 2.0})
    assert len(ledger.releases) == 3
    assert ledger.audit() == ()


def test_a_debit_that_was_left_open_pays_for_the_same_people_and_for_no_more(tmp_path):
    ledger = _ledger(tmp_path)
    first = ledger.post(_leak(), title="one", units=YEARS, request="r")
    others = [f"somebody else {i}" for i in range(60)]
    assert ledger.post(_leak(ids=others), title="one", units=YEARS, request="r").number == 2
    more = seepage.compose([_leak(), _leak()])
    assert ledger.post(more, title="one", units=YEARS, request="r").number == 3
    assert ledger.post(_leak(), title="one", units=YEARS, request="r") == first
    assert ledger.post(_leak(ids=others), title="one", units=YEARS, request="r").number == 2
    np.testing.assert_allclose(ledger.balance(PEOPLE)["age"], _leak().error_floor()["age"] / np.sqrt(3), rtol=1e-12)
    assert ledger.audit() == ()


def test_one_person_is_asked_for_in_a_list(tmp_path):
    ledger = _ledger(tmp_path)
    for ask in (ledger.balance, ledger.eligible, ledger.forget):
        with pytest.raises(seepage.errors.InputError, match="letter by letter"):
            ask("patient 7")
    assert len(ledger.entries) == 1


def test_one_debit_pays_for_one_release(tmp_path):
    ledger = _ledger(tmp_path)
    debit = ledger.post(_leak(), title="one", units=YEARS, request="r")
    assert ledger.post(_leak(), title="one", units=YEARS, request="r") == debit
    ledger.released(debit, "{}")
    with pytest.raises(seepage.errors.PolicyError, match="has left already"):
        ledger.released(debit, "{}")
    assert ledger.post(_leak(), title="one", units=YEARS, request="r") != debit


def _holding(place, name):
    """Return the files in which a name stands, once they are opened with the key."""
    files = {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert not any(name in content for content in files.values())
    found = revealed(files, KEY)
    assert found.keys() == files.keys()
    return [path for path, content in found.items() if name in content]


def test_who_is_forgotten_is_in_no_file_and_in_no_further_release(tmp_path):
    ledger = _ledger(tmp_path)
    for alpha in (1.0, 2.0):
        ledger.post(_leak(alpha), title="before", units=YEARS)
    name = bytes(ledger._books.names.of([PEOPLE[5]])[0])
    kept = ledger.balance(PEOPLE[6:])
    assert len(_holding(tmp_path / "ledger", name)) == 3
    ledger.forget([PEOPLE[5]])
    assert [path.partition("/")[0] for path in _holding(tmp_path / "ledger", name)] == ["forgotten"]
    np.testing.assert_array_equal(ledger.balance(PEOPLE[6:])["age"], kept["age"])
    assert ledger.audit() == ()
    assert ledger.eligible(PEOPLE).tolist() == [i != 5 for i in range(60)]
    with pytest.raises(seepage.errors.PolicyError, match="One person must not be in any further release"):
        ledger.post(_leak(), title="after", units=YEARS)
    others = [name for name in PEOPLE if name != PEOPLE[5]]
    ledger.post(_leak(ids=others), title="after", units=YEARS)
    ledger.forget([PEOPLE[9]])
    assert not ledger.eligible([PEOPLE[5], PEOPLE[9]]).any()
    assert ledger.audit() == ()


def _full(tmp_path):
    ledger = _ledger(tmp_path)
    for alpha in (1.0, 2.0):
        ledger.released(ledger.post(_leak(alpha), title="one", units=YEARS), '{"certificate": 1}')
    ledger.forget([PEOPLE[0]])
    ledger.post(_leak(ids=PEOPLE[1:]), title="two", units=YEARS)
    return ledger


def test_any_changed_byte_of_any_file_is_noticed(tmp_path):
    ledger, random = _full(tmp_path), np.random.default_rng(0)
    files = sorted(path for path in (tmp_path / "ledger").rglob("*") if path.is_file())
    assert {path.parent.name for path in files} >= {"entries", "certificates", "forgotten"}
    assert ledger.audit() == ()
    for path in files:
        content = path.read_bytes()
        for place in random.integers(len(content), size=3).tolist():
            changed = bytearray(content)
            changed[place] ^= 1 << int(random.integers(8))
            path.write_bytes(changed)
            assert ledger.audit(), (path, place)
        path.write_bytes(content)
    assert ledger.audit() == ()


def test_another_key_opens_nothing(tmp_path):
    _ledger(tmp_path)
    with pytest.raises(seepage.errors.InputError, match="key is not that"):
        Ledger(tmp_path / "ledger", key=secrets.token_bytes(32))
    with pytest.raises(seepage.errors.InputError, match="at least 16 secret bytes"):
        Ledger(tmp_path / "ledger", key=b"short")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "keeps a promise"),
        ({"error_floor": {"age": -1.0}}, "positive number"),
        ({"eta": "much"}, "positive number"),
        ({"eta": 1.0, "buckets": 3}, "power of two"),
    ],
)
def test_what_is_no_ledger_is_refused(tmp_path, given, words):
    with pytest.raises(seepage.errors.InputError, match=words):
        Ledger.create(tmp_path / "ledger", key=KEY, **given)


def test_a_place_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(seepage.errors.InputError, match="is not empty"):
        Ledger.create(tmp_path, key=KEY, eta=1.0)
    with pytest.raises(seepage.errors.InputError, match="There is no ledger"):
        Ledger(tmp_path, key=KEY)


def test_history_is_what_compose_says_after_each_release(tmp_path):
    ledger, leaks = _ledger(tmp_path), [_leak(alpha) for alpha in (0.1, 1.0, 2.0)]
    for leak in leaks:
        ledger.post(leak, title="one", units=YEARS)
    found = ledger.history([*PEOPLE, "a stranger"])["age"]
    assert found.shape == (3, len(PEOPLE) + 1)
    assert np.isinf(found[:, -1]).all()
    for number in range(3):
        single = [np.asarray(leak.error_floor()["age"]) for leak in leaks[: number + 1]]
        np.testing.assert_allclose(
            found[number, :-1], np.sum([floor**-2 for floor in single], axis=0) ** -0.5, rtol=1e-12
        )
