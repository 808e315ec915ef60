"""What all releases together gave away about each person, and the one that must not follow."""

import json
import os
import secrets
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from ledger.traces import traces_of
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sqlalchemy.exc import OperationalError

import seepage
from seepage.ledger import Ledger
from seepage.ledger._database import Database

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
        tmp_path / "ledger.db",
        key=KEY,
        units=YEARS,
        **(promise or {"error_floor": {"age": 5.0}}),
    )


def test_five_releases_add_up_to_what_compose_says(tmp_path):
    ledger, leaks = _ledger(tmp_path), [_leak(alpha) for alpha in (0.1, 1.0, 2.0, 5.0, 9.0)]
    for number, leak in enumerate(leaks):
        ledger.post(leak, title=f"release {number}", units=YEARS)
    together = seepage.compose(leaks)
    found = Ledger(tmp_path / "ledger.db", key=KEY).balance(PEOPLE)
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
    preview, before = ledger.preview(leak, units=YEARS), (tmp_path / "ledger.db").read_bytes()
    assert not preview.fits
    assert list(preview.short) == [promise]
    with pytest.raises(seepage.errors.PolicyError, match="break a promise") as refused:
        ledger.post(leak, title="too much", units=YEARS)
    assert len(ledger.releases) == 3
    assert (tmp_path / "ledger.db").read_bytes() == before
    # Half a release is left: noise of sqrt(2), which is 2 on the grid, makes it fit.
    assert refused.value.factor == preview.factor == 2.0
    ledger.post(_leak(scale=2.0), title="fits", units=YEARS)
    assert ledger.audit() == ()


def test_a_refused_post_names_the_noise_that_a_preview_names(tmp_path):
    leak = _leak()
    # Room for one and a half releases of the median person: many are short, and many nearly.
    ledger = _ledger(tmp_path, error_floor={"age": float(np.median(leak.error_floor()["age"])) / np.sqrt(1.5)})
    ledger.post(_leak(scale=5.0), title="fits", units=YEARS)
    factors = []
    for scale in (0.05, 0.1, 0.2, 0.5):
        preview = ledger.preview(_leak(scale=scale), units=YEARS)
        with pytest.raises(seepage.errors.PolicyError) as refused:
            ledger.post(_leak(scale=scale), title="too much", units=YEARS)
        assert refused.value.factor == preview.factor
        assert ledger.preview(_leak(scale=scale * preview.factor), units=YEARS).fits
        factors.append(preview.factor)
    assert len({*factors}) > 1


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


def test_people_in_files_owe_what_people_in_memory_do(tmp_path):
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
    assert ledger.entries[-1].body["certificate"] == json.loads(publication.certificate.text())
    assert ledger.certificate_of(ledger.releases[0]) == json.loads(publication.certificate.text())
    seepage.publish(model, X, y, **terms)
    assert [entry.kind for entry in ledger.entries][3:] == ["debit", "release"]
    seepage.publish(model, X, y, **{**terms, "noise_scale": 2.0})
    assert len(ledger.releases) == 3
    assert ledger.audit() == ()


def test_a_debit_that_was_left_open_pays_for_the_same_people_and_for_no_more(tmp_path):
    ledger = _ledger(tmp_path)
    first = ledger.post(_leak(), title="one", units=YEARS, request="r")
    others, terms = [f"somebody else {i}" for i in range(60)], {"title": "one", "units": YEARS, "request": "r"}
    assert ledger.post(_leak(ids=others), **terms, new_people=True).number == 2
    more = seepage.compose([_leak(), _leak()])
    assert ledger.post(more, **terms).number == 3
    assert ledger.post(_leak(), **terms) == first
    assert ledger.post(_leak(ids=others), **terms).number == 2
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
    with pytest.raises(seepage.errors.InputError, match="was published already"):
        ledger.released(debit, "{}")
    assert ledger.post(_leak(), title="one", units=YEARS, request="r") != debit


def test_a_debit_is_reversed_if_nothing_was_published(tmp_path):
    ledger = _ledger(tmp_path)
    first, wrong = (ledger.post(_leak(alpha), title="one", units=YEARS) for alpha in (1.0, 2.0))
    ledger.post(_leak(3.0), title="one", units=YEARS)
    ledger.released(first, "{}")
    entry = ledger.reverse(wrong, reason="the ids were those of another cohort")
    assert entry.body == {"debit": wrong.number, "reason": "the ids were those of another cohort"}
    together = seepage.compose([_leak(1.0), _leak(3.0)]).error_floor()["age"]
    np.testing.assert_allclose(ledger.balance(PEOPLE)["age"], together, rtol=1e-12)
    assert ledger.history(PEOPLE)["age"].shape == (2, 60)
    assert ledger.audit() == ()
    for debit in (wrong, first):
        for ask in (lambda debit: ledger.reverse(debit, reason="again"), lambda debit: ledger.released(debit, "{}")):
            with pytest.raises(seepage.errors.InputError, match="was reversed, or its release was published already"):
                ask(debit)
    with pytest.raises(seepage.errors.InputError, match="does not say why"):
        ledger.reverse(ledger.releases[-1], reason=" ")


def test_people_who_are_new_to_a_ledger_are_counted_and_many_of_them_confirmed(tmp_path):
    ledger = _ledger(tmp_path)
    preview = ledger.preview(_leak(), units=YEARS)
    assert (preview.fits, preview.new, preview.sentences()) == (True, 0, ["Every promise would still hold."])
    ledger.post(_leak(), title="one", units=YEARS)
    for count in (6, 7):
        leak = _leak(ids=[*PEOPLE[count:], *(f"stranger {i}" for i in range(count))])
        preview = ledger.preview(leak, units=YEARS)
        assert (preview.people, preview.new, preview.fits) == (60, count, count == 6)
        assert f"{count} of 60 people are new to this ledger." in preview.sentences()
    with pytest.raises(seepage.errors.InputError, match=r"7 of 60 people are new(.|\n)*new_people=True"):
        ledger.post(leak, title="two", units=YEARS)
    assert len(ledger.entries) == 2
    assert ledger.preview(leak, units=YEARS, new_people=True).fits
    assert ledger.post(leak, title="two", units=YEARS, new_people=True).body["new"] == 7


def test_publish_confirms_new_people_too(tmp_path):
    ledger, (X, y) = _ledger(tmp_path), _rows()
    ledger.post(_leak(), title="one", units=YEARS)
    others = [f"stranger {i}" for i in range(60)]
    terms = {"noise_scale": 1.0, "accept": None, "ids": others, "ledger": ledger, "units": YEARS}
    with pytest.raises(seepage.errors.InputError, match="60 of 60 people are new"):
        seepage.publish(Ridge().fit(X, y), X, y, **terms)
    assert [entry.kind for entry in ledger.entries] == ["created", "debit"]
    seepage.publish(Ridge().fit(X, y), X, y, **terms, new_people=True)
    with pytest.raises(seepage.errors.InputError, match="name ledger="):
        seepage.publish(Ridge().fit(X, y), X, y, noise_scale=1.0, accept=None, new_people=True)


def test_nothing_of_people_who_are_forgotten_is_in_the_file(tmp_path):
    ledger, place = _ledger(tmp_path), tmp_path / "ledger.db"
    for alpha in (1.0, 2.0):
        ledger.post(_leak(alpha), title="before", units=YEARS)
    rest = ledger.balance(PEOPLE[6:])
    name = ledger._books.names.of([PEOPLE[5]])
    traces = traces_of(ledger, PEOPLE[5])
    assert len(traces) > 8
    assert all(trace in place.read_bytes() for trace in traces)
    ledger.forget([PEOPLE[5]])
    assert not any(trace in place.read_bytes() for trace in traces)
    assert {path.name for path in tmp_path.iterdir()} == {"ledger.db"}
    assert ledger._books.names.tombstones(name)[0].encode() in place.read_bytes()
    np.testing.assert_array_equal(ledger.balance(PEOPLE[6:])["age"], rest["age"])
    assert ledger.audit() == ()
    assert ledger.eligible(PEOPLE).tolist() == [i != 5 for i in range(60)]
    assert ledger.forgotten(PEOPLE).tolist() == [i == 5 for i in range(60)]
    assert ledger.knows(PEOPLE).tolist() == [i != 5 for i in range(60)]
    with pytest.raises(seepage.errors.PolicyError, match="One person must not be in any further release"):
        ledger.post(_leak(), title="after", units=YEARS)
    others = [name for name in PEOPLE if name != PEOPLE[5]]
    ledger.post(_leak(ids=others), title="after", units=YEARS)
    ledger.forget([PEOPLE[9]])
    assert not ledger.eligible([PEOPLE[5], PEOPLE[9]]).any()
    assert ledger.audit() == ()


def test_another_key_opens_nothing(tmp_path):
    _ledger(tmp_path)
    with pytest.raises(seepage.errors.InputError, match="key is not that"):
        Ledger(tmp_path / "ledger.db", key=secrets.token_bytes(32))
    with pytest.raises(seepage.errors.InputError, match="at least 16 secret bytes"):
        Ledger(tmp_path / "ledger.db", key=b"short")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "keeps a promise"),
        ({"error_floor": {"age": -1.0}}, "positive number"),
        ({"eta": "much"}, "positive number"),
        ({"eta": 1.0, "place": "mysql://server/database"}, "no place of a ledger"),
        ({"eta": 1.0, "place": "no folder/ledger.db"}, "No such file"),
    ],
)
def test_what_is_no_ledger_is_refused(tmp_path, given, words):
    with pytest.raises(seepage.errors.InputError, match=words):
        Ledger.create(**{"place": tmp_path / "ledger.db", "key": KEY, **given})
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("a thesis")
    with pytest.raises(seepage.errors.InputError, match="File exists"):
        Ledger.create(tmp_path / "thesis.tex", key=KEY, eta=1.0)
    with pytest.raises(seepage.errors.StorageError, match="not a database"):
        Ledger(tmp_path / "thesis.tex", key=KEY)
    assert (tmp_path / "thesis.tex").read_text() == "a thesis"
    for place in ("ledger.db", "."):
        with pytest.raises(seepage.errors.InputError, match="There is no ledger"):
            Ledger(tmp_path / place, key=KEY)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="limits of files are those of Linux")
def test_a_full_disk_is_named_and_nothing_is_posted(tmp_path):
    resource = pytest.importorskip("resource")
    ledger = _ledger(tmp_path)
    ledger.post(_leak(), title="one", units=YEARS)
    before, limits = (tmp_path / "ledger.db").read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 4096, limits[1]))
    try:
        with pytest.raises(seepage.errors.StorageError, match="Nothing is half written"):
            ledger.post(_leak(2.0), title="two", units=YEARS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(ledger.releases) == 1
    assert ledger.audit() == ()
    ledger.post(_leak(2.0), title="two", units=YEARS)


@pytest.mark.parametrize("answer_is_lost", [False, True])
def test_a_post_whose_transaction_fails_is_made_once(tmp_path, monkeypatch, answer_is_lost):
    """Fail a commit as a server does that serializes or restarts, before or after the commit."""
    ledger = _ledger(tmp_path)
    begun, failures = Database._begun, []

    class SerializationError(Exception):
        sqlstate = "40001"

    @contextmanager
    def failing(database, write):
        with begun(database, write) as connection:
            yield connection
            if write and not failures and not answer_is_lost:
                failures.append(1)
                raise OperationalError("COMMIT", {}, SerializationError())
        if write and not failures:
            failures.append(1)
            raise OperationalError("COMMIT", {}, SerializationError())

    monkeypatch.setattr(Database, "_begun", failing)
    assert ledger.post(_leak(), title="one", units=YEARS).number == 1
    assert failures
    assert len(ledger.entries) == 2
    assert ledger.audit() == ()


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
