"""A generalized linear model of any family and link, as an estimator of scikit-learn's kind."""
# mypy: disable-error-code="misc"

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from seepage._errors import InputError, MinimizerError
from seepage._tables import Data, Table
from seepage.linear.objective._generalized import CANONICAL, Generalized
from seepage.linear.objective._losses import Logistic, Loss, Squared, Tweedie
from seepage.linear.objective._separation import escape_of
from seepage.linear.rows import Batch, Frame

Array = NDArray[np.float64]

_MOST_STEPS = 200
_SETTLED = 1e-12
# A share of 0 or 1 has no margin to start from.
_FROM_ENDS = 0.1


class GLM(BaseEstimator):
    """A generalized linear model: a family, a link, and perhaps a penalty.

    It is what models of statsmodels are measured and published as, and can be fitted itself.

    Parameters
    ----------
    family : str, default="gaussian"
        "gaussian", "binomial", "poisson", "gamma", "inverse gaussian", "negative binomial" or "tweedie". Labels of a
        binomial model are 0 and 1, or shares of as many trials as `sample_weight` says.
    link : str, optional
        "identity", "log", "logc", "logit", "probit", "cauchit", "cloglog", "loglog", "power" or "negative binomial";
        the family's own by default.
    parameter : float, default=1.0
        The power of a Tweedie family, or alpha of a negative binomial one, which is known and not fitted.
    link_parameter : float, default=1.0
        The exponent of a power link (-1 for the inverse), or alpha of the negative binomial's own link.
    penalty : float, default=0.0
        The factor on half of each squared coefficient, beside the sum of losses; the intercept has none.
    fit_intercept : bool, default=True
        Whether there is an intercept.

    Attributes
    ----------
    coef_ : ndarray of shape (features,)
    intercept_ : float

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = seepage.GLM("gamma", "log").fit(X, y)
    >>> seepage.measure(model, X, y, noise_scale=0.01)
    Leakage(442 people, 11 private attributes, exact)
    """

    def __init__(
        self,
        family: str = "gaussian",
        link: str | None = None,
        *,
        parameter: float = 1.0,
        link_parameter: float = 1.0,
        penalty: float = 0.0,
        fit_intercept: bool = True,
    ) -> None:
        self.family = family
        self.link = link
        self.parameter = parameter
        self.link_parameter = link_parameter
        self.penalty = penalty
        self.fit_intercept = fit_intercept

    @property
    def loss(self) -> Loss:
        """What it minimizes of each row."""
        general = self._general
        powers: Mapping[str, float] = {"poisson": 1.0, "gamma": 2.0, "tweedie": self.parameter, "inverse gaussian": 3.0}
        if (general.family, general.link) == ("gaussian", "identity"):
            return Squared()
        if (general.family, general.link) == ("binomial", "logit"):
            return Logistic()
        if general.link == "log" and general.family in powers:
            return Tweedie(powers[general.family])
        return general

    @property
    def named_link(self) -> tuple[str, float]:
        """The link with its parameter; the family's own if none was given."""
        if self.link is None:
            return CANONICAL.get(self.family, ("identity", 1.0))
        return self.link, float(self.link_parameter)

    @property
    def _general(self) -> Generalized:
        return Generalized(self.family, self.named_link[0], float(self.parameter), self.named_link[1])

    def fit(self, X: Data, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit by iteratively reweighted least squares, with Newton's own weights at the end.

        Parameters
        ----------
        X : array-like of shape (n, features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        """
        names = getattr(X, "columns", None)
        rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        general = self._general
        design = np.column_stack([rows, np.ones(len(rows))]) if self.fit_intercept else rows
        penalty = np.full(design.shape[1], float(self.penalty))
        if self.fit_intercept:
            penalty[-1] = 0.0
        theta = _minimized(general, self.loss, design, labels, weights, penalty)
        if theta is None:
            called = [str(name) for name in names] if names is not None else [f"x{i}" for i in range(rows.shape[1])]
            raise _nothing_found(general, Batch(rows, labels[:, None], weights, self.fit_intercept), penalty, called)
        self.coef_ = theta[: rows.shape[1]]
        self.intercept_ = float(theta[-1]) if self.fit_intercept else 0.0
        self.n_features_in_ = rows.shape[1]
        if names is not None:
            self.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
        if self.family == "binomial" and np.isin(labels, (0.0, 1.0)).all():
            self.classes_ = np.unique(np.asarray(y))
            if len(self.classes_) < 2:
                raise InputError(f"A binomial model needs labels of 0 and of 1; all are {self.classes_.tolist()[0]!r}.")
        return self

    def predict(self, X: Data) -> Array:
        """Return the mean of each row."""
        check_is_fitted(self)
        # Columns by their names: a frame may have them in another order, and others besides.
        rows = Table.of(X, getattr(self, "feature_names_in_", None)).native
        margins = np.asarray(rows, dtype=np.float64) @ np.ravel(self.coef_) + np.ravel(self.intercept_)
        return self._general.mean(margins)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


def _minimized(
    general: Generalized, loss: Loss, design: Array, y: Array, weights: Array, penalty: Array
) -> Array | None:
    """Return the minimizer by Newton's steps, from where the means are near the labels; None if none is found."""
    theta = _start(general, design, y, weights, penalty)

    def value(at: Array) -> float:
        return float(weights @ loss.loss(design @ at, y) + 0.5 * penalty @ at**2)

    here = value(theta)
    for _ in range(_MOST_STEPS):
        m = design @ theta
        gradient = design.T @ (weights * loss.slope(m, y)) + penalty * theta
        bent = weights * loss.curvature(m, y)
        step = _newton(design, bent, penalty, gradient)
        if step is None or float(step @ gradient) > 0:
            # Far from the minimizer the curvature may be negative: the expected one is not.
            expected = weights * loss.curvature(m, general.mean(m))
            step = _newton(design, expected, penalty, gradient)
        if step is None:
            return None
        settled = np.abs(design @ step).max() <= _SETTLED * (1 + np.abs(m).max())
        while np.abs(step).max() > 1e-300 and not value(theta + step) <= here + 1e-9 * abs(here):
            step = 0.5 * step
        theta = theta + step
        here = value(theta)
        if settled:
            return theta
    return None


def _nothing_found(loss: Generalized, rows: Batch, penalty: Array, names: Sequence[str]) -> MinimizerError:
    """Say why there is no minimizer, as far as that is known."""
    escape = escape_of(
        loss,
        (penalty == 0)[:, None],
        lambda of: of(rows),
        Frame.around(rows) if rows.intercept else Frame(),
        groups=[np.array([i]) for i in range(len(names))],
    )
    if escape is not None:
        return escape.error([*names, "(intercept)"], "GLM")
    return MinimizerError(
        f"No minimizer of the {loss.family} model with the {loss.link} link was found on this data: its columns may be "
        "collinear, or some combination of them tells all labels apart. Drop columns, or add a penalty."
    )


def _start(loss: Generalized, design: Array, y: Array, weights: Array, penalty: Array) -> Array:
    """Return parameters whose means are inside the family, by least squares on margins near those of the labels."""
    middle = float(weights @ y / weights.sum())
    if loss.family == "binomial":
        means = (1 - _FROM_ENDS) * np.clip(y, 0, 1) + _FROM_ENDS * middle
    elif loss.family == "gaussian":
        means = y
    else:
        means = 0.5 * (y + middle)
    for share in (0.0, 0.5, 0.9, 0.99, 1.0):
        margins = _margin(loss, (1 - share) * means + share * middle)
        gram = design.T @ (design * weights[:, None]) + np.diag(penalty)
        theta = np.linalg.lstsq(gram, design.T @ (weights * margins), rcond=None)[0]
        if np.isfinite(loss.loss(design @ theta, y)).all():
            return np.asarray(theta)
    raise MinimizerError(
        f"No start inside the {loss.family} family with the {loss.link} link was found: without an intercept means may "
        "leave it. Fit with an intercept, or with another link."
    )


def _margin(loss: Generalized, means: Array) -> Array:
    """Return the margins of some means, by halving: links are monotone."""
    span = {"power": (1e-12, 1e12), "negative binomial": (-60.0, -1e-12), "logc": (-60.0, -1e-12)}
    low, high = (np.full_like(means, each) for each in span.get(loss.link, (-1e9, 1e9)))
    if loss.link in ("log", "logit", "probit", "cloglog", "loglog"):
        low, high = np.full_like(means, -60.0), np.full_like(means, 60.0)
    rising = bool(loss.mean(high[:1])[0] > loss.mean(low[:1])[0])
    for _ in range(200):
        middle = np.sqrt(low * high) if loss.link == "power" else 0.5 * (low + high)
        above = (loss.mean(middle) > means) == rising
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(0.5 * (low + high))


def _newton(design: Array, bent: Array, penalty: Array, gradient: Array) -> Array | None:
    hessian = design.T @ (design * bent[:, None]) + np.diag(penalty)
    try:
        np.linalg.cholesky(hessian)
        return np.asarray(-np.linalg.solve(hessian, gradient))
    except np.linalg.LinAlgError:
        return None
