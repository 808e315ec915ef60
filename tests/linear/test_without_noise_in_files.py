"""Without noise, people in files are answered as in memory, in passes over the files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.engines import Job, Local
from seepage.errors import UnansweredError, UnsupportedError

EXACT = {"tol": 1e-12, "max_iter": 10_000}
LOGISTIC = LogisticRegression(C=np.inf, **EXACT)
MODELS = {
    "squares": LinearRegression(),
    "ridge": Ridge(alpha=5.0),
    "logistic": LOGISTIC,
    "poisson": PoissonRegressor(alpha=0, **EXACT),
    "gamma": GammaRegressor(alpha=0, **EXACT),
    "scaled": make_pipeline(StandardScaler(), LinearRegression()),
    "three classes": LogisticRegression(C=np.inf, **EXACT),
}


def rows(kind, n=900, leverage=0.0):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.integers(20, 80, n).astype(float), "dose": rng.gamma(4.0, 0.5, size=n)})
    X["weight"] = 60 + 0.3 * X["age"] + rng.normal(size=n)
    X["arm"] = (rng.random(n) < 0.1).astype(float)
    X.loc[7, "dose"] += leverage
    m = 0.02 * X["age"] - 0.3 * np.minimum(X["dose"], 3) + 0.4 * X["arm"]
    y = {
        "logistic": (rng.random(n) < 1 / (1 + np.exp(-m))).astype(int),
        "poisson": rng.poisson(np.exp(0.3 * m)),
        "gamma": rng.gamma(3.0, np.exp(0.3 * m) / 3.0) + 1e-3,
        "three classes": rng.integers(0, 3, n),
    }.get(kind, m + rng.normal(size=n))
    return X, pd.Series(y, name="y")


def both(kind, folder, leverage=0.0, **asked):
    X, y = rows(kind, leverage=leverage)
    model = MODELS[kind].fit(X, y)
    for i in range(3):
        part = X.assign(y=y)[300 * i : 300 * (i + 1)]
        part.to_parquet(folder / f"{i}.parquet", row_group_size=170, index=False)
    job = Job(Local(workers=1), progress=False)
    return seepage.measure(model, X, y, **asked), seepage.measure(model, folder, target="y", job=job, **asked)


# Intervals are what printed digits leave of a number: digits of it that cancel are missing.
CANCELED = 1e-8


def same(one, other, rtol=1e-10):
    assert list(one) == list(other)
    for name in one:
        np.testing.assert_allclose(np.asarray(other[name], float), np.asarray(one[name], float), rtol=rtol)


# What is printed is added up alike for every model: each of them in one of both ways, and two in both.
PUBLISHED = [(kind, None) for kind in ("squares", "logistic", "gamma", "three classes")]
PUBLISHED += [(kind, ["coefficients"]) for kind in ("ridge", "logistic", "poisson", "scaled", "three classes")]


@pytest.mark.parametrize(("kind", "published"), PUBLISHED)
def test_files_say_what_memory_does(kind, published, tmp_path):
    memory, files = both(kind, tmp_path, published=published, numbers=["arm"])
    for known in (0, 600):
        one, other = memory.against(known).information, files.against(known).information
        same(one.examples(), other.examples())
        same(one.attributes(), other.attributes())
        same(one.errors, other.errors)
        for name, reasons in one.not_assessed().items():
            assert list(reasons) == list(other.not_assessed()[name])
    assert np.isfinite(memory.against(0).information.examples()["eta"]).any()
    one, other = memory.information.printed, files.information.printed
    np.testing.assert_allclose(other.values, one.values, rtol=1e-10)
    np.testing.assert_allclose(other.sampling, one.sampling, rtol=1e-10)
    assert other.levels == one.levels
    assert other.record_bits == pytest.approx(one.record_bits, rel=1e-12)
    same(memory.information.intervals(), files.information.intervals(), CANCELED)


@pytest.mark.parametrize("kind", ["squares", "ridge", "logistic", "poisson", "scaled"])
def test_whoever_knows_all_covariates_is_answered_as_in_memory(kind, tmp_path):
    memory, files = both(kind, tmp_path, known_records="covariates", numbers=["arm"], published=["coefficients"])
    one, other = memory.information, files.information
    same(one.attributes(), other.attributes())
    same(one.examples(), other.examples())
    same(one.errors, other.errors)
    assert np.isfinite(one.attributes()["y"]).any()
    assert other.claims.fewest == pytest.approx(one.claims.fewest, rel=1e-10)


@pytest.mark.parametrize("kind", ["gamma", "three classes"])
def test_outcomes_whose_scatter_is_not_known_are_refused_as_in_memory(kind, tmp_path):
    memory, files = both(kind, tmp_path, known_records="covariates", numbers=["arm"])
    for leak in (memory, files):
        with pytest.raises(UnansweredError, match="how its outcome scatters"):
            _ = leak.examples


@pytest.mark.parametrize("known", [0, 600, "covariates"])
@pytest.mark.parametrize(("kind", "attribute"), [("logistic", "y"), ("logistic", "arm"), ("squares", "arm")])
def test_success_rates_in_files_are_those_in_memory(kind, attribute, known, tmp_path):
    memory, files = both(kind, tmp_path, known_records=known, leverage=30.0)
    one, other = (leak.success_rate(attribute, values=[0, 1]) for leak in (memory, files))
    rates = np.asarray(one["success_rate"], float)
    np.testing.assert_allclose(np.asarray(other["success_rate"], float), rates, rtol=1e-9)
    assert np.isfinite(rates).any()


def test_a_table_of_three_classes_has_their_rates_in_files(tmp_path):
    memory, files = both("three classes", tmp_path, numbers=["arm"])
    np.testing.assert_allclose(
        np.asarray(files.success_rate("y")["success_rate"], float),
        np.asarray(memory.success_rate("y")["success_rate"], float),
        rtol=1e-9,
    )


def test_somebody_of_large_leverage_is_looked_at_where_the_fit_is_without_them(tmp_path):
    memory, files = both("squares", tmp_path, leverage=60.0, numbers=["arm"])
    own = memory.information.crowd.unknown(899).own(memory.information.held)
    assert own[7] > 0.2
    same(memory.information.attributes(), files.information.attributes())
    same(memory.information.examples(), files.information.examples())


def test_people_who_are_entered_twice_are_found_in_files(tmp_path):
    X, y = rows("squares")
    X, y = pd.concat([X, X[:1]], ignore_index=True), pd.concat([y, y[:1]], ignore_index=True)
    X.assign(y=y).to_parquet(tmp_path / "people.parquet")
    leak = seepage.measure(LinearRegression().fit(X, y), tmp_path, target="y", job=Job(progress=False))
    assert np.flatnonzero(leak.information.printed.twice).tolist() == [0, 900]


def test_the_table_by_attacker_is_the_same(tmp_path):
    memory, files = both("squares", tmp_path, numbers=["arm"])
    one, other = memory.by_attacker(), files.by_attacker()
    assert [column.name for column in one.columns] == [column.name for column in other.columns]
    for a, b in zip(one.columns, other.columns, strict=True):
        assert a.reason == b.reason
        for name, cell in a.cells.items():
            rtol = CANCELED if a.name == "all records" else 1e-10
            np.testing.assert_allclose(b.cells[name].values, cell.values, rtol=rtol)
            assert b.cells[name].claimed == cell.claimed
    assert one.most == other.most
    assert str(files).splitlines()[0] == str(memory).splitlines()[0]


def test_what_is_not_answered_over_files_names_the_way_out(tmp_path):
    _, files = both("logistic", tmp_path)
    for ask in (
        lambda: files.records_needed(error_floor={"age": 0.5}),
        lambda: files.joint_information_loss(),
    ):
        with pytest.raises(UnansweredError, match=r"seepage\.measure\(model, frame, y"):
            ask()
    for asked in ({"clusters": "age"}, {"sample_weight": "dose"}):
        with pytest.raises(UnsupportedError, match=r"[Rr]ead the rows"):
            seepage.measure(LOGISTIC, tmp_path, target="y", job=Job(progress=False), **asked)
