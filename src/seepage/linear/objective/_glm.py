"""A generalized linear model of any family and link, as an estimator of scikit-learn's kind."""
# mypy: disable-error-code="misc"

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from seepage._python import Self
from seepage._tables import Column, Data, Table
from seepage.errors import InputError, MinimizerError
from seepage.linear.objective._absolute import minimum_absolute
from seepage.linear.objective._likelihoods import CANONICAL, Likelihood, NegativeBinomial
from seepage.linear.objective._losses import Logistic, Loss, NewtonSums, Softmax, Squared, newton_sums
from seepage.linear.objective._minimizer import Minimizer, Problem, minimize
from seepage.linear.objective._separation import escape_of, no_minimizer
from seepage.linear.rows import Batch, Frame, Labels

Array = NDArray[np.float64]

# An alpha below this is on its way to zero.
_NO_SPREAD = 1e-7
# Links whose log(mu) and log(1 - mu) are both concave.
_CONCAVE = ("identity", "log", "logc", "logit", "probit", "cloglog", "loglog")
# By the variance, mu + alpha mu^(2 - power).
_POWERS = {"negative binomial": 0.0, "negative binomial 1": 1.0}
# How far from the labels to start, toward their mean: a label at an end of what means can be has no margin.
_FROM_LABELS = (0.1, 0.5, 0.9, 0.99, 1.0, 0.0)


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
    >>> model = seepage.models.GLM("gamma", "log").fit(X, y)
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
    def loss(self) -> Loss:
        """What it minimizes of each row."""
        if self.family == "multinomial":
            self._check_multinomial()
            return Logistic() if len(self.coef_) == 1 else Softmax(len(self.coef_) + 1)
        if self._fits_alpha:
            return NegativeBinomial(_POWERS[self.family])
        general = self._general
        if (general.family, general.link) == ("gaussian", "identity"):
            return Squared()
        if (general.family, general.link) == ("binomial", "logit"):
            return Logistic()
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
    def _general(self) -> Likelihood:
        if self._fits_alpha:
            # Whatever alpha is, the mean is that of a Poisson count.
            return Likelihood("poisson", "log")
        return Likelihood(self.family, self.named_link[0], float(self.parameter or 0.0), self.named_link[1])

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
        """Fit by Newton's steps, from several starts where a loss may have several minima.

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
        called = [f"x{i}" for i in range(rows.shape[1])] if names is None else [str(name) for name in names]
        if self.fit_intercept:
            called.append("(intercept)")
        if self.family == "multinomial":
            if offset is not None:
                raise InputError("A multinomial model has several margins, and no offset: leave it out.")
            self._fit_classes(rows, np.asarray(y), weights, called)
        else:
            added = None if offset is None else np.asarray(offset, dtype=np.float64)
            labels = np.asarray(y, dtype=np.float64)
            self._fit_labels(Batch(rows, labels[:, None], weights, self.fit_intercept, offset=added), called)
            if self.family == "binomial" and np.isin(labels, (0.0, 1.0)).all():
                self.classes_ = np.unique(np.asarray(y))
                if len(self.classes_) < 2:
                    only = self.classes_.tolist()[0]
                    raise InputError(f"A binomial model needs labels of 0 and of 1; all are {only!r}.")
        self.n_features_in_ = rows.shape[1]
        if names is not None:
            self.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
        return self

    def _fit_labels(self, rows: Batch, names: list[str]) -> None:
        each = np.ones((rows.width, 1))
        if self.fit_intercept and not self.penalize_intercept:
            each[-1] = 0.0
        general, penalty, absolute = self._general, float(self.penalty) * each, float(self.absolute) * each
        loss = general if self._fits_alpha else self.loss
        convex = loss.quadratic or loss.self_concordant or (general.family == "binomial" and general.link in _CONCAVE)

        def value(theta: Array) -> float:
            sums = newton_sums(rows, loss, theta, Frame())
            return sums.value + float((0.5 * penalty * theta**2 + absolute * np.abs(theta)).sum())

        theta: Array | None = None
        for start in _starts(general, rows, penalty[:, 0]):
            scored: Array | None = None
            if not self.absolute:
                # Far from the minimizer the curvature may be negative: the expected one is not.
                scored = _minimizer(replace(general, expected=True), rows, start, names, penalty=penalty)
            begin = start if scored is None else scored
            found = _minimizer(loss, rows, begin, names, penalty=penalty, absolute=absolute)
            if found is not None and (theta is None or value(found) < value(theta)):
                theta = found
            if theta is not None and convex:
                # All starts lead to the same end.
                break
        if theta is None and self.absolute:
            raise MinimizerError(
                f"No minimizer of the {general.family} model with the {general.link} link was found under this "
                "penalty: scale the columns, and fit again."
            )
        if theta is None:
            raise _nothing_found(general, rows, penalty, names)
        if self._fits_alpha:
            theta, self.parameter_ = _with_alpha(NegativeBinomial(_POWERS[self.family]), rows, penalty, theta, names)
        self.coef_ = theta[: rows.features.shape[1], 0]
        self.intercept_: float | Array = float(theta[-1, 0]) if self.fit_intercept else 0.0

    def _fit_classes(self, rows: Array, y: Column, weights: Array, names: list[str]) -> None:
        self._check_multinomial()
        self.classes_, own = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"A multinomial model needs two classes; all labels are {self.classes_.tolist()[0]!r}.")
        loss = Softmax(len(self.classes_))
        batch = Batch(rows, loss.basis[own], weights, self.fit_intercept)
        found = _minimizer(loss, batch, np.zeros((len(names), loss.outputs)), names)
        if found is None:
            raise MinimizerError(
                "No minimizer of the multinomial model was found on this data: its columns may be collinear, or some "
                "combination of them tells a class apart. Drop columns, or fit LogisticRegression with a penalty."
            )
        theta = found @ (loss.basis[1:] - loss.basis[0]).T
        self.coef_ = theta[: rows.shape[1]].T
        self.intercept_ = theta[-1] if self.fit_intercept else np.zeros(len(self.coef_))

    def predict(self, X: Data, offset: ArrayLike | None = None) -> Array:
        """Return the mean of each row, or the share of each class; what is added to its margin is zero by default."""
        check_is_fitted(self)
        # Columns by their names: a frame may have them in another order, and others besides.
        rows = Table.of(X, getattr(self, "feature_names_in_", None)).native
        coefficients = np.ravel(self.coef_) if self.family != "multinomial" else np.asarray(self.coef_).T
        margins = np.asarray(rows, dtype=np.float64) @ coefficients + np.ravel(self.intercept_)
        if self.family == "multinomial":
            return np.asarray(softmax(np.column_stack([np.zeros(len(margins)), margins]), axis=1))
        return np.asarray(
            self._general.mean(margins if offset is None else margins + np.asarray(offset, dtype=np.float64))
        )

    def _check_multinomial(self) -> None:
        if self.link not in (None, "logit") or self.penalty or self.absolute:
            raise InputError(
                f"A multinomial model has the logit link and no penalty, not link={self.link!r} and "
                f"penalty={self.penalty!r}. With a penalty, fit LogisticRegression."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


def _minimizer(
    loss: Loss,
    rows: Batch,
    start: Array,
    names: Sequence[str],
    *,
    penalty: Array | float = 0.0,
    absolute: Array | float = 0.0,
    free: NDArray[np.bool_] | None = None,
) -> Array | None:
    """Return the parameters that minimize, shape (p, outputs); None where there are none, or many."""
    squares, kinks = (np.broadcast_to(each, start.shape) for each in (penalty, absolute))
    labels, basis = Labels(None, None, loss.label_values), np.eye(loss.outputs)
    problem = Problem("GLM", loss, start, squares, kinks, rows.intercept, labels, basis, free=free)
    moves = rows.intercept and not (squares[-1].any() or kinks[-1].any()) and (free is None or free[-1, 0])
    frame = Frame.around(rows) if moves else Frame()

    def evaluate(position: Array, within: Frame) -> NewtonSums:
        # A step may leave the family, and is then turned back.
        with np.errstate(all="ignore"):
            return newton_sums(rows, loss, position, within)

    try:
        if problem.selects:
            return minimum_absolute(problem, evaluate, tuple(names), frame)
        found = minimize(problem, evaluate, tuple(names), frame, start_is_fit=False)
    except MinimizerError:
        return None
    # At an end of what means can be the curvature is infinite, and every step small beside it.
    inside = np.isfinite(evaluate(found.position, found.frame).value)
    endless = found.faded and _escape(loss, rows, squares, found) is not None
    return found.parameters if inside and not endless and not found.undecided.size else None


def _escape(loss: Loss, rows: Batch, penalty: Array, found: Minimizer | None = None) -> Array | None:
    """Return a direction along which the objective falls forever, if there is one."""
    return escape_of(
        loss,
        penalty == 0,
        lambda of: of(rows),
        Frame.around(rows) if rows.intercept else Frame(),
        turned=None if found is None else (found.frame, found.inverse),
    )


def _nothing_found(loss: Likelihood, rows: Batch, penalty: Array, names: Sequence[str]) -> MinimizerError:
    """Say why there is no minimizer, as far as that is known."""
    escape = _escape(loss, rows, penalty)
    if escape is not None:
        return no_minimizer(escape, names, "GLM")
    return MinimizerError(
        f"No minimizer of the {loss.family} model with the {loss.link} link was found on this data: its columns may be "
        "collinear, or some combination of them tells all labels apart. Drop columns, or add a penalty."
    )


def _with_alpha(
    loss: NegativeBinomial, rows: Batch, penalty: Array, theta: Array, names: Sequence[str]
) -> tuple[Array, float]:
    """Return coefficients and alpha that minimize together, from those of a Poisson model."""
    means, y = np.exp(rows.margins(theta)[:, 0]), rows.labels[:, 0]
    assert rows.weights is not None
    spare = float(rows.weights @ ((y - means) ** 2 - means) / (rows.weights @ means ** (2 - loss.power)))
    # Alpha is the intercept of a margin that has no other coefficients.
    free = np.zeros((rows.features.shape[1] + 1, 2), dtype=bool)
    free[: len(theta), 0], free[-1, 1] = True, True
    start, held = np.zeros(free.shape), np.zeros(free.shape)
    start[: len(theta), 0], held[: len(theta), 0] = theta[:, 0], penalty[:, 0]
    start[-1, 1] = min(max(spare, 0.05), 10.0)
    called = names if rows.intercept else [*names, "(intercept)"]
    found = _minimizer(loss, replace(rows, intercept=True), start, called, penalty=held, free=free)
    if found is None or found[-1, 1] < _NO_SPREAD:
        raise MinimizerError(
            "No alpha above zero was found that fits these counts together with their means: they vary no more than "
            "Poisson counts do, or their columns are collinear. Fit the Poisson family, or an alpha that is known."
        )
    return found[: len(theta), :1], float(found[-1, 1])


def _starts(loss: Likelihood, rows: Batch, penalty: Array) -> list[Array]:
    """Return parameters whose means are inside the family, by least squares on margins near those of the labels."""
    design, y, weights = rows.augmented(), rows.labels[:, 0], rows.weights
    assert weights is not None
    middle = float(weights @ y / weights.sum())
    gram = design.T @ (design * weights[:, None]) + np.diag(penalty)
    starts = []
    for share in _FROM_LABELS:
        margins = _margin(loss, (1 - share) * y + share * middle) - (0.0 if rows.offset is None else rows.offset)
        theta = np.asarray(np.linalg.lstsq(gram, design.T @ (weights * margins)[:, None], rcond=None)[0], dtype=float)
        if np.isfinite(loss.value(rows.margins(theta), rows.labels)).all():
            starts.append(theta)
    if starts:
        return starts
    raise MinimizerError(
        f"No start inside the {loss.family} family with the {loss.link} link was found: without an intercept means may "
        "leave it. Fit with an intercept, or with another link."
    )


def _margin(loss: Likelihood, means: Array) -> Array:
    """Return the margins of some means, by halving: links are monotone."""
    span = {"power": (1e-12, 1e12), "negative binomial": (-60.0, -1e-12), "logc": (-60.0, -1e-12)}
    low, high = (np.full_like(means, each) for each in span.get(loss.link, (-1e9, 1e9)))
    if loss.link in ("log", "logit", "probit", "cloglog", "loglog"):
        low, high = np.full_like(means, -60.0), np.full_like(means, 60.0)
    rising = bool(loss.mean(high[:1])[0] > loss.mean(low[:1])[0])
    for _ in range(60):
        middle = np.sqrt(low * high) if loss.link == "power" else 0.5 * (low + high)
        above = (loss.mean(middle) > means) == rising
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(0.5 * (low + high))
