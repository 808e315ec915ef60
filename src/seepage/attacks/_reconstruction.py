"""Reconstruct a whole record from a release, all others known (Balle et al. 2022; eqs. 10.3 and 10.4).

At the published parameters theta the gradient vanishes, so the record's part of it is known: slope(m, y) x = g, with
g = -(gradient of all others + penalty). With an intercept the last entry of g is the slope itself. Without one, m
solves m slope(m, y) = theta . g, which can have two roots; and a record and its mirror image with the other label are
one and the same to the release. The attacker takes the candidate that looks most like the other records.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from seepage._python import Self
from seepage._tables import Array, Frame
from seepage.attacks._release import attackable, check_fitted, check_still, checked_people, drawn_noise, observed
from seepage.errors import UnansweredError
from seepage.execution.storage import Progress
from seepage.leakage import Leakage
from seepage.linear.information import PublishedParameters
from seepage.linear.objective import Logistic, Squared

# Where m s(-m) is largest for m > 0: there the two roots of the logistic equation meet.
_LOGISTIC_TURN = 1.2784645427610738


@dataclass(eq=False)
class Reconstruction:
    """Reconstruct the features of single people.

    Parameters
    ----------
    people : array-like of int
        Which rows to reconstruct.
    label_known : bool, default=True
        Whether the attacker knows the person's label. Otherwise all labels are tried.
    progress : bool, optional
        Whether to show how far it is and how long it takes; by default only in a terminal.

    Examples
    --------
    >>> import numpy as np, seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1e-9, public_label=True)
    >>> attack = seepage.attacks.Reconstruction([0, 1]).fit(leak)
    >>> bool(np.abs(attack.guess(attack.exact()) - X[:2]).max() < 1e-9)
    True
    """

    people: ArrayLike
    label_known: bool = True
    progress: bool | None = None
    leak_: Leakage = field(init=False, repr=False)

    def fit(self, leak: Leakage) -> Self:
        """Learn what the attacker knows: the model, everyone else's record, and the noise."""
        outputs = attackable(leak)
        if not isinstance(outputs.loss, Squared | Logistic) or outputs.loss.outputs > 1:
            raise UnansweredError("Reconstruction is written for squared and logistic loss with one output.")
        if outputs.selects:
            raise UnansweredError(
                "Reconstruction solves the gradient for a record, and with an L1 penalty that is known on the active "
                "set alone. AttributeInversion and MembershipScore attack such a model."
            )
        if outputs.rows.offset is not None:
            raise UnansweredError(
                "Reconstruction solves for a record whose margin is its own, and here an offset is added to it. "
                "AttributeInversion and MembershipScore attack such a model."
            )
        check_still(leak)
        self.rows_ = checked_people(self.people, outputs.rows.count)
        parts = [outputs.rows.read(slice(int(row), int(row) + 1)) for row in self.rows_]
        self._own = np.vstack([part.augmented() for part in parts])
        self._labels = np.concatenate([part.labels[:, 0] for part in parts])
        self._weights = np.array([1.0 if part.weights is None else part.weights[0] for part in parts])
        self._typical, self._mean = self._typical_record(outputs)
        self.leak_ = leak
        return self

    def _typical_record(self, outputs: PublishedParameters) -> tuple[float, Array]:
        """Return the mean logarithm of a record's norm, and the mean record: what the attacker expects of one more."""
        size, mean = 0.0, np.zeros(self._own.shape[1])
        for span in outputs.rows.spans():
            records = outputs.rows.read(span).augmented()
            size += float(np.log(np.maximum(np.linalg.norm(records, axis=1), 1e-300)).sum())
            mean += records.sum(axis=0)
        return size / outputs.rows.count, mean / max(float(np.linalg.norm(mean)), 1e-300)

    def exact(self) -> object:
        """Return the exact minimizer, as if it had been published without noise: to test the attack itself."""
        return _Exact(attackable(self.leak_))

    def guess(self, publication: object) -> Array:
        """Return the features of each attacked person from one publication, shape (people, features)."""
        check_fitted(self)
        outputs = attackable(self.leak_)
        theta = publication.theta if isinstance(publication, _Exact) else observed(outputs, publication)
        return np.asarray(self._guess(theta)[0])

    def draws(self, *, trials: int, seed: int) -> Iterator[tuple[Array, Array]]:
        """Yield guesses (trials, people, features) and the noise (trials, parameters), some trials at a time."""
        check_fitted(self)
        outputs = attackable(self.leak_)
        random = np.random.default_rng(seed)
        start = outputs.values
        step = max(2**24 // (len(self.rows_) * len(start)), 1)
        step = min(step, 512)
        with Progress(self.progress).of("attacking", trials, called="releases") as watch:
            for first in range(0, trials, step):
                noise = drawn_noise(outputs, random, min(step, trials - first))
                yield self._guess(start + noise), noise
                watch(len(noise))

    def evaluate(self, *, trials: int = 100, seed: int = 0) -> Frame:
        """Attack releases drawn anew.

        Returns
        -------
        data frame
            One row an attacked person: the mean squared `error` per feature and its `standard_error`.
        """
        errors = np.concatenate(
            [((guess - self.truth) ** 2).mean(axis=2) for guess, _ in self.draws(trials=trials, seed=seed)]
        )
        return self.leak_.people.take(self.rows_).frame(
            {"error": errors.mean(axis=0), "standard_error": errors.std(axis=0) / np.sqrt(trials)}
        )

    @property
    def truth(self) -> Array:
        """The features of the attacked people, shape (people, features)."""
        return self._own[:, : self._own.shape[1] - self._has_intercept(attackable(self.leak_))]

    def slopes(self, along: Array, steps: Array, *, trials: int, seed: int) -> tuple[Array, Array]:
        """Return how a reconstruction follows its record along a direction, and the standard error.

        Parameters
        ----------
        along : ndarray of shape (people, features)
            A unit direction for each person.
        steps : ndarray of shape (people,)
            How far to move each record, up and down.
        trials, seed : int
            Of the draws; the same noise is put on both.
        """
        outputs = attackable(self.leak_)
        start = outputs.values
        size = np.linalg.norm(self.truth, axis=1)
        steps = np.minimum(steps, 0.1 * size)
        mean, error = np.empty(len(along)), np.empty(len(along))
        random = np.random.default_rng(seed)
        for k, row in enumerate(self.rows_):
            noise = drawn_noise(outputs, random, trials)
            before = outputs.rows.read(slice(int(row), int(row) + 1))
            found = []
            for sign in (1.0, -1.0):
                after = replace(before, features=self.truth[[k]] + sign * steps[k] * along[k])
                theta = start + outputs.refit.replaced(before, after) + noise
                found.append(self._guess(theta, slice(k, k + 1))[:, 0] @ along[k])
            slope = (found[0] - found[1]) / (2 * steps[k])
            mean[k], error[k] = slope.mean(), slope.std() / np.sqrt(trials)
        return mean, error

    @staticmethod
    def _has_intercept(outputs: PublishedParameters) -> bool:
        return outputs.rows.read(slice(0, 1)).intercept

    def _guess(self, theta: Array, people: slice = slice(None)) -> Array:
        """Return the reconstruction at each of many published parameters, shape (trials, people, features)."""
        records, known, weights = self._own[people], self._labels[people], self._weights[people]
        outputs = attackable(self.leak_)
        loss = outputs.loss
        assert isinstance(loss, Squared | Logistic)
        own = theta @ records.T
        # The part of the gradient that is this record's: what all records leave, less what the record itself adds.
        whole = outputs.refit.gradient(theta)
        share = (loss.slope(own, known) * weights)[:, :, None] * records - whole[:, None, :]
        if self._has_intercept(outputs):
            return np.asarray(share[:, :, :-1] / share[:, :, -1:])
        product = np.einsum("tp,tkp->tk", theta, share) / weights
        labels = [known] if self.label_known else self._possible_labels(outputs, len(known))
        best, record = np.full(product.shape, np.inf), np.zeros_like(share)
        for label in labels:
            for root in _roots(loss, product, label):
                slope = loss.slope(root, label) * weights
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    candidate = share / slope[:, :, None]
                    size = np.linalg.norm(candidate, axis=2)
                    # Size tells two roots apart; the direction only tells a record from its mirror image.
                    oddness = np.abs(np.log(size) - self._typical) - 1e-6 * (candidate @ self._mean) / size
                better = oddness < best
                best = np.where(better, oddness, best)
                record = np.where(better[:, :, None], candidate, record)
        return np.asarray(record)

    def _possible_labels(self, outputs: PublishedParameters, count: int) -> list[Array]:
        codes = np.unique(np.concatenate([outputs.rows.read(span).labels[:, 0] for span in outputs.rows.spans()]))
        if len(codes) > 10:
            raise UnansweredError("An unknown label can be tried only where there are few; this one is a number.")
        return [np.full(count, code) for code in codes]


@dataclass(frozen=True, eq=False)
class _Exact:
    outputs: PublishedParameters

    @property
    def theta(self) -> Array:
        return self.outputs.values[None]


def _roots(loss: Squared | Logistic, product: Array, label: Array) -> list[Array]:
    """Return the margins m with m slope(m, y) = product; NaN where there is none."""
    if isinstance(loss, Squared):
        with np.errstate(invalid="ignore"):
            half = np.sqrt(label**2 + 4 * product)
        # Noise can push the equation just past its last root; the nearest margin is where the two meet.
        half = np.where(np.isnan(half), 0.0, half)
        return [0.5 * (label + half), 0.5 * (label - half)]
    # With s = 2y - 1 and n = s m the equation is n expit(-n) = -product, whichever the label.
    sign = 2 * label - 1
    target = -product
    top = _LOGISTIC_TURN * _tail(np.array(_LOGISTIC_TURN))
    small = _bisect(lambda n: n * _tail(n), target, -800.0, _LOGISTIC_TURN)
    large = _bisect(lambda n: -n * _tail(n), -target, _LOGISTIC_TURN, 800.0)
    large = np.where((target > 0) & (target <= top), large, np.nan)
    return [sign * small, sign * large]


def _tail(n: Array) -> Array:
    """Return expit(-n)."""
    return np.asarray(np.exp(-np.logaddexp(0.0, n)))


def _bisect(function: Callable[[Array], Array], target: Array, low: float, high: float) -> Array:
    """Return where an increasing function meets each target, to the last digits."""
    left, right = np.full(target.shape, low), np.full(target.shape, high)
    for _ in range(200):
        middle = 0.5 * (left + right)
        below = function(middle) < target
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    return np.asarray(0.5 * (left + right))
