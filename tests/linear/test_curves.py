"""Steps that are not affine: derivatives through them, against the whole procedure written once more.

Powers, splines and functions are written down again from their definitions, in formulas that duals differentiate.
"""

from functools import partial, reduce
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from procedures import Expected, plain, procedure, sum_zero
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import seepage
from seepage.linear import Features, through

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


def powers(degree):
    def bend(rows):
        among = combinations_with_replacement
        chosen = [each for d in range(1, degree + 1) for each in among(range(rows.shape[1]), d)]
        return np.column_stack([reduce(np.multiply, [rows[:, j] for j in each]) for each in chosen])

    return bend


def basis(x, knots, degree):
    """Return B-splines by the recursion of Cox and de Boor; beyond the knots, the outermost pieces go on."""
    top = basis.top
    inside = np.clip(np.searchsorted(knots, plain(x), side="right") - 1, top, len(knots) - top - 2)
    found = [(inside == i).astype(float) for i in range(len(knots) - 1)]
    for d in range(1, degree + 1):
        found = [
            (x - knots[i]) / (knots[i + d] - knots[i]) * found[i]
            + (knots[i + d + 1] - x) / (knots[i + d + 1] - knots[i + 1]) * found[i + 1]
            for i in range(len(knots) - d - 1)
        ]
    return np.column_stack(found)


def splines(base, *, degree=3, bias=False):
    """Return splines of each column on equally many knots outside as inside, as far apart as the outermost two."""

    def bend(rows):
        basis.top, found = degree, []
        for column in range(rows.shape[1]):
            inner, x = base[:, column], rows[:, column]
            steps = np.arange(1, degree + 1)
            knots = np.concatenate(
                [inner[0] - steps[::-1] * (inner[1] - inner[0]), inner, inner[-1] + steps * (inner[-1] - inner[-2])]
            )
            made = basis(x, knots, degree)
            found.append(made if bias else made[:, :-1])
        return np.hstack(found)

    return bend


def tanh_of_products(rows):
    return np.column_stack([rows[:, 0] * rows[:, 1], np.tanh(rows[:, 2]), rows[:, 0] / (1 + rows[:, 2])])


BOX_COX = PowerTransformer("box-cox", standardize=False).fit(ROWS)
QUANTILES = np.quantile(ROWS, np.linspace(0, 1, 4), axis=0)
STEPS = {
    "powers": (PolynomialFeatures(2, include_bias=False), powers(2)),
    "splines": (SplineTransformer(knots=KNOTS, include_bias=False, extrapolation="continue"), splines(KNOTS)),
    "splines of quantiles": (
        SplineTransformer(n_knots=4, knots="quantile", include_bias=False, sparse_output=True),
        splines(QUANTILES),
    ),
    "logarithms": (FunctionTransformer(np.log), np.log),
    "powers that the rows chose": (
        PowerTransformer("box-cox", standardize=False),
        lambda rows: (rows**BOX_COX.lambdas_ - 1) / BOX_COX.lambdas_,
    ),
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
}


def _procedure(bend, loss, rows=ROWS, *, scaled=False, **more):
    labels = LABELS[loss]
    coded, axes = (np.eye(3)[labels], sum_zero(3)) if loss == "softmax" else (labels.astype(float)[:, None], None)
    columns = range(bend(ROWS).shape[1]) if scaled else ()
    return procedure(rows, coded, loss, MODELS[loss][1], features=bend, scaled=columns, axes=axes, noise=NOISE, **more)


def _ridge(rows, bend):
    return Expected(procedure(rows, NUMBER[:, None], "squared", 1.0, features=bend, noise=NOISE))


def _fitted(step, loss, *, scaled=False, **more):
    model = make_pipeline(step, *([StandardScaler()] if scaled else []), MODELS[loss][0])
    return model.fit(ROWS, LABELS[loss], **more)


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_information_through_a_step(number):
    name, loss = list(STEPS)[number], list(MODELS)[number % 4]
    # A scaler takes no means of sparse columns.
    scaled = number not in (2, 5)
    weights = RANDOM.uniform(0.5, 2.0, 50) if number == 5 else None
    step, bend = STEPS[name]
    more = {} if weights is None else {f"{type(MODELS[loss][0]).__name__.lower()}__sample_weight": weights}
    model = _fitted(step, loss, scaled=scaled, **more)
    leak = seepage.measure(model, ROWS, LABELS[loss], noise_scale=NOISE, sample_weight=weights)
    expected = Expected(_procedure(bend, loss, scaled=scaled, weights=weights))
    expected.agrees(leak)
    some = np.isin(np.arange(50), [3, 4, 30])
    together = leak.joint_information_loss(some, attribute="x1")
    assert together == pytest.approx(expected.joint(some, [1]), rel=1e-8)
    assert any("Learned from these rows, and not published" in sentence for sentence in leak.assumptions) == scaled
    # With other noise the part of the coefficients shrinks, and the part of the noise's shape stays.
    louder = seepage.measure(model, ROWS, LABELS[loss], noise_scale=10 * NOISE, sample_weight=weights)
    np.testing.assert_allclose(leak.information.column_at("attributes", "x2", 10.0), louder.attributes["x2"], rtol=1e-9)


def _product_of_tanh(rows):
    return np.column_stack([rows[:, 0] * np.tanh(rows[:, -1]), rows.sum(axis=1) ** 2])


SINGLE = [
    StandardScaler(),
    RobustScaler(),
    PCA(2, whiten=True),
    PolynomialFeatures(2, include_bias=False),
    SplineTransformer(n_knots=4, degree=2, extrapolation="linear"),
    SplineTransformer(n_knots=5, extrapolation="periodic", include_bias=False),
    PowerTransformer(),
    FunctionTransformer(np.arcsinh),
    FunctionTransformer(_product_of_tanh),
]


def _drawn(random, depth):
    parts = [clone(SINGLE[random.integers(len(SINGLE))]) if not depth else _drawn(random, depth - 1) for _ in "ab"]
    joined = make_pipeline, make_union, lambda one, other: make_column_transformer((one, [0, 1]), (other, [1, 0]))
    return joined[random.integers(3)](*parts)


def _refit(features):
    design = np.column_stack([features, np.ones(len(features))])
    return np.linalg.solve(design.T @ design + np.diag([1.0] * features.shape[1] + [0.0]), design.T @ NUMBER)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_pipelines_move_as_refits_of_their_transform(seed):
    random = np.random.default_rng(seed)
    for _ in range(10):
        step = _drawn(random, 1).fit(random.gamma(5.0, 0.5, size=(300, 3)) + 0.1)
        model = make_pipeline(step, Ridge(solver="cholesky").fit(step.transform(ROWS), NUMBER))
        leak = seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE, public_label=True)
        for column in {"x0", "x1", "x2"}.intersection(leak.attributes):
            moved = []
            for size in (2e-4, -2e-4, 1e-4, -1e-4):
                rows = ROWS.copy()
                rows[9, int(column[1])] += size
                moved.append(_refit(step.transform(rows)))
            # Two central differences, without their error of second order.
            slope = (8 * (moved[2] - moved[3]) - (moved[0] - moved[1])) / 12e-4
            assert leak.attributes[column][9] == pytest.approx(np.linalg.norm(slope) / NOISE, rel=1e-5)


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


def test_what_splines_took_from_people_is_stated():
    model = make_pipeline(SplineTransformer(), Ridge()).fit(ROWS, NUMBER)
    leak = seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE)
    assert any("the knots of the splines" in one.sentence() for one in leak.information.assumptions)
    given = make_pipeline(SplineTransformer(knots=KNOTS, extrapolation="linear"), Ridge()).fit(ROWS, NUMBER)
    leak = seepage.measure(given, ROWS, NUMBER, noise_scale=NOISE)
    assert not any("the knots of the splines" in one.sentence() for one in leak.information.assumptions)


def _clipped(rows):
    return np.minimum(rows, 2.0)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (SplineTransformer(knots=KNOTS[1:4]), "no derivative in row"),
        (FunctionTransformer(_clipped), "no derivative in row"),
        (FunctionTransformer(lambda rows: rows / rows.sum()), "several rows together"),
        (FunctionTransformer(lambda rows: np.log(rows - 1.0)), "no derivative in row|not numbers|missing value"),
        (FunctionTransformer(np.log), "infinite slope"),
    ],
)
def test_rows_without_a_derivative_are_refused_by_name(step, reason):
    rows = ROWS.copy()
    if reason == "infinite slope":
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
    with pytest.raises(seepage.errors.UnsupportedError, match=r"no derivative in row 9 .*degree=3"):
        seepage.measure(model.fit(rows, NUMBER), rows, NUMBER, noise_scale=NOISE)
    leak = seepage.measure(model.fit(ROWS, NUMBER), ROWS, NUMBER, noise_scale=NOISE)
    bend = splines(KNOTS, degree=1, bias=True)
    _ridge(ROWS, bend).agrees(leak)


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

    _ridge(ROWS, bend).agrees(leak)


def test_a_function_that_takes_real_numbers_only():
    def careful(rows):
        assert np.asarray(rows).dtype.kind == "f"
        return np.log(rows) * np.sqrt(rows)

    model = make_pipeline(FunctionTransformer(careful), Ridge()).fit(ROWS, NUMBER)
    leak = seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE)
    _ridge(ROWS, lambda z: np.log(z) * np.sqrt(z)).agrees(leak)


class Arctangent(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return np.arctan(self.n_features_in_ * X)


@through.register
def _(step: Arctangent, incoming: Features, path: str) -> Features:
    slopes = partial(_slopes, step.n_features_in_)
    return incoming.bent(step.transform, path, slopes, np.eye(incoming.count))


def _slopes(factor, inputs):
    return factor / (1 + (factor * inputs) ** 2)


def test_a_step_of_ones_own_brings_its_derivative():
    model = make_pipeline(Arctangent(), Ridge()).fit(ROWS, NUMBER)
    leak = seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE)
    _ridge(ROWS, lambda z: np.arctan(3 * z)).agrees(leak)


def test_a_curve_that_is_not_what_the_step_does_is_found_out():
    model = make_pipeline(Arctangent(), Ridge()).fit(ROWS, NUMBER)
    model[0].n_features_in_ = 3
    model[0].transform = lambda X: np.arctan(2.9 * X)
    with pytest.raises(seepage.errors.UnsupportedError, match="does not do what its class says"):
        seepage.measure(model, ROWS, NUMBER, noise_scale=NOISE)


def test_slopes_next_to_a_knot_are_those_of_the_spline():
    knots = np.array([0.0] * 4 + [2.0, 5.0] + [9.0] * 4)
    near = np.concatenate([sign * np.logspace(-12, -1, 45) for sign in (-1.0, 1.0)])
    x = np.concatenate([2.0 + near, 5.0 + near, [2.0, 5.0], np.linspace(0.1, 8.9, 50)])[:, None]

    def splines(rows):
        return BSpline.design_matrix(rows[:, 0], knots, 3).toarray()

    (curve,) = Features.raw(1).bent(splines, "splines").curves
    assert not curve.lost(x).any()
    exact = BSpline(knots, np.eye(6), 3).derivative()(x[:, 0])
    np.testing.assert_allclose(curve.slopes(x), exact, rtol=0, atol=1e-7)
