"""Outputs that are filters of one table in files say together what they say in memory, in a few passes over it."""

import numpy as np
import pandas as pd
import pytest
from here import Here
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage.engines import Job
from seepage.errors import InputError, UnansweredError

ENGINE = Here()
JOB = Job(ENGINE, progress=False)
NUMBERS = ["age", "dose", "arm"]
LOGISTIC = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)


def _people(n=1200):
    rng = np.random.default_rng(4)
    found = pd.DataFrame({"age": rng.integers(20, 80, n).astype(float), "dose": rng.gamma(4.0, 0.5, size=n)})
    found["arm"] = (rng.random(n) < 0.3).astype(float)
    found["smokes"] = rng.random(n) < 0.4
    found["site"] = rng.choice(["north", "south", "west"], n, p=[0.3, 0.69, 0.01])
    m = 0.02 * found["age"] - 0.3 * found["dose"] + 0.4 * found["smokes"]
    found["y"] = m + rng.normal(size=n)
    found["sick"] = (rng.random(n) < 1 / (1 + np.exp(-m))).astype(int)
    found.index = pd.Index([f"p{i}" for i in range(n)], name="id")
    return found


PEOPLE = _people()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("people")
    for i in range(3):
        PEOPLE[400 * i : 400 * (i + 1)].reset_index().to_parquet(found / f"{i}.parquet", row_group_size=90, index=False)
    return found


def _both(folder, filters, target="y", models=None, columns=NUMBERS, **asked):
    """Return several outputs composed in memory, and over files."""
    memory, files = {}, {}
    # That a column of two codes is a category is not known over files.
    asked = {"numbers": ["arm"], **asked}
    for i, (name, where) in enumerate(filters.items()):
        rows = PEOPLE if where is None else PEOPLE.query(where)
        used = columns[i] if isinstance(columns, tuple) else columns
        model = (models or (LinearRegression() if target == "y" else LOGISTIC,) * 9)[i]
        if isinstance(model, Pipeline) and isinstance(model[0], StandardScaler) and hasattr(model[0], "scale_"):
            model[-1].fit(model[:-1].transform(rows[used]), rows[target])
        else:
            model.fit(rows[used], rows[target])
        memory[name] = seepage.measure(model, rows[used], rows[target], **asked)
        files[name] = seepage.measure(model, folder, target=target, where=where, ids="id", job=JOB, **asked)
    return seepage.compose(memory), seepage.compose(files)


def _table(leak, columns):
    return pd.DataFrame({name: np.asarray(each) for name, each in columns.items()}, index=np.asarray(leak.people.ids))


def _same(memory, files):
    """Hold all that is said of people over files against memory."""
    one, other = memory.information, files.information
    for ask in (lambda found: found.attributes(), lambda found: found.examples(), lambda found: found.errors):
        expected, found = _table(memory, ask(one)), _table(files, ask(other))
        np.testing.assert_allclose(found, expected.loc[found.index, found.columns], rtol=1e-9, atol=0)
    reasons, found = _table(memory, one.not_assessed()), _table(files, other.not_assessed())
    assert (found == reasons.loc[found.index, found.columns]).all(axis=None)
    left = [
        {(each.inside, each.outside, frozenset(each.people), each.attributes, each.count) for each in all_of}
        for all_of in (one.differences(), other.differences())
    ]
    assert left[0] == left[1]
    np.testing.assert_allclose(
        np.quantile(_table(files, other.intervals()), [0, 0.5, 1], axis=0),
        np.quantile(_table(memory, one.intervals())[list(other.intervals())], [0, 0.5, 1], axis=0),
        rtol=1e-8,
    )
    return left[0]


FILTERS = {
    "one of the other": {"everybody": None, "old": "age >= 50"},
    "two that overlap": {"old": "age >= 40", "young": "age < 60"},
    "three": {"everybody": None, "north": "site == 'north'", "old smokers": "age >= 50 and smokes == True"},
    "the same": {"one": "age >= 40", "two": "age >= 40"},
}


@pytest.mark.parametrize("target", ["y", "sick"])
@pytest.mark.parametrize("filters", FILTERS)
def test_filters_of_one_table_say_what_memory_does(filters, target, folder):
    memory, files = _both(folder, FILTERS[filters], target)
    _same(memory, files)
    assert np.isfinite(_table(files, files.information.attributes())).any(axis=None)
    some = _table(files, files.against(500).information.attributes())
    np.testing.assert_allclose(some, memory.against(500).attributes.loc[some.index, some.columns], rtol=1e-9, atol=0)


@pytest.mark.parametrize("target", ["y", "sick"])
def test_who_is_in_a_difference_of_few_is_named(target, folder):
    few = frozenset(PEOPLE.index[PEOPLE["site"] == "west"])
    assert 3 < len(few) < 20
    filters = {"everybody": None, "without west": "site != 'west'", "old": "age >= 50"}
    memory, files = _both(folder, filters, target, published=["coefficients"])
    left = _same(memory, files)
    assert few == frozenset().union(*(people for _, _, people, _, _ in left))
    named = _table(files, files.information.attributes())
    assert np.isinf(named.loc[sorted(few)]).all(axis=None)
    assert np.isfinite(named.drop(few)).all(axis=None)
    assert set(files.differences().to_pandas()["inside"]) == {"everybody", "everybody, old"}
    assert "leaves age, dose, arm and 1 more attribute" in str(files).replace("\n", " ")


def test_categories_are_told_by_another_category(folder):
    steps = (
        make_pipeline(
            make_column_transformer((OneHotEncoder(drop="first"), ["smokes"]), remainder="passthrough"),
            LinearRegression(),
        )
        for _ in range(2)
    )
    filters = {"everybody": None, "without west": "site != 'west'"}
    memory, files = _both(folder, filters, models=[*steps], columns=["smokes", "age"], numbers=None)
    left = _same(memory, files)
    assert any("smokes" in attributes for _, _, _, attributes, _ in left)


def _scaled(width=None):
    """Return a model of columns in deviations: those of the rows, or widths that were given."""
    step = StandardScaler()
    if width is not None:
        step.fit(pd.DataFrame(width * np.random.default_rng(0).normal(size=(99, 3)), columns=NUMBERS))
        step.set_output(transform="pandas")
    return make_pipeline(step, LinearRegression())


def test_models_with_steps_and_other_columns_say_what_memory_does(folder):
    models = [_scaled(3.0), _scaled(3.0), LinearRegression()]
    filters = {"everybody": None, "old": "age >= 45", "few columns": "site != 'north'"}
    memory, files = _both(folder, filters, models=models, columns=(NUMBERS, NUMBERS, ["dose", "arm"]))
    assert files.information.alike is not None
    _same(memory, files)


def test_somebody_of_large_leverage_is_looked_at_where_the_fits_are_without_them(tmp_path, monkeypatch):
    rows = PEOPLE.copy()
    rows.loc["p7", "dose"] += 60.0
    rows.reset_index().to_parquet(tmp_path / "people.parquet", index=False)
    monkeypatch.setitem(globals(), "PEOPLE", rows)
    memory, files = _both(tmp_path, {"everybody": None, "old": f"age >= {rows.loc['p7', 'age']}"})
    assert memory.information.printed.leverage.max() > 0.2
    _same(memory, files)


def test_a_part_of_large_patterns_stands_for_them_in_files_too(folder, monkeypatch):
    # Skewness of many people is that of every so manieth of them: the same ones.
    whole = _both(folder, FILTERS["one of the other"])[0].attributes
    monkeypatch.setattr("seepage.attackers._patterns._MOST_CUBES", 1e5)
    monkeypatch.setattr("seepage.attackers._patterns._LEAST_PEOPLE", 50)
    memory, files = _both(folder, FILTERS["one of the other"])
    assert not np.allclose(memory.attributes, whole, rtol=1e-7)
    _same(memory, files)


def test_added_noise_protects_people_in_files_as_in_memory(folder):
    filters = {"everybody": None, "without west": "site != 'west'"}
    memory, files = _both(folder, filters, noise_scale=0.05, known_records=0, published=["coefficients"])
    assert not _same(memory, files)


def test_outputs_of_another_table_or_of_memory_name_the_way_out(folder, tmp_path):
    PEOPLE.reset_index().to_parquet(tmp_path / "people.parquet", index=False)
    model = LinearRegression().fit(PEOPLE[NUMBERS], PEOPLE["y"])
    here = seepage.measure(model, folder, target="y", job=JOB)
    there = seepage.measure(model, tmp_path, target="y", job=JOB)
    with pytest.raises(UnansweredError, match=r"one and two are about rows of different files.*ids="):
        seepage.compose({"one": here, "two": there})
    with pytest.raises(UnansweredError, match=r"two was measured over files and one in memory"):
        seepage.compose({"one": seepage.measure(model, PEOPLE[NUMBERS], PEOPLE["y"]), "two": there})
    old, young = (
        seepage.measure(LinearRegression().fit(rows[NUMBERS], rows["y"]), folder, target="y", where=where, job=JOB)
        for where, rows in (("age >= 50", PEOPLE[PEOPLE.age >= 50]), ("age < 50", PEOPLE[PEOPLE.age < 50]))
    )
    with pytest.raises(InputError, match="Nobody of release 1"):
        seepage.compose([old, young])
