"""Preprocessing that was fitted on the same rows is part of the fit: against the whole procedure's complex step."""

import numpy as np
import pandas as pd
import pytest
from procedure import Procedure
from scipy.linalg import eigh
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

import seepage

ROWS, COLUMNS = 30, 4


def _rows(random, *, lacking=False, columns=COLUMNS):
    X = random.normal(size=(ROWS, columns)) * random.uniform(0.5, 3.0, columns) + random.normal(size=columns)
    if lacking:
        X[:7, 1] = np.nan
        X[5:9, 2] = np.nan
    return X


def _one_hot(y):
    return np.eye(int(y.max()) + 1)[y.astype(int)]


def _setting(random, name):
    """Return an unfitted estimator, labels, and the same as the procedure knows them."""
    score = random.normal(size=ROWS)
    if name == "ridge":
        y, alpha = score * 2 + 1, random.uniform(0.1, 5.0)
        return Ridge(alpha=alpha), y, y[:, None], {"loss": "squared", "penalty": alpha}
    if name == "two outputs":
        y = random.normal(size=(ROWS, 2))
        return Ridge(alpha=2.0), y, y, {"loss": "squared", "penalty": 2.0}
    if name == "logistic":
        y = (score > 0).astype(int)
        return (
            LogisticRegression(C=0.5, tol=1e-10, max_iter=2000),
            y,
            y[:, None] * 1.0,
            {"loss": "logistic", "penalty": 2.0},
        )
    if name == "liblinear":
        y = (score > 0).astype(int)
        model = LogisticRegression(C=0.5, tol=1e-10, solver="liblinear", max_iter=10_000)
        return model, y, y[:, None] * 1.0, {"loss": "logistic", "penalty": 2.0, "intercept_penalty": 2.0}
    if name == "softmax":
        y = random.integers(0, 3, ROWS)
        return LogisticRegression(C=0.5, tol=1e-10, max_iter=2000), y, _one_hot(y), {"loss": "softmax", "penalty": 2.0}
    if name == "poisson":
        y = random.poisson(2.0, ROWS) + 0.0
        model = PoissonRegressor(alpha=0.1, tol=1e-10, solver="newton-cholesky", max_iter=1000)
        return model, y, y[:, None], {"loss": "poisson", "penalty": 0.1 * ROWS}
    y = random.gamma(2.0, 1.0, ROWS) + 0.1
    model = GammaRegressor(alpha=0.1, tol=1e-10, solver="newton-cholesky", max_iter=1000)
    return model, y, y[:, None], {"loss": "gamma", "penalty": 0.1 * ROWS}


SETTINGS = ["ridge", "two outputs", "logistic", "liblinear", "softmax", "poisson", "gamma"]


def _agree(leak, procedure, people=(0, 6, 8, 20), *, label=True):
    examples = leak.information.examples()
    attributes = leak.information.attributes()
    for person in people:
        expected = procedure.information(person, label=label)
        values = np.linalg.eigvalsh(expected)
        assert examples["eta"][person] == pytest.approx(np.sqrt(values[-1]), rel=1e-8)
        assert examples["dfil"][person] == pytest.approx(np.sqrt(values.sum() / len(values)), rel=1e-8)
        known = [c for c in range(procedure.rows.shape[1]) if not np.isnan(procedure.rows[person, c])]
        for i, column in enumerate(known):
            eta = list(attributes.values())[column][person]
            assert eta == pytest.approx(np.sqrt(expected[i, i]), rel=1e-8)
        if label:
            top = np.linalg.eigvalsh(expected[len(known) :, len(known) :])[-1]
            assert list(attributes.values())[-1][person] == pytest.approx(np.sqrt(top), rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lacking", [False, True], ids=["complete", "imputed"])
@pytest.mark.parametrize("name", SETTINGS)
def test_information_is_that_of_the_whole_procedure(name, lacking, seed):
    random = np.random.default_rng([seed, lacking, SETTINGS.index(name)])
    X = _rows(random, lacking=lacking)
    estimator, y, labels, known = _setting(random, name)
    with_mean, with_std = [(True, True), (True, False), (False, True), (True, True)][seed]
    weights = None if seed < 2 or name in ("poisson", "gamma") else random.uniform(0.5, 2.0, ROWS)
    scaler_weights = weights if seed == 3 else None
    scaler = StandardScaler(with_mean=with_mean, with_std=with_std)
    model = make_pipeline(SimpleImputer(), scaler, estimator) if lacking else make_pipeline(scaler, estimator)
    own = model.steps[-1][0]
    given = {} if weights is None else {f"{own}__sample_weight": weights}
    if scaler_weights is not None:
        given["standardscaler__sample_weight"] = scaler_weights
    model.fit(X, y, **given)
    scale = random.uniform(0.05, 3.0)
    # Moves of a class's indicators that do not add up to zero are no label.
    known_label = name == "softmax"
    leak = seepage.measure(model, X, y, noise_scale=scale, sample_weight=weights, public_label=known_label)
    procedure = Procedure(
        X,
        labels,
        scaled=tuple(range(COLUMNS)),
        weights=weights,
        scaler_weights=scaler_weights,
        with_mean=with_mean,
        with_std=with_std,
        noise=np.full((1, 1), scale**2),
        **known,
    )
    _agree(leak, procedure, label=not known_label)


@pytest.mark.parametrize("seed", range(6))
def test_noise_of_any_covariance_and_public_columns(seed):
    random = np.random.default_rng(seed)
    X = _rows(random, lacking=seed % 2 == 1)
    name = ["ridge", "two outputs", "softmax"][seed % 3]
    estimator, y, labels, known = _setting(random, name)
    steps = [SimpleImputer(), StandardScaler()] if seed % 2 else [StandardScaler()]
    model = make_pipeline(*steps, estimator).fit(X, y)
    size = labels.shape[1] * (COLUMNS + 1)
    mix = random.normal(size=(size, size))
    covariance = mix @ mix.T / size + 0.2 * np.eye(size)
    noise = seepage.release.GaussianNoise(covariance=covariance)
    procedure = Procedure(X, labels, scaled=tuple(range(COLUMNS)), noise=covariance, **known)
    leak = seepage.measure(model, X, y, noise_scale=noise, public_label=True)
    _agree(leak, procedure, label=False)
    part = seepage.measure(model, X, y, noise_scale=noise, public_label=True, attributes=["x0", "x3"])
    for person in (0, 20):
        expected = procedure.information(person)
        held = [c for c in range(COLUMNS) if not np.isnan(X[person, c])]
        at = np.ix_([held.index(0), held.index(3)], [held.index(0), held.index(3)])
        assert part.information.examples()["eta"][person] == pytest.approx(
            np.sqrt(np.linalg.eigvalsh(expected[at])[-1]), rel=1e-8
        )
    # Jointly, moves of several people's values add up: against the whole procedure moved in both at once.
    people = np.isin(np.arange(ROWS), [9, 20])
    expected = procedure.joint_information([9, 20])
    assert leak.joint(people) == pytest.approx(np.sqrt(np.linalg.eigvalsh(expected)[-1]), rel=1e-8)


def test_people_with_several_rows_move_the_scaler_with_all_of_them():
    random = np.random.default_rng(3)
    X = _rows(random)
    estimator, y, labels, known = _setting(random, "logistic")
    ids = np.arange(ROWS)
    ids[7] = ids[19] = 4
    leak = seepage.measure(make_pipeline(StandardScaler(), estimator).fit(X, y), X, y, noise_scale=0.4, ids=ids)
    procedure = Procedure(X, labels, scaled=tuple(range(COLUMNS)), noise=np.full((1, 1), 0.16), **known)
    expected = np.linalg.eigvalsh(procedure.joint_information([4, 7, 19], label=True))
    found = leak.information.examples()
    person = list(leak.people.ids).index(4)
    assert found["eta"][person] == pytest.approx(np.sqrt(expected[-1]), rel=1e-8)
    assert found["dfil"][person] == pytest.approx(np.sqrt(expected.mean()), rel=1e-8)


def _folded(model, X, y, scale, given):
    """Return parameters in raw units, output by output, and the covariance of their noise."""
    fitted = clone(model).fit(X, y, **given)
    scaler, estimator = fitted[-2], fitted[-1]
    coefficients = np.atleast_2d(estimator.coef_)
    theta = np.column_stack([coefficients, np.broadcast_to(estimator.intercept_, len(coefficients))])
    if estimator.__class__ is LogisticRegression and len(theta) > 1:
        theta = theta - theta.mean(axis=0)
    means = scaler.mean_ if scaler.with_mean else np.zeros(len(scaler.scale_))
    fold = np.diag([*(1 / scaler.scale_), 1.0])
    fold[-1, :-1] = -means / scaler.scale_
    whole = np.kron(np.eye(len(theta)), fold)
    noise = scale * np.eye(len(whole)) if np.ndim(scale) == 0 else scale
    return whole @ theta.ravel(), whole @ noise @ whole.T


@pytest.mark.parametrize("scaled", [True, False], ids=["levels scaled", "levels beside the scaler"])
@pytest.mark.parametrize("name", ["ridge", "two outputs", "logistic", "softmax", "poisson"])
def test_categories_and_labels_are_those_of_the_whole_procedure(name, scaled):
    random = np.random.default_rng([scaled, 7])
    frame = pd.DataFrame(_rows(random, columns=2), columns=["age", "dose"])
    frame["ward"] = random.choice(["east", "north", "south", "west"], ROWS)
    frame.loc[:3, "ward"] = ["east", "north", "south", "west"]
    estimator, y, labels, known = _setting(random, name)
    numbers = StandardScaler() if not scaled else "passthrough"
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first"), ["ward"]), (numbers, ["age", "dose"]), sparse_threshold=0
    )
    model = make_pipeline(encoder, *[StandardScaler()] * scaled, estimator).fit(frame, y)
    leak = seepage.measure(model, frame, y, noise_scale=0.3, public_label=name == "softmax")
    levels = pd.get_dummies(frame["ward"], drop_first=True, dtype=float)
    rows = np.hstack([levels.to_numpy(), frame[["age", "dose"]].to_numpy()])
    columns = tuple(range(5)) if scaled else (3, 4)
    procedure = Procedure(rows, labels, scaled=columns, noise=np.full((1, 1), 0.09), **known)
    for person in (0, 1, 5):
        expected = procedure.information(person, label=name != "softmax")
        of_ward = np.linalg.eigvalsh(expected[:3, :3])[-1]
        assert leak.attributes["ward"][person] == pytest.approx(np.sqrt(of_ward), rel=1e-8)
        for i, attribute in enumerate(["age", "dose"]):
            assert leak.attributes[attribute][person] == pytest.approx(np.sqrt(expected[3 + i, 3 + i]), rel=1e-8)
        if name != "softmax":
            of_label = np.linalg.eigvalsh(expected[5:, 5:])[-1]
            assert leak.attributes["label"][person] == pytest.approx(np.sqrt(of_label), rel=1e-8)


@pytest.mark.parametrize("covariance", [False, True], ids=["white", "covariance"])
@pytest.mark.parametrize("name", ["ridge", "two outputs", "logistic", "softmax", "poisson"])
@pytest.mark.parametrize("encoded", [True, False], ids=["category", "number"])
def test_refits_go_through_the_scaler(name, encoded, covariance):
    random = np.random.default_rng([encoded, 5])
    frame = pd.DataFrame(_rows(random, columns=2), columns=["age", "dose"])
    frame["ward"] = random.choice(["north", "south", "west"], ROWS, p=[0.6, 0.3, 0.1])
    frame.loc[:2, "ward"] = ["north", "south", "west"]
    estimator, y, labels, _ = _setting(random, name)
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(encoder, StandardScaler(), estimator)
    weights = random.uniform(0.5, 2.0, ROWS)
    given = {"standardscaler__sample_weight": weights, f"{model.steps[-1][0]}__sample_weight": weights}
    model.fit(frame, y, **given)
    size = labels.shape[1] * 5
    mix = random.normal(size=(size, size))
    scale = 0.3 * (mix @ mix.T / size + 0.5 * np.eye(size)) if covariance else 0.09
    noise = seepage.release.GaussianNoise(covariance=scale) if covariance else 0.3
    leak = seepage.measure(model, frame, y, noise_scale=noise, sample_weight=weights)
    attribute, values = ("ward", ["north", "south", "west"]) if encoded else ("age", [-4.0, 9.0])
    found = leak.information.distances(attribute, values)
    parameters, noise_of = _folded(model, frame, y, scale, given)
    for person in (0, 2, 11):
        for j, value in enumerate(values):
            if frame.loc[person, attribute] == value:
                continue
            other = frame.copy()
            other.loc[person, attribute] = value
            moved, changed = _folded(model, other, y, scale, given)
            gap = moved - parameters
            far = gap @ np.linalg.solve((noise_of + changed) / 2, gap)
            middle = np.linalg.slogdet((noise_of + changed) / 2)[1]
            shape = 4 * (middle - 0.5 * (np.linalg.slogdet(noise_of)[1] + np.linalg.slogdet(changed)[1]))
            pair = found.unlike.pairs.take(found.unlike.places(found.distance.shape)[[person], [j]])
            assert pair.length()[0] ** 2 == pytest.approx(far + shape, rel=1e-5)
            assert pair.at(np.inf).length()[0] ** 2 == pytest.approx(shape, rel=1e-6)
            # The whole spectrum of one covariance in units of the other.
            ratio = np.sort(eigh(changed, noise_of, eigvals_only=True))
            apart = np.abs(ratio - 1) > 1e-9
            stated = np.sort(pair.ratio[0][np.abs(pair.ratio[0] - 1) > 1e-9])
            np.testing.assert_allclose(stated, ratio[apart], rtol=1e-6)


@pytest.mark.parametrize("scale", [0.05, 0.2, 1.0])
def test_no_attacker_tells_levels_apart_more_often_than_stated(scale):
    """Whoever joins or leaves a small level changes the shape of the noise: the likelihood ratio knows both."""
    random, draws = np.random.default_rng(3), 200_000
    frame = pd.DataFrame({"ward": ["south"] * 4 + ["north"] * 36, "age": random.normal(size=40)})
    y = frame["age"] + 2 * (frame["ward"] == "south") + random.normal(size=40) / 2
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(encoder, StandardScaler(), Ridge(alpha=2.0)).fit(frame, y)
    stated = seepage.measure(model, frame, y, noise_scale=scale).success_rate("ward")["success_rate"]
    for person in (0, 10):
        other = frame.copy()
        other.loc[person, "ward"] = {"south": "north", "north": "south"}[frame.loc[person, "ward"]]
        both = [multivariate_normal(*_folded(model, rows, y, scale**2, {}), seed=random) for rows in (frame, other)]
        seen = [each.rvs(draws) for each in both]
        right = [(both[i].logpdf(seen[i]) > both[1 - i].logpdf(seen[i])).mean() for i in (0, 1)]
        assert np.mean(right) <= stated[person] + 4 * np.sqrt(0.125 / draws)


def test_files_and_memory_say_the_same(tmp_path):
    random = np.random.default_rng(11)
    frame = pd.DataFrame(_rows(random, columns=3), columns=["age", "dose", "score"])
    frame["ward"] = random.choice(["north", "south"], ROWS)
    frame["weight"] = random.uniform(0.5, 2.0, ROWS)
    frame["outcome"] = (frame["age"] + random.normal(size=ROWS) > 0).astype(int)
    columns = make_column_transformer(
        (StandardScaler(), ["age", "dose"]), (OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough"
    )
    model = make_pipeline(columns, LogisticRegression(C=0.3, tol=1e-10))
    X, weights = frame[["age", "dose", "score", "ward"]], frame["weight"].to_numpy()
    model.fit(X, frame["outcome"], logisticregression__sample_weight=weights)
    frame[:11].to_parquet(tmp_path / "a.parquet")
    frame[11:].to_parquet(tmp_path / "b.parquet")
    here = seepage.measure(model, X, frame["outcome"], noise_scale=0.2, sample_weight=weights)
    job = seepage.engines.Job(output=tmp_path / "out")
    roles = {"target": "outcome", "sample_weight": "weight", "job": job}
    there = seepage.measure(model, f"{tmp_path}/*.parquet", noise_scale=0.2, **roles)
    assert any("not published: the means and standard deviations of age, dose." in one for one in there.assumptions)
    stored = there.examples.to_table().to_pandas(), there.attributes.to_table().to_pandas()
    for name in ("eta", "dfil"):
        np.testing.assert_allclose(stored[0][name], here.examples[name], rtol=1e-9)
    for name in here.information.attribute_names:
        np.testing.assert_allclose(stored[1][name], here.attributes[name], rtol=1e-9)
    assert there.joint({"ward": "north"}) == pytest.approx(here.joint(frame["ward"] == "north"), rel=1e-9)
    for targets in ({"eta": 5.0}, {"error_floor": {"age": 0.5}}):
        one, two = (seepage.calibrate(leak, **targets, exact=True, shape="isotropic").scale for leak in (here, there))
        assert one == pytest.approx(two, rel=1e-8)


def test_constants_of_other_rows_and_steps_declared_so_are_public():
    random = np.random.default_rng(2)
    X, others = _rows(random), _rows(random)
    estimator, y, labels, known = _setting(random, "ridge")
    scaler = StandardScaler().fit(others)
    estimator.fit(scaler.transform(X), y)
    model = Pipeline([("standardscaler", scaler), ("ridge", estimator)])
    public = seepage.measure(model, X, y, noise_scale=0.2)
    fixed = Procedure((X - scaler.mean_) / scaler.scale_, labels, scaled=(), noise=np.full((1, 1), 0.04), **known)
    for column in range(COLUMNS):
        eta = np.sqrt(fixed.information(3)[column, column]) / scaler.scale_[column]
        assert public.attributes[f"x{column}"][3] == pytest.approx(eta, rel=1e-9)
    (said,) = (one for one in public.information.assumptions if one.kind == "preprocessing")
    assert said.names == {"what": "the means and standard deviations of x0, x1, x2, x3"}
    fitted = make_pipeline(StandardScaler(), Ridge(1.0)).fit(X, y)
    through = seepage.measure(fitted, X, y, noise_scale=0.2)
    for name in ("standardscaler", "StandardScaler".lower()):
        declared = seepage.measure(fitted, X, y, noise_scale=0.2, public_preprocessing=[name])
        assert not np.allclose(declared.examples["eta"], through.examples["eta"], rtol=1e-3)
    with pytest.raises(seepage.errors.InputError, match="'minmaxscaler', which is no step before the model"):
        seepage.measure(fitted, X, y, noise_scale=0.2, public_preprocessing=["minmaxscaler"])
    with pytest.raises(seepage.errors.InputError, match=r"public_preprocessing=\['standardscaler'\]"):
        seepage.measure(fitted, X, y, noise_scale=0.2, public_preprocessing="standardscaler")


@pytest.mark.parametrize(
    ("steps", "fitted", "public"),
    [
        ([MinMaxScaler(), StandardScaler()], "standardscaler", "minmaxscaler"),
        ([StandardScaler(), PCA(2)], None, "standardscaler, pca"),
        ([StandardScaler(), MaxAbsScaler()], "standardscaler", "maxabsscaler"),
        ([RobustScaler()], None, "robustscaler"),
        ([StandardScaler(with_mean=False, with_std=False)], None, None),
        ([StandardScaler(), StandardScaler()], "standardscaler-2", None),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else "",
)
def test_steps_are_named_by_what_was_made_of_them(steps, fitted, public):
    random = np.random.default_rng(4)
    X, y = _rows(random), random.normal(size=ROWS)
    leak = seepage.measure(make_pipeline(*steps, Ridge()).fit(X, y), X, y, noise_scale=0.5)
    found = leak.information.preprocessing
    said = [", ".join(one.step for one in each) or None for each in (found.fitted, found.public)]
    assert said == [fitted, public]


def test_constants_of_nearly_these_rows_are_refused_until_they_are_declared():
    random = np.random.default_rng(4)
    X = pd.DataFrame(random.gamma(2.0, 1.0, (3000, 3)), columns=["a", "b", "c"])
    y = (random.random(3000) < 1 / (1 + np.exp(2 - X["a"]))).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10)).fit(X, y)
    kept = X.index != ((X - X.mean()) ** 2).sum(axis=1).idxmin()
    # So few missing rows move the model by less than a solver would.
    with pytest.raises(seepage.errors.InputError, match=r"step standardscaler are nearly.*=\['standardscaler'\]"):
        seepage.measure(model, X[kept], y[kept], noise_scale=0.1)
    seepage.measure(model, X[kept], y[kept], noise_scale=0.1, public_preprocessing=["standardscaler"])
    holed = X.mask(random.random(X.shape) < 0.2)
    filled = make_pipeline(SimpleImputer(), LogisticRegression(tol=1e-10)).fit(holed, y)
    seepage.measure(filled, holed, y, noise_scale=0.1)
    with pytest.raises(seepage.errors.InputError, match="step simpleimputer are nearly"):
        seepage.measure(filled, holed[kept], y[kept], noise_scale=0.1)


def test_what_other_scalers_do_after_and_before_is_counted():
    """Standardized, then divided by the largest: the noise of the folded model follows the first alone."""
    random = np.random.default_rng(9)
    X = _rows(random)
    estimator, y, labels, known = _setting(random, "ridge")
    largest = MaxAbsScaler().fit(StandardScaler().fit_transform(X)).scale_
    model = make_pipeline(MinMaxScaler((3, 7)), StandardScaler(), MaxAbsScaler(), estimator).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.2, public_label=True)
    # With u = z / largest the penalty and the noise are those of a plain scaler, column by column.
    diagonal = np.append(1 / largest, 1.0)
    noise, penalties = 0.04 * np.diag(diagonal**2), known["penalty"] * largest**2
    scaled = tuple(range(COLUMNS))
    procedure = Procedure(X, labels, scaled=scaled, noise=noise, penalties=penalties, **known)
    _agree(leak, procedure, label=False)


def test_many_values_are_searched_as_few_are_decomposed():
    random = np.random.default_rng(6)
    X = random.normal(size=(80, 60))
    y = (X[:, 0] + random.normal(size=80) > 0).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.2, tol=1e-10)).fit(X, y)
    size = 61
    mix = random.normal(size=(size, size))
    for noise in (0.3, seepage.release.GaussianNoise(covariance=mix @ mix.T / size + 0.2 * np.eye(size))):
        information = seepage.measure(model, X, y, noise_scale=noise).information
        batch = information.rows.read(slice(0, 80))
        moved = information.scorer.jacobian(batch)
        found = information.examples()
        whole = np.linalg.norm(moved, 2, axis=(1, 2))
        np.testing.assert_allclose(found["eta"], whole, rtol=1e-9)
        np.testing.assert_allclose(found["dfil"], np.sqrt((moved**2).sum(axis=(1, 2)) / 61), rtol=1e-9)


def test_means_without_an_intercept_are_stated_to_be_public():
    random = np.random.default_rng(8)
    X, y = _rows(random), random.normal(size=ROWS)
    leak = seepage.measure(make_pipeline(StandardScaler(), Ridge(fit_intercept=False)).fit(X, y), X, y, noise_scale=0.5)
    assert any("no intercept that would carry noise" in sentence for sentence in leak.assumptions)


def test_a_scaler_of_single_precision_rows_is_counted_and_one_of_fewer_rows_refused():
    """Steps round the mean that they take off: that is no sign of other people."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.normal(50, 10, 500), "year": random.integers(2010, 2020, 500)})
    y = X["age"] / 10 + 0.3 * (X["year"] - 2015) + random.normal(size=500)
    single = X.astype(np.float32)
    double = seepage.measure(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y, noise_scale=1.0)
    leak = seepage.measure(make_pipeline(StandardScaler(), Ridge()).fit(single, y), single, y, noise_scale=1.0)
    # The year is seen to about a ten thousandth of its deviation.
    np.testing.assert_allclose(leak.examples["eta"], double.examples["eta"], rtol=1e-3)
    others = StandardScaler().fit(single[2:])
    model = make_pipeline(others, Ridge().fit(others.transform(single), y))
    with pytest.raises(seepage.errors.InputError, match="nearly, and not exactly"):
        seepage.measure(model, single, y, noise_scale=1.0)
