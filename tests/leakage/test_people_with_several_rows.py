"""People with several rows: what is known of them is known of all their rows together."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

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
    # Numbers are different in every row; labels of people who have one class only may be one label: see below.
    one_class = {person for person in named if len(np.unique(labels[who == person])) == 1 < (who == person).sum()}
    assert bool(one_class) == (kind in ("logistic", "three classes"))
    for person in named:
        mine = who == person
        # The library's other way to the same number: one sum of information, not a row of Jacobians.
        eta, expected = people.examples["eta"][person], rows.joint_information_loss(mine)
        assert eta == pytest.approx(expected, rel=1e-9) or (person in one_class and eta > expected and not public)
        for name in people.information.attribute_names:
            if np.isnan(rows.attributes[name][mine]).all():
                assert np.isnan(people.attributes[name][person])
            elif name != "label" or person not in one_class:
                expected = rows.joint_information_loss(mine, attribute=name)
                assert people.attributes[name][person] == pytest.approx(expected, rel=1e-9)
            else:
                assert people.attributes[name][person] >= rows.joint_information_loss(mine, attribute=name) * (1 - 1e-9)
    counts = np.broadcast_to(rows.information.private_values, N)
    trace = np.bincount(who, np.nan_to_num(rows.examples["dfil"]) ** 2 * counts)[named]
    apart = np.array([person not in one_class for person in named])
    expected = np.sqrt(trace / np.bincount(who, counts)[named])
    np.testing.assert_allclose(people.examples["dfil"][apart], expected[apart], rtol=1e-9)
    some = np.array(named) % 2 == 0
    if public or not one_class:
        assert people.joint_information_loss() == pytest.approx(rows.joint_information_loss())
        assert people.joint_information_loss(some) == pytest.approx(rows.joint_information_loss(who % 2 == 0))


CLONED = {
    # Behind indicators of all levels, which leave a direction undecided.
    "least squares": LinearRegression(),
    "ridge": Ridge(alpha=2.0, solver="svd"),
    "logistic": LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12),
    "three classes": LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12, max_iter=1000),
    "counts": PoissonRegressor(alpha=0.1, solver="newton-cholesky", tol=1e-12),
}


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("kind", CLONED)
def test_somebody_whose_rows_are_all_the_same_is_one_row_that_weighs_as_much(kind, scaled):
    random = np.random.default_rng(7)
    X = pd.DataFrame(
        {
            "age": random.normal(size=N),
            "dose": random.normal(size=N),
            "smoker": random.integers(0, 2, N),
            "site": random.choice(list("xyz"), N),
        }
    )
    margin = X["age"] + X["smoker"] + random.normal(size=N)
    y = {
        "logistic": (margin > 0).astype(int),
        "three classes": np.digitize(margin, [-0.5, 1]),
        "counts": random.poisson(np.exp(0.3 * margin)),
    }.get(kind, margin.to_numpy())
    times = random.integers(1, 4, N)
    who = np.repeat(np.arange(N), times)
    again, labels = X.loc[who].reset_index(drop=True), np.asarray(y)[who]
    last = CLONED[kind].__class__.__name__.lower()
    if scaled:
        X, again = X.drop(columns="site"), again.drop(columns="site")
        model = make_pipeline(StandardScaler(), CLONED[kind])
        weights = {"standardscaler__sample_weight": times, f"{last}__sample_weight": times}
    else:
        model = make_pipeline(
            make_column_transformer((OneHotEncoder(), ["site"]), remainder="passthrough"), CLONED[kind]
        )
        weights = {f"{last}__sample_weight": times}
    cloned = seepage.measure(model.fit(again, labels), again, labels, noise_scale=0.3, ids=who)
    weighted = seepage.measure(model.fit(X, y, **weights), X, y, noise_scale=0.3, sample_weight=times)
    for column in ("eta", "dfil"):
        np.testing.assert_allclose(cloned.examples[column], weighted.examples[column], rtol=1e-6)
    for name in cloned.information.attribute_names:
        np.testing.assert_allclose(cloned.attributes[name], weighted.attributes[name], rtol=1e-6, err_msg=name)
        assert cloned.joint_information_loss(attribute=name) == pytest.approx(
            weighted.joint_information_loss(attribute=name), rel=1e-6
        )
    half = np.arange(N) % 2 == 0
    assert cloned.joint_information_loss() == pytest.approx(weighted.joint_information_loss(), rel=1e-6)
    assert cloned.joint_information_loss(half) == pytest.approx(weighted.joint_information_loss(half), rel=1e-6)
    for name in sorted(cloned.information.categorical):
        found, expected = (leak.information.distances(name, None).farthest() for leak in (cloned, weighted))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("public", [False, True])
def test_one_value_in_several_rows_is_learned_from_all_of_them(public):
    random = np.random.default_rng(9)
    who = random.integers(0, 20, N)
    X = pd.DataFrame({"born": random.normal(size=20)[who], "dose": random.normal(size=N)})
    y = (X["born"] + X["dose"] + random.logistic(size=N) > 0).astype(int).to_numpy()
    model = LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12)

    def published(born):
        fitted = model.fit(X.assign(born=born), y)
        return np.append(fitted.coef_, fitted.intercept_)

    leak = seepage.measure(model.fit(X, y), X, y, noise_scale=0.3, ids=who, public_label=public)
    apart = seepage.measure(model, X, y, noise_scale=0.3, public_label=public)
    for person in leak.attributes.index:
        step = 1e-4 * (who == person)
        slope = np.linalg.norm(published(X["born"] + step) - published(X["born"] - step)) / 2e-4 / 0.3
        one_by_one = apart.joint_information_loss(who == person, attribute="born")
        assert leak.attributes["born"][person] == pytest.approx(max(slope, one_by_one), rel=1e-6)
    assert (leak.attributes["born"] > 1.2 * apart.attributes["born"].groupby(who).max()[leak.attributes.index]).any()


def test_balanced_classes_do_not_follow_several_labels_of_one_person():
    X, y, who = _visits(7)
    model = LogisticRegression(class_weight="balanced", tol=1e-10).fit(X, y > 0)
    leak = seepage.measure(model, X, y > 0, noise_scale=0.3, ids=who)
    with pytest.raises(seepage.errors.UnansweredError, match="Balanced class weights"):
        leak.success_rate("label")


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
    with pytest.raises(seepage.errors.InputError, match=r"the rows of person .* differ"):
        leak.by_group("a")
    # One site a person, whatever the number of rows, in the order of the first.
    rates = leak.success_rate("site")
    assert rates.index.tolist() == named
    assert leak.information.distances("site", None).farthest().shape == (len(named),)
    assert leak.most_exposed(3)["eta"].tolist() == sorted(leak.examples["eta"], reverse=True)[:3]
    assert f"{len(named)} people" in leak.summary()
    with pytest.raises(seepage.errors.UnansweredError, match="without ids="):
        seepage.attacks.AttributeInversion("site").fit(leak)


def test_other_libraries_and_text_as_ids():
    X, y, who = _visits(4)
    text = [f"patient {i}" for i in who]
    one = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=0.3, ids=text)
    given = pl.from_pandas(X)
    two = seepage.measure(Ridge().fit(given, y), given, y, noise_scale=0.3, ids=pl.Series(text))
    assert two.examples["id"].to_list() == one.examples.index.tolist()
    np.testing.assert_allclose(two.examples["eta"], one.examples["eta"])


def test_a_number_and_its_digits_are_two_people():
    X, y, _ = _visits(4)
    ids = [*range(len(y) // 2), *map(str, range(len(y) - len(y) // 2))]
    found = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=0.3, ids=ids)
    assert found.examples.index.tolist() == ids


def test_an_index_that_repeats_itself_is_refused_with_both_ways_out():
    X, y, _ = _visits(5)
    twice = pd.concat([X.iloc[:30], X.iloc[:30]])
    model = Ridge().fit(twice, y)
    with pytest.raises(seepage.errors.InputError, match=r"more than once.*reset_index.*ids=X\.index"):
        seepage.measure(model, twice, y, noise_scale=1.0)
    assert seepage.measure(model, twice, y, noise_scale=1.0, ids=twice.index).information.count == 30
    assert seepage.measure(model, twice.reset_index(drop=True), y, noise_scale=1.0).information.count == 60
    with pytest.raises(seepage.errors.InputError, match="lacks the id"):
        seepage.measure(model, twice, y, noise_scale=1.0, ids=[None] * 60)


@pytest.mark.parametrize("seed", range(3))
def test_a_pandas_series_is_aligned_by_its_index_or_refused(seed):
    random = np.random.default_rng(seed)
    X, y, _ = _visits(seed)
    X.index = [f"p{i}" for i in random.permutation(N)]
    leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0)
    mask = X["a"] > 0
    shuffled = mask.sample(frac=1, random_state=seed)
    assert (
        leak.joint_information_loss(shuffled)
        == leak.joint_information_loss(mask)
        == leak.joint_information_loss(mask.to_numpy())
    )
    np.testing.assert_array_equal(leak.by_group(shuffled).frame["mean"], leak.by_group(mask).frame["mean"])
    for stranger in (mask.reset_index(drop=True), mask.rename(index={X.index[0]: "somebody"})):
        with pytest.raises(seepage.errors.InputError, match=r"index is not that of the people.*to_numpy"):
            leak.joint_information_loss(stranger)
        with pytest.raises(seepage.errors.InputError, match=r"index is not that of the people.*to_numpy"):
            leak.by_group(stranger)


def _ridge(who, values, seed, **given):
    """Measure a ridge regression on values that people repeat, a dose that is new in every row, and what came of it."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame({name: column[who] for name, column in values.items()})
    X["dose"] = random.normal(size=len(who))
    y = X.sum(axis=1) + random.normal(size=len(who))
    return seepage.measure(Ridge(solver="svd").fit(X, y), X, y, noise_scale=0.3, ids=who, public_label=True, **given)


def test_each_repeated_value_is_counted_whichever_way_tells_more():
    found = mixed = averaged = mixed_averages = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        who = np.repeat(np.arange(20), 2)
        X = pd.DataFrame(
            {"a": random.normal(size=20)[who], "b": random.normal(size=20)[who], "c": random.normal(size=40)}
        )
        y = X.sum(axis=1) + random.normal(size=40)
        model = Ridge(solver="svd").fit(X, y)
        leak = seepage.measure(model, X, y, noise_scale=0.3, ids=who, public_label=True)
        design = np.column_stack([X, np.ones(40)])
        hessian = design.T @ design + np.diag([1.0, 1.0, 1.0, 0.0])
        theta = np.append(model.coef_, model.intercept_)
        for person in range(20):
            rows = [2 * person, 2 * person + 1]
            # d theta / d x_j = H^-1 (e_j r - x theta_j), for the residual r.
            residual = y[rows] - design[rows] @ theta
            each = [
                np.linalg.solve(hessian, np.eye(4)[:, :3] * r - np.outer(design[i], theta[:3])) / 0.3
                for i, r in zip(rows, residual, strict=True)
            ]
            ways, means = {}, {}
            for ones in ([], [0], [1], [0, 1]):
                apart = [j for j in range(3) if j not in ones]
                moves = np.hstack([each[0][:, apart], each[1][:, apart], (each[0] + each[1])[:, ones]])
                ways[(len(ones) % 2, *ones)] = np.linalg.norm(moves, 2)
                means[(len(ones) % 2, *ones)] = np.sqrt((moves**2).sum() / moves.shape[1])
            largest = max(means, key=lambda key: means[key])
            mixed_averages += largest[0]
            averaged += np.isclose(leak.examples["dfil"][person], means[largest], rtol=1e-9)
            best = max(ways, key=lambda key: ways[key])
            mixed += best[0]
            found += np.isclose(leak.examples["eta"][person], ways[best], rtol=1e-9)
    assert found == averaged == 800
    assert min(mixed, mixed_averages) > 0


def test_what_a_lasso_leaves_unanswered_is_no_part_of_the_mean_over_several_rows():
    random = np.random.default_rng(3)
    X = pd.DataFrame(random.normal(size=(N, 4)), columns=list("abcd"))
    y, who = 2 * X["a"] + X["b"] + random.normal(size=N), np.repeat(np.arange(N // 2), 2)
    # Two values that all rows of a person repeat, of which one has a coefficient of zero.
    X[["b", "d"]] = X[["b", "d"]].to_numpy()[::2][who]
    model = Lasso(0.3, tol=1e-12).fit(X, y)
    assert [name for name, value in zip(X, model.coef_, strict=True) if value] == ["a", "b"]
    whole, kept = (
        seepage.measure(each, rows, y, noise_scale=0.3, ids=who)
        for each, rows in ((model, X), (Lasso(0.3, tol=1e-12).fit(X[["a", "b"]], y), X[["a", "b"]]))
    )
    np.testing.assert_allclose(whole.examples["dfil"], kept.examples["dfil"], rtol=1e-8)
    np.testing.assert_array_equal(whole.information.private_values, kept.information.private_values)


def test_releases_compose_by_person_and_not_by_row():
    sex = {"sex": np.random.default_rng(0).integers(0, 2, 30)}
    first = _ridge(np.array([0, 0, *range(1, 30)]), sex, 1)
    for rows in (np.array([*range(29), 29, 29]), np.repeat(np.arange(30), 2), np.arange(30)):
        second = _ridge(rows, sex, 2)
        both = seepage.compose([first, second]).success_rate("sex")
        expected = np.hypot(first.success_rate("sex")["distance"], second.success_rate("sex")["distance"])
        np.testing.assert_allclose(both["distance"], expected, rtol=1e-12)
        assert both.index.tolist() == list(range(30))
    visits = np.repeat(np.arange(15), 2)
    X = pd.DataFrame({"fever": np.tile([0, 1], 15), "dose": np.random.default_rng(3).normal(size=30)})
    y = X.sum(axis=1)
    new = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=0.3, ids=visits, public_label=True)
    with pytest.raises(seepage.errors.UnansweredError, match="different values of 'fever'"):
        seepage.compose([new, new]).success_rate("fever")


def test_one_value_is_one_value_in_compositions_and_in_a_ledger(tmp_path):
    who, born = np.repeat(np.arange(20), 3), np.random.default_rng(0).normal(size=20)

    def one(who, seed):
        X = pd.DataFrame({"born": born[who]})
        y = X["born"] + np.random.default_rng(seed).normal(size=len(who))
        return seepage.measure(Ridge(solver="svd").fit(X, y), X, y, noise_scale=0.3, ids=who, public_label=True)

    three, single = one(who, 1), one(np.arange(20), 2)
    both = seepage.compose([three, single]).examples
    np.testing.assert_allclose(both["dfil"], both["eta"], rtol=1e-12)
    ledger = seepage.ledger.Ledger.create(tmp_path / "ledger", key=b"k" * 32, eta=100.0)
    ledger.post(three, title="thrice")
    np.testing.assert_allclose(ledger.balance(range(20))["trace"], three.examples["eta"] ** 2, rtol=1e-9)
