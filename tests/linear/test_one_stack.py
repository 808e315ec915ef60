"""Every kind of model, step and noise beside one and the same oracle, which knows none of them by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from likelihoods import length
from oracle import sum_zero
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from stack import Stack, Tensor, Unknowns, tensor

import seepage
from seepage.release import Balanced, InverseHessian

N, SIGMA = 50, 0.4
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(N, 3)) * [1.0, 4.0, 0.5] + [0.0, 20.0, 2.0]
NAMES = ["age", "dose", "time"]
FRAME = pd.DataFrame(X, columns=NAMES)
SIGNAL = X @ [0.6, 0.1, -0.8]
NUMBER = SIGNAL + RANDOM.normal(size=N)
YES = (SIGNAL - SIGNAL.mean() + RANDOM.logistic(size=N) > 0).astype(float)
THREE = np.digitize(SIGNAL + RANDOM.logistic(size=N), np.quantile(SIGNAL, [0.3, 0.7]))
COUNT = RANDOM.poisson(np.exp(0.5 * SIGNAL - 0.2)).astype(float)
POSITIVE = np.exp(0.3 * SIGNAL) * RANDOM.gamma(3.0, 1 / 3, N)
WEIGHTS = RANDOM.uniform(0.5, 2.0, N)
LACKING = RANDOM.random((N, 3)) < [0.15, 0.2, 0.0]
HOLED = FRAME.mask(LACKING)
# Products of columns far from zero would lose half of the digits.
NEAR = FRAME - [0.0, 20.0, 2.0]
WARD = RANDOM.choice(["north", "south", "west"], N)
WEEK = np.ceil(8 * RANDOM.exponential(np.exp(-0.5 * (SIGNAL - SIGNAL.mean())))).clip(max=20.0)
DIED = WEEK < 20
TIGHT: dict[str, Any] = {"tol": 1e-12, "max_iter": 20_000}
CHOSEN = np.arange(N) % 7 == 1


def ones(x: Tensor) -> Tensor:
    return torch.cat([x, torch.ones(len(x), 1, dtype=torch.float64)], dim=1)


def white(size: int, deviation: float = SIGMA) -> Tensor:
    return deviation**2 * torch.eye(size, dtype=torch.float64)


SLOPES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "squared": lambda m, y: m - y,
    "logistic": lambda m, y: torch.sigmoid(m) - y,
    "softmax": lambda m, y: torch.softmax(m, dim=1) - y,
    "poisson": lambda m, y: torch.exp(m) - y,
    "gamma": lambda m, y: 1 - y * torch.exp(-m),
    "tweedie": lambda m, y: torch.exp(0.5 * m) - y * torch.exp(-0.5 * m),
}


@dataclass
class Case:
    """A fitted model with its rows, and the same said as a stack."""

    model: Any
    X: Any
    y: Any
    stack: Stack
    columns: Mapping[str, list[int]] = field(default_factory=lambda: {name: [i] for i, name in enumerate(NAMES)})
    """Where each attribute is among the values of the stack; the label comes after them."""
    options: Mapping[str, Any] = field(default_factory=dict)
    in_files: bool = True

    def measured(self, noise: Any = SIGMA) -> seepage.Leakage:
        return seepage.measure(self.model, self.X, self.y, **{"noise_scale": noise, **self.options})


CASES: dict[str, Callable[[], Case]] = {}


def case(function: Callable[[], Case]) -> Callable[[], Case]:
    CASES[function.__name__.strip("_").replace("_", " ")] = function
    return function


def coefficients(
    slope: str,
    labels: Any,
    penalty: float,
    *,
    features: Callable[[Tensor], Tensor] = lambda z: z[:, :3],
    intercept: bool = True,
    weights: Any = None,
    rows: Any = X,
    width: int = 3,
) -> Stack:
    """Return  sum w rho x + penalty beta = 0, the coefficients published with white noise."""
    y = tensor(labels).reshape(N, -1)
    outputs, held = y.shape[1], tensor(np.ones(N) if weights is None else weights)[:, None]
    strength = tensor([penalty] * width + [0.0] * intercept)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        x = ones(features(z)) if intercept else features(z)
        rho = SLOPES[slope](x @ u["beta"].T, z[:, -outputs:]) * held
        return {"beta": rho.T @ x + strength * u["beta"]}

    start = torch.zeros(outputs, width + intercept, dtype=torch.float64)
    return Stack(
        torch.cat([tensor(rows), y], dim=1),
        {"beta": start},
        equations,
        lambda u: (u["beta"].reshape(-1), white(u["beta"].numel())),
    )


@case
def ridge() -> Case:
    return Case(Ridge(alpha=2.0).fit(FRAME, NUMBER), FRAME, NUMBER, coefficients("squared", NUMBER, 2.0))


@case
def least_squares_without_intercept() -> Case:
    model = LinearRegression(fit_intercept=False).fit(FRAME, NUMBER)
    return Case(model, FRAME, NUMBER, coefficients("squared", NUMBER, 0.0, intercept=False))


@case
def weights() -> Case:
    model = Ridge(alpha=2.0).fit(FRAME, NUMBER, sample_weight=WEIGHTS)
    stack = coefficients("squared", NUMBER, 2.0, weights=WEIGHTS)
    return Case(model, FRAME, NUMBER, stack, options={"sample_weight": WEIGHTS}, in_files=False)


@case
def two_targets() -> Case:
    both = np.column_stack([NUMBER, POSITIVE])
    return Case(Ridge(alpha=2.0).fit(FRAME, both), FRAME, both, coefficients("squared", both, 2.0), in_files=False)


@case
def logistic() -> Case:
    model = LogisticRegression(C=0.5, **TIGHT).fit(FRAME, YES)
    return Case(model, FRAME, YES, coefficients("logistic", YES, 2.0))


@case
def several_classes() -> Case:
    model = LogisticRegression(C=0.5, **TIGHT).fit(FRAME, THREE)
    hot, axes = (THREE[:, None] == np.arange(3)).astype(float), tensor(sum_zero(3))
    found = coefficients("softmax", hot, 2.0)

    # The label moves among numbers that sum to one; coefficients have one direction that no penalty leaves undecided
    # but the intercepts', which a sum of zero decides.
    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        whole = found.equations(u, torch.cat([z[:, :3], tensor(hot) + z[:, 3:] @ axes.T], dim=1))["beta"]
        held = torch.zeros_like(whole)
        held[:, -1] = 1.0
        return {"beta": whole + held * u["beta"][:, -1].sum()}

    rows = torch.cat([tensor(X), torch.zeros(N, 2, dtype=torch.float64)], dim=1)
    return Case(model, FRAME, THREE, Stack(rows, found.start, equations, found.release))


@case
def poisson() -> Case:
    model = PoissonRegressor(alpha=0.1, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(FRAME, COUNT)
    return Case(model, FRAME, COUNT, coefficients("poisson", COUNT, 0.1 * N))


@case
def gamma() -> Case:
    model = GammaRegressor(alpha=0.1, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(FRAME, POSITIVE)
    return Case(model, FRAME, POSITIVE, coefficients("gamma", POSITIVE, 0.1 * N))


@case
def tweedie() -> Case:
    settings: dict[str, Any] = {"power": 1.5, "solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1000}
    model = TweedieRegressor(alpha=0.1, **settings).fit(FRAME, POSITIVE)
    return Case(model, FRAME, POSITIVE, coefficients("tweedie", POSITIVE, 0.1 * N))


@case
def probit_of_statsmodels() -> Case:
    import statsmodels.api as sm

    results = sm.Probit(YES, sm.add_constant(FRAME)).fit(disp=0, method="newton", tol=1e-14)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        x = ones(z[:, :3])
        m, y = x @ u["beta"], z[:, 3]
        density = torch.exp(-(m**2) / 2) / np.sqrt(2 * np.pi)
        rho = -(y / torch.special.ndtr(m) - (1 - y) / torch.special.ndtr(-m)) * density
        return {"beta": x.T @ rho}

    start = {"beta": torch.zeros(4, dtype=torch.float64)}
    stack = Stack(tensor(np.column_stack([X, YES])), start, equations, lambda u: (u["beta"], white(4)))
    return Case(results, None, None, stack, in_files=False)


@case
def negative_binomial_of_statsmodels() -> Case:
    import statsmodels.api as sm

    design = sm.add_constant(FRAME[["age", "time"]])
    counts = np.random.default_rng(2).negative_binomial(1.5, 1.5 / (1.5 + np.exp(design @ [0.5, 0.4, 0.3])))
    results = sm.NegativeBinomial(counts.astype(float), design).fit(disp=0, maxiter=2000, method="newton", tol=1e-13)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        x, y = ones(z[:, :2]), z[:, 2]
        mean, alpha = torch.exp(x @ u["beta"]), u["alpha"]
        size = 1 / alpha
        by_size = torch.digamma(size + y) - torch.digamma(size) - torch.log1p(mean / size) + (mean - y) / (size + mean)
        return {"beta": x.T @ ((mean - y) / (1 + alpha * mean)), "alpha": (size**2 * by_size).sum().reshape(1)}

    found = results.params.to_numpy()
    stack = Stack(
        tensor(np.column_stack([X[:, [0, 2]], counts])),
        {"beta": tensor(np.r_[found[1:3], found[0]]), "alpha": tensor(found[-1:])},
        equations,
        lambda u: (torch.cat([u["beta"], u["alpha"]]), white(4)),
    )
    return Case(results, None, None, stack, {"age": [0], "time": [1]}, in_files=False)


@case
def lasso() -> Case:
    model = Lasso(alpha=0.35, tol=1e-14, max_iter=100_000).fit(FRAME, NUMBER)
    kept = tensor(model.coef_ != 0)
    assert 0 < kept.sum() < 3
    signs = tensor(np.sign(model.coef_))
    found = coefficients("squared", NUMBER, 0.0)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        score = found.equations(u, z)["beta"][0] + torch.cat([0.35 * N * signs, torch.zeros(1, dtype=torch.float64)])
        free = torch.cat([kept, torch.ones(1, dtype=torch.float64)])
        return {"beta": (free * score + (1 - free) * u["beta"][0]).reshape(1, -1)}

    # About a column whose coefficient is kept at zero nothing is answered.
    private = torch.cat([kept, torch.ones(1, dtype=torch.float64)]).bool().expand(N, 4)
    stack = Stack(found.rows, found.start, equations, found.release, private)
    return Case(model, FRAME, NUMBER, stack, in_files=False)


@case
def levels_of_a_category() -> Case:
    frame = FRAME.assign(ward=WARD)
    wards = OneHotEncoder(drop="first", categories=[["north", "south", "west"]])
    columns = make_column_transformer((wards, ["ward"]), remainder="passthrough")
    hot = (WARD[:, None] == np.array(["south", "west"])).astype(float)
    model = make_pipeline(columns, Ridge(alpha=2.0)).fit(frame, NUMBER)
    stack = coefficients("squared", NUMBER, 2.0, features=lambda z: z[:, :5], rows=np.column_stack([X, hot]), width=5)
    return Case(model, frame, NUMBER, stack, {**{name: [i] for i, name in enumerate(NAMES)}, "ward": [3, 4]})


def scaled(
    slope: str,
    labels: Any,
    penalty: float,
    *,
    features: Callable[[Unknowns, Tensor], Tensor] = lambda u, z: z[:, :3],
    means: bool = True,
    intercept: bool = True,
    more: Unknowns | None = None,
    extra: Callable[[Unknowns, Tensor], Unknowns] = lambda u, z: {},
    private: Tensor | None = None,
    rows: Any = X,
    width: int = 3,
) -> Stack:
    """Return a scaler and a model behind it; published are coefficients in the units of the columns."""
    y = tensor(labels)
    strength = tensor([penalty] * width + [0.0] * intercept)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        columns = features(u, z)
        centered = columns - u["mean"]
        x = (centered if means else columns) / u["variance"].sqrt()
        x = ones(x) if intercept else x
        score = x.T @ SLOPES[slope](x @ u["theta"], z[:, -1]) + strength * u["theta"]
        spread = (centered**2 - u["variance"]).sum(dim=0)
        return {**extra(u, z), "mean": centered.sum(dim=0), "variance": spread, "theta": score}

    def release(u: Unknowns) -> tuple[Tensor, Tensor]:
        deviation = u["variance"].sqrt()
        units = torch.diag(torch.cat([1 / deviation, torch.ones(1, dtype=torch.float64)]))
        if means:
            shift = torch.cat([-u["mean"] / deviation, torch.ones(1, dtype=torch.float64)])
            units = torch.cat([units[:-1], shift[None]])
        return units @ u["theta"], SIGMA**2 * units @ units.T

    held = tensor(rows)
    known = features(dict(more or {}), torch.cat([held, y[:, None]], dim=1)).detach()
    start = {
        **(more or {}),
        "mean": known.mean(dim=0),
        "variance": known.var(dim=0, correction=0),
        "theta": torch.zeros(width + intercept, dtype=torch.float64),
    }
    return Stack(torch.cat([held, y[:, None]], dim=1), start, equations, release, private)


@case
def ridge_behind_a_scaler() -> Case:
    model = make_pipeline(StandardScaler(), Ridge(alpha=2.0)).fit(FRAME, NUMBER)
    return Case(model, FRAME, NUMBER, scaled("squared", NUMBER, 2.0))


@case
def ridge_behind_a_scaler_without_means() -> Case:
    model = make_pipeline(StandardScaler(with_mean=False), Ridge(alpha=2.0)).fit(FRAME, NUMBER)
    return Case(model, FRAME, NUMBER, scaled("squared", NUMBER, 2.0, means=False))


@case
def logistic_behind_a_scaler() -> Case:
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.5, **TIGHT)).fit(FRAME, YES)
    return Case(model, FRAME, YES, scaled("logistic", YES, 2.0))


@case
def poisson_behind_a_scaler() -> Case:
    counts = PoissonRegressor(alpha=0.1, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    return Case(
        make_pipeline(StandardScaler(), counts).fit(FRAME, COUNT), FRAME, COUNT, scaled("poisson", COUNT, 0.1 * N)
    )


def filled(**options: Any) -> dict[str, Any]:
    lacking = torch.tensor(LACKING)
    values = tensor(np.where(LACKING, 0.0, X))
    return {
        "rows": values,
        "private": torch.cat([~lacking, torch.ones(N, 1, dtype=torch.bool)], dim=1),
        **options,
    }


def with_means(u: Unknowns, z: Tensor) -> Tensor:
    return torch.where(torch.tensor(LACKING), u["fill"], z[:, :3])


def means_of_what_is_there(u: Unknowns, z: Tensor) -> Unknowns:
    there = (~torch.tensor(LACKING)).to(torch.float64)
    return {"fill": (there * (z[:, :3] - u["fill"])).sum(dim=0)}


@case
def ridge_behind_means_that_fill_cells() -> Case:
    model = make_pipeline(SimpleImputer(), Ridge(alpha=2.0)).fit(HOLED, NUMBER)
    given = filled()
    found = coefficients("squared", NUMBER, 2.0, rows=given["rows"])

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        inner = torch.cat([with_means(u, z), z[:, 3:]], dim=1)
        return {**means_of_what_is_there(u, z), **found.equations(u, inner)}

    start = {"fill": tensor(HOLED.mean()), **found.start}
    return Case(
        model, HOLED, NUMBER, Stack(found.rows, start, equations, found.release, given["private"]), in_files=False
    )


@case
def ridge_behind_means_that_fill_cells_and_a_scaler() -> Case:
    model = make_pipeline(SimpleImputer(), StandardScaler(), Ridge(alpha=2.0)).fit(HOLED, NUMBER)
    stack = scaled(
        "squared",
        NUMBER,
        2.0,
        features=with_means,
        extra=means_of_what_is_there,
        more={"fill": tensor(HOLED.mean())},
        **filled(),
    )
    return Case(model, HOLED, NUMBER, stack, in_files=False)


def squares(z: Tensor) -> Tensor:
    """Return columns and their products, in the order of PolynomialFeatures."""
    products = [z[:, i] * z[:, j] for i in range(3) for j in range(i, 3)]
    return torch.cat([z[:, :3], torch.stack(products, dim=1)], dim=1)


@case
def ridge_behind_products() -> Case:
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), Ridge(alpha=2.0)).fit(NEAR, NUMBER)
    return Case(model, NEAR, NUMBER, coefficients("squared", NUMBER, 2.0, features=squares, rows=NEAR, width=9))


@case
def ridge_behind_products_and_a_scaler() -> Case:
    steps = (PolynomialFeatures(2, include_bias=False), StandardScaler(), Ridge(alpha=2.0))
    stack = scaled("squared", NUMBER, 2.0, features=lambda u, z: squares(z), rows=NEAR, width=9)
    return Case(make_pipeline(*steps).fit(NEAR, NUMBER), NEAR, NUMBER, stack)


def hessian_of(slope: str, width: int, penalty: float, features: Callable[[Tensor], Tensor]) -> Any:
    """Return the curvature of the objective, as a function of unknowns and rows."""

    def hessian(u: Unknowns, z: Tensor) -> Tensor:
        x = ones(features(z))
        m = x @ u["beta"][0]
        bend = torch.sigmoid(m) * torch.sigmoid(-m) if slope == "logistic" else torch.ones_like(m)
        return (x * bend[:, None]).T @ x + torch.diag(tensor([penalty] * width + [0.0]))

    return hessian


def shaped(
    slope: str,
    labels: Any,
    penalty: float,
    covariance: Callable[[Tensor], Tensor],
    *,
    features: Callable[[Tensor], Tensor] = lambda z: z[:, :3],
    width: int = 3,
) -> Stack:
    """Return noise whose covariance is a function of the Hessian, which is one more unknown."""
    found = coefficients(slope, labels, penalty, features=features, width=width)
    hessian = hessian_of(slope, width, penalty, features)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        return {**found.equations(u, z), "hessian": hessian(u, z) - u["hessian"]}

    outputs = len(found.start["beta"])
    start = {**found.start, "hessian": hessian(found.start, found.rows)}
    return Stack(
        found.rows,
        start,
        equations,
        lambda u: (u["beta"].reshape(-1), torch.block_diag(*[covariance(u["hessian"])] * outputs)),
    )


def inverse(hessian: Tensor) -> Tensor:
    return 0.49 * torch.linalg.inv(hessian)


SHAPED = seepage.release.GaussianNoise(shape=InverseHessian(scale=0.7))


@case
def ridge_with_noise_of_the_inverse_hessian() -> Case:
    model = Ridge(alpha=2.0).fit(FRAME, NUMBER)
    return Case(model, FRAME, NUMBER, shaped("squared", NUMBER, 2.0, inverse), options={"noise_scale": SHAPED})


@case
def logistic_with_noise_of_the_inverse_hessian() -> Case:
    model = LogisticRegression(C=0.5, **TIGHT).fit(FRAME, YES)
    return Case(model, FRAME, YES, shaped("logistic", YES, 2.0, inverse), options={"noise_scale": SHAPED})


def root(matrix: Tensor) -> Tensor:
    """Return the square root by Denman and Beavers' iteration, whose derivative knows no equal eigenvalues."""
    scale = torch.trace(matrix)
    found, back = matrix / scale, torch.eye(len(matrix), dtype=torch.float64)
    for _ in range(40):
        found, back = (found + torch.linalg.inv(back)) / 2, (back + torch.linalg.inv(found)) / 2
    return found * scale.sqrt()


def balanced(hessian: Tensor, deviation: Tensor | None = None) -> Tensor:
    """Return H^-1 (B # H) H^-1 for floors of two columns (eq. 2.18), without what the library makes of it."""
    deviation = torch.ones(3, dtype=torch.float64) if deviation is None else deviation
    invert = torch.linalg.inv(hessian)
    share, balance, floors = 0.02, 0.5, (5.0, 2.0)
    inner = torch.zeros_like(hessian)
    for i, each in enumerate(floors):
        # How a unit of the column moves its feature.
        reach = 1 / deviation[i]
        weight = (invert[i, i] * reach**2 * each**2) ** balance * each**2 * reach**2
        inner = inner + weight * torch.outer(torch.eye(4, dtype=torch.float64)[i], torch.eye(4, dtype=torch.float64)[i])
    inner = inner + share * torch.trace(invert @ inner) / 4 * hessian
    half = root(hessian)
    back = torch.linalg.inv(half)
    return 0.49 * invert @ (half @ root(back @ inner @ back) @ half) @ invert


@case
def ridge_with_balanced_noise() -> Case:
    shape = Balanced(scale=0.7, floors={"age": 5.0, "dose": 2.0}, share=0.02, balance=0.5)
    stack = shaped("squared", NUMBER, 2.0, balanced)
    noise = seepage.release.GaussianNoise(shape=shape)
    return Case(Ridge(alpha=2.0).fit(FRAME, NUMBER), FRAME, NUMBER, stack, options={"noise_scale": noise})


def hazards(penalty: float) -> Callable[[Unknowns, Tensor], Unknowns]:
    risk, died = tensor(WEEK[None, :] >= WEEK[:, None]), tensor(DIED)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        e = torch.exp((z - tensor(X.mean(axis=0))) @ u["beta"])
        mean = (risk @ (e[:, None] * z)) / (risk @ e)[:, None]
        return {"beta": (died[:, None] * (mean - z)).sum(dim=0) + penalty * u["beta"]}

    return equations


OUTCOMES = np.rec.fromarrays([DIED, WEEK], names="event,time")


@case
def cox() -> Case:
    model = seepage.models.Cox(penalty=2.0, ties="breslow").fit(FRAME, OUTCOMES)
    start = {"beta": torch.zeros(3, dtype=torch.float64)}
    stack = Stack(tensor(X), start, hazards(2.0), lambda u: (u["beta"], white(3)))
    return Case(model, FRAME, OUTCOMES, stack, options={"public_label": True}, in_files=False)


@case
def cox_of_lifelines_with_a_penalty_in_deviations() -> Case:
    from lifelines import CoxPHFitter

    # Without ties, so that Efron's way with them does not matter.
    times = np.where(DIED, WEEK + np.linspace(0.0, 0.4, N), WEEK)
    whole = FRAME.assign(week=times, died=DIED.astype(int))
    model = CoxPHFitter(penalizer=0.1).fit(whole, "week", "died", fit_options={"precision": 1e-12})
    risk, died = tensor(times[None, :] >= times[:, None]), tensor(DIED)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        e = torch.exp((z - tensor(X.mean(axis=0))) @ u["beta"])
        mean = (risk @ (e[:, None] * z)) / (risk @ e)[:, None]
        centered = z - u["mean"]
        return {
            "mean": centered.sum(dim=0),
            "variance": (centered**2).sum(dim=0) - (N - 1) * u["variance"],
            "beta": (died[:, None] * (mean - z)).sum(dim=0) + 0.1 * N * u["variance"] * u["beta"],
        }

    start = {
        "mean": tensor(X.mean(axis=0)),
        "variance": tensor(X.var(axis=0, ddof=1)),
        "beta": torch.zeros(3, dtype=torch.float64),
    }
    stack = Stack(tensor(X), start, equations, lambda u: (u["beta"], white(3)))
    return Case(model, whole, None, stack, options={"public_label": True}, in_files=False)


@case
def a_shape_behind_a_bend() -> Case:
    squared = make_column_transformer(("passthrough", NAMES), (FunctionTransformer(np.square), ["age"]))

    def features(z: Tensor) -> Tensor:
        return torch.cat([z[:, :3], z[:, :1] ** 2], dim=1)

    stack = shaped("squared", NUMBER, 2.0, inverse, features=features, width=4)
    model = make_pipeline(squared, Ridge(alpha=2.0)).fit(FRAME, NUMBER)
    return Case(model, FRAME, NUMBER, stack, options={"noise_scale": SHAPED})


@case
def a_shape_with_two_targets() -> Case:
    both = np.column_stack([NUMBER, POSITIVE])
    stack = shaped("squared", both, 2.0, inverse)
    return Case(Ridge(alpha=2.0).fit(FRAME, both), FRAME, both, stack, options={"noise_scale": SHAPED}, in_files=False)


@case
def cox_behind_a_scaler() -> Case:
    model = make_pipeline(StandardScaler(), seepage.models.Cox(penalty=2.0, ties="breslow")).fit(FRAME, OUTCOMES)
    risk, died = tensor(WEEK[None, :] >= WEEK[:, None]), tensor(DIED)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        centered, deviation = z - u["mean"], u["variance"].sqrt()
        x = centered / deviation
        e = torch.exp(x @ u["theta"])
        mean = (risk @ (e[:, None] * x)) / (risk @ e)[:, None]
        score = (died[:, None] * (mean - x)).sum(dim=0) + 2.0 * u["theta"]
        return {
            "mean": centered.sum(dim=0),
            "variance": (centered**2 - u["variance"]).sum(dim=0),
            "theta": score,
        }

    start = {
        "mean": tensor(X.mean(axis=0)),
        "variance": tensor(X.var(axis=0)),
        "theta": torch.zeros(3, dtype=torch.float64),
    }
    stack = Stack(
        tensor(X),
        start,
        equations,
        lambda u: (u["theta"] / u["variance"].sqrt(), SIGMA**2 * torch.diag(1 / u["variance"])),
    )
    return Case(model, FRAME, OUTCOMES, stack, options={"public_label": True}, in_files=False)


def shaped_behind_a_scaler(
    slope: str,
    labels: Any,
    covariance: Callable[[Tensor, Tensor], Tensor],
    *,
    features: Callable[[Unknowns, Tensor], Tensor] = lambda u, z: z[:, :3],
    **options: Any,
) -> Stack:
    """Return a scaler, a model and its Hessian behind it, all in the pipeline's units; published is in raw ones."""
    found = scaled(slope, labels, 2.0, features=features, **options)

    def hessian(u: Unknowns, z: Tensor) -> Tensor:
        x = ones((features(u, z) - u["mean"]) / u["variance"].sqrt())
        m = x @ u["theta"]
        bend = torch.sigmoid(m) * torch.sigmoid(-m) if slope == "logistic" else torch.ones_like(m)
        return (x * bend[:, None]).T @ x + torch.diag(tensor([2.0, 2.0, 2.0, 0.0]))

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        return {**found.equations(u, z), "hessian": hessian(u, z) - u["hessian"]}

    def release(u: Unknowns) -> tuple[Tensor, Tensor]:
        deviation, one = u["variance"].sqrt(), torch.ones(1, dtype=torch.float64)
        units = torch.diag(torch.cat([1 / deviation, one]))
        units = torch.cat([units[:-1], torch.cat([-u["mean"] / deviation, one])[None]])
        return units @ u["theta"], units @ covariance(u["hessian"], deviation) @ units.T

    start = {**found.start, "hessian": hessian(found.start, found.rows)}
    return Stack(found.rows, start, equations, release, found.private)


@case
def a_shape_behind_a_scaler() -> Case:
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.5, **TIGHT)).fit(FRAME, YES)
    stack = shaped_behind_a_scaler("logistic", YES, lambda hessian, deviation: inverse(hessian))
    return Case(model, FRAME, YES, stack, options={"noise_scale": SHAPED})


@case
def a_balanced_shape_behind_a_scaler() -> Case:
    model = make_pipeline(StandardScaler(), Ridge(alpha=2.0)).fit(FRAME, NUMBER)
    stack = shaped_behind_a_scaler("squared", NUMBER, lambda hessian, deviation: balanced(hessian, deviation))
    shape = Balanced(scale=0.7, floors={"age": 5.0, "dose": 2.0}, share=0.02, balance=0.5)
    return Case(model, FRAME, NUMBER, stack, options={"noise_scale": seepage.release.GaussianNoise(shape=shape)})


@case
def a_shape_behind_means_that_fill_cells_and_a_scaler() -> Case:
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.5, **TIGHT)).fit(HOLED, YES)
    stack = shaped_behind_a_scaler(
        "logistic",
        YES,
        lambda hessian, deviation: inverse(hessian),
        features=with_means,
        extra=means_of_what_is_there,
        more={"fill": tensor(HOLED.mean())},
        **filled(),
    )
    return Case(model, HOLED, YES, stack, options={"noise_scale": SHAPED}, in_files=False)


@case
def a_shape_behind_means_that_fill_cells() -> Case:
    model = make_pipeline(SimpleImputer(), LogisticRegression(C=0.5, **TIGHT)).fit(HOLED, YES)
    given = filled()
    found = coefficients("logistic", YES, 2.0, rows=given["rows"])
    hessian = hessian_of("logistic", 3, 2.0, lambda z: z[:, :3])

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        inner = torch.cat([with_means(u, z), z[:, 3:]], dim=1)
        return {
            **means_of_what_is_there(u, z),
            **found.equations(u, inner),
            "hessian": hessian(u, inner) - u["hessian"],
        }

    start = {"fill": tensor(HOLED.mean()), **found.start}
    inner = torch.cat([with_means(start, found.rows), found.rows[:, 3:]], dim=1)
    start["hessian"] = hessian(start, inner)
    stack = Stack(
        found.rows, start, equations, lambda u: (u["beta"].reshape(-1), inverse(u["hessian"])), given["private"]
    )
    return Case(model, HOLED, YES, stack, options={"noise_scale": SHAPED}, in_files=False)


@case
def a_shape_behind_a_bend_with_a_loss_that_bends() -> Case:
    squared = make_column_transformer(("passthrough", NAMES), (FunctionTransformer(np.square), ["age"]))

    def features(z: Tensor) -> Tensor:
        return torch.cat([z[:, :3], z[:, :1] ** 2], dim=1)

    stack = shaped("logistic", YES, 2.0, inverse, features=features, width=4)
    model = make_pipeline(squared, LogisticRegression(C=0.5, **TIGHT)).fit(FRAME, YES)
    return Case(model, FRAME, YES, stack, options={"noise_scale": SHAPED})


@case
def a_negative_binomial_with_its_alpha_behind_a_scaler() -> Case:
    counts = np.random.default_rng(2).negative_binomial(1.5, 1.5 / (1.5 + np.exp(0.4 * X[:, 0] + 0.05 * X[:, 1] - 0.5)))
    glm = seepage.models.GLM(family="negative binomial", parameter=None, penalty=0.5)
    model = make_pipeline(StandardScaler(), glm).fit(FRAME, counts.astype(float))
    found = scaled("squared", counts, 0.5)

    def equations(u: Unknowns, z: Tensor) -> Unknowns:
        centered = z[:, :3] - u["mean"]
        x, y, alpha = ones(centered / u["variance"].sqrt()), z[:, 3], u["alpha"]
        mean, size = torch.exp(x @ u["theta"]), 1 / alpha
        by_size = torch.digamma(size + y) - torch.digamma(size) - torch.log1p(mean / size) + (mean - y) / (size + mean)
        return {
            **{name: each for name, each in found.equations(u, z).items() if name != "theta"},
            "theta": x.T @ ((mean - y) / (1 + alpha * mean)) + tensor([0.5, 0.5, 0.5, 0.0]) * u["theta"],
            "alpha": (size**2 * by_size).sum().reshape(1),
        }

    def release(u: Unknowns) -> tuple[Tensor, Tensor]:
        mean, covariance = found.release(u)
        return torch.cat([mean, u["alpha"]]), torch.block_diag(covariance, white(1))

    fitted = model[-1]
    start = {
        **found.start,
        "theta": tensor([*fitted.coef_, fitted.intercept_]),
        "alpha": tensor([fitted.parameter_]),
    }
    stack = Stack(found.rows, start, equations, release)
    return Case(model, FRAME, counts.astype(float), stack, in_files=False)


@pytest.mark.parametrize("name", CASES)
def test_every_number_is_that_of_the_stack(name: str) -> None:
    found = CASES[name]()
    leak = found.measured()
    _compare(found, leak.examples, leak.attributes)
    if found.stack.private is None:
        assert leak.joint(CHOSEN) == pytest.approx(found.stack.joint(CHOSEN), rel=1e-7)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name]().in_files])
def test_over_files_too(name: str, tmp_path: Any) -> None:
    found = CASES[name]()
    data = tmp_path / "data"
    data.mkdir()
    for part in range(3):
        found.X.assign(outcome=found.y)[part::3].to_parquet(data / f"{part}.parquet")
    order = np.concatenate([np.arange(N)[part::3] for part in range(3)])
    options = {
        "noise_scale": SIGMA,
        "target": "outcome",
        "job": seepage.engines.Job(output=tmp_path / "out"),
        **found.options,
    }
    leak = seepage.measure(found.model, str(data), **options)
    examples, attributes = (each.to_table().to_pandas() for each in (leak.examples, leak.attributes))
    _compare(found, examples, attributes.drop(columns=["id"], errors="ignore"), order)


def _compare(found: Case, examples: Any, attributes: Any, order: Any = slice(None)) -> None:
    stack, columns = found.stack, dict(found.columns)
    np.testing.assert_allclose(examples["eta"], stack.eta()[order], rtol=2e-8)
    np.testing.assert_allclose(examples["dfil"], stack.dfil()[order], rtol=2e-8)
    ends = max(max(each) for each in columns.values()) + 1
    if ends < stack.rows.shape[1]:
        columns[attributes.columns[-1]] = list(range(ends, stack.rows.shape[1]))
    for name, where in columns.items():
        expected = stack.eta(where)
        if stack.private is not None:
            expected = np.where(stack.private[:, where[0]].numpy(), expected, np.nan)
        np.testing.assert_allclose(attributes[name], expected[order], rtol=2e-8)


def apart(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    """Return how far apart two Gaussians are: the root of eight times their Bhattacharyya distance."""
    middle, gap = (one[1] + other[1]) / 2, other[0] - one[0]
    sizes = [np.linalg.slogdet(each)[1] for each in (middle, one[1], other[1])]
    return float(np.sqrt(gap @ np.linalg.solve(middle, gap) + 4 * sizes[0] - 2 * sizes[1] - 2 * sizes[2]))


FLAGGED = FRAME.assign(time=(FRAME["time"] > 2).astype(float))
COUNTS = np.random.default_rng(2).negative_binomial(1.5, 1.5 / (1.5 + np.exp(0.4 * X[:, 0] - 0.5))).astype(float)


def counting(rows: pd.DataFrame) -> Any:
    glm = seepage.models.GLM(family="negative binomial", parameter=None, penalty=0.5)
    return make_pipeline(StandardScaler(), glm).fit(rows, COUNTS)


def counted(model: Any) -> tuple[np.ndarray, np.ndarray]:
    scaler, glm = model
    units = np.diag(np.r_[1 / scaler.scale_, 1.0, 1.0])
    units[3, :3] = -scaler.mean_ / scaler.scale_
    return units @ np.r_[glm.coef_, glm.intercept_, glm.parameter_], SIGMA**2 * units @ units.T


def waiting(standardized: bool) -> Callable[[pd.DataFrame], Any]:
    def fit(rows: pd.DataFrame) -> Any:
        cox = seepage.models.Cox(penalty=2.0, standardized=standardized)
        return make_pipeline(StandardScaler(with_mean=False), cox).fit(rows, OUTCOMES)

    return fit


def waited(model: Any) -> tuple[np.ndarray, np.ndarray]:
    scaler, cox = model
    units = np.diag(1 / scaler.scale_)
    return units @ cox.coef_, SIGMA**2 * units @ units.T


@pytest.mark.parametrize("noise", [SIGMA, "covariance"])
@pytest.mark.parametrize(
    ("fit", "published", "labels"),
    [(counting, counted, COUNTS), (waiting(False), waited, OUTCOMES), (waiting(True), waited, OUTCOMES)],
    ids=["negative binomial", "Cox", "Cox with a standardized penalty"],
)
def test_two_releases_are_as_far_apart_as_two_fits_of_the_whole_procedure(
    fit: Any, published: Any, labels: Any, noise: Any
) -> None:
    model = fit(FLAGGED)
    truth = published(model)
    given = noise if noise == SIGMA else seepage.release.GaussianNoise(covariance=SIGMA**2 * np.eye(len(truth[0])))
    found = seepage.measure(model, FLAGGED, labels, noise_scale=given).information.distances("time", [0.0, 1.0])
    for person in range(0, N, 9):
        other = FLAGGED.copy()
        other.loc[person, "time"] = 1 - other.loc[person, "time"]
        other_value = int(other.loc[person, "time"])
        assert length(found, person, other_value) == pytest.approx(apart(truth, published(fit(other))), rel=1e-7)
