"""A generalized linear model of any family and link, as an estimator of scikit-learn's kind."""
# mypy: disable-error-code="misc"

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from seepage._errors import InputError, MinimizerError
from seepage._tables import Column, Data, Table
from seepage.linear.objective._dispersed import Dispersed
from seepage.linear.objective._generalized import CANONICAL, Generalized
from seepage.linear.objective._losses import Logistic, Loss, Softmax, Squared, Tweedie, VectorLoss
from seepage.linear.objective._separation import escape_of
from seepage.linear.objective._signs import Smooth, settled_signs
from seepage.linear.objective._sums import newton_sums
from seepage.linear.rows import Batch, Frame

Array = NDArray[np.float64]

_MOST_STEPS = 200
_SETTLED = 1e-12
# An alpha below this is on its way to zero.
_NO_SPREAD = 1e-7
# By the variance, mu + alpha mu^(2 - power).
_POWERS = {"negative binomial": 0.0, "negative binomial 1": 1.0}
# A share of 0 or 1 has no margin to start from.
_FROM_ENDS = 0.1


class GLM(BaseEstimator):
    """A generalized linear model: a family, a link, and perhaps a penalty.

    It is what models of statsmodels are measured and published as, and can be fitted itself.

    Parameters
    ----------
    family : str, default="gaussian"
        "gaussian", "binomial", "multinomial", "poisson", "gamma", "inverse gaussian", "negative binomial" or "tweedie".
        "negative binomial" has a variance of mu + alpha mu^2, and "negative binomial 1", whose alpha is always fitted,
        one of mu + alpha mu. Labels of a binomial model are 0 and 1, or shares of as many trials as `sample_weight`
        says. Of several classes the first has no coefficients, as in statsmodels's MNLogit: the others are compared
        with it.
    link : str, optional
        "identity", "log", "logc", "logit", "probit", "cauchit", "cloglog", "loglog", "power" or "negative binomial";
        the family's own by default.
    parameter : float or None, default=1.0
        The power of a Tweedie family, or alpha of a negative binomial one, which is known; None fits alpha with the
        coefficients.
    link_parameter : float, default=1.0
        The exponent of a power link (-1 for the inverse), or alpha of the negative binomial's own link.
    penalty : float, default=0.0
        The factor on half of each squared coefficient, beside the sum of losses.
    absolute : float, default=0.0
        The factor on the absolute value of each coefficient, which keeps some at zero.
    penalize_intercept : bool, default=False
        Whether the intercept has the same penalties, as in statsmodels's fit_regularized.
    fit_intercept : bool, default=True
        Whether there is an intercept.

    Attributes
    ----------
    coef_ : ndarray of shape (features,), or (classes - 1, features) of several classes
    intercept_ : float, or ndarray of shape (classes - 1,)
    parameter_ : float
        Alpha, if it was fitted.

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
        parameter: float | None = 1.0,
        link_parameter: float = 1.0,
        penalty: float = 0.0,
        absolute: float = 0.0,
        penalize_intercept: bool = False,
        fit_intercept: bool = True,
    ) -> None:
        self.family = family
        self.link = link
        self.parameter = parameter
        self.link_parameter = link_parameter
        self.penalty = penalty
        self.absolute = absolute
        self.penalize_intercept = penalize_intercept
        self.fit_intercept = fit_intercept

    @property
    def loss(self) -> VectorLoss:
        """What it minimizes of each row."""
        if self.family == "multinomial":
            self._check_multinomial()
            return Logistic() if len(self.coef_) == 1 else Softmax(len(self.coef_) + 1)
        if self._fits_alpha:
            return Dispersed(_POWERS[self.family])
        general = self._general
        powers: Mapping[str, float] = {
            "poisson": 1.0,
            "gamma": 2.0,
            "tweedie": general.parameter,
            "inverse gaussian": 3.0,
        }
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
        if self.family in ("multinomial", "negative binomial 1"):
            return ("logit" if self.family == "multinomial" else "log"), 1.0
        if self.link is None:
            return CANONICAL.get(self.family, ("identity", 1.0))
        return self.link, float(self.link_parameter)

    @property
    def _general(self) -> Generalized:
        if self._fits_alpha:
            # Whatever alpha is, the mean is that of a Poisson count.
            return Generalized("poisson", "log")
        return Generalized(self.family, self.named_link[0], float(self.parameter or 0.0), self.named_link[1])

    @property
    def _fits_alpha(self) -> bool:
        if self.parameter is not None and self.family != "negative binomial 1":
            return False
        if self.family not in _POWERS or self.link not in (None, "log") or self.absolute:
            raise InputError(
                "parameter=None fits alpha of a negative binomial model with the log link and no penalty on absolute "
                f"values, not of a {self.family!r} one with link={self.link!r} and absolute={self.absolute!r}."
            )
        return True

    def fit(
        self, X: Data, y: ArrayLike, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None
    ) -> Self:
        """Fit by iteratively reweighted least squares, with Newton's own weights at the end.

        Parameters
        ----------
        X : array-like of shape (n, features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        offset : array-like of shape (n,), optional
            What is added to the margin of each row, such as the logarithm of an exposure.
        """
        names, rows = getattr(X, "columns", None), np.asarray(X, dtype=np.float64)
        weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if self.family == "multinomial":
            if offset is not None:
                raise InputError("A multinomial model has several margins, and no offset: leave it out.")
            self._fit_classes(rows, np.asarray(y), weights, names)
            return self
        added = np.zeros(len(rows)) if offset is None else np.asarray(offset, dtype=np.float64)
        labels, general = np.asarray(y, dtype=np.float64), self._general
        design = np.column_stack([rows, np.ones(len(rows))]) if self.fit_intercept else rows
        each = np.ones(design.shape[1])
        if self.fit_intercept and not self.penalize_intercept:
            each[-1] = 0.0
        penalty, absolute = float(self.penalty) * each, float(self.absolute) * each
        given = _Rows(design, labels, weights, added)
        if self.absolute:
            theta = _with_kinks(general, given, penalty, absolute)
        else:
            found = _minimized(general, self.loss if isinstance(self.loss, Loss) else general, given, penalty)
            if found is None:
                called = [str(name) for name in names] if names is not None else [f"x{i}" for i in range(rows.shape[1])]
                raise _nothing_found(
                    general, Batch(rows, labels[:, None], weights, self.fit_intercept), penalty, called
                )
            theta = found
        if self._fits_alpha:
            theta, self.parameter_ = _with_alpha(Dispersed(_POWERS[self.family]), given, penalty, theta)
        self.coef_ = theta[: rows.shape[1]]
        self.intercept_: float | Array = float(theta[-1]) if self.fit_intercept else 0.0
        self.n_features_in_ = rows.shape[1]
        if names is not None:
            self.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
        if self.family == "binomial" and np.isin(labels, (0.0, 1.0)).all():
            self.classes_ = np.unique(np.asarray(y))
            if len(self.classes_) < 2:
                raise InputError(f"A binomial model needs labels of 0 and of 1; all are {self.classes_.tolist()[0]!r}.")
        return self

    def predict(self, X: Data, offset: ArrayLike | None = None) -> Array:
        """Return the mean of each row, or the share of each class; what is added to its margin is zero by default."""
        check_is_fitted(self)
        # Columns by their names: a frame may have them in another order, and others besides.
        rows = Table.of(X, getattr(self, "feature_names_in_", None)).native
        coefficients = np.ravel(self.coef_) if self.family != "multinomial" else np.asarray(self.coef_).T
        margins = np.asarray(rows, dtype=np.float64) @ coefficients + np.ravel(self.intercept_)
        if self.family == "multinomial":
            return np.asarray(softmax(np.column_stack([np.zeros(len(margins)), margins]), axis=1))
        return self._general.mean(margins if offset is None else margins + np.asarray(offset, dtype=np.float64))

    def _check_multinomial(self) -> None:
        if self.link not in (None, "logit") or self.penalty or self.absolute:
            raise InputError(
                f"A multinomial model has the logit link and no penalty, not link={self.link!r} and "
                f"penalty={self.penalty!r}. With a penalty, fit LogisticRegression."
            )

    def _fit_classes(self, rows: Array, y: Column, weights: Array, names: Iterable[object] | None) -> None:
        self._check_multinomial()
        self.classes_, own = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"A multinomial model needs two classes; all labels are {self.classes_.tolist()[0]!r}.")
        theta = _of_classes(Batch(rows, Softmax(len(self.classes_)).basis[own], weights, self.fit_intercept))
        self.n_features_in_ = rows.shape[1]
        self.coef_ = theta[: rows.shape[1]].T
        self.intercept_ = theta[-1] if self.fit_intercept else np.zeros(len(self.coef_))
        if names is not None:
            self.feature_names_in_ = np.array([str(name) for name in names], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


class _Rows(NamedTuple):
    """What a model is fitted on."""

    design: Array
    y: Array
    weights: Array
    offset: Array

    def margins(self, theta: Array) -> Array:
        """Return those of some parameters."""
        return np.asarray(self.design @ theta + self.offset)


def _minimized(general: Generalized, loss: Loss, rows: _Rows, penalty: Array) -> Array | None:
    """Return the minimizer by Newton's steps, from where the means are near the labels; None if none is found."""
    theta = _start(general, rows, penalty)
    design, y, weights, _ = rows

    def value(at: Array) -> float:
        return float(weights @ loss.loss(rows.margins(at), y) + 0.5 * penalty @ at**2)

    here = value(theta)
    for _ in range(_MOST_STEPS):
        m = rows.margins(theta)
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


def _with_kinks(loss: Generalized, rows: _Rows, penalty: Array, absolute: Array) -> Array:
    """Return the minimizer under a penalty on absolute values, its zeros exact."""
    design, y, weights, _ = rows

    def smooth(theta: Array) -> Smooth:
        m = rows.margins(theta)
        value = float(weights @ loss.loss(m, y) + 0.5 * penalty @ theta**2)
        gradient = design.T @ (weights * loss.slope(m, y)) + penalty * theta
        hessian = design.T @ (design * (weights * loss.curvature(m, y))[:, None]) + np.diag(penalty)
        return Smooth(value, gradient, hessian)

    theta = settled_signs(smooth, absolute, _start(loss, rows, penalty), quadratic=False)
    if theta is not None:
        at = np.flatnonzero((theta != 0) | (absolute == 0))
        for _ in range(_MOST_STEPS):
            here = smooth(theta)
            pull = here.gradient[at] + absolute[at] * np.sign(theta[at])
            step = np.linalg.lstsq(here.hessian[np.ix_(at, at)], pull, rcond=None)[0]
            theta[at] -= step
            if np.abs(step).max(initial=0.0) <= _SETTLED * (1 + np.abs(theta).max()):
                return theta
    raise MinimizerError(
        f"No minimizer of the {loss.family} model with the {loss.link} link was found under this penalty: scale the "
        "columns, and fit again."
    )


def _with_alpha(loss: Dispersed, rows: _Rows, penalty: Array, theta: Array) -> tuple[Array, float]:
    """Return coefficients and alpha that minimize together, from those of a Poisson model."""
    design, y, weights, _ = rows
    labels, count = y[:, None], len(theta)
    means = np.exp(rows.margins(theta))
    spare = float(weights @ ((y - means) ** 2 - means) / (weights @ means ** (2 - loss.power)))
    here = np.append(theta, min(max(spare, 0.05), 10.0))
    held = np.append(penalty, 0.0)

    def margins(at: Array) -> Array:
        return np.column_stack([rows.margins(at[:count]), np.full(len(y), at[-1])])

    def value(at: Array) -> float:
        return float(weights @ loss.value(margins(at), labels) + 0.5 * held @ at**2)

    now = value(here)
    for _ in range(_MOST_STEPS):
        found = loss.derivatives(margins(here), labels)
        slope, bent = weights[:, None] * found.slope, weights[:, None, None] * found.curvature
        gradient = np.append(design.T @ slope[:, 0], slope[:, 1].sum()) + held * here
        hessian = np.empty((count + 1, count + 1))
        hessian[:-1, :-1] = design.T @ (design * bent[:, [0], 0])
        hessian[-1, :-1] = hessian[:-1, -1] = design.T @ bent[:, 0, 1]
        hessian[-1, -1] = bent[:, 1, 1].sum()
        hessian += np.diag(held)
        # Where it bends down, a step goes down all the same.
        values, vectors = np.linalg.eigh(hessian)
        step = -vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), 1e-12 * np.abs(values).max()))
        while np.abs(step).max() > 1e-300 and not value(here + step) <= now + 1e-12 * abs(now):
            step = 0.5 * step
        here = here + step
        now = value(here)
        if here[-1] < _NO_SPREAD:
            break
        if np.abs(step).max() <= _SETTLED * (1 + np.abs(here).max()) and values[0] > 0:
            return here[:-1], float(here[-1])
    raise MinimizerError(
        "No alpha above zero was found that fits these counts together with their means: they vary no more than "
        "Poisson counts do, or their columns are collinear. Fit the Poisson family, or an alpha that is known."
    )


def _of_classes(rows: Batch) -> Array:
    """Return the coefficients of each class but the first, shape (p, classes - 1)."""
    loss = Softmax(rows.labels.shape[1] + 1)
    theta = np.zeros((rows.width, loss.outputs))
    here = newton_sums(rows, loss, theta, Frame())
    for _ in range(_MOST_STEPS):
        try:
            flat = np.asarray(np.linalg.solve(here.hessian, here.gradient.T.ravel()), dtype=np.float64)
        except np.linalg.LinAlgError:
            break
        step = -flat.reshape(theta.T.shape).T
        moved = newton_sums(rows, loss, theta + step, Frame())
        while np.abs(step).max() > 1e-300 and not moved.value <= here.value + 1e-9 * abs(here.value):
            step = 0.5 * step
            moved = newton_sums(rows, loss, theta + step, Frame())
        theta, here = theta + step, moved
        if np.abs(rows.project(step)).max() <= _SETTLED * (1 + np.abs(rows.project(theta)).max()):
            return np.asarray(theta @ (loss.basis[1:] - loss.basis[0]).T)
    raise MinimizerError(
        "No minimizer of the multinomial model was found on this data: its columns may be collinear, or some "
        "combination of them tells a class apart. Drop columns, or fit LogisticRegression with a penalty."
    )


def _start(loss: Generalized, rows: _Rows, penalty: Array) -> Array:
    """Return parameters whose means are inside the family, by least squares on margins near those of the labels."""
    design, y, weights, offset = rows
    middle = float(weights @ y / weights.sum())
    if loss.family == "binomial":
        means = (1 - _FROM_ENDS) * np.clip(y, 0, 1) + _FROM_ENDS * middle
    elif loss.family == "gaussian":
        means = y
    else:
        means = 0.5 * (y + middle)
    for share in (0.0, 0.5, 0.9, 0.99, 1.0):
        margins = _margin(loss, (1 - share) * means + share * middle) - offset
        gram = design.T @ (design * weights[:, None]) + np.diag(penalty)
        theta = np.asarray(np.linalg.lstsq(gram, design.T @ (weights * margins), rcond=None)[0], dtype=np.float64)
        if np.isfinite(loss.loss(rows.margins(theta), y)).all():
            return theta
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
