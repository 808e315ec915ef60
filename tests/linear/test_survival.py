"""Cox models against the stages of `procedures`, event by event over whole risk sets, and refits by other libraries."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, CoxTimeVaryingFitter, WeibullAFTFitter
from lifelines.datasets import load_rossi
from procedures import Expected, hazards
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer, StandardScaler
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis
from statsmodels.duration.hazard_regression import PHReg

import seepage

RANDOM = np.random.default_rng(5)
N, P = 60, 3
X = np.column_stack([RANDOM.normal(50.0, 9.0, N), RANDOM.gamma(2.0, 1.0, N), RANDOM.integers(0, 5, N)])
BETA = np.array([0.04, -0.5, 0.2])
TIME = np.ceil(6 * RANDOM.exponential(np.exp(-(X - X.mean(0)) @ BETA)) + 0.01)
EVENT = (TIME < 15) & (RANDOM.random(N) < 0.8)
TIME = np.minimum(TIME, 15.0)
STRATA = RANDOM.integers(0, 3, N)
WEIGHTS = RANDOM.uniform(0.4, 2.5, N)
NOISE = 0.3
COLUMNS = ["age", "dose", "visits"]
FRAME = pd.DataFrame(X, columns=COLUMNS).assign(ward=STRATA, weight=WEIGHTS, week=TIME, arrest=EVENT.astype(int))


def outcomes(strata=None, time=TIME, event=EVENT):
    fields = [event, time] if strata is None else [event, time, strata]
    return np.rec.fromarrays(fields, names="arrest,week" if strata is None else "arrest,week,ward")


def expected(x=X, time=TIME, event=EVENT, **setting):
    return hazards(x, time, event, **{"noise": NOISE} | setting)


def coefficients(*rows, **setting):
    return expected(*rows, **setting).fitted["theta"][:P]


SETTINGS = [
    {"ties": ties, "strata": strata, "weights": weights, **penalty}
    for ties, strata, weights, penalty in product(
        ("efron", "breslow"),
        (None, STRATA),
        (None, WEIGHTS),
        ({}, {"penalty": 7.0}, {"penalty": np.array([3.0, 0.0, 9.0]), "standardized": True}),
    )
]


@pytest.mark.parametrize(
    "setting", SETTINGS, ids=lambda each: "-".join(name for name in each if each[name] is not None)
)
def test_every_number_is_that_of_automatic_differentiation(setting):
    oracle = expected(**setting)
    model = seepage.models.Cox(
        ties=setting["ties"], penalty=setting.get("penalty", 0.0), standardized=setting.get("standardized", False)
    )
    rows, y = FRAME[COLUMNS], outcomes(setting["strata"])
    model.fit(rows, y, setting["weights"])
    np.testing.assert_allclose(model.coef_, oracle.fitted["theta"][:P], rtol=1e-10)
    given = {"noise_scale": NOISE, "sample_weight": setting["weights"], "public_label": True}
    Expected(oracle).agrees(seepage.measure(model, rows, y, **given))


def test_neither_time_nor_status_is_told_to_be_safe():
    model = seepage.models.Cox().fit(FRAME[COLUMNS], outcomes())
    leak = seepage.measure(model, FRAME[COLUMNS], outcomes(), noise_scale=NOISE)
    assert leak.information.attribute_names == (*COLUMNS, "arrest", "week")
    assert leak.information.categorical == {"arrest", "week"}
    assert leak.attributes[["arrest", "week"]].isna().all().all()
    with pytest.raises(seepage.errors.InputError, match="no standard error"):
        seepage.calibrate(leak, error_floor={"week": 2.0}, shape="isotropic")
    with pytest.raises(seepage.errors.UnansweredError, match="no derivative"):
        leak.joint_information_loss(attribute="week")
    with pytest.raises(seepage.errors.UnansweredError, match="values="):
        leak.success_rate("week")
    with pytest.raises(seepage.errors.InputError, match="which of its values"):
        leak.success_rate("age")
    public = seepage.measure(model, FRAME[COLUMNS], outcomes(), noise_scale=NOISE, public_label=True)
    assert public.information.attribute_names == tuple(COLUMNS)
    assert any("known to the attacker" in each for each in public.assumptions)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_refits_are_those_of_a_general_solver(ties):
    setting = {"ties": ties, "strata": STRATA, "weights": WEIGHTS, "penalty": 2.0, "standardized": True}
    start = coefficients(**setting)
    rows, y = FRAME[COLUMNS], outcomes(STRATA)
    model = seepage.models.Cox(ties=ties, penalty=2.0, standardized=True).fit(rows, y, WEIGHTS)
    leak = seepage.measure(model, rows, y, noise_scale=NOISE, sample_weight=WEIGHTS)
    status = leak.success_rate("arrest")
    times = leak.information.distances("week", [2.0, 15.0])
    doses = leak.information.distances("dose", [0.5, 6.0])
    for person in (0, 31):
        event, time, x = EVENT.copy(), TIME.copy(), X.copy()
        event[person] ^= True
        time[person] = 2.0
        x[person, 1] = 6.0
        refits = {
            "status": coefficients(event=event, **setting),
            "time": coefficients(time=time, **setting),
            "dose": coefficients(x, **setting),
        }
        far = {name: np.linalg.norm(beta - start) / NOISE for name, beta in refits.items()}
        np.testing.assert_allclose(status["distance"].iloc[person], far["status"], rtol=1e-7)
        np.testing.assert_allclose(times.distance[person, 0], far["time"], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(doses.distance[person, 1], far["dose"], rtol=1e-7)


def lifelines(frame, **given):
    settings = {name: given.pop(name) for name in ("penalizer",) if name in given}
    options = {"precision": 1e-15, "r_precision": 1e-16, "max_steps": 60}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = CoxPHFitter(**settings)
        return fitted.fit(frame, "week", "arrest", fit_options=options, **given)


def test_a_fit_of_lifelines_with_ordinary_settings_is_near_enough():
    frame = load_rossi()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = CoxPHFitter(penalizer=0.01).fit(frame, "week", "arrest")
    leak = seepage.measure(fitted, frame, noise_scale=0.05)
    assert repr(leak) == "Leakage(432 people, 9 private attributes, exact)"
    assert set(leak.error_floor()) == {"age", "prio"}
    assert leak.by_group("race").frame["count"].tolist() == [53, 379]
    assert seepage.calibrate(leak, error_floor={"age": 20.0}, shape="isotropic").scale in (0.05, 0.1)
    with pytest.raises(seepage.errors.MinimizerError, match="not the minimizer"):
        seepage.measure(fitted, frame.iloc[:-20], noise_scale=0.05)
    fitted.penalizer = 0.5
    with pytest.raises(seepage.errors.MinimizerError, match="another penalty"):
        seepage.measure(fitted, frame, noise_scale=0.05)


def test_steps_before_a_model_are_measured_through():
    frame = FRAME.assign(ward=np.array(["a", "b", "c"])[STRATA])[[*COLUMNS, "ward"]]
    knots = np.linspace(20.0, 80.0, 4)[:, None]

    def steps():
        return make_column_transformer(
            (SplineTransformer(degree=3, knots=knots, include_bias=False), ["age"]),
            (FunctionTransformer(np.log), ["dose"]),
            (OneHotEncoder(drop="first"), ["ward"]),
        )

    model = make_pipeline(steps(), CoxPHSurvivalAnalysis(alpha=1.0, tol=1e-14)).fit(frame, outcomes())
    leak = seepage.measure(model, frame, outcomes(), noise_scale=NOISE)
    assert leak.information.attribute_names == ("age", "dose", "ward", "arrest", "week")
    own = seepage.models.Cox(ties="breslow", penalty=1.0)
    for person in (3, 20):
        for column in ("age", "dose"):
            step, ends = 1e-4, []
            for sign in (1.0, -1.0):
                changed = frame.copy()
                changed.loc[person, column] += sign * step
                ends.append(own.fit(model[0].transform(changed), outcomes()).coef_)
            moved = np.linalg.norm(ends[0] - ends[1]) / (2 * step * NOISE)
            np.testing.assert_allclose(leak.attributes.loc[person, column], moved, rtol=1e-6)
    ward = leak.success_rate("ward")
    changed = frame.copy()
    changed.loc[3, "ward"] = other = next(each for each in "abc" if each != frame.loc[3, "ward"])
    far = np.linalg.norm(
        own.fit(model[0].transform(changed), outcomes()).coef_ - own.fit(model[0].transform(frame), outcomes()).coef_
    )
    mine = ward.loc[3]
    np.testing.assert_allclose(mine.loc[mine["other"] == other, "distance"], far / NOISE, rtol=1e-7)


def test_rows_of_one_person_are_taken_together():
    ids = np.arange(N) // 2
    rows, y = FRAME[COLUMNS], outcomes()
    model = seepage.models.Cox().fit(rows, y)
    leak = seepage.measure(model, rows, y, noise_scale=NOISE, ids=ids)
    moved = expected().jacobians().transpose(0, 2, 1) / NOISE
    same = rows.to_numpy()[::2] == rows.to_numpy()[1::2]
    assert same.any()
    for person, (first, second) in enumerate(moved.reshape(N // 2, 2, P, P)):
        apart = np.concatenate([first, second], axis=1)
        # What is the same in both rows may be one value, which moves in both.
        kept = ~same[person]
        one = np.concatenate([(first + second)[:, ~kept], first[:, kept], second[:, kept]], axis=1)
        eta = max(np.linalg.norm(apart, 2), np.linalg.norm(one, 2))
        np.testing.assert_allclose(leak.examples["eta"][person], eta, rtol=1e-8)
        mean = max((apart**2).sum() / apart.shape[1], (one**2).sum() / one.shape[1])
        np.testing.assert_allclose(leak.examples["dfil"][person], np.sqrt(mean), rtol=1e-8)
        for i, name in enumerate(rows.columns):
            eta = np.linalg.norm(apart[:, i::P], 2)
            if same[person, i]:
                eta = max(eta, np.linalg.norm(first[:, i] + second[:, i]))
            np.testing.assert_allclose(leak.attributes[name][person], eta, rtol=1e-8)


def test_noise_may_have_a_covariance_and_some_columns_may_be_public():
    rows, y = FRAME[COLUMNS], outcomes()
    model = seepage.models.Cox().fit(rows, y)
    covariance = np.array([[0.04, 0.01, 0.0], [0.01, 0.2, 0.02], [0.0, 0.02, 0.1]])
    noise = seepage.release.GaussianNoise(covariance=covariance)
    leak = seepage.measure(model, rows, y, noise_scale=noise, attributes=["dose", "age"])
    assert leak.information.attribute_names == ("dose", "age", "arrest", "week")
    np.testing.assert_allclose(leak.examples["eta"], Expected(expected(noise=covariance)).eta([1, 0]), rtol=1e-8)
    with pytest.raises(seepage.errors.UnsupportedError, match="not counted for survival models"):
        seepage.measure(model, rows, y, noise_scale=seepage.release.GaussianNoise(standard_errors=1.0))


def test_a_shift_and_a_scale_of_columns_change_nothing():
    y = outcomes(STRATA)
    far = FRAME[COLUMNS] * [1e-3, 1e4, 1.0] + [2e3, -5e6, 1e4]
    one = seepage.measure(seepage.models.Cox().fit(FRAME[COLUMNS], y), FRAME[COLUMNS], y, noise_scale=NOISE)
    other = seepage.measure(
        seepage.models.Cox().fit(far, y),
        far,
        y,
        noise_scale=seepage.release.GaussianNoise(covariance=NOISE**2 * np.diag([1e6, 1e-8, 1.0])),
    )
    np.testing.assert_allclose(one.attributes[COLUMNS], other.attributes[COLUMNS] * [1e-3, 1e4, 1.0], rtol=1e-6)


def test_a_search_is_named():
    rows, y = FRAME[COLUMNS], outcomes()
    search = GridSearchCV(CoxPHSurvivalAnalysis(), {"alpha": [1.0, 10.0]}, cv=3).fit(rows, y)
    leak = seepage.measure(search, rows, y, noise_scale=NOISE)
    assert any("chosen with these rows by GridSearchCV" in each for each in leak.assumptions)


def test_what_cannot_be_measured_is_refused_by_name():
    rows, y = FRAME[COLUMNS], outcomes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weibull = WeibullAFTFitter().fit(FRAME[[*COLUMNS, "week", "arrest"]], "week", "arrest")
        soft = CoxPHFitter(penalizer=0.1, l1_ratio=0.5).fit(FRAME[[*COLUMNS, "week", "arrest"]], "week", "arrest")
        spline = CoxPHFitter(baseline_estimation_method="spline", n_baseline_knots=2)
        spline.fit(FRAME[["age", "week", "arrest"]], "week", "arrest")
        late = FRAME[[*COLUMNS, "week", "arrest"]].assign(entry=0.5 * TIME)
        entered = CoxPHFitter().fit(late, "week", "arrest", entry_col="entry")
        levels = CoxPHFitter().fit(FRAME, "week", "arrest", formula="age + C(np.round(dose))")
        plain = CoxPHFitter().fit(FRAME[["age", "week", "arrest"]], "week", "arrest")
    refused = seepage.errors.UnsupportedError
    for model, frame, words in (
        (weibull, FRAME, "WeibullAFTFitter cannot be measured exactly.*CoxPHFitter"),
        (CoxTimeVaryingFitter(), FRAME, "CoxTimeVaryingFitter cannot.*CoxPHFitter"),
        (soft, FRAME, "Fit with l1_ratio=0"),
        (spline, FRAME, "parametric model"),
        (entered, late, "left truncation"),
        (levels, FRAME, "'C\\(np.round\\(dose\\)\\)' of the formula makes levels of values"),
    ):
        with pytest.raises(refused, match=words):
            seepage.measure(model, frame, noise_scale=NOISE)
    forest = RandomSurvivalForest(n_estimators=2, random_state=0).fit(rows, y)
    with pytest.raises(refused, match=r"RandomSurvivalForest cannot.*CoxPHSurvivalAnalysis"):
        seepage.measure(forest, rows, y, noise_scale=NOISE)
    with pytest.raises(refused, match="CoxnetSurvivalAnalysis cannot"):
        seepage.measure(CoxnetSurvivalAnalysis().fit(rows, y), rows, y, noise_scale=NOISE)
    results = PHReg(TIME, rows, status=EVENT, entry=0.5 * TIME).fit()
    with pytest.raises(refused, match="entry times"):
        seepage.measure(results, noise_scale=NOISE)
    scaled = make_pipeline(StandardScaler(), CoxPHSurvivalAnalysis()).fit(rows, y)
    taken = seepage.measure(scaled, rows, y, noise_scale=NOISE, public_preprocessing=["standardscaler"])
    assert any("Stated to be public" in each for each in taken.assumptions)
    with pytest.raises(refused, match="not measured over files"):
        seepage.measure(plain, "people.parquet", noise_scale=NOISE)
    with pytest.raises(seepage.errors.InputError, match="Give the data frame"):
        seepage.measure(plain, noise_scale=NOISE)
    with pytest.raises(seepage.errors.InputError, match="leave y and sample_weight out"):
        seepage.measure(plain, FRAME, TIME, noise_scale=NOISE)
    with pytest.raises(seepage.errors.InputError, match="no column 'week'"):
        seepage.measure(plain, FRAME[["age"]], noise_scale=NOISE)
    with pytest.raises(seepage.errors.InputError, match="not fitted"):
        seepage.measure(CoxPHFitter(), FRAME, noise_scale=NOISE)


def test_a_status_that_everybody_has_can_be_told_all_the_same():
    rows, y = FRAME[COLUMNS], outcomes(event=np.ones(N, bool))
    rates = seepage.measure(seepage.models.Cox().fit(rows, y), rows, y, noise_scale=NOISE).success_rate("arrest")
    assert rates["value"].eq(1).all()
    event = np.ones(N, bool)
    event[9] = False
    far = seepage.models.Cox().fit(rows, outcomes(event=event)).coef_ - seepage.models.Cox().fit(rows, y).coef_
    np.testing.assert_allclose(rates["distance"][9], np.linalg.norm(far) / NOISE, rtol=1e-8)


def test_coefficients_that_grow_without_end_are_no_minimizer():
    frame = pd.DataFrame({"order": [3.0, 2.0, 1.0, 0.0], "week": [1.0, 2.0, 3.0, 4.0], "arrest": 1})
    far = seepage.models.Cox()
    far.coef_ = np.array([16.0])
    y = np.rec.fromarrays([frame["arrest"] == 1, frame["week"]], names="arrest,week")
    with pytest.raises(seepage.errors.MinimizerError, match="grow without end"):
        seepage.measure(far, frame[["order"]], y, noise_scale=NOISE)


def test_hard_data_is_refused_with_its_reason():
    rows = FRAME[COLUMNS]
    with pytest.raises(seepage.errors.InputError, match="Nobody has an event"):
        seepage.models.Cox().fit(rows, outcomes(event=np.zeros(N, bool)))
    with pytest.raises(seepage.errors.InputError, match="array with two fields"):
        seepage.models.Cox().fit(rows, TIME)
    with pytest.raises(seepage.errors.InputError, match="a time must be a number"):
        seepage.models.Cox().fit(rows, outcomes(time=np.where(TIME > 14, np.nan, TIME)))
    with pytest.raises(seepage.errors.MinimizerError, match=r"features '(age|twice)', '(age|twice)' are"):
        seepage.models.Cox().fit(rows.assign(twice=2 * rows["age"]), outcomes())
    with pytest.raises(seepage.errors.MinimizerError, match="collinear \\(or constant\\)"):
        seepage.models.Cox().fit(rows.assign(constant=3.0), outcomes())
    with pytest.raises(seepage.errors.MinimizerError, match="coefficients grow without end"):
        seepage.models.Cox().fit(
            pd.DataFrame({"order": -np.arange(N)}), outcomes(time=np.arange(N) + 1.0, event=np.ones(N, bool))
        )
    with pytest.raises(seepage.errors.InputError, match='"efron" or "breslow"'):
        seepage.models.Cox(ties="exact").fit(rows, outcomes())
    with pytest.raises(seepage.errors.InputError, match="at least 0"):
        seepage.models.Cox(penalty=-1.0).fit(rows, outcomes())
