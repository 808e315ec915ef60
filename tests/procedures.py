"""Fitted procedures as stages of `seepage.core`, the oracle of the tests.

Filled cells, a feature map, a scaler, coefficients and the noise on them are written down from textbooks, in formulas
of NumPy that dual numbers differentiate. Nothing of the library's linear room is in here.
"""

from dataclasses import replace

import numpy as np
from scipy import special

from seepage.core import Dual, Outputs, Root, Rows, Sum, derivative_along

# Losses of margins and labels; the terms of labels alone are left out.
LOSSES = {
    "squared": lambda m, y: 0.5 * (m - y) ** 2,
    "logistic": lambda m, y: np.logaddexp(0.0, m) - y * m,
    "poisson": lambda m, y: np.exp(m) - y * m,
    "gamma": lambda m, y: m + y * np.exp(-m),
    "softmax": lambda m, y: np.log(np.exp(m).sum(axis=1)) - (y * m).sum(axis=1),
}
# Means of margins, with the parameter of a link.
LINKS = {
    "identity": lambda m, q: m,
    "log": lambda m, q: np.exp(m),
    "logc": lambda m, q: 1 - np.exp(m),
    "logit": lambda m, q: special.expit(m),
    "probit": lambda m, q: special.ndtr(m),
    "cauchit": lambda m, q: 0.5 + np.arctan(m) / np.pi,
    "cloglog": lambda m, q: 1 - np.exp(-np.exp(m)),
    "loglog": lambda m, q: np.exp(-np.exp(-m)),
    "power": lambda m, q: m ** (1 / q),
    "negative binomial": lambda m, q: 1 / (q * (np.exp(-m) - 1)),
}
# Minus the log density of a label with a mean, at dispersion one, with the parameter of a family.
FAMILIES = {
    "gaussian": lambda mu, y, a: 0.5 * (y - mu) ** 2,
    "binomial": lambda mu, y, a: -y * np.log(mu) - (1 - y) * np.log(1 - mu),
    "poisson": lambda mu, y, a: mu - y * np.log(mu),
    "gamma": lambda mu, y, a: np.log(mu) + y / mu,
    "inverse gaussian": lambda mu, y, a: y / (2 * mu**2) - 1 / mu,
    "negative binomial": lambda mu, y, a: -y * np.log(mu / (1 + a * mu)) + np.log(1 + a * mu) / a,
    "tweedie": lambda mu, y, a: mu ** (2 - a) / (2 - a) - y * mu ** (1 - a) / (1 - a),
}


def likelihood(family, link, parameter=1.0, q=1.0):
    return lambda m, y: FAMILIES[family](LINKS[link](m, q), y, parameter)


def negative_binomial(power=0.0):
    """Return the likelihood of counts whose variance is  mu + alpha mu^(2 - power),  with alpha to be fitted."""

    def loss(m, y, alpha):
        mu = np.exp(m)
        size = mu**power / alpha
        coefficient = special.gammaln(size + y) - special.gammaln(size)
        return -(coefficient + size * np.log(size / (size + mu)) + y * np.log(mu / (size + mu)))

    return loss


def plain(x):
    """Return the values of an array or a dual."""
    return plain(x.value) if isinstance(x, Dual) else x


def sum_zero(size):
    """Return an orthonormal basis of the vectors that sum to zero."""
    return np.linalg.qr(np.eye(size) - 1 / size)[0][:, : size - 1]


def minimizer(loss, design, outputs, start, penalty, linear, sum_to_zero, alpha):
    """Return the root of the gradient of  sum w loss(margins, y) + penalty / 2 theta^2 + linear theta.

    Parameters
    ----------
    loss : callable
        Of margins and labels, and of alpha if there is one.
    design : callable
        Of the stages before and a batch: margins' features, labels, offsets, weights.
    penalty, linear : array
        One for each parameter, output by output, alpha last.
    sum_to_zero : bool
        Parameters without a penalty sum to zero over the outputs, as the loss leaves their sum open.
    alpha : bool
        The last parameter is a third argument of the loss.
    """

    def terms(t, rows):
        x, y, offset, weights = design(t, rows)
        n, p = x.shape
        theta = t["theta"]
        margins = x @ theta[: outputs * p].reshape(outputs, p).T + offset
        given = (margins, y, theta[-1]) if alpha else (margins, y)

        def slope(*directions):
            change = derivative_along(loss, given, directions + (None,) * (len(given) - len(directions)))[1]
            return weights * change.reshape(n, -1).sum(axis=1)

        along = [slope(np.broadcast_to(direction, margins.shape)) for direction in np.eye(outputs)]
        score = (np.stack(along, axis=1)[:, :, None] * x[:, None, :]).reshape(n, -1)
        return np.concatenate([score, slope(None, None, np.ones(()))[:, None]], axis=1) if alpha else score

    def constant(t):
        theta = t["theta"]
        shared = (penalty == 0) * np.tile(theta.reshape(outputs, -1).sum(axis=0), outputs) if sum_to_zero else 0.0
        return penalty * theta + linear + shared

    return Root("theta", terms, constant, start)


def procedure(
    x,
    y,
    loss,
    penalty=0.0,
    *,
    scaled=(),
    features=lambda z: z,
    weights=None,
    scaler_weights=None,
    offset=0.0,
    with_mean=True,
    with_std=True,
    over_filled=True,
    intercept=True,
    linear=0.0,
    outputs=None,
    axes=None,
    alpha=False,
    published=None,
    start=None,
    noise=1.0,
    shape=None,
):
    """Return the published numbers of rows: parameters in raw units, output by output, with their noise.

    Parameters
    ----------
    x : ndarray of shape (n, columns)
        A missing value is NaN, and filled with the mean of its column.
    y : ndarray of shape (n, outputs)
    loss : str or callable
    penalty, linear : float or array
        Of squares, and the slope of what is linear, behind the scaler. An array has one for each parameter of an
        output, the intercept last; a number is that of all coefficients.
    scaled : sequence of int
        Features that are standardized by their own mean and standard deviation.
    over_filled : bool
        Filled cells count in means and deviations.
    features : callable
        Of filled rows.
    axes : ndarray of shape (outputs, directions), optional
        Directions in which a label moves; by default each of its numbers does.
    published : int, optional
        How many of the parameters are published, the first ones.
    noise : float or ndarray
        Its standard deviation, or its covariance behind the scaler.
    shape : callable, optional
        Of the Hessian of one output, the sum of its squared scores, and the deviations: the covariance of the noise on
        that output, behind the scaler.
    """
    n, has = len(x), ~np.isnan(x)
    outputs = outputs or y.shape[1]
    given = {"x": np.where(has, x, 0.0), "has": has, "y": y, "offset": np.broadcast_to(offset, n)}
    given["w"] = np.ones(n) if weights is None else weights
    share = np.ones(n) if scaler_weights is None else scaler_weights
    share = share[:, None] * (np.ones((n, 1)) if over_filled else has)
    given["share"] = share / share.sum(axis=0)
    if axes is not None:
        given |= {"codes": y, "y": np.zeros((n, axes.shape[1]))}
    p = features(given["x"]).shape[1]
    chosen = np.isin(np.arange(p), scaled)
    loss = LOSSES.get(loss, loss)

    def filled(t, rows):
        return features(np.where(rows["has"], rows["x"], t["fill"]) if "fill" in t else rows["x"])

    def scale(t):
        return np.sqrt(np.where(chosen, t["variance"], 1.0)) if chosen.any() and with_std else np.ones(p)

    def mean(t):
        return np.where(chosen, t["mean"], 0.0) if chosen.any() and with_mean else np.zeros(p)

    def design(t, rows):
        z = (filled(t, rows) - mean(t)) / scale(t)
        z = np.concatenate([z, np.ones((len(z), 1))], axis=1) if intercept else z
        return z, labels(rows), rows["offset"][:, None], rows["w"]

    def labels(rows):
        return rows["y"] if axes is None else rows["codes"] + rows["y"] @ axes.T

    def unfold(t):
        """Return the matrix from parameters behind the scaler to those in raw units."""
        matrix = np.diag(1 / scale(t))
        if intercept:
            last = np.concatenate([-mean(t) / scale(t), np.ones(1)])
            matrix = np.concatenate([np.concatenate([matrix, np.zeros((p, 1))], axis=1), last[None]])
        matrix = np.kron(np.eye(outputs), matrix)
        if alpha:
            zeros = np.zeros((len(matrix), 1))
            matrix = np.concatenate([np.concatenate([matrix, zeros], axis=1), np.eye(len(matrix) + 1)[-1:]])
        return matrix[:published]

    def covariance(t):
        if shape is None:
            behind = noise**2 * np.eye(size) if np.ndim(noise) == 0 else noise
        else:
            hessian, middle = (t[name].reshape(p + intercept, -1) for name in ("hessian", "middle"))
            behind = np.kron(np.eye(outputs), shape(hessian, middle, scale(t)))
        return unfold(t) @ behind @ unfold(t).T

    def curvature(t, rows):
        z, y, offset, w = design(t, rows)
        along = np.broadcast_to(np.eye(outputs)[0], (len(z), outputs))
        margins = z @ t["theta"].reshape(outputs, -1).T + offset

        def slope(m):
            return derivative_along(loss, (m, y), (along, None))[1].reshape(len(z), -1)[:, 0]

        bend = w * derivative_along(slope, (margins,), (along,))[1]
        return (bend[:, None, None] * z[:, :, None] * z[:, None, :]).reshape(len(z), -1)

    def squares(t, rows):
        score = root.terms(t, rows)[:, : p + intercept]
        return (score[:, :, None] * score[:, None, :]).reshape(len(score), -1)

    strength = np.append(np.full(p, penalty), [0.0] * intercept) if np.ndim(penalty) == 0 else penalty
    size = outputs * (p + intercept) + alpha
    penalties = np.append(np.tile(strength, outputs), [0.0] * alpha)
    start = np.zeros(size) if start is None else np.asarray(start)
    root = minimizer(loss, design, outputs, start, penalties, linear, loss is LOSSES["softmax"], alpha)
    fill = Sum("fill", lambda t, rows: np.where(rows["has"], rows["x"], 0.0) / has.sum(axis=0))
    scaler = [
        Sum("mean", lambda t, rows: rows["share"] * filled(t, rows)),
        Sum("variance", lambda t, rows: rows["share"] * (filled(t, rows) - t["mean"]) ** 2),
    ]
    shaping = [Sum("hessian", curvature, lambda t: np.diag(strength).ravel()), Sum("middle", squares)]
    stages = [fill] * (not has.all()) + scaler * bool(chosen.any()) + [root] + shaping * (shape is not None)
    return Outputs(stages, Rows.of(n, **given), lambda t: unfold(t) @ t["theta"], covariance)


def hazards(
    x,
    time,
    event,
    *,
    ties="efron",
    strata=None,
    weights=None,
    penalty=0.0,
    standardized=False,
    scaled=False,
    noise=1.0,
):
    """Return a Cox model: coefficients, and the sums over the people at risk at each death, solve one system."""
    n, p = x.shape
    strata = np.zeros(n) if strata is None else strata
    weights = np.ones(n) if weights is None else weights
    # One line for each death: its weight, and the people at risk, tied ones in part.
    risk, deaths = [], []
    for i in np.flatnonzero(event):
        dead = event & (time == time[i]) & (strata == strata[i])
        line = ((time >= time[i]) & (strata == strata[i])).astype(float)
        risk.append(line - dead * (dead[:i].sum() / dead.sum()) if ties == "efron" else line)
        deaths.append(weights[dead].mean() if ties == "efron" else weights[i])
    lines, index = np.unique(risk, axis=0, return_inverse=True)
    deaths, m = np.bincount(index, deaths)[:, None], len(lines)
    center = x.mean(axis=0)

    def deviation(t):
        return np.sqrt(t["variance"]) if scaled else np.ones(p)

    def terms(t, rows):
        z = (rows["x"] - (t["mean"] if scaled else center)) / deviation(t)
        e = rows["risk"] * (rows["w"] * np.exp(z @ t["theta"][:p]))[:, None]
        return np.concatenate([-rows["died"][:, None] * z, e, (e[:, :, None] * z[:, None, :]).reshape(n, -1)], axis=1)

    def constant(t):
        beta, total, weighed = t["theta"][:p], t["theta"][p : p + m], t["theta"][p + m :].reshape(m, p)
        strength = penalty * t["variance"] * n / (n - 1) if standardized else penalty
        score = (deaths * weighed / total[:, None]).sum(axis=0) + strength * beta
        return np.concatenate([score, -t["theta"][p:]])

    def covariance(t):
        behind = noise**2 * np.eye(p) if np.ndim(noise) == 0 else noise
        return np.diag(1 / deviation(t)) @ behind @ np.diag(1 / deviation(t))

    z = (x - center) / (x.std(axis=0) if scaled else 1.0)
    start = np.concatenate([np.zeros(p), lines @ weights, (lines @ (weights[:, None] * z)).ravel()])
    stages = [
        Sum("mean", lambda t, rows: rows["x"] / n),
        Sum("variance", lambda t, rows: (rows["x"] - t["mean"]) ** 2 / n),
        Root("theta", terms, constant, start),
    ]
    rows = Rows.of(n, x=x, risk=lines.T, w=weights, died=weights * event, has=np.full((n, p), True))
    return Outputs(stages, rows, lambda t: t["theta"][:p] / deviation(t), covariance, ("x",))


def standard_errors(scale, count):
    """Return noise of so many standard errors of a fit to `count` rows, as a shape of noise."""

    def shape(hessian, middle, deviation):
        inverse = np.linalg.inv(hessian)
        return scale**2 * count / (count - len(hessian)) * inverse @ middle @ inverse

    return shape


def with_variances(outputs, size, scale, noise):
    """Return numbers with noise of so many standard errors, and the logarithms of their variances with noise."""

    def numbers(t):
        return np.concatenate([outputs.numbers(t), np.log(np.diag(outputs.covariance(t)) / scale**2)])

    def covariance(t):
        zeros = np.zeros((size, size))
        first = np.concatenate([outputs.covariance(t), zeros], axis=1)
        return np.concatenate([first, np.concatenate([zeros, noise**2 * np.eye(size)], axis=1)])

    return replace(outputs, numbers=numbers, covariance=covariance)


def square_root(matrix):
    """Return the square root by Denman and Beavers' iteration, whose derivative knows no equal eigenvalues."""
    scale = np.trace(matrix)
    result, back = matrix / scale, np.eye(len(matrix))
    for _ in range(40):
        result, back = (result + np.linalg.inv(back)) / 2, (back + np.linalg.inv(result)) / 2
    return result * np.sqrt(scale)


def balanced(scale, floors, share, balance):
    """Return H^-1 (B # H) H^-1 for floors of some columns (eq. 2.18), as a shape of noise."""

    def shape(hessian, middle, deviation):
        invert, p = np.linalg.inv(hessian), len(hessian)
        inner = np.zeros((p, p))
        for i, floor in floors.items():
            # The feature moves by one over the deviation when the column moves by one.
            unit = floor / deviation[i]
            inner = inner + (invert[i, i] * unit**2) ** balance * unit**2 * np.diag(np.eye(p)[i])
        inner = inner + share * np.trace(invert @ inner) / p * hessian
        half = square_root(hessian)
        back = np.linalg.inv(half)
        return scale**2 * invert @ (half @ square_root(back @ inner @ back) @ half) @ invert

    return shape


def released(outputs):
    """Return the mean and the covariance of the published numbers."""
    return outputs.numbers(outputs.fitted), outputs.covariance(outputs.fitted)


class Expected:
    """Numbers of a measurement, from the stages of a procedure."""

    def __init__(self, outputs, label=True):
        self.roots = outputs.information_roots()
        if not label:
            self.roots = self.roots[:, : outputs.rows.each(lambda rows: rows["x"]).shape[1]]
        self.present = outputs.rows.each(lambda rows: rows["has"])

    def eta(self, columns=slice(None)):
        return np.linalg.norm(self.roots[:, columns], 2, axis=(1, 2))

    def joint(self, people=slice(None), columns=slice(None)):
        return np.linalg.norm(np.concatenate(self.roots[people][:, columns]), 2)

    def agrees(self, leak, columns=None, rtol=1e-8):
        """Check eta, dFIL, eta of attributes (whose values are `columns`; the label comes last), and joint eta."""
        n, values, _ = self.roots.shape
        k = self.present.shape[1]
        columns = columns or [[j] for j in range(k)]
        if values > k:
            columns = [*columns, list(range(k, values))]
        count = self.present.sum(axis=1) + values - k
        in_files = hasattr(leak.examples, "to_table")
        tables = (leak.examples, leak.attributes)
        examples, attributes = (table.to_table().to_pandas() for table in tables) if in_files else tables
        attributes = attributes.drop(columns="id", errors="ignore").to_numpy(dtype=float)
        # A person without weight has rounding errors instead of zeros.
        none = 1e-12 * np.nanmax(examples["eta"])
        np.testing.assert_allclose(examples["eta"], self.eta(), rtol=rtol, atol=none)
        dfil = np.sqrt((self.roots**2).sum(axis=(1, 2)) / count)
        np.testing.assert_allclose(examples["dfil"], dfil, rtol=rtol, atol=none)
        for eta, block in zip(attributes.T, columns, strict=True):
            missing = block[0] < k and ~self.present[:, block[0] % k]
            np.testing.assert_allclose(eta, np.where(missing, np.nan, self.eta(block)), rtol=rtol, atol=none)
        assert abs(leak.joint_information_loss() / self.joint() - 1) < rtol
        if not in_files:
            some = np.arange(n) % 3 == 0
            assert abs(leak.joint_information_loss(some) / self.joint(some) - 1) < rtol
