"""People with several rows: what is known of them is known of all their rows together."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage

N = 60
MODELS = {
    "squared": lambda X, y: Ridge(solver="svd").fit(X, y),
    "logistic": lambda X, y: make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10)).fit(X, y > 0),
    "three classes": lambda X, y: LogisticRegression(tol=1e-10, max_iter=1000).fit(X, np.digitize(y, [-1, 1])),
    "missing": lambda X, y: make_pipeline(SimpleImputer(), Ridge(solver="svd")).fit(X, y),
}


def _visits(seed, missing=False):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(N, 3)), columns=list("abc"))
    y = (X["a"] + random.normal(size=N)).to_numpy()
    if missing:
        X = X.where(random.random((N, 3)) > 0.2)
    return X, y, random.integers(0, 25, N)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_a_person_is_the_joint_release_about_their_rows(kind, public, seed):
    X, y, who = _visits(seed, kind == "missing")
    model = MODELS[kind](X, y)
    labels = {"logistic": y > 0, "three classes": np.digitize(y, [-1, 1])}.get(kind, y)
    rows = seepage.measure(model, X, labels, noise_scale=0.3, public_label=public)
    people = seepage.measure(model, X, labels, noise_scale=0.3, public_label=public, ids=who)
    named = list(dict.fromkeys(who.tolist()))
    assert people.examples.index.tolist() == named
    assert people.information.count == len(named) < N
    for person in named:
        mine = who == person
        # The library's other way to the same number: one sum of information, not a row of Jacobians.
        assert people.examples["eta"][person] == pytest.approx(rows.joint(mine), rel=1e-9)
        for name in people.information.attribute_names:
            if np.isnan(rows.attributes[name][mine]).all():
                assert np.isnan(people.attributes[name][person])
            else:
                expected = rows.joint(mine, attribute=name)
                assert people.attributes[name][person] == pytest.approx(expected, rel=1e-9)
    counts = np.broadcast_to(rows.information.private_values, N)
    trace = np.bincount(who, np.nan_to_num(rows.examples["dfil"]) ** 2 * counts)[named]
    np.testing.assert_allclose(people.examples["dfil"], np.sqrt(trace / np.bincount(who, counts)[named]), rtol=1e-9)
    assert people.joint() == pytest.approx(rows.joint())
    some = np.array(named) % 2 == 0
    assert people.joint(some) == pytest.approx(rows.joint(who % 2 == 0))


def test_frames_groups_and_rates_speak_of_people():
    X, y, who = _visits(3)
    X["site"] = np.where(who % 3 == 0, 1.0, 0.0)
    leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=0.3, ids=who)
    named = list(dict.fromkeys(who.tolist()))
    frame = leak.by_group("site").frame
    assert frame["count"].sum() == len(named)
    # A label for each person, or for each row, is the same question.
    np.testing.assert_array_equal(leak.by_group(np.array(named) % 3 == 0).frame["mean"], frame["mean"])
    np.testing.assert_array_equal(leak.by_group(X["site"]).frame["mean"], frame["mean"])
    with pytest.raises(seepage.InputError, match=r"the rows of person .* differ"):
        leak.by_group("a")
    rates = leak.success_rate("site")
    assert rates.index.tolist() == who.tolist()
    assert leak.information.distances("site", None).farthest().shape == (len(named),)
    assert leak.most_exposed(3)["eta"].tolist() == sorted(leak.examples["eta"], reverse=True)[:3]
    assert f"{len(named)} people" in leak.summary()
    with pytest.raises(seepage.UnansweredError, match="without ids="):
        seepage.attacks.AttributeInversion("site").fit(leak)


def test_other_libraries_and_text_as_ids():
    X, y, who = _visits(4)
    text = [f"patient {i}" for i in who]
    one = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=0.3, ids=text)
    given = pl.from_pandas(X)
    two = seepage.measure(Ridge().fit(given, y), given, y, noise_scale=0.3, ids=pl.Series(text))
    assert two.examples["id"].to_list() == one.examples.index.tolist()
    np.testing.assert_allclose(two.examples["eta"], one.examples["eta"])


def test_an_index_that_repeats_itself_is_refused_with_both_ways_out():
    X, y, _ = _visits(5)
    twice = pd.concat([X.iloc[:30], X.iloc[:30]])
    model = Ridge().fit(twice, y)
    with pytest.raises(seepage.InputError, match=r"more than once.*reset_index.*ids=X\.index"):
        seepage.measure(model, twice, y, noise_scale=1.0)
    assert seepage.measure(model, twice, y, noise_scale=1.0, ids=twice.index).information.count == 30
    assert seepage.measure(model, twice.reset_index(drop=True), y, noise_scale=1.0).information.count == 60
    with pytest.raises(seepage.InputError, match="lacks the id"):
        seepage.measure(model, twice, y, noise_scale=1.0, ids=[None] * 60)


@pytest.mark.parametrize("seed", range(3))
def test_a_pandas_series_is_aligned_by_its_index_or_refused(seed):
    random = np.random.default_rng(seed)
    X, y, _ = _visits(seed)
    X.index = [f"p{i}" for i in random.permutation(N)]
    leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0)
    mask = X["a"] > 0
    shuffled = mask.sample(frac=1, random_state=seed)
    assert leak.joint(shuffled) == leak.joint(mask) == leak.joint(mask.to_numpy())
    np.testing.assert_array_equal(leak.by_group(shuffled).frame["mean"], leak.by_group(mask).frame["mean"])
    for stranger in (mask.reset_index(drop=True), mask.rename(index={X.index[0]: "somebody"})):
        with pytest.raises(seepage.InputError, match=r"index is not that of the people.*to_numpy"):
            leak.joint(stranger)
        with pytest.raises(seepage.InputError, match=r"index is not that of the people.*to_numpy"):
            leak.by_group(stranger)
