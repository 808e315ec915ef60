"""Steps that are not affine: derivatives through them, against the whole procedure written once more.

Powers, splines and functions are written down again as analytic functions of complex numbers, from their definitions;
the complex step through preprocessing, scaler and fit then gives every derivative to the last digits.
"""

import io
import pickle
from itertools import combinations, combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from likelihoods import length
from procedure import Procedure
from scipy import sparse
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

import seepage
from seepage.linear import Affine, Curve, through
from seepage.linear.columns._functions import SLOPES, CalledFunction

NOISE = 0.3
RANDOM = np.random.default_rng(11)
ROWS = RANDOM.gamma(4.0, 0.5, size=(50, 3)) + 0.1
MEAN = 0.4 * np.log(ROWS[:, 0]) + 0.2 * ROWS[:, 1] * ROWS[:, 2] - 0.1 * ROWS[:, 2] ** 2
NUMBER = MEAN + RANDOM.normal(size=50)
LABELS = {
    "squared": NUMBER,
    "logistic": np.median(NUMBER) < NUMBER,
    "poisson": RANDOM.poisson(np.exp(0.3 * MEAN)),
    "softmax": np.digitize(NUMBER, np.quantile(NUMBER, [0.3, 0.7])),
}
TIGHT = {"tol": 1e-12, "max_iter": 10_000}
MODELS = {
    "squared": (Ridge(alpha=2.0), 2.0),
    "logistic": (LogisticRegression(C=0.5, **TIGHT), 2.0),
    "poisson": (PoissonRegressor(alpha=0.04, **TIGHT), 2.0),
    "softmax": (LogisticRegression(C=0.5, **TIGHT), 2.0),
}
KNOTS = np.array([[0.0, 0.1, 0.2], [0.9, 1.3, 1.2], [2.0, 2.2, 1.9], [3.0, 3.1, 2.8], [4.5, 5.0, 4.0]])


def powers(degree, *, interactions=False):
    def bend(rows):
        among = combinations if interactions else combinations_with_replacement
        chosen = [each for d in range(1, degree + 1) for each in among(range(rows.shape[1]), d)]
        return np.column_stack([np.prod(rows[:, list(each)], axis=1) for each in chosen])

    return bend


def basis(x, knots, degree, derivative=False):
    """Return B-splines by the recursion of Cox and de Boor; beyond the knots, the outermost pieces go on."""
    if derivative:
        lower = basis(x, knots, degree - 1)
        found = []
        for i in range(len(knots) - degree - 1):
            left = lower[:, i] / (knots[i + degree] - knots[i])
            right = lower[:, i + 1] / (knots[i + degree + 1] - knots[i + 1])
            found.append(degree * (left - right))
        return np.column_stack(found)
    top = basis.top
    inside = np.clip(np.searchsorted(knots, x.real, side="right") - 1, top, len(knots) - top - 2)
    found = [(inside == i).astype(x.dtype) for i in range(len(knots) - 1)]
    for d in range(1, degree + 1):
        found = [
            (x - knots[i]) / (knots[i + d] - knots[i]) * found[i]
            + (knots[i + d + 1] - x) / (knots[i + d + 1] - knots[i + 1]) * found[i + 1]
            for i in range(len(knots) - d - 1)
        ]
    return np.column_stack(found)


def splines(base, *, degree=3, extrapolation="continue", bias=False):
    """Return splines of each column on equally many knots outside as inside, as far apart as the outermost two."""

    def bend(rows):
        basis.top, found = degree, []
        for column in range(rows.shape[1]):
            inner, x = base[:, column], rows[:, column]
            steps = np.arange(1, degree + 1)
            knots = np.concatenate(
                [inner[0] - steps[::-1] * (inner[1] - inner[0]), inner, inner[-1] + steps * (inner[-1] - inner[-2])]
            )
            if extrapolation == "linear":
                edge = np.clip(x.real, inner[0], inner[-1]) + 0j
                beyond = edge != x.real
                made = basis(np.where(beyond, edge, x), knots, degree)
                made = made + np.where(beyond, x - edge, 0.0)[:, None] * basis(edge, knots, degree, derivative=True)
            else:
                made = basis(x, knots, degree)
            found.append(made if bias else made[:, :-1])
        return np.hstack(found)

    return bend


def tanh_of_products(rows):
    return np.column_stack([rows[:, 0] * rows[:, 1], np.tanh(rows[:, 2]), rows[:, 0] / (1 + rows[:, 2])])


QUANTILES = np.quantile(ROWS, np.linspace(0, 1, 4), axis=0)
STEPS = {
    "powers": (PolynomialFeatures(2, include_bias=False), powers(2)),
    "cubes": (PolynomialFeatures(3, include_bias=False), powers(3)),
    "interactions": (PolynomialFeatures(3, interaction_only=True, include_bias=False), powers(3, interactions=True)),
    "splines": (SplineTransformer(knots=KNOTS, include_bias=False, extrapolation="continue"), splines(KNOTS)),
    "splines beyond": (
        SplineTransformer(knots=KNOTS[1:4], degree=2, extrapolation="linear"),
        splines(KNOTS[1:4], degree=2, extrapolation="linear", bias=True),
    ),
    "splines of quantiles": (
        SplineTransformer(n_knots=4, knots="quantile", include_bias=False, sparse_output=True),
        splines(QUANTILES),
    ),
    "logarithms": (FunctionTransformer(np.log), np.log),
    "a function": (FunctionTransformer(tanh_of_products), tanh_of_products),
    "logarithms, then powers": (
        make_pipeline(FunctionTransformer(np.log1p), PolynomialFeatures(2, include_bias=False)),
        lambda rows: powers(2)(np.log(1 + rows)),
    ),
    "side by side": (
        make_column_transformer(
            (SplineTransformer(knots=KNOTS[:, :1], include_bias=False, extrapolation="continue"), [0]),
            (make_pipeline(FunctionTransformer(np.sqrt), PolynomialFeatures(2, include_bias=False)), [1, 2]),
            remainder="passthrough",
        ),
        lambda rows: np.hstack([splines(KNOTS[:, :1])(rows[:, :1]), powers(2)(np.sqrt(rows[:, 1:]))]),
    ),
    "one column twice": (
        make_union(FunctionTransformer(), FunctionTransformer(np.square), FunctionTransformer(np.exp)),
        lambda rows: np.hstack([rows, rows**2, np.exp(rows)]),
    ),
    "turned": (
        make_pipeline(PolynomialFeatures(2, include_bias=False), PCA(4).fit(powers(2)(ROWS))),
        None,
    ),
}
AXES = STEPS["turned"][0][-1]
STEPS["turned"] = (
    STEPS["turned"][0],
    lambda rows: (powers(2)(rows) - AXES.mean_) @ AXES.components_.T,
)


def _procedure(bend, loss, *, scaled=False, intercept=True, **more):
    labels = LABELS[loss]
    coded = np.eye(3)[labels] if loss == "softmax" else labels.astype(float)[:, None]
    width = bend(ROWS.astype(complex)).shape[1]
    penalty = MODELS[loss][1]
    columns = tuple(range(width)) if scaled else ()
    return Procedure(
        ROWS, coded, loss, penalty, columns, intercept=intercept, bend=bend, noise=np.array([[NOISE**2]]), **more
    )


def _fitted(step, loss, *, scaled=False, **more):
    model = make_pipeline(step, *([StandardScaler()] if scaled else []), MODELS[loss][0])
    return model.fit(ROWS, LABELS[loss], **more)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_information_through_a_step_is_that_of_the_whole_procedure(name, loss):
    step, bend = STEPS[name]
    model = _fitted(step, loss)
    leak = seepage.measure(model, ROWS, LABELS[loss], noise_scale=NOISE)
    procedure = _procedure(bend, loss)
    for person in (0, 17, 49):
        information = procedure.information(person, label=True)
        assert leak.examples["eta"][person] ** 2 == pytest.approx(np.linalg.eigvalsh(information)[-1], rel=1e-8)
        assert leak.examples["dfil"][person] ** 2 * 4 == pytest.approx(np.trace(information), rel=1e-8)
        np.testing.assert_allclose(leak.attributes.to_numpy()[person] ** 2, np.diag(information), rtol=1e-8)
    together = procedure.joint_information([3, 4, 30], label=True)
    who = np.isin(np.arange(50), [3, 4, 30])
    assert leak.joint(who) ** 2 == pytest.approx(np.linalg.eigvalsh(together)[-1], rel=1e-8)
    at = [1, 5, 9]
    assert leak.joint(who, attribute="x1") ** 2 == pytest.approx(
        np.linalg.eigvalsh(together[np.ix_(at, at)])[-1], rel=1e-8
    )


@pytest.mark.parametrize("name", ["powers", "splines", "logarithms, then powers", "side by side"])
@pytest.mark.parametrize("loss", ["poisson", "softmax"])
def test_every_loss(name, loss):
    step, bend = STEPS[name]
    leak = seepage.measure(_fitted(step, loss), ROWS, LABELS[loss], noise_scale=NOISE, public_label=True)
    procedure = _procedure(bend, loss)
    for person in (2, 33):
        information = procedure.information(person)
        assert leak.examples["eta"][person] ** 2 == pytest.approx(np.linalg.eigvalsh(information)[-1], rel=1e-8)
        np.testing.assert_allclose(leak.attributes.to_numpy()[person] ** 2, np.diag(information), rtol=1e-8)


@pytest.mark.parametrize("name", ["powers", "splines", "side by side", "one column twice"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_a_scaler_behind_a_step_is_part_of_the_fit(name, loss):
    step, bend = STEPS[name]
    leak = seepage.measure(_fitted(step, loss, scaled=True), ROWS, LABELS[loss], noise_scale=NOISE, public_label=True)
    assert any("Learned from these rows, and not published" in one.sentence() for one in leak.information.assumptions)
    procedure = _procedure(bend, loss, scaled=True)
    for person in (5, 28):
        information = procedure.information(person)
        assert leak.examples["eta"][person] ** 2 == pytest.approx(np.linalg.eigvalsh(information)[-1], rel=1e-7)
        np.testing.assert_allclose(leak.attributes.to_numpy()[person] ** 2, np.diag(information), rtol=1e-7)
    together = procedure.joint_information([1, 8])
    assert leak.joint(np.isin(np.arange(50), [1, 8])) ** 2 == pytest.approx(np.linalg.eigvalsh(together)[-1], rel=1e-7)
    # With other noise the part of the coefficients shrinks, and the part of the noise's shape stays.
    louder = seepage.measure(
        _fitted(step, loss, scaled=True), ROWS, LABELS[loss], noise_scale=10 * NOISE, public_label=True
    )
    np.testing.assert_allclose(leak.information.column_at("attributes", "x2", 10.0), louder.attributes["x2"], rtol=1e-9)


def test_weights_and_public_columns():
    step, bend = STEPS["splines"]
    weights = RANDOM.uniform(0.5, 2.0, 50)
    model = make_pipeline(step, LogisticRegression(C=0.5, **TIGHT))
    model.fit(ROWS, LABELS["logistic"], logisticregression__sample_weight=weights)
    leak = seepage.measure(
        model, ROWS, LABELS["logistic"], noise_scale=NOISE, sample_weight=weights, attributes=["x2", "x0"]
    )
    information = _procedure(bend, "logistic", weights=weights).information(20, label=True)[
        np.ix_([2, 0, 3], [2, 0, 3])
    ]
    assert leak.examples["eta"][20] ** 2 == pytest.approx(np.linalg.eigvalsh(information)[-1], rel=1e-8)
    np.testing.assert_allclose(leak.attributes.to_numpy()[20] ** 2, np.diag(information), rtol=1e-8)


def test_directions_that_nothing_decides():
    # All splines of a column add up to one, as the intercept does: without a penalty many models fit alike.
    step = SplineTransformer(knots=KNOTS, extrapolation="continue")
    model = make_pipeline(step, LinearRegression()).fit(ROWS, NUMBER)
    leak = seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE, public_label=True)

    def least_norm(rows):
        features = splines(KNOTS, bias=True)(rows)
        middle = features - features.mean(axis=0)
        found = np.linalg.pinv(middle, rcond=1e-10) @ (NUMBER - NUMBER.mean())
        return np.append(found, NUMBER.mean() - features.mean(axis=0) @ found)

    step_size, moved = 1e-5, []
    for column in range(3):
        ends = [ROWS.copy(), ROWS.copy()]
        ends[0][7, column] += step_size
        ends[1][7, column] -= step_size
        moved.append((least_norm(ends[0]) - least_norm(ends[1])) / (2 * step_size * NOISE))
    np.testing.assert_allclose(leak.attributes.to_numpy()[7], np.linalg.norm(np.real(moved), axis=1), rtol=1e-5)


def test_categories_beside_splines():
    table = pd.DataFrame({"age": ROWS[:, 0], "ward": RANDOM.choice(["a", "b", "c"], 50), "dose": ROWS[:, 1]})
    step = make_column_transformer(
        (SplineTransformer(knots=KNOTS[:, :1], include_bias=False, extrapolation="continue"), ["age"]),
        (OneHotEncoder(drop="first"), ["ward"]),
        (FunctionTransformer(np.log), ["dose"]),
    )
    leak = seepage.measure(make_pipeline(step, Ridge()).fit(table, NUMBER), table, NUMBER, noise_scale=NOISE)
    levels = np.column_stack([table["ward"] == "b", table["ward"] == "c"]).astype(float)

    def bend(rows):
        return np.hstack([splines(KNOTS[:, :1])(rows[:, :1]), rows[:, 1:3], np.log(rows[:, 3:])])

    rows = np.column_stack([ROWS[:, 0], levels, ROWS[:, 1]])
    procedure = Procedure(rows, NUMBER[:, None], "squared", 1.0, (), bend=bend, noise=np.array([[NOISE**2]]))
    information = procedure.information(12, label=True)
    assert leak.examples["eta"][12] ** 2 == pytest.approx(np.linalg.eigvalsh(information)[-1], rel=1e-8)
    expected = [information[0, 0], np.linalg.eigvalsh(information[1:3, 1:3])[-1], information[3, 3], information[4, 4]]
    np.testing.assert_allclose(leak.attributes.to_numpy()[12] ** 2, expected, rtol=1e-8)
    assert leak.information.categorical == {"ward"}
    # A category of a row beside splines is refitted exactly.
    changed = table.copy()
    changed.loc[4, "ward"] = "c" if table.loc[4, "ward"] != "c" else "a"
    one, other = (make_pipeline(step, Ridge(solver="cholesky")).fit(rows, NUMBER)[-1] for rows in (table, changed))
    moved = np.linalg.norm(np.append(one.coef_ - other.coef_, one.intercept_ - other.intercept_)) / NOISE
    distances = leak.information.distances("ward", None)
    at = distances.values.index(changed.loc[4, "ward"])
    assert distances.distance[4, at] == pytest.approx(moved, rel=1e-8)


@pytest.mark.parametrize("scaled", [False, True])
def test_refits_go_through_the_steps(scaled):
    step = STEPS["side by side"][0]
    model = _fitted(step, "logistic", scaled=scaled)
    leak = seepage.measure(model, ROWS, LABELS["logistic"], noise_scale=NOISE)
    found = leak.information.distances("x1", [1.5])
    changed = ROWS.copy()
    changed[6, 1] = 1.5
    bend = STEPS["side by side"][1]
    published, covariance = _procedure(bend, "logistic", scaled=scaled).release(ROWS + 0j, LABELS["logistic"][:, None])
    other, second = _procedure(bend, "logistic", scaled=scaled).release(changed + 0j, LABELS["logistic"][:, None])
    gap, middle = (published - other).real, (covariance + second).real / 2
    squares = gap @ np.linalg.solve(middle, gap)
    spread = [np.linalg.slogdet(each.real)[1] for each in (middle, covariance, second)]
    squares += 8 * 0.5 * (spread[0] - 0.5 * (spread[1] + spread[2]))
    assert length(found, 6) ** 2 == pytest.approx(squares, rel=1e-7)


def test_people_with_several_rows():
    step, bend = STEPS["powers"]
    ids = np.repeat(np.arange(25), 2)
    leak = seepage.measure(_fitted(step, "logistic"), ROWS, LABELS["logistic"], noise_scale=NOISE, ids=ids)
    information = _procedure(bend, "logistic").joint_information([8, 9], label=True)
    assert leak.examples["eta"][4] ** 2 == pytest.approx(np.linalg.eigvalsh(information)[-1], rel=1e-8)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", ["splines", "a function", "logarithms, then powers"])
def test_files_give_what_memory_gives(name, scaled, tmp_path):
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    table.assign(y=LABELS["logistic"]).to_parquet(tmp_path / "people.parquet", row_group_size=17)
    step = STEPS[name][0]
    model = make_pipeline(step, *([StandardScaler()] if scaled else []), LogisticRegression(C=0.5, **TIGHT))
    model.fit(ROWS, LABELS["logistic"])
    memory = seepage.measure(model, table.to_numpy(), LABELS["logistic"], noise_scale=NOISE)
    job = seepage.engines.Job(output=tmp_path / "out")
    files = seepage.measure(model, tmp_path / "people.parquet", target="y", noise_scale=NOISE, job=job)
    np.testing.assert_allclose(files.examples.to_table().to_pandas()[["eta", "dfil"]], memory.examples, rtol=1e-11)
    np.testing.assert_allclose(
        files.attributes.to_table().to_pandas()[["a", "b", "c", "y"]], memory.attributes.to_numpy(), rtol=1e-10
    )
    assert files.joint() == pytest.approx(memory.joint(), rel=1e-11)
    assert files.joint(attribute="b") == pytest.approx(memory.joint(attribute="x1"), rel=1e-11)


def test_a_job_is_not_continued_with_other_knots(tmp_path):
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"]).assign(y=NUMBER)
    table.to_parquet(tmp_path / "people.parquet")
    for knots, resume in ((KNOTS, False), (KNOTS + 0.01, True)):
        model = make_pipeline(SplineTransformer(knots=knots, extrapolation="continue"), Ridge()).fit(ROWS, NUMBER)
        job = seepage.engines.Job(output=tmp_path / "out", resume=resume)
        if resume:
            with pytest.raises(seepage.errors.InputError, match="another"):
                seepage.measure(model, tmp_path / "people.parquet", target="y", noise_scale=NOISE, job=job)
        else:
            seepage.measure(model, tmp_path / "people.parquet", target="y", noise_scale=NOISE, job=job)


def test_noise_for_a_floor():
    model = make_pipeline(STEPS["splines"][0], Ridge(alpha=2.0))
    leak = seepage.measure(model.fit(ROWS, NUMBER), ROWS, NUMBER, noise_scale=NOISE)
    scale = seepage.calibrate(leak, error_floor={"x0": 0.5}, shape="isotropic").scale
    louder = seepage.measure(model, ROWS, NUMBER, noise_scale=scale)
    assert louder.error_floor()["x0"].min() >= 0.5


def test_what_splines_took_from_people_is_stated():
    model = make_pipeline(SplineTransformer(), Ridge()).fit(ROWS, NUMBER)
    leak = seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE)
    assert any("the knots of the splines" in one.sentence() for one in leak.information.assumptions)
    given = make_pipeline(SplineTransformer(knots=KNOTS, extrapolation="linear"), Ridge()).fit(ROWS, NUMBER)
    leak = seepage.measure(given, ROWS, NUMBER, noise_scale=NOISE)
    assert not any("the knots of the splines" in one.sentence() for one in leak.information.assumptions)


def _clipped(rows):
    return np.minimum(rows, 2.0)


def _hinge(rows):
    return np.sign(rows - 2.0) * np.sqrt(np.abs(rows - 2.0))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (SplineTransformer(knots=KNOTS[1:4]), "beyond the knots"),
        (FunctionTransformer(_clipped), "flat there"),
        (FunctionTransformer(lambda rows: rows / rows.sum()), "several rows together"),
        (FunctionTransformer(lambda rows: np.log(rows - 1.0)), "do not come to one slope|not numbers|missing value"),
        (FunctionTransformer(np.log), "no finite derivative"),
    ],
)
def test_rows_without_a_derivative_are_refused_by_name(step, reason):
    rows = ROWS.copy()
    if reason == "no finite derivative":
        step, rows[3, 1] = FunctionTransformer(np.sqrt), 0.0
    with np.errstate(all="ignore"):
        features = np.nan_to_num(step.fit(rows).transform(rows))
    model = make_pipeline(step, Ridge().fit(features, NUMBER))
    with np.errstate(all="ignore"), pytest.raises(seepage.errors.SeepageError, match=reason):
        seepage.measure(model, rows, NUMBER, noise_scale=NOISE)


def test_a_kink_of_a_straight_spline_is_refused_where_somebody_stands_on_it():
    rows = ROWS.copy()
    rows[9, 0] = KNOTS[2, 0]
    model = make_pipeline(SplineTransformer(knots=KNOTS, degree=1, extrapolation="continue"), Ridge())
    with pytest.raises(seepage.errors.UnsupportedError, match=r"row 9 .*is a knot.*degree=3"):
        seepage.measure(model.fit(rows, NUMBER), rows, NUMBER, noise_scale=NOISE)
    leak = seepage.measure(model.fit(ROWS, NUMBER), ROWS, NUMBER, noise_scale=NOISE)
    bend = splines(KNOTS, degree=1, bias=True)
    procedure = Procedure(ROWS, NUMBER[:, None], "squared", 1.0, (), bend=bend, noise=np.array([[NOISE**2]]))
    np.testing.assert_allclose(
        leak.attributes.to_numpy()[9] ** 2, np.diag(procedure.information(9, label=True)), rtol=1e-8
    )


def test_a_missing_value_before_a_step_is_refused_by_name():
    rows = ROWS.copy()
    rows[5, 2] = np.nan
    model = make_pipeline(SimpleImputer(), PolynomialFeatures(2), Ridge()).fit(rows, NUMBER)
    with pytest.raises(seepage.errors.InputError, match=r"'x2' \(row 5\).*not affine"):
        seepage.measure(model, rows, NUMBER, noise_scale=NOISE)


def test_a_function_of_named_columns():
    table = pd.DataFrame(ROWS, columns=["weight", "height", "age"])
    step = FunctionTransformer(lambda frame: pd.DataFrame({"bmi": frame["weight"] / frame["height"] ** 2}))
    model = make_pipeline(step, Ridge()).fit(table, NUMBER)
    leak = seepage.measure(model, table, NUMBER, noise_scale=NOISE)

    def bend(rows):
        return rows[:, :1] / rows[:, 1:2] ** 2

    procedure = Procedure(ROWS, NUMBER[:, None], "squared", 1.0, (), bend=bend, noise=np.array([[NOISE**2]]))
    np.testing.assert_allclose(
        leak.attributes.to_numpy()[9] ** 2, np.diag(procedure.information(9, label=True)), rtol=1e-8, atol=1e-20
    )


def test_a_function_that_takes_real_numbers_only():
    def careful(rows):
        assert np.asarray(rows).dtype.kind == "f"
        return np.log(rows) * np.sqrt(rows)

    model = make_pipeline(FunctionTransformer(careful), Ridge()).fit(ROWS, NUMBER)
    leak = seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE)
    procedure = Procedure(
        ROWS, NUMBER[:, None], "squared", 1.0, (), bend=lambda z: np.log(z) * np.sqrt(z), noise=np.array([[NOISE**2]])
    )
    np.testing.assert_allclose(
        leak.attributes.to_numpy()[9] ** 2, np.diag(procedure.information(9, label=True)), rtol=1e-8
    )


@pytest.mark.parametrize("function", SLOPES, ids=lambda function: function.__name__)
def test_slopes_of_known_functions(function):
    x = np.linspace(1.1, 1.9, 9) if function is np.arccosh else np.linspace(0.05, 0.95, 9)
    try:
        expected = function(x + 1e-30j).imag / 1e-30
    except TypeError:
        step = 1e-6
        expected = (function(x + step) - function(x - step)) / (2 * step)
        np.testing.assert_allclose(SLOPES[function](x), expected, rtol=1e-8)
        return
    np.testing.assert_allclose(SLOPES[function](x), expected, rtol=1e-13)


class Arctangent(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return np.arctan(self.n_features_in_ * X)


class Bent(Curve):
    def __init__(self, inputs, factor):
        self.inputs, self.factor = inputs, factor

    @property
    def reach(self):
        return sparse.eye_array(self.inputs, format="csr")

    def values(self, inputs):
        return np.arctan(self.factor * inputs)

    def slopes(self, inputs):
        return self.factor / (1 + (self.factor * inputs) ** 2)


@through.register
def _(step: Arctangent, incoming: Affine, path: str) -> Affine:
    return incoming.bent(Bent(incoming.features, step.n_features_in_), path)


def test_a_step_of_ones_own_brings_its_derivative():
    model = make_pipeline(Arctangent(), Ridge()).fit(ROWS, NUMBER)
    leak = seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE)
    procedure = Procedure(
        ROWS, NUMBER[:, None], "squared", 1.0, (), bend=lambda z: np.arctan(3 * z), noise=np.array([[NOISE**2]])
    )
    np.testing.assert_allclose(
        leak.attributes.to_numpy()[9] ** 2, np.diag(procedure.information(9, label=True)), rtol=1e-8
    )


def test_a_curve_that_is_not_what_the_step_does_is_found_out():
    model = make_pipeline(Arctangent(), Ridge()).fit(ROWS, NUMBER)
    model[0].n_features_in_ = 3
    model[0].transform = lambda X: np.arctan(2.9 * X)
    with pytest.raises(seepage.errors.UnsupportedError, match="does not do what its class says"):
        seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE)


def test_what_scores_rows_can_travel():
    leak = seepage.measure(_fitted(STEPS["side by side"][0], "squared"), ROWS, NUMBER, noise_scale=NOISE)
    scorer = pickle.load(io.BytesIO(pickle.dumps(leak.information.scorer)))
    batch = leak.information.rows.read(slice(0, 50))
    np.testing.assert_array_equal(scorer.attributes(batch), leak.information.scorer.attributes(batch))


def test_slopes_next_to_a_knot_are_those_of_the_spline():
    knots = np.array([0.0] * 4 + [2.0, 5.0] + [9.0] * 4)
    near = np.concatenate([sign * np.logspace(-12, -1, 45) for sign in (-1.0, 1.0)])
    x = np.concatenate([2.0 + near, 5.0 + near, [2.0, 5.0], np.linspace(0.1, 8.9, 50)])[:, None]

    def splines(rows):
        return BSpline.design_matrix(rows[:, 0], knots, 3).toarray()

    curve = CalledFunction(splines, 1, 6, None, splines, None)
    assert curve.trouble(x) is None
    exact = BSpline(knots, np.eye(6), 3).derivative()(x[:, 0])
    np.testing.assert_allclose(curve.slopes(x), exact, rtol=0, atol=1e-7)
