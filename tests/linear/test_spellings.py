"""One fit and one question, spelled in two ways, has one answer: whichever code a spelling goes through."""

import atexit
import shutil
from collections.abc import Callable, Mapping
from functools import cache
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
    RidgeClassifier,
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
from seepage.models import GLM, Cox, ModelTable, SurvivalAt
from seepage.release import GaussianNoise

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


def of_table(results: Any, **columns: str) -> seepage.Leakage:
    return seepage.measure(ModelTable.of(results, **columns), PEOPLE, noise_scale=SIGMA)


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


FRAMES = [
    pytest.param(lambda: measured(X=X), measured, id="an array, and a frame of pandas"),
    pytest.param(lambda: measured(X=X), lambda: measured(X=np.asfortranarray(X)), id="rows, and columns, in one piece"),
    pytest.param(lambda: measured(X=X), lambda: measured(X=X[:, ::-1].copy()[:, ::-1]), id="an array, and a view"),
    pytest.param(lambda: measured(X=X), lambda: measured(X=sp.csr_matrix(X)), id="dense, and sparse by rows"),
    pytest.param(lambda: measured(X=X), lambda: measured(X=sp.csc_array(X)), id="dense, and sparse by columns"),
    pytest.param(
        lambda: measured(LogisticRegression(**TIGHT), X, YES),
        lambda: measured(LogisticRegression(**TIGHT), sp.csr_matrix(X), YES),
        id="dense, and sparse, of a logistic regression",
    ),
    pytest.param(measured, lambda: measured(X=pl.DataFrame(dict(FRAME))), id="pandas, and polars"),
    pytest.param(
        measured,
        lambda: measured(X=FRAME.convert_dtypes(dtype_backend="pyarrow")),
        id="columns of numpy, and of pyarrow",
    ),
    pytest.param(
        measured,
        lambda: measured(X=FRAME.astype({"age": int, "smoker": bool})),
        id="numbers, and the same as integers and true or false",
    ),
    pytest.param(
        lambda: measured(y=COUNT), lambda: measured(y=COUNT.astype(np.int8)), id="outcomes as numbers, and as integers"
    ),
    pytest.param(measured, lambda: measured(y=NUMBER.tolist()), id="outcomes as an array, and as a list"),
    pytest.param(measured, lambda: measured(X=shuffled(FRAME), y=shuffled(NUMBER)), id="rows in another order"),
    pytest.param(measured, lambda: measured(X=FRAME[NAMES[::-1]]), id="columns in another order"),
    pytest.param(
        measured,
        lambda: seepage.measure(Ridge(2.0).fit(FRAME, NUMBER), FRAME[NAMES[::-1]], NUMBER, noise_scale=SIGMA),
        id="columns in another order than the model's",
    ),
    pytest.param(
        measured,
        lambda: seepage.measure(Ridge(2.0).fit(FRAME, NUMBER), PEOPLE, NUMBER, noise_scale=SIGMA),
        id="a frame, and one with other columns besides",
    ),
    pytest.param(measured, lambda: in_files(Ridge(2.0), "cost"), id="memory, and a file"),
    pytest.param(measured, lambda: in_files(Ridge(2.0), "cost", files=3), id="memory, and three files"),
    pytest.param(
        lambda: measured(weights=WEIGHTS),
        lambda: in_files(Ridge(2.0), "cost", weights="weight", files=2),
        id="weights in memory, and in files",
    ),
    pytest.param(measured, lambda: measured(job=Job(engine=Local(workers=1))), id="without, and with an engine"),
    pytest.param(
        measured, lambda: measured(ids=[f"person {i:02}" for i in range(N)]), id="no ids, and ids all distinct"
    ),
    pytest.param(
        lambda: measured(ids=np.arange(N) // 2),
        lambda: measured(X=shuffled(FRAME), y=shuffled(NUMBER), ids=ORDER // 2),
        id="two rows of each person, side by side and anywhere",
    ),
    pytest.param(
        lambda: measured(ids=np.arange(N) // 2),
        lambda: measured(ids=[f"{i // 2:02}" for i in range(N)]),
        id="ids as numbers, and as text",
    ),
    pytest.param(measured, lambda: measured(attributes=NAMES), id="all columns, by default and by name"),
    pytest.param(
        measured, lambda: measured(published=["coefficients"]), id="what is published, by default and by name"
    ),
]

WEIGHTED = [
    pytest.param(measured, lambda: measured(weights=np.ones(N, dtype=int)), id="no weights, and ones"),
    pytest.param(
        lambda: measured(weights=WEIGHTS), lambda: measured(weights=pd.Series(WEIGHTS)), id="weights in a series"
    ),
    pytest.param(
        lambda: measured(Ridge(2.0), weights=WEIGHTS),
        lambda: measured(Ridge(4.0), weights=2 * WEIGHTS),
        id="weights and penalty, and both doubled",
    ),
    pytest.param(
        lambda: measured(PoissonRegressor(alpha=0.1, **NEWTON), y=COUNT, weights=WEIGHTS),
        lambda: measured(PoissonRegressor(alpha=0.1, **NEWTON), y=COUNT, weights=3 * WEIGHTS),
        id="weights of a mean of losses, and three times as much",
    ),
    pytest.param(
        lambda: measured(LogisticRegression(C=0.5, class_weight={0: 1.0, 1: 3.0}, **TIGHT), y=YES),
        lambda: measured(LogisticRegression(C=0.5, **TIGHT), y=YES, weights=1.0 + 2.0 * YES),
        id="weights of classes, and of their rows",
    ),
    pytest.param(
        lambda: measured(LogisticRegression(C=0.5, class_weight={0: 1.0, 1: 3.0}, **TIGHT), y=YES, weights=WEIGHTS),
        lambda: measured(LogisticRegression(C=0.5, **TIGHT), y=YES, weights=WEIGHTS * (1.0 + 2.0 * YES)),
        id="weights of classes times those of rows, and their product",
    ),
    pytest.param(
        lambda: measured(RidgeClassifier(2.0, class_weight={0: 1.0, 1: 3.0}), y=YES, public_label=True),
        lambda: measured(RidgeClassifier(2.0), y=YES, weights=1.0 + 2.0 * YES, public_label=True),
        id="weights of classes of a ridge classifier, and of their rows",
    ),
    pytest.param(
        lambda: measured(GLM("poisson"), y=COUNT),
        lambda: measured(GLM("poisson"), y=COUNT, offset=np.zeros(N)),
        id="no offset, and zeros",
    ),
    pytest.param(
        lambda: measured(GLM("poisson"), y=COUNT),
        lambda: measured(GLM("poisson"), y=COUNT, offset=np.full(N, 0.7)),
        id="no offset, and a constant that the intercept takes back",
    ),
    pytest.param(
        lambda: measured(GLM(penalty=2.0), y=NUMBER, offset=YEARS),
        lambda: measured(y=NUMBER - YEARS),
        id="an offset, and what is left of the outcome without it",
    ),
    pytest.param(
        lambda: of_results(sm.OLS(NUMBER, with_constant()).fit()),
        lambda: of_results(sm.WLS(NUMBER, with_constant(), weights=np.full(N, 2.0)).fit()),
        id="OLS, and WLS of equal weights",
    ),
    pytest.param(
        lambda: of_results(sm.WLS(NUMBER, with_constant(), weights=WEIGHTS).fit()),
        lambda: measured(LinearRegression(), weights=WEIGHTS),
        id="WLS, and a linear regression with weights",
    ),
    pytest.param(
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson(), freq_weights=WEIGHTS).fit(tol=1e-12)),
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson(), var_weights=WEIGHTS).fit(tol=1e-12)),
        id="weights of frequency, and of variance",
    ),
    pytest.param(
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson(), freq_weights=WEIGHTS).fit(tol=1e-12)),
        lambda: measured(PoissonRegressor(alpha=0.0, **NEWTON), y=COUNT, weights=WEIGHTS),
        id="a weighted GLM of statsmodels, and of scikit-learn",
    ),
    pytest.param(
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson(), exposure=YEARS).fit(tol=1e-12)),
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson(), offset=np.log(YEARS)).fit(tol=1e-12)),
        id="an exposure, and its logarithm as an offset",
    ),
    pytest.param(
        lambda: of_table(smf.poisson("visits ~ age + dose", PEOPLE, exposure=YEARS).fit(disp=0), exposure="years"),
        lambda: measured(GLM("poisson"), FRAME[["age", "dose"]], COUNT, offset=np.log(YEARS)),
        id="an exposure by the name of its column, and an offset",
    ),
]

LEAST_SQUARES = "cost ~ age + dose + time + smoker"
ILL = "ill ~ age + dose + time + smoker"
MODELS = [
    pytest.param(measured, lambda: measured(GLM(penalty=2.0)), id="Ridge, and a Gaussian GLM"),
    pytest.param(measured, lambda: measured(RidgeCV(alphas=[2.0])), id="Ridge, and RidgeCV of one penalty"),
    pytest.param(
        measured,
        lambda: measured(GridSearchCV(Ridge(), {"alpha": [2.0]}, cv=3)),
        id="Ridge, and a search that has one to choose from",
    ),
    pytest.param(
        measured,
        lambda: measured(TweedieRegressor(power=0, alpha=2.0 / N, link="identity", **NEWTON)),
        id="Ridge, and Tweedie of power 0",
    ),
    pytest.param(
        measured,
        lambda: measured(Ridge(2.0, solver="lsqr", tol=1e-12)),
        id="Ridge by Cholesky, and by least squares",
    ),
    pytest.param(
        lambda: measured(LinearRegression()), lambda: measured(Ridge(0.0)), id="LinearRegression, and Ridge of nothing"
    ),
    pytest.param(lambda: measured(LinearRegression()), lambda: measured(GLM()), id="LinearRegression, and a GLM"),
    pytest.param(
        lambda: measured(LinearRegression()),
        lambda: of_results(sm.OLS(NUMBER, with_constant()).fit()),
        id="LinearRegression, and OLS",
    ),
    pytest.param(
        lambda: measured(LinearRegression()),
        lambda: of_results(smf.ols(LEAST_SQUARES, PEOPLE).fit()),
        id="LinearRegression, and OLS of a formula",
    ),
    pytest.param(
        lambda: measured(LinearRegression()),
        lambda: of_table(smf.ols(LEAST_SQUARES, PEOPLE).fit()),
        id="LinearRegression, and a table of OLS",
    ),
    pytest.param(
        lambda: of_results(smf.ols(LEAST_SQUARES, PEOPLE).fit()),
        lambda: of_results(smf.glm(LEAST_SQUARES, PEOPLE).fit()),
        id="OLS, and a Gaussian GLM of statsmodels",
    ),
    pytest.param(
        lambda: of_results(smf.ols(LEAST_SQUARES, PEOPLE).fit()),
        lambda: of_results(smf.ols(LEAST_SQUARES, PEOPLE).fit(cov_type="HC3")),
        id="OLS, and OLS with robust standard errors",
    ),
    pytest.param(
        lambda: measured(LinearRegression(fit_intercept=False)),
        lambda: of_results(sm.OLS(NUMBER, FRAME).fit()),
        id="no intercept, in scikit-learn and in statsmodels",
    ),
    pytest.param(
        lambda: measured(LinearRegression()),
        lambda: measured(LinearRegression(fit_intercept=False), with_constant(), attributes=NAMES),
        id="an intercept, and a column of ones that everybody knows",
    ),
    pytest.param(
        lambda: measured(LogisticRegression(C=0.5, **TIGHT), y=YES),
        lambda: measured(GLM("binomial", penalty=2.0), y=YES),
        id="LogisticRegression, and a binomial GLM",
    ),
    pytest.param(
        lambda: measured(LogisticRegression(C=0.5, solver="newton-cholesky", **TIGHT), y=YES),
        lambda: measured(LogisticRegression(C=0.5, solver="lbfgs", **TIGHT), y=YES),
        id="LogisticRegression by Newton, and by L-BFGS",
    ),
    pytest.param(
        lambda: measured(LogisticRegression(C=0.5, solver="liblinear", **TIGHT), y=YES),
        lambda: measured(GLM("binomial", penalty=2.0, penalize_intercept=True), y=YES),
        id="liblinear, and a GLM whose intercept is penalized",
    ),
    pytest.param(
        lambda: measured(GLM("binomial"), y=YES),
        lambda: of_results(smf.logit(ILL, PEOPLE).fit(disp=0)),
        id="a binomial GLM, and Logit",
    ),
    pytest.param(
        lambda: of_results(smf.glm(ILL, PEOPLE, family=sm.families.Binomial()).fit(tol=1e-12)),
        lambda: of_results(smf.logit(ILL, PEOPLE).fit(disp=0)),
        id="a binomial GLM of statsmodels, and Logit",
    ),
    pytest.param(
        lambda: of_table(smf.logit(ILL, PEOPLE).fit(disp=0)),
        lambda: of_results(smf.logit(ILL, PEOPLE).fit(disp=0)),
        id="Logit, and a table of it",
    ),
    pytest.param(
        lambda: measured(GLM("binomial", "probit"), y=YES),
        lambda: of_results(sm.Probit(YES, with_constant()).fit(disp=0)),
        id="a GLM with the probit link, and Probit",
    ),
    pytest.param(
        lambda: measured(GLM("binomial", "cloglog"), y=YES),
        lambda: of_results(
            sm.GLM(YES, with_constant(), sm.families.Binomial(sm.families.links.CLogLog())).fit(tol=1e-12)
        ),
        id="another link, here and in statsmodels",
    ),
    pytest.param(
        lambda: measured(GLM("multinomial"), y=YES),
        lambda: measured(GLM("binomial"), y=YES),
        id="two of several classes, and two classes",
    ),
    pytest.param(
        lambda: measured(GLM("multinomial"), y=THREE),
        lambda: of_results(sm.MNLogit(THREE, with_constant()).fit(disp=0)),
        id="a multinomial GLM, and MNLogit",
    ),
    pytest.param(
        lambda: measured(PoissonRegressor(alpha=0.1, **NEWTON), y=COUNT),
        lambda: measured(GLM("poisson", penalty=0.1 * N), y=COUNT),
        id="PoissonRegressor, and a Poisson GLM",
    ),
    pytest.param(
        lambda: measured(PoissonRegressor(alpha=0.1, **NEWTON), y=COUNT),
        lambda: measured(TweedieRegressor(power=1, alpha=0.1, **NEWTON), y=COUNT),
        id="PoissonRegressor, and Tweedie of power 1",
    ),
    pytest.param(
        lambda: measured(PoissonRegressor(alpha=0.0, **NEWTON), y=COUNT),
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson()).fit(tol=1e-12)),
        id="PoissonRegressor, and a Poisson GLM of statsmodels",
    ),
    pytest.param(
        lambda: of_results(sm.Poisson(COUNT, with_constant()).fit(disp=0)),
        lambda: of_results(sm.GLM(COUNT, with_constant(), sm.families.Poisson()).fit(tol=1e-12)),
        id="Poisson, and a Poisson GLM of statsmodels",
    ),
    pytest.param(
        lambda: measured(GammaRegressor(alpha=0.1, **NEWTON), y=POSITIVE),
        lambda: measured(TweedieRegressor(power=2, alpha=0.1, link="log", **NEWTON), y=POSITIVE),
        id="GammaRegressor, and Tweedie of power 2",
    ),
    pytest.param(
        lambda: measured(GammaRegressor(alpha=0.0, **NEWTON), y=POSITIVE),
        lambda: of_results(
            sm.GLM(POSITIVE, with_constant(), sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-12)
        ),
        id="GammaRegressor, and a gamma GLM of statsmodels",
    ),
    pytest.param(
        lambda: measured(GLM("gamma", "log"), y=POSITIVE),
        lambda: measured(GLM("tweedie", "log", parameter=2.0), y=POSITIVE),
        id="a gamma GLM, and a Tweedie GLM of power 2",
    ),
    pytest.param(
        lambda: measured(GLM("poisson"), y=COUNT),
        lambda: measured(GLM("tweedie", "log", parameter=1.0), y=COUNT),
        id="a Poisson GLM, and a Tweedie GLM of power 1",
    ),
    pytest.param(
        lambda: measured(Lasso(alpha=0.05, **TIGHT)),
        lambda: measured(GLM(absolute=0.05 * N)),
        id="Lasso, and a GLM with absolute values",
    ),
    pytest.param(
        lambda: measured(ElasticNet(alpha=0.1, l1_ratio=0.4, **TIGHT)),
        lambda: measured(GLM(absolute=0.04 * N, penalty=0.06 * N)),
        id="ElasticNet, and a GLM with both penalties",
    ),
    pytest.param(
        lambda: measured(RidgeClassifier(2.0), y=YES, public_label=True),
        lambda: measured(Ridge(2.0), y=2.0 * YES - 1.0, public_label=True),
        id="RidgeClassifier, and Ridge of signs",
    ),
]

STEPS = [
    pytest.param(
        measured, lambda: measured(make_pipeline(SimpleImputer(), Ridge(2.0))), id="an imputer with nothing to fill"
    ),
    pytest.param(
        measured,
        lambda: measured(make_pipeline(SimpleImputer(strategy="median"), Ridge(2.0))),
        id="medians with nothing to fill",
    ),
    pytest.param(
        measured,
        lambda: measured(make_pipeline(StandardScaler(with_mean=False, with_std=False), Ridge(2.0))),
        id="a scaler that neither centers nor scales",
    ),
    pytest.param(measured, lambda: measured(make_pipeline(FunctionTransformer(), Ridge(2.0))), id="no function at all"),
    pytest.param(measured, lambda: measured(Pipeline([("none", "passthrough"), ("ridge", Ridge(2.0))])), id="a pass"),
    pytest.param(measured, lambda: measured(make_pipeline(VarianceThreshold(), Ridge(2.0))), id="a choice of all"),
    pytest.param(
        measured,
        lambda: measured(make_pipeline(PolynomialFeatures(1, include_bias=False), Ridge(2.0))),
        id="polynomials of degree one",
    ),
    pytest.param(
        lambda: measured(LinearRegression()),
        lambda: measured(make_pipeline(PolynomialFeatures(1), LinearRegression(fit_intercept=False))),
        id="an intercept, and the power zero",
    ),
    pytest.param(
        measured,
        lambda: measured(
            make_pipeline(
                make_column_transformer(("passthrough", ["smoker", "dose"]), remainder="passthrough"), Ridge(2.0)
            )
        ),
        id="columns that a ColumnTransformer puts into another order",
    ),
    pytest.param(
        lambda: measured(X=FRAME[["age", "dose"]]),
        lambda: measured(make_pipeline(make_column_transformer(("passthrough", ["age", "dose"])), Ridge(2.0))),
        id="columns that are not there, and that are dropped",
    ),
    pytest.param(
        measured,
        lambda: measured(make_pipeline(make_column_transformer(("passthrough", make_column_selector())), Ridge(2.0))),
        id="columns by a selector",
    ),
    pytest.param(
        measured,
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
        id="columns in one piece, and a union of them",
    ),
    pytest.param(
        lambda: measured(make_pipeline(StandardScaler(), Ridge(2.0))),
        lambda: measured(
            make_pipeline(make_pipeline(FunctionTransformer(), make_pipeline(StandardScaler())), Ridge(2.0))
        ),
        id="a pipeline, and one of pipelines",
    ),
    pytest.param(
        lambda: measured(make_pipeline(SimpleImputer(), StandardScaler(), Ridge(2.0))),
        lambda: measured(make_pipeline(StandardScaler(), SimpleImputer(), Ridge(2.0))),
        id="an imputer before a scaler, and behind it",
    ),
    pytest.param(
        lambda: measured(make_pipeline(StandardScaler(), Ridge(2.0))),
        lambda: measured(make_pipeline(StandardScaler(), StandardScaler(), Ridge(2.0))),
        id="a scaler once, and twice",
    ),
    pytest.param(
        lambda: measured(make_pipeline(StandardScaler(), Ridge(2.0))),
        lambda: measured(make_pipeline(StandardScaler(with_std=False), StandardScaler(with_mean=False), Ridge(2.0))),
        id="a scaler, and its two halves",
    ),
    pytest.param(
        lambda: measured(make_pipeline(StandardScaler(), Ridge(2.0))),
        lambda: measured(make_pipeline(StandardScaler(with_mean=False), StandardScaler(with_std=False), Ridge(2.0))),
        id="a scaler, and its two halves in the other order",
    ),
    pytest.param(
        lambda: measured(make_pipeline(StandardScaler(), LogisticRegression(**TIGHT)), y=YES, weights=WEIGHTS),
        lambda: measured(
            make_pipeline(
                StandardScaler(with_mean=False), MaxAbsScaler(), StandardScaler(), LogisticRegression(**TIGHT)
            ),
            y=YES,
            weights=WEIGHTS,
        ),
        id="a scaler, and others that it undoes",
    ),
    pytest.param(
        lambda: measured(make_pipeline(StandardScaler(), LogisticRegression(**TIGHT)), y=YES),
        lambda: measured(
            make_pipeline(
                make_column_transformer(*((StandardScaler(), [name]) for name in NAMES)), LogisticRegression(**TIGHT)
            ),
            y=YES,
        ),
        id="one scaler, and one for each column",
    ),
    pytest.param(
        lambda: measured(make_pipeline(StandardScaler(), LinearRegression())),
        lambda: of_results(
            smf.ols(
                "cost ~ standardize(age) + standardize(dose) + standardize(time) + standardize(smoker)", PEOPLE
            ).fit()
        ),
        id="a scaler, and standardize in a formula",
    ),
    pytest.param(
        lambda: public(StandardScaler(), model=LinearRegression()),
        lambda: measured(LinearRegression(), noise=in_raw_units(X.mean(axis=0), X.std(axis=0))),
        id="a public scaler, and noise in the units of the columns",
    ),
    pytest.param(
        lambda: public(MinMaxScaler(), model=LinearRegression()),
        lambda: measured(LinearRegression(), noise=in_raw_units(X.min(axis=0), np.ptp(X, axis=0))),
        id="a scaler of ranges, and noise in the units of the columns",
    ),
    pytest.param(
        lambda: public(MaxAbsScaler(), model=GLM("binomial"), y=YES),
        lambda: measured(GLM("binomial"), y=YES, noise=in_raw_units(np.zeros(4), X.max(axis=0))),
        id="a scaler of maxima, and noise in the units of the columns",
    ),
    pytest.param(
        lambda: public(StandardScaler()),
        lambda: measured(
            make_pipeline(FunctionTransformer(lambda x: (x - X.mean(axis=0)) / X.std(axis=0)), Ridge(2.0))
        ),
        id="a public scaler, and the same as a function",
    ),
    pytest.param(
        lambda: public(StandardScaler()),
        lambda: public(RobustScaler(quantile_range=(25.0, 75.0)), StandardScaler()),
        id="a public scaler, and another one before it",
    ),
    pytest.param(
        lambda: measured(Ridge(2.0, fit_intercept=False)),
        lambda: measured(make_pipeline(TruncatedSVD(4), Ridge(2.0, fit_intercept=False))),
        id="columns, and the same in turned axes",
    ),
    pytest.param(
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
        id="public means in the place of cells, and constants",
    ),
    pytest.param(
        lambda: measured(make_pipeline(SimpleImputer(), Ridge(2.0)), HOLED),
        lambda: measured(make_pipeline(SimpleImputer(missing_values=-1.0), Ridge(2.0)), HOLED.fillna(-1.0)),
        id="cells that are missing, and a code for them",
    ),
    pytest.param(
        lambda: measured(
            make_pipeline(
                make_column_transformer((OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough"),
                GLM("binomial"),
            ),
            WARDS,
            YES,
        ),
        lambda: of_results(smf.logit("ill ~ C(ward) + age + dose + time + smoker", PEOPLE).fit(disp=0)),
        id="an encoder, and categories of a formula",
    ),
    pytest.param(
        lambda: of_table(smf.ols("cost ~ ward + age", PEOPLE).fit()),
        lambda: measured(
            make_pipeline(
                make_column_transformer((OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough"), GLM()
            ),
            WARDS[["ward", "age"]],
        ),
        id="an encoder, and levels in a table",
    ),
    pytest.param(
        lambda: measured(
            make_pipeline(
                make_column_transformer((FunctionTransformer(np.log), ["dose"]), remainder="passthrough"), GLM()
            ),
            FRAME[["dose", "age"]],
        ),
        lambda: of_results(smf.ols("cost ~ np.log(dose) + age", PEOPLE).fit()),
        id="a logarithm as a step, and in a formula",
    ),
    pytest.param(
        lambda: measured(make_pipeline(FunctionTransformer(np.log), GLM()), FRAME[["dose"]]),
        lambda: measured(make_pipeline(FunctionTransformer(lambda x: np.log(x)), GLM()), FRAME[["dose"]]),
        id="a logarithm that is known, and one inside a function",
    ),
    pytest.param(
        lambda: of_table(smf.ols("cost ~ np.log(dose) + I(time ** 2)", PEOPLE).fit()),
        lambda: of_results(smf.ols("cost ~ np.log(dose) + I(time ** 2)", PEOPLE).fit()),
        id="functions of a formula, and of a table",
    ),
    pytest.param(
        lambda: measured(make_pipeline(PolynomialFeatures(2, include_bias=False), GLM()), FRAME[["dose", "time"]]),
        lambda: of_results(smf.ols("cost ~ dose * time + I(dose ** 2) + I(time ** 2)", PEOPLE).fit()),
        id="products and squares, and those of a formula",
    ),
]

NOISES = [
    pytest.param(measured, lambda: measured(noise=GaussianNoise(SIGMA)), id="a deviation, and noise of it"),
    pytest.param(
        measured,
        lambda: measured(noise=GaussianNoise(covariance=SIGMA**2 * np.eye(5))),
        id="a deviation, and a covariance of it",
    ),
    pytest.param(
        lambda: measured(GLM("multinomial"), y=THREE),
        lambda: measured(GLM("multinomial"), y=THREE, noise=GaussianNoise(covariance=SIGMA**2 * np.eye(10))),
        id="a deviation, and a covariance of it, of several classes",
    ),
    pytest.param(
        lambda: measured(make_pipeline(StandardScaler(), Ridge(2.0))),
        lambda: measured(
            make_pipeline(StandardScaler(), Ridge(2.0)), noise=GaussianNoise(covariance=SIGMA**2 * np.eye(5))
        ),
        id="a deviation, and a covariance of it, behind a scaler",
    ),
]


def encoded(model: Any, y: Any) -> seepage.Leakage:
    wards = make_column_transformer((OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough")
    return measured(make_pipeline(wards, model), WARDS, y)


def words(*names: Any) -> seepage.Leakage:
    return measured(LogisticRegression(C=0.5, **TIGHT), y=np.array(names)[YES])


LABELS = [
    pytest.param(lambda: words(0, 1), lambda: words(False, True), id="0 and 1, and true and false"),
    pytest.param(lambda: words(0, 1), lambda: words("no", "yes"), id="0 and 1, and two words"),
    pytest.param(lambda: words(0, 1), lambda: words(-1, 1), id="0 and 1, and two signs"),
    pytest.param(lambda: words(0, 1), lambda: words(0.0, 1.0), id="0 and 1, and the same as floats"),
    pytest.param(lambda: words(0, 1), lambda: words("yes", "no"), id="two outcomes, and each called the other"),
    pytest.param(
        lambda: measured(LogisticRegression(C=0.5, **TIGHT), y=THREE),
        lambda: measured(LogisticRegression(C=0.5, **TIGHT), y=np.array(["c", "a", "b"])[THREE]),
        id="three outcomes, and each called another",
    ),
]


def hazards(model: Any = None, X: Any = FRAME, y: Any = None, **question: Any) -> seepage.Leakage:
    return measured(Cox() if model is None else model, X, outcomes() if y is None else y, **question)


def by_lifelines(**settings: Any) -> seepage.Leakage:
    fitted = CoxPHFitter(**settings).fit(FOLLOWED, "week", "died", fit_options={"precision": 1e-12})
    return seepage.measure(fitted, FOLLOWED, noise_scale=SIGMA)


def until(scale: float) -> seepage.Leakage:
    y = outcomes(scale * WEEK)
    row = dict(FRAME.mean())
    model = SurvivalAt(Cox().fit(FRAME, y), horizons=[10.0 * scale], reference=row)
    return seepage.measure(model, FRAME, y, noise_scale=SIGMA)


HAZARDS = [
    pytest.param(hazards, by_lifelines, id="Cox, and lifelines"),
    pytest.param(
        lambda: hazards(Cox(penalty=0.1 * N, standardized=True)),
        lambda: by_lifelines(penalizer=0.1),
        id="Cox, and lifelines with a penalty",
    ),
    pytest.param(hazards, lambda: hazards(CoxPHSurvivalAnalysis(tol=1e-12)), id="Cox, and scikit-survival"),
    pytest.param(
        lambda: hazards(Cox(penalty=3.0)),
        lambda: hazards(CoxPHSurvivalAnalysis(alpha=3.0, tol=1e-12)),
        id="Cox, and scikit-survival with a penalty",
    ),
    pytest.param(
        hazards, lambda: of_results(PHReg(WEEK, FRAME, status=DIED.astype(int)).fit(disp=0)), id="Cox, and PHReg"
    ),
    pytest.param(
        hazards,
        lambda: of_results(
            smf.phreg("week ~ age + dose + time + smoker", FOLLOWED, status=DIED.astype(int)).fit(disp=0)
        ),
        id="Cox, and PHReg of a formula",
    ),
    pytest.param(
        hazards,
        lambda: seepage.measure(
            ModelTable.of(CoxPHFitter().fit(FOLLOWED, "week", "died", fit_options={"precision": 1e-12})),
            FOLLOWED,
            noise_scale=SIGMA,
        ),
        id="Cox, and a table",
    ),
    pytest.param(hazards, lambda: hazards(Cox(ties="breslow")), id="no ties, counted as Efron and as Breslow"),
    pytest.param(hazards, lambda: hazards(weights=np.ones(N)), id="no weights of a Cox model, and ones"),
    pytest.param(hazards, lambda: hazards(y=outcomes(7 * WEEK)), id="weeks, and days"),
    pytest.param(hazards, lambda: hazards(y=outcomes(np.argsort(np.argsort(WEEK)) + 1.0)), id="weeks, and ranks"),
    pytest.param(
        hazards, lambda: hazards(X=shuffled(FRAME), y=shuffled(outcomes())), id="rows of a Cox model in another order"
    ),
    pytest.param(
        hazards, lambda: hazards(make_pipeline(FunctionTransformer(), Cox())), id="a Cox model, and one behind a pass"
    ),
    pytest.param(
        hazards,
        lambda: hazards(y=np.rec.fromarrays([DIED, WEEK, np.zeros(N)], names="died,week,ward")),
        id="no strata, and one",
    ),
    pytest.param(lambda: until(1.0), lambda: until(7.0), id="survival until a week, and until its days"),
    pytest.param(hazards, lambda: hazards(Cox(penalty=np.zeros(4))), id="no penalty, and one of zero for each column"),
]

# Over files only squared loss is refitted; and refits of what means fill take long, so one pair above stands for them.
NOT_REFITTED = [
    pytest.param(
        lambda: measured(make_pipeline(SimpleImputer(), StandardScaler(), Ridge(2.0)), HOLED),
        lambda: measured(
            make_pipeline(
                make_column_transformer(*((SimpleImputer(), [name]) for name in NAMES)), StandardScaler(), Ridge(2.0)
            ),
            HOLED,
        ),
        id="one imputer, and one for each column",
    ),
    pytest.param(
        lambda: measured(make_pipeline(SimpleImputer(), StandardScaler(), Ridge(2.0)), HOLED),
        lambda: measured(
            make_pipeline(SimpleImputer(), StandardScaler(with_std=False), StandardScaler(with_mean=False), Ridge(2.0)),
            HOLED,
        ),
        id="a scaler behind an imputer, and its two halves",
    ),
    pytest.param(
        lambda: measured(make_pipeline(SimpleImputer(), StandardScaler(with_std=False), Ridge(2.0)), HOLED),
        lambda: measured(make_pipeline(StandardScaler(with_std=False), SimpleImputer(), Ridge(2.0)), HOLED),
        id="means in the place of cells, before they are taken away and after",
    ),
    pytest.param(
        lambda: measured(LogisticRegression(**TIGHT), y=YES),
        lambda: in_files(LogisticRegression(**TIGHT), "ill", files=2),
        id="a logistic regression in memory, and in files",
    ),
]
REFITTED = [*FRAMES, *WEIGHTED, *MODELS, *STEPS, *NOISES, *LABELS, *HAZARDS]
PAIRS = [*REFITTED, *NOT_REFITTED]


def scaled_by_hand(scaler: Any) -> seepage.Leakage:
    return measured(X=pd.DataFrame(scaler.fit_transform(X), columns=NAMES))


def in_months() -> seepage.Leakage:
    noise = GaussianNoise(covariance=SIGMA**2 * np.diag([1 / 12**2, 1.0, 1.0, 1.0, 1.0]))
    return measured(LinearRegression(), FRAME.assign(age=12 * FRAME["age"]), noise=noise)


def twice(rows: Any) -> Any:
    """Return rows with the third once more."""
    return pd.concat([rows, rows.iloc[[3]]], ignore_index=True)


def dummies(model: Any, y: Any) -> seepage.Leakage:
    return measured(model, pd.get_dummies(WARDS, columns=["ward"], drop_first=True, dtype=float), y)


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
        lambda: encoded(Ridge(2.0), NUMBER), lambda: dummies(Ridge(2.0), NUMBER), SAME, id="levels, and dummies by hand"
    ),
    pytest.param(
        lambda: encoded(LogisticRegression(**TIGHT), YES),
        lambda: dummies(LogisticRegression(**TIGHT), YES),
        SAME,
        id="levels, and dummies by hand, of a logistic regression",
    ),
    pytest.param(
        lambda: measured(weights=1.0 + (np.arange(N) == 3)),
        lambda: measured(X=twice(FRAME), y=twice(pd.Series(NUMBER)).to_numpy(), ids=[*range(N), 3]),
        dict.fromkeys([*NAMES, "eta", "outcome 0"], 1.0),
        id="a weight of two, and two rows of one person",
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
def both(one: Spelling, other: Spelling) -> tuple[seepage.Leakage, seepage.Leakage]:
    return one(), other()


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_everybody_is_as_exposed_in_either_spelling(one: Spelling, other: Spelling) -> None:
    first, second = both(one, other)
    for of_first, of_second in ((first.examples, second.examples), (first.attributes, second.attributes)):
        for name, columns in beside(as_pandas(of_first, first), as_pandas(of_second, second)).items():
            agree(*columns, name)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_everybody_together_is_as_exposed_in_either_spelling(one: Spelling, other: Spelling) -> None:
    first, second = both(one, other)
    agree(first.joint(), second.joint(), "joint")


@pytest.mark.parametrize(("one", "other"), REFITTED)
def test_another_value_moves_the_release_as_far_in_either_spelling(one: Spelling, other: Spelling) -> None:
    first, second = both(one, other)
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
    first, second = both(one, other)
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
    agree(whole.joint(), part.joint(), "joint")
