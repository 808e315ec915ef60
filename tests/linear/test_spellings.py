"""One fit and one question, spelled in two ways, has one answer: whichever code a spelling goes through."""

import atexit
import shutil
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sksurv.linear_model import CoxPHSurvivalAnalysis
from statsmodels.duration.hazard_regression import PHReg

import seepage
from seepage.engines import Job, Local
from seepage.models import GLM, Cox, ModelTable
from seepage.release import GaussianNoise

pytestmark = pytest.mark.filterwarnings("ignore:The Sqrt link function")
Spelling = Callable[[], seepage.Leakage]

N, SIGMA = 60, 0.4
RANDOM = np.random.default_rng(27)
FRAME = pd.DataFrame(
    {
        "age": RANDOM.integers(20, 80, N) + 0.0,
        "dose": RANDOM.gamma(3.0, 1.0, N) + 0.2,
        "time": RANDOM.normal(2.0, 0.5, N),
        "smoker": RANDOM.integers(0, 2, N) + 0.0,
    }
)
NAMES = list(FRAME)
X = FRAME.to_numpy()
SIGNAL = (X - X.mean(axis=0)) @ [0.02, 0.3, -0.6, 0.5]
NUMBER = SIGNAL + RANDOM.normal(size=N)
YES = (SIGNAL + RANDOM.logistic(size=N) > 0).astype(int)
COUNT = RANDOM.poisson(np.exp(SIGNAL + 0.3)) + 0.0
POSITIVE = np.exp(SIGNAL) * RANDOM.gamma(3.0, 1 / 3, N)
THREE = np.digitize(SIGNAL + RANDOM.logistic(size=N), [-1.0, 1.0])
WEIGHTS = RANDOM.uniform(0.5, 2.0, N)
YEARS = RANDOM.uniform(1.0, 5.0, N)
WARD = RANDOM.choice(["east", "north", "south"], N)
WARDS = FRAME.assign(ward=WARD)
HOLED = FRAME.mask(RANDOM.random((N, 4)) < [0.1, 0.2, 0.0, 0.0])
ORDER = RANDOM.permutation(N)
# Times without ties: ways of counting them make no difference.
WEEK = np.sort(RANDOM.exponential(20.0, N))[np.argsort(np.argsort(-SIGNAL + RANDOM.gumbel(size=N)))]
DIED = (np.quantile(WEEK, 0.8) > WEEK) & (RANDOM.random(N) < 0.9)
FOLLOWED = FRAME.assign(week=WEEK, died=DIED.astype(int))
PEOPLE = FRAME.assign(cost=NUMBER, ill=YES, visits=COUNT, weight=WEIGHTS, years=YEARS, ward=WARD, person=np.arange(N))
TIGHT: dict[str, Any] = {"tol": 1e-10, "max_iter": 10_000}
NEWTON: dict[str, Any] = {"solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1000}


def measured(
    model: Any = None,
    X: Any = FRAME,
    y: Any = NUMBER,
    *,
    noise: Any = SIGMA,
    weights: Any = None,
    offset: Any = None,
    **question: Any,
) -> seepage.Leakage:
    """Return the answer about a model that is fitted here; a ridge regression by default."""
    model = Ridge(2.0) if model is None else clone(model)
    to_fit = {"sample_weight": weights, "offset": offset}
    last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    model.fit(X, y, **{f"{last}{name}": each for name, each in to_fit.items() if each is not None})
    return seepage.measure(model, X, y, noise_scale=noise, sample_weight=weights, offset=offset, **question)


def of_results(results: Any, **question: Any) -> seepage.Leakage:
    return seepage.measure(results, **{"noise_scale": SIGMA, **question})


def of_table(formula: str, family: str = "gaussian", people: Any = PEOPLE, **settings: Any) -> seepage.Leakage:
    return seepage.measure(ModelTable(formula=formula, family=family, **settings), people, noise_scale=SIGMA)


def in_files(model: Any, target: str, *, files: int = 1, weights: str | None = None) -> seepage.Leakage:
    folder, output = Path(mkdtemp()), Path(mkdtemp())
    # Answers are read from there whenever they are asked for.
    for each in (folder, output):
        atexit.register(shutil.rmtree, each)
    for place, rows in enumerate(np.array_split(np.arange(N), files)):
        PEOPLE.iloc[rows].to_parquet(folder / f"{place}.parquet")
    model = clone(model).fit(FRAME, PEOPLE[target], sample_weight=None if weights is None else PEOPLE[weights])
    return seepage.measure(
        model,
        folder,
        target=target,
        sample_weight=weights,
        ids="person",
        noise_scale=SIGMA,
        job=Job(engine=Local(workers=1), output=output / "leakage"),
    )


def outcomes(time: Any = WEEK, event: Any = DIED) -> Any:
    return np.rec.fromarrays([event, time], names="died,week")


def shuffled(values: Any) -> Any:
    return values.iloc[ORDER] if hasattr(values, "iloc") else values[ORDER]


def with_constant(frame: pd.DataFrame = FRAME) -> pd.DataFrame:
    return sm.add_constant(frame)


def in_raw_units(center: Any, width: Any) -> GaussianNoise:
    """Return the noise of coefficients of (x - center) / width as it is on those of x."""
    width = np.asarray(width) * np.ones(4)
    units = np.diag(np.r_[1 / width, 1.0])
    units[-1, :-1] = -np.asarray(center) / width
    return GaussianNoise(covariance=SIGMA**2 * units @ units.T)


def public(*steps: Any, model: Any = None, **options: Any) -> seepage.Leakage:
    names = [type(step).__name__.lower() for step in steps]
    return measured(make_pipeline(*steps, model or Ridge(2.0)), public_preprocessing=names, **options)


LEAST_SQUARES = "cost ~ age + dose + time + smoker"
ILL = "ill ~ age + dose + time + smoker"


def words(*names: Any) -> seepage.Leakage:
    return measured(LogisticRegression(C=0.5, **TIGHT), y=np.array(names)[YES])


def hazards(model: Any = None, X: Any = FRAME, y: Any = None, **question: Any) -> seepage.Leakage:
    return measured(Cox() if model is None else model, X, outcomes() if y is None else y, **question)


PENALTIES = np.array([0.2, 0.0, 0.05, 0.1])


def strata_of(wards: Any) -> Any:
    return np.rec.fromarrays([DIED, WEEK, wards], names="died,week,ward")


def by_lifelines(people: Any = FOLLOWED, penalizer: Any = 0.0, **settings: Any) -> seepage.Leakage:
    fitted = CoxPHFitter(penalizer=penalizer)
    fitted.fit(people, "week", "died", fit_options={"precision": 1e-12}, **settings)
    return seepage.measure(fitted, people, noise_scale=SIGMA)


def logarithm_and_levels(model: Any) -> Pipeline:
    steps = (FunctionTransformer(np.log), ["dose"]), (OneHotEncoder(drop="first"), ["ward"])
    return make_pipeline(make_column_transformer(*steps, remainder="passthrough"), model)


def by_solver(name: str) -> seepage.Leakage:
    model = LogisticRegression(solver=name, fit_intercept=False, tol=1e-8, max_iter=5000)
    return measured(model, (X - X.mean(axis=0)) / X.std(axis=0), YES)


# Each inner list spells one fit and one question in several ways.
REFITTED: list[list[Spelling]] = [
    [
        measured,
        lambda: measured(X=X),
        lambda: measured(X=np.asfortranarray(X)),
        lambda: measured(X=X[:, ::-1].copy()[:, ::-1]),
        lambda: measured(X=sp.csr_matrix(X)),
        lambda: measured(X=sp.csc_array(X)),
        lambda: measured(X=pl.DataFrame(dict(FRAME))),
        lambda: measured(X=FRAME.convert_dtypes(dtype_backend="pyarrow")),
        lambda: measured(X=FRAME.astype({"age": int, "smoker": bool})),
        lambda: measured(y=NUMBER.tolist()),
        lambda: measured(X=shuffled(FRAME), y=shuffled(NUMBER)),
        lambda: measured(X=FRAME[NAMES[::-1]]),
        lambda: seepage.measure(Ridge(2.0).fit(FRAME, NUMBER), FRAME[NAMES[::-1]], NUMBER, noise_scale=SIGMA),
        lambda: seepage.measure(Ridge(2.0).fit(FRAME, NUMBER), PEOPLE, NUMBER, noise_scale=SIGMA),
        lambda: measured(job=Job(engine=Local(workers=1))),
        lambda: measured(ids=[f"person {i:02}" for i in range(N)]),
        lambda: measured(attributes=NAMES),
        lambda: measured(published=["coefficients"]),
        lambda: measured(weights=np.ones(N, dtype=int)),
        lambda: measured(GLM(penalty=2.0)),
        lambda: measured(RidgeCV(alphas=[2.0])),
        lambda: measured(GridSearchCV(Ridge(), {"alpha": [2.0]}, cv=3)),
        lambda: measured(TweedieRegressor(power=0, alpha=2.0 / N, link="identity", **NEWTON)),
        lambda: measured(Ridge(2.0, solver="lsqr", tol=1e-12)),
        lambda: measured(make_pipeline(SimpleImputer(), Ridge(2.0))),
        lambda: measured(make_pipeline(SimpleImputer(strategy="median"), Ridge(2.0))),
        lambda: measured(make_pipeline(StandardScaler(with_mean=False, with_std=False), Ridge(2.0))),
        lambda: measured(make_pipeline(FunctionTransformer(), Ridge(2.0))),
        lambda: measured(Pipeline([("none", "passthrough"), ("ridge", Ridge(2.0))])),
        lambda: measured(make_pipeline(VarianceThreshold(), Ridge(2.0))),
        lambda: measured(make_pipeline(PolynomialFeatures(1, include_bias=False), Ridge(2.0))),
        lambda: measured(
            make_pipeline(
                make_column_transformer(("passthrough", ["smoker", "dose"]), remainder="passthrough"), Ridge(2.0)
            )
        ),
        lambda: measured(make_pipeline(make_column_transformer(("passthrough", make_column_selector())), Ridge(2.0))),
        lambda: measured(
            make_pipeline(
                FeatureUnion(
                    [
                        ("first", make_column_transformer(("passthrough", slice(0, 2)))),
                        ("second", make_column_transformer(("passthrough", ["time", "smoker"]))),
                    ]
                ),
                Ridge(2.0),
            )
        ),
        lambda: measured(noise=GaussianNoise(SIGMA)),
        lambda: measured(noise=GaussianNoise(covariance=SIGMA**2 * np.eye(5))),
    ],
    [
        lambda: measured(LogisticRegression(**TIGHT), X, YES),
        lambda: measured(LogisticRegression(**TIGHT), sp.csr_matrix(X), YES),
    ],
    [
        lambda: measured(y=COUNT),
        lambda: measured(y=COUNT.astype(np.int8)),
    ],
    [
        lambda: measured(ids=np.arange(N) // 2),
        lambda: measured(X=shuffled(FRAME), y=shuffled(NUMBER), ids=ORDER // 2),
        lambda: measured(ids=[f"{i // 2:02}" for i in range(N)]),
    ],
    [
        lambda: measured(weights=WEIGHTS),
        lambda: measured(weights=pd.Series(WEIGHTS)),
        lambda: measured(Ridge(2.0), weights=WEIGHTS),
        lambda: measured(Ridge(4.0), weights=2 * WEIGHTS),
    ],
    [
        lambda: measured(GLM("poisson"), y=COUNT),
        lambda: measured(GLM("poisson"), y=COUNT, offset=np.zeros(N)),
        lambda: measured(GLM("poisson"), y=COUNT, offset=np.full(N, 0.7)),
        lambda: measured(GLM("tweedie", "log", parameter=1.0), y=COUNT),
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson()).fit(tol=1e-12)),
        lambda: measured(PoissonRegressor(alpha=0.0, **NEWTON), y=COUNT),
        lambda: of_results(sm.Poisson(COUNT, with_constant()).fit(disp=0)),
    ],
    [
        lambda: measured(GLM(penalty=2.0), y=NUMBER, offset=YEARS),
        lambda: measured(y=NUMBER - YEARS),
    ],
    [
        lambda: measured(LinearRegression()),
        lambda: of_results(sm.OLS(NUMBER, with_constant()).fit()),
        lambda: of_results(sm.WLS(NUMBER, with_constant(), weights=np.full(N, 2.0)).fit()),
        lambda: measured(Ridge(0.0)),
        lambda: measured(GLM()),
        lambda: of_results(smf.ols(LEAST_SQUARES, PEOPLE).fit()),
        lambda: of_table(LEAST_SQUARES),
        lambda: of_results(smf.glm(LEAST_SQUARES, PEOPLE).fit()),
        lambda: of_results(smf.ols(LEAST_SQUARES, PEOPLE).fit(cov_type="HC3")),
        lambda: measured(LinearRegression(fit_intercept=False), with_constant(), attributes=NAMES),
        lambda: measured(make_pipeline(PolynomialFeatures(1), LinearRegression(fit_intercept=False))),
    ],
    [
        lambda: of_results(sm.WLS(NUMBER, with_constant(), weights=WEIGHTS).fit()),
        lambda: measured(LinearRegression(), weights=WEIGHTS),
        lambda: of_table(LEAST_SQUARES, weights="weight"),
    ],
    [
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson(), freq_weights=WEIGHTS).fit(tol=1e-12)),
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson(), var_weights=WEIGHTS).fit(tol=1e-12)),
        lambda: measured(PoissonRegressor(alpha=0.0, **NEWTON), y=COUNT, weights=WEIGHTS),
    ],
    [
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson(), exposure=YEARS).fit(tol=1e-12)),
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson(), offset=np.log(YEARS)).fit(tol=1e-12)),
    ],
    [
        lambda: of_table("visits ~ age + dose + offset(log(years))", "poisson"),
        lambda: measured(GLM("poisson"), FRAME[["age", "dose"]], COUNT, offset=np.log(YEARS)),
    ],
    [
        lambda: measured(LinearRegression(fit_intercept=False)),
        lambda: of_results(sm.OLS(NUMBER, FRAME).fit()),
    ],
    [
        lambda: measured(LogisticRegression(C=0.5, **TIGHT), y=YES),
        lambda: measured(GLM("binomial", penalty=2.0), y=YES),
        lambda: words(0, 1),
        lambda: words(False, True),
        lambda: words("no", "yes"),
        lambda: words(-1, 1),
        lambda: words(0.0, 1.0),
        lambda: words("yes", "no"),
    ],
    [
        lambda: measured(LogisticRegression(C=0.5, solver="liblinear", **TIGHT), y=YES),
        lambda: measured(GLM("binomial", penalty=2.0, penalize_intercept=True), y=YES),
    ],
    [
        lambda: of_results(smf.logit(ILL, PEOPLE).fit(disp=0)),
        lambda: measured(GLM("binomial"), y=YES),
        lambda: of_results(smf.glm(ILL, PEOPLE, family=sm.families.Binomial()).fit(tol=1e-12)),
        lambda: of_table(ILL, "binomial"),
        lambda: measured(GLM("multinomial"), y=YES),
    ],
    [
        lambda: measured(GLM("binomial", "probit"), y=YES),
        lambda: of_results(sm.Probit(YES, with_constant()).fit(disp=0)),
    ],
    [
        lambda: measured(GLM("tweedie", parameter=1.6), y=POSITIVE),
        lambda: of_results(
            sm.GLM(POSITIVE, with_constant(), sm.families.Tweedie(sm.families.links.Log(), var_power=1.6)).fit(
                tol=1e-12
            )
        ),
    ],
    [
        lambda: measured(GLM("binomial", "cloglog"), y=YES),
        lambda: of_results(
            sm.GLM(YES, with_constant(), sm.families.Binomial(sm.families.links.CLogLog())).fit(tol=1e-12)
        ),
    ],
    [
        lambda: measured(GLM("multinomial"), y=THREE),
        lambda: of_results(sm.MNLogit(THREE, with_constant()).fit(disp=0)),
        lambda: measured(GLM("multinomial"), y=THREE, noise=GaussianNoise(covariance=SIGMA**2 * np.eye(10))),
    ],
    [
        lambda: measured(PoissonRegressor(alpha=0.1, **NEWTON), y=COUNT),
        lambda: measured(GLM("poisson", penalty=0.1 * N), y=COUNT),
        lambda: measured(TweedieRegressor(power=1, alpha=0.1, **NEWTON), y=COUNT),
    ],
    [
        lambda: measured(GammaRegressor(alpha=0.1, **NEWTON), y=POSITIVE),
        lambda: measured(TweedieRegressor(power=2, alpha=0.1, link="log", **NEWTON), y=POSITIVE),
    ],
    [
        lambda: measured(GammaRegressor(alpha=0.0, **NEWTON), y=POSITIVE),
        lambda: of_results(
            sm.GLM(POSITIVE, with_constant(), sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-12)
        ),
        lambda: measured(GLM("gamma", "log"), y=POSITIVE),
        lambda: measured(GLM("tweedie", "log", parameter=2.0), y=POSITIVE),
    ],
    [
        lambda: measured(Lasso(alpha=0.05, **TIGHT)),
        lambda: measured(GLM(absolute=0.05 * N)),
    ],
    [
        lambda: measured(ElasticNet(alpha=0.1, l1_ratio=0.4, **TIGHT)),
        lambda: measured(GLM(absolute=0.04 * N, penalty=0.06 * N)),
    ],
    [
        lambda: measured(X=FRAME[["age", "dose"]]),
        lambda: measured(make_pipeline(make_column_transformer(("passthrough", ["age", "dose"])), Ridge(2.0))),
    ],
    [
        lambda: measured(make_pipeline(StandardScaler(), Ridge(2.0))),
        lambda: measured(
            make_pipeline(make_pipeline(FunctionTransformer(), make_pipeline(StandardScaler())), Ridge(2.0))
        ),
        lambda: measured(make_pipeline(StandardScaler(), StandardScaler(), Ridge(2.0))),
        lambda: measured(make_pipeline(StandardScaler(with_std=False), StandardScaler(with_mean=False), Ridge(2.0))),
        lambda: measured(make_pipeline(StandardScaler(with_mean=False), StandardScaler(with_std=False), Ridge(2.0))),
        lambda: measured(
            make_pipeline(StandardScaler(), Ridge(2.0)), noise=GaussianNoise(covariance=SIGMA**2 * np.eye(5))
        ),
    ],
    [
        lambda: measured(make_pipeline(StandardScaler(), LinearRegression())),
        lambda: of_results(
            smf.ols(
                "cost ~ standardize(age) + standardize(dose) + standardize(time) + standardize(smoker)", PEOPLE
            ).fit()
        ),
    ],
    [
        lambda: public(StandardScaler(), model=LinearRegression()),
        lambda: measured(LinearRegression(), noise=in_raw_units(X.mean(axis=0), X.std(axis=0))),
    ],
    [
        lambda: public(MinMaxScaler(), model=LinearRegression()),
        lambda: measured(LinearRegression(), noise=in_raw_units(X.min(axis=0), np.ptp(X, axis=0))),
    ],
    [
        lambda: public(MaxAbsScaler(), model=GLM("binomial"), y=YES),
        lambda: measured(GLM("binomial"), y=YES, noise=in_raw_units(np.zeros(4), X.max(axis=0))),
    ],
    [
        lambda: public(StandardScaler()),
        lambda: measured(
            make_pipeline(FunctionTransformer(lambda x: (x - X.mean(axis=0)) / X.std(axis=0)), Ridge(2.0))
        ),
        lambda: public(RobustScaler(quantile_range=(25.0, 75.0)), StandardScaler()),
    ],
    [
        lambda: measured(Ridge(2.0, fit_intercept=False)),
        lambda: measured(make_pipeline(TruncatedSVD(4), Ridge(2.0, fit_intercept=False))),
    ],
    [
        lambda: measured(make_pipeline(SimpleImputer(), Ridge(2.0)), HOLED, public_preprocessing=["simpleimputer"]),
        lambda: measured(
            make_pipeline(
                make_column_transformer(
                    *((SimpleImputer(strategy="constant", fill_value=HOLED[name].mean()), [name]) for name in NAMES)
                ),
                Ridge(2.0),
            ),
            HOLED,
        ),
    ],
    [
        lambda: measured(make_pipeline(SimpleImputer(), Ridge(2.0)), HOLED),
        lambda: measured(make_pipeline(SimpleImputer(missing_values=-1.0), Ridge(2.0)), HOLED.fillna(-1.0)),
    ],
    [
        lambda: measured(
            make_pipeline(
                make_column_transformer((OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough"),
                GLM("binomial"),
            ),
            WARDS,
            YES,
        ),
        lambda: of_results(smf.logit("ill ~ C(ward) + age + dose + time + smoker", PEOPLE).fit(disp=0)),
    ],
    [
        lambda: of_table("cost ~ ward + age"),
        lambda: measured(
            make_pipeline(
                make_column_transformer((OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough"), GLM()
            ),
            WARDS[["ward", "age"]],
        ),
    ],
    [
        lambda: measured(
            make_pipeline(
                make_column_transformer((FunctionTransformer(np.log), ["dose"]), remainder="passthrough"), GLM()
            ),
            FRAME[["dose", "age"]],
        ),
        lambda: of_results(smf.ols("cost ~ np.log(dose) + age", PEOPLE).fit()),
    ],
    [
        lambda: measured(make_pipeline(FunctionTransformer(np.log), GLM()), FRAME[["dose"]]),
        lambda: measured(make_pipeline(FunctionTransformer(lambda x: np.log(x)), GLM()), FRAME[["dose"]]),
    ],
    [
        lambda: of_table("cost ~ log(dose) + I(time^2)"),
        lambda: of_results(smf.ols("cost ~ np.log(dose) + I(time ** 2)", PEOPLE).fit()),
    ],
    [
        lambda: measured(make_pipeline(PolynomialFeatures(2, include_bias=False), GLM()), FRAME[["dose", "time"]]),
        lambda: of_results(smf.ols("cost ~ dose * time + I(dose ** 2) + I(time ** 2)", PEOPLE).fit()),
    ],
    [
        lambda: measured(LogisticRegression(C=0.5, **TIGHT), y=THREE),
        lambda: measured(LogisticRegression(C=0.5, **TIGHT), y=np.array(["c", "a", "b"])[THREE]),
    ],
    [
        hazards,
        by_lifelines,
        lambda: hazards(CoxPHSurvivalAnalysis(tol=1e-12)),
        lambda: of_results(PHReg(WEEK, FRAME, status=DIED.astype(int)).fit(disp=0)),
        lambda: of_results(
            smf.phreg("week ~ age + dose + time + smoker", FOLLOWED, status=DIED.astype(int)).fit(disp=0)
        ),
        lambda: of_table("Surv(week, died) ~ age + dose + time + smoker", "cox", FOLLOWED),
        lambda: hazards(Cox(ties="breslow")),
        lambda: hazards(weights=np.ones(N)),
        lambda: hazards(y=outcomes(7 * WEEK)),
        lambda: hazards(y=outcomes(np.argsort(np.argsort(WEEK)) + 1.0)),
        lambda: hazards(X=shuffled(FRAME), y=shuffled(outcomes())),
        lambda: hazards(make_pipeline(FunctionTransformer(), Cox())),
        lambda: hazards(y=strata_of(np.zeros(N))),
        lambda: hazards(Cox(penalty=np.zeros(4))),
    ],
    [
        lambda: hazards(Cox(penalty=0.1 * N, standardized=True)),
        lambda: by_lifelines(penalizer=0.1),
    ],
    [
        lambda: hazards(Cox(penalty=3.0)),
        lambda: hazards(CoxPHSurvivalAnalysis(alpha=3.0, tol=1e-12)),
    ],
    [
        lambda: hazards(Cox(ties="breslow", penalty=np.array([1.0, 0.0, 8.0, 2.0]))),
        lambda: hazards(CoxPHSurvivalAnalysis(alpha=np.array([1.0, 0.0, 8.0, 2.0]), ties="breslow", tol=1e-12)),
    ],
    [
        lambda: hazards(Cox(penalty=N * PENALTIES, standardized=True)),
        lambda: by_lifelines(penalizer=PENALTIES),
        lambda: by_lifelines(penalizer=PENALTIES, formula="age + dose + time + smoker"),
    ],
    [
        lambda: hazards(y=strata_of(WARD)),
        lambda: by_lifelines(FOLLOWED.assign(ward=WARD), strata="ward"),
        lambda: of_results(PHReg(WEEK, FRAME, status=DIED.astype(int), strata=WARD).fit(disp=0)),
        lambda: of_table(
            "Surv(week, died) ~ age + dose + time + smoker + strata(ward)", "cox", FOLLOWED.assign(ward=WARD)
        ),
    ],
    [
        lambda: hazards(logarithm_and_levels(Cox()), WARDS[["age", "dose", "ward"]]),
        lambda: by_lifelines(FOLLOWED.assign(ward=WARD), formula="np.log(dose) + C(ward) + age"),
        lambda: of_results(
            smf.phreg("week ~ age + np.log(dose) + C(ward)", FOLLOWED.assign(ward=WARD), status=DIED * 1).fit(disp=0)
        ),
    ],
    [
        lambda: hazards(weights=WEIGHTS),
        lambda: by_lifelines(FOLLOWED.assign(weight=WEIGHTS), weights_col="weight", robust=True),
    ],
]
# Files are not refitted.
NOT_REFITTED: list[list[Spelling]] = [
    [partial(by_solver, name) for name in ("newton-cholesky", "lbfgs", "newton-cg", "liblinear", "sag", "saga")],
    [
        measured,
        lambda: in_files(Ridge(2.0), "cost"),
        lambda: in_files(Ridge(2.0), "cost", files=3),
    ],
    [
        lambda: measured(weights=WEIGHTS),
        lambda: in_files(Ridge(2.0), "cost", weights="weight", files=2),
    ],
    [
        lambda: measured(LogisticRegression(**TIGHT), y=YES),
        lambda: in_files(LogisticRegression(**TIGHT), "ill", files=2),
    ],
    [
        lambda: measured(LogisticRegression(class_weight="balanced", **TIGHT), y=YES, weights=WEIGHTS),
        lambda: in_files(LogisticRegression(class_weight="balanced", **TIGHT), "ill", weights="weight", files=2),
    ],
]


def scaled_by_hand(scaler: Any) -> seepage.Leakage:
    return measured(X=pd.DataFrame(scaler.fit_transform(X), columns=NAMES))


def in_months() -> seepage.Leakage:
    noise = GaussianNoise(covariance=SIGMA**2 * np.diag([1 / 12**2, 1.0, 1.0, 1.0, 1.0]))
    return measured(LinearRegression(), FRAME.assign(age=12 * FRAME["age"]), noise=noise)


def twice(rows: Any) -> Any:
    """Return rows with the third once more."""
    return pd.concat([rows, rows.iloc[[3]]], ignore_index=True)


SAME = dict.fromkeys([*NAMES, "eta", "dfil", "outcome 0"], 1.0)
UNITS = [
    pytest.param(measured, lambda: measured(noise=2 * SIGMA), dict.fromkeys(SAME, 0.5), id="noise, and twice as much"),
    pytest.param(
        hazards,
        lambda: hazards(noise=2 * SIGMA),
        dict.fromkeys([*NAMES, "eta", "dfil"], 0.5),
        id="noise on hazards, and twice as much",
    ),
    pytest.param(
        lambda: measured(LinearRegression()),
        in_months,
        {**dict.fromkeys([*NAMES, "outcome 0"], 1.0), "age": 1 / 12},
        id="years, and months",
    ),
    pytest.param(
        measured,
        lambda: measured(y=100 * NUMBER, noise=100 * SIGMA),
        {**dict.fromkeys(NAMES, 1.0), "outcome 0": 0.01},
        id="dollars, and cents",
    ),
    pytest.param(
        lambda: public(StandardScaler()),
        lambda: scaled_by_hand(StandardScaler()),
        {**dict(zip(NAMES, X.std(axis=0), strict=True)), "outcome 0": 1.0},
        id="a public scaler, and columns that were scaled before",
    ),
    pytest.param(
        lambda: public(MinMaxScaler()),
        lambda: scaled_by_hand(MinMaxScaler()),
        {**dict(zip(NAMES, np.ptp(X, axis=0), strict=True)), "outcome 0": 1.0},
        id="a scaler of ranges, and columns that were scaled before",
    ),
    pytest.param(
        lambda: measured(Ridge(2.0), y=1.0 * YES),
        lambda: measured(Ridge(2.0), y=2.0 * YES - 1.0, noise=2 * SIGMA),
        {**dict.fromkeys(NAMES, 1.0), "outcome 0": 0.5},
        id="outcomes of 0 and 1, and signs",
    ),
    pytest.param(
        lambda: hazards(Cox(ties="breslow"), weights=1.0 + (np.arange(N) == 3)),
        lambda: hazards(
            Cox(ties="breslow"), twice(FRAME), outcomes(np.r_[WEEK, WEEK[3]], np.r_[DIED, DIED[3]]), ids=[*range(N), 3]
        ),
        dict.fromkeys([*NAMES, "eta"], 1.0),
        id="a weight of two in a Cox model, and two rows of one person",
    ),
]


def as_pandas(found: Any, leak: seepage.Leakage) -> pd.DataFrame:
    """Return one row a person in the order of their ids, and outcomes called by their place."""
    if hasattr(found, "to_table"):
        found = found.to_table()
    if isinstance(found, pa.Table):
        found = found.to_pandas().set_index("person")
    elif isinstance(found, pl.DataFrame):
        found = found.to_pandas().set_index("id")
    called = {name: f"outcome {place}" for place, name in enumerate(leak.information.outcome)}
    return found.sort_index(kind="stable").rename(columns=called)


def beside(one: pd.DataFrame, other: pd.DataFrame) -> Mapping[str, tuple[Any, Any]]:
    """Return the columns of both by name; those of an array, which have none, by place."""
    if any(name.startswith("x0") for name in (*one.columns, *other.columns)):
        other = other.set_axis(one.columns, axis=1)
    assert set(one.columns) == set(other.columns)
    return {name: (one[name].to_numpy(dtype=float), other[name].to_numpy(dtype=float)) for name in one}


def agree(one: Any, other: Any, said: str) -> None:
    """Assert that two columns are equal, to 1e-8 of the largest number in them."""
    size = np.nanmax(np.abs(one), initial=0.0)
    np.testing.assert_allclose(other, one, rtol=0, atol=1e-8 * size, err_msg=said)


@cache
def answer(spelling: Spelling) -> seepage.Leakage:
    return spelling()


def with_first(spellings: list[list[Spelling]]) -> list[Any]:
    return [
        pytest.param(alike[0], other, id=f"{place}-{count}")
        for place, alike in enumerate(spellings)
        for count, other in enumerate(alike[1:], start=1)
    ]


@pytest.mark.parametrize(("one", "other"), with_first([*REFITTED, *NOT_REFITTED]))
def test_everybody_is_as_exposed_in_either_spelling(one: Spelling, other: Spelling) -> None:
    first, second = answer(one), answer(other)
    for of_first, of_second in ((first.examples, second.examples), (first.attributes, second.attributes)):
        for name, columns in beside(as_pandas(of_first, first), as_pandas(of_second, second)).items():
            agree(*columns, name)
    agree(first.joint_information_loss(), second.joint_information_loss(), "joint")


@pytest.mark.parametrize(("one", "other"), with_first(REFITTED))
def test_another_value_moves_the_release_as_far_in_either_spelling(one: Spelling, other: Spelling) -> None:
    first, second = answer(one), answer(other)
    attributes = {*first.information.attribute_names, *second.information.attribute_names}
    # Of numbers that nobody else has, so that few are refitted.
    name = next((each for each in ("dose", "time", "age") if each in attributes), "dose")
    values = FRAME[name][HOLED.notna().all(axis=1)].head(2).tolist()
    found = []
    for leak in (first, second):
        called = name if name in leak.information.attribute_names else f"x{NAMES.index(name)}"
        frame = as_pandas(leak.success_rate(called, values=values), leak)
        found.append(frame.sort_values(["value"], kind="stable").sort_index(kind="stable"))
    assert len(found[0]) >= 2
    agree(*(each["distance"].to_numpy(dtype=float) for each in found), "distance")


@pytest.mark.parametrize(("one", "other", "factors"), UNITS)
def test_other_units_scale_the_answers_about_them_alone(
    one: Spelling, other: Spelling, factors: Mapping[str, float]
) -> None:
    first, second = answer(one), answer(other)
    of_first, of_second = (
        as_pandas(leak.examples, leak).join(as_pandas(leak.attributes, leak)) for leak in (first, second)
    )
    for name, factor in factors.items():
        agree(of_second[name], factor * of_first[name], name)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        pytest.param(Ridge(2.0), NUMBER, id="ridge"),
        pytest.param(LogisticRegression(**TIGHT), YES, id="logistic"),
        pytest.param(PoissonRegressor(alpha=0.1, **NEWTON), COUNT, id="poisson"),
        pytest.param(Cox(), outcomes(), id="cox"),
    ],
)
def test_people_without_weight_are_not_there(model: Any, y: Any) -> None:
    there = np.arange(N) % 7 != 3
    whole = measured(model, y=y, weights=there * WEIGHTS)
    part = measured(model, FRAME[there], y[there], weights=WEIGHTS[there])
    for frame, fewer in ((whole.examples, part.examples), (whole.attributes, part.attributes)):
        for name, columns in beside(as_pandas(frame[there], whole), as_pandas(fewer, part)).items():
            agree(*columns, name)
    assert not np.nan_to_num(whole.examples[~there]).any()
    agree(whole.joint_information_loss(), part.joint_information_loss(), "joint")
