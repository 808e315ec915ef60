"""How good a model stays as its leakage goes down."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier, SGDRegressor
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline

from seepage import pages
from seepage._noise import GaussianNoise
from seepage._tables import Array, Column, Data, Frame, Listed, Model, Table, column_values, default_library, frame
from seepage.display import FrontierDisplay
from seepage.errors import InputError, PolicyError, UnansweredError, UnsupportedError
from seepage.leakage import Leakage
from seepage.linear import measure
from seepage.linear.columns import split
from seepage.linear.information import Fit, Noised
from seepage.linear.objective import check_known
from seepage.linear.survival import is_survival
from seepage.meaning import success_rate
from seepage.release._copy import bare_copy, last_step, set_parameters
from seepage.release._policy import Policy
from seepage.release._shaping import Named, shaped_noise
from seepage.release._suggest import STEPS

Scoring = str | Callable[..., float] | None
"""How models are scored, as scikit-learn takes it."""


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """What accuracy is left at which leakage.

    The frame holds the floor of the most exposed people, which is a value about them: it helps to choose a noise scale
    and a penalty, and is not for publication.

    Attributes
    ----------
    frame : data frame
        One row for each penalty, shape (if shapes were asked for) and noise: `penalty`, `shape`, `standard_errors` or
        `noise_scale`, the floor (`error_floor`, or `success_rate` of a category), the mean `score` of the noisy model
        on the test data, the interval `score_low` to `score_high` that holds a single draw with the stated confidence,
        and the `exact_score` without noise.
    attribute : str or None
        The attribute that the floor is about; None for any direction of a person's values.
    metric : str
        What the score is.
    quantile : float
        The share of people for whom the floor holds.
    confidence : float
        The share of draws that the interval covers.
    """

    frame: Frame
    attribute: str | None
    metric: str
    quantile: float
    confidence: float

    def __repr__(self) -> str:
        return (
            f"Frontier({len(self.frame)} settings, {self.metric} against the floor of {self.attribute or 'anything'})"
        )

    def _repr_html_(self) -> str:
        floor = "any value" if self.attribute is None else self.attribute
        settings = Table.of(self.frame)
        columns = [[f"{value:.4g}" for value in settings.column(name)] for name in settings.names]
        caption = f"{self.metric} against the floor of {floor}, for each setting"
        heads = [name.replace("_", " ") for name in settings.names]
        table = pages.Grid.of(caption, heads, zip(*columns, strict=True))
        return pages.snippet(pages.Document("Frontier", "", (pages.Section("Settings", tables=(table,)),)))

    def plot(self, ax: Any = None) -> FrontierDisplay:
        """Draw score against floor, one line for each penalty, with the interval of a single draw as a band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        display = FrontierDisplay.from_frame(
            self.frame,
            attribute=self.attribute,
            metric=self.metric,
            quantile=self.quantile,
            confidence=self.confidence,
        )
        return display.plot(ax)


def frontier(
    model: Model,
    X: Data,
    y: Listed,
    X_test: Data,
    y_test: Listed,
    *,
    standard_errors: ArrayLike = STEPS,
    noise_scales: ArrayLike | None = None,
    penalties: ArrayLike | None = None,
    shapes: Sequence[Named] | None = None,
    draws: int = 100,
    scoring: Scoring = None,
    attribute: str | None = None,
    quantile: float = 1.0,
    sample_weight: ArrayLike | None = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
    public_preprocessing: Sequence[str] = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> Frontier:
    """Return how well a noisy model does on test data, against how well it hides the people it was fitted on.

    The model is measured once for each penalty, and its floors follow for every noise. That noise comes from NumPy
    with a seed, the same draws for every setting: nothing of it is published.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model of scikit-learn, alone or behind affine or smooth preprocessing.
    X, y : array-like
        The data that it was fitted on.
    X_test, y_test : array-like
        Data to score it on, of other people.
    standard_errors : array-like of float, default=(0.1, 0.2, 0.5, 1.0)
        The noises to try, in standard errors of each coefficient.
    noise_scales : array-like of float, optional
        Instead of these, standard deviations of one noise for every coefficient.
    penalties : array-like of float, optional
        The penalties to fit again with, as the factor P of ``|coefficients|^2 / 2`` when losses are summed over rows:
        `alpha` of Ridge, 1/C of LogisticRegression. The model as it is by default.
    shapes : sequence of {"isotropic", "standard errors", "best"}, optional
        The shapes of noise to compare, each at the floors that isotropic noise of `noise_scales` reaches. A floor that
        no noise of a shape reaches has no row.
    draws : int, default=100
        How many noisy copies of each setting are scored.
    scoring : str or callable, optional
        As scikit-learn takes it; the estimator's own score by default (accuracy, or R^2).
    attribute : str, optional
        The attribute that the floor is about; any direction of a person's values by default.
    quantile : float, default=1.0
        The share of people for whom the floor must hold.
    sample_weight : array-like of shape (n,), optional
        The weights that the model was fitted with.
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all that reach the model by default.
    public_preprocessing : sequence of str, default=()
        Steps before the model whose constants the attacker knows, as `seepage.measure` takes them.
    confidence : float, default=0.95
        The share of draws that the interval covers.
    seed : int, default=0
        Of the noise.

    Returns
    -------
    Frontier
        A frame, and a picture with `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> import seepage
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge().fit(X[:300], y[:300])
    >>> found = seepage.release.frontier(
    ...     model, X[:300], y[:300], X[300:], y[300:], penalties=[1, 100], attribute="age"
    ... )
    >>> found
    Frontier(8 settings, r2 against the floor of age)
    >>> found.frame.columns.tolist()
    ['penalty', 'standard_errors', 'error_floor', 'score', 'score_low', 'score_high', 'exact_score']
    """
    if is_survival(model):
        raise UnsupportedError(
            "The frontier of a survival model is not drawn yet. Measure it at a few noises, and hold each beside the "
            "standard errors of its coefficients."
        )
    check_known(split(model)[1])
    if noise_scales is None:
        if shapes is not None:
            raise InputError(
                "shapes are compared at the floors of one noise for every coefficient: give noise_scales=[...] too."
            )
        unit, called, sizes = GaussianNoise(standard_errors=1.0), "standard_errors", standard_errors
    else:
        unit, called, sizes = GaussianNoise(scale=1.0), "noise_scale", noise_scales
    scales = _positive(sizes, "standard_errors" if noise_scales is None else "noise_scales")
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws!r}.")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, not {confidence!r}.")
    tried: Sequence[Named] = ("isotropic",) if shapes is None else shapes
    if isinstance(tried, str) or not tried or any(not isinstance(each, str) for each in tried):
        raise InputError(f'shapes lists names of shapes, such as ["isotropic", "best"], not {type(shapes).__name__}.')
    rows: list[dict[str, float | str]] = []
    for fitted in _fitted(model, X, y, penalties, sample_weight):
        leak = measure(
            fitted,
            X,
            y,
            noise_scale=1.0,
            sample_weight=sample_weight,
            public_label=public_label,
            attributes=attributes,
            public_preprocessing=public_preprocessing,
        )
        fit = Fit.of(fitted, X, y, sample_weight)
        scores = _Scores.of(fitted, fit, leak, X_test, y_test, scoring)
        noise = np.random.default_rng(seed).normal(size=(draws, *scores.exact.shape))
        exact_score = scores.of_draw(np.zeros_like(scores.exact))
        information = _at(leak, unit)
        for scale, shape in product(scales.tolist(), tried):
            floor = _floor(information, attribute, quantile, scale)
            added = (
                information.noise.scaled(scale)
                if shape == "isotropic"
                else _shaped(leak, floor, attribute, quantile, shape)
            )
            if added is None:
                continue
            drawn = np.array([scores.of_draw(added.colored(one)) for one in noise])
            low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
            rows.append(
                {
                    "penalty": float((fit.problem.penalty + fit.problem.absolute)[0, 0]),
                    **({} if shapes is None else {"shape": shape}),
                    called: scale if added.shape is None else added.shape.scale,
                    **floor,
                    "score": float(drawn.mean()),
                    "score_low": float(low),
                    "score_high": float(high),
                    "exact_score": exact_score,
                }
            )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    found = frame(columns, Table.of(X).library or default_library())
    return Frontier(found, attribute, _metric(model, scoring), quantile, confidence)


@dataclass(frozen=True, eq=False)
class _Scores:
    """Scores noisy copies of a model on test data that is preprocessed once."""

    estimator: Model
    exact: Array
    scorer: Callable[..., float]
    features: Data
    labels: Column

    @classmethod
    def of(cls, fitted: Model, fit: Fit, leak: Leakage, X_test: Data, y_test: Listed, scoring: Scoring) -> "_Scores":
        estimator = bare_copy(last_step(fitted), fit.affine.count)
        table = Table.of(X_test, fit.table.names if Table.of(X_test).is_frame else None)
        if len(table.names) != len(fit.table.names):
            raise InputError(f"X_test has {len(table.names)} columns; X has {len(fit.table.names)}.")
        labels = column_values(y_test)
        if len(labels) != len(table) or not len(table):
            raise InputError(f"X_test has {len(table)} rows and y_test {len(labels)}: one label a row is needed.")
        features = fit.rows.reading.features(table.native)
        return cls(estimator, cast(Noised, leak.information).exact, check_scoring(estimator, scoring), features, labels)

    def of_draw(self, noise: Array) -> float:
        set_parameters(self.estimator, self.exact + noise)
        return float(self.scorer(self.estimator, self.features, self.labels))


def _fitted(
    model: Model, X: Data, y: Listed, penalties: ArrayLike | None, sample_weight: ArrayLike | None
) -> Iterator[Model]:
    if penalties is None:
        yield model
        return
    weights = None if sample_weight is None else np.asarray(column_values(sample_weight), dtype=np.float64)
    count = len(Table.of(X))
    total = float(count if weights is None else weights.sum())
    prefix = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    for penalty in _positive(penalties, "penalties").tolist():
        again = clone(model)
        name, value = _strength(last_step(model), penalty, total, count)
        again.set_params(**{prefix + name: value})
        arguments = {} if weights is None else {f"{prefix}sample_weight": weights}
        yield again.fit(X, y, **arguments)


def _strength(estimator: Model, penalty: float, total: float, count: int) -> tuple[str, float]:
    """Return the hyperparameter of an estimator that makes its penalty P."""
    if isinstance(estimator, LogisticRegression):
        return "C", 1.0 / penalty
    if isinstance(estimator, Ridge | RidgeClassifier):
        return "alpha", penalty
    if "alpha" not in estimator.get_params():
        raise UnsupportedError(
            f"{type(estimator).__name__} has no penalty that could be varied. Leave penalties out, or use Ridge."
        )
    # These objectives are means: over rows for stochastic gradients, over weights for generalized linear models.
    return "alpha", penalty / (count if isinstance(estimator, SGDClassifier | SGDRegressor) else total)


def _at(leak: Leakage, noise: GaussianNoise) -> Noised:
    """Return what a release tells with a noise; it was measured with one of scale one."""
    information = cast(Noised, leak.information)
    if noise.scale is not None:
        return information
    try:
        return information.with_noise(noise)
    except (UnsupportedError, UnansweredError) as error:
        raise type(error)(f"{error} Or try one noise for every coefficient: noise_scales=[0.1, 1.0].") from None


def _floor(information: Noised, attribute: str | None, quantile: float, scale: float) -> dict[str, float]:
    """Return the floor of the stated share of people at so many times a noise, or the success rate about a category."""
    policy = Policy(quantile=quantile)
    if attribute in information.categorical:
        distance = policy.achieved(information, "success_rate", attribute, scale)
        return {"success_rate": float(success_rate(distance))}
    eta = policy.achieved(information, "eta", attribute, scale)
    return {"error_floor": 1.0 / eta if eta > 0 else np.inf}


def _shaped(
    leak: Leakage, floor: Mapping[str, float], attribute: str | None, quantile: float, shape: Named
) -> GaussianNoise | None:
    """Return noise of a shape that reaches the floor of isotropic noise; None if there is none."""
    if "success_rate" in floor:
        assert attribute is not None
        # Who is told for certain, or not at all, gives no promise to keep.
        if not 0.5 < floor["success_rate"] < 1.0:
            return None
        policy = Policy(success_rate={attribute: floor["success_rate"]}, quantile=quantile)
    elif attribute is None:
        policy = Policy(eta=1 / floor["error_floor"], quantile=quantile)
    else:
        policy = Policy({attribute: floor["error_floor"]}, quantile=quantile)
    try:
        return shaped_noise(leak, policy, shape, exact=True)
    except PolicyError:
        return None


def _metric(model: Model, scoring: Scoring) -> str:
    if isinstance(scoring, str):
        return scoring
    if scoring is not None:
        return str(getattr(scoring, "__name__", "score"))
    if is_classifier(model):
        return "accuracy"
    return "d2" if hasattr(last_step(model), "_base_loss") else "r2"


def _positive(values: ArrayLike, name: str) -> Array:
    try:
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} must be positive numbers, not {values!r}.") from None
    if array.ndim != 1 or not array.size or not ((array > 0) & np.isfinite(array)).all():
        raise InputError(f"{name} must be one or more positive numbers, not {values!r}.")
    return array
