"""Was this person in the data at all? The likelihood ratio test, exact for a Gaussian release (eq. 10.5)."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from seepage._python import Self
from seepage._tables import Array, Frame
from seepage.attacks._release import attackable, check_fitted, check_still, observed
from seepage.leakage import Leakage


@dataclass(eq=False)
class MembershipScore:
    """Score every person's membership: the log likelihood ratio of the dataset with and without their record.

    The penalty is that of the model; only the record is taken out, and balanced class weights follow. No test between
    the two datasets does better.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Ridge().fit(X, y)
    >>> attack = seepage.attacks.MembershipScore().fit(seepage.measure(model, X, y, noise_scale=10.0))
    >>> round(float(attack.evaluate(trials=200)["auc"].mean()), 1)
    0.6
    """

    leak_: Leakage = field(init=False, repr=False)

    def fit(self, leak: Leakage) -> Self:
        """Learn what the attacker knows: the model, everyone's record or those of some, and the noise."""
        outputs = attackable(leak)
        check_still(leak)
        self._moves = outputs.in_noise_units(outputs.refit.without(np.arange(outputs.rows.count)))
        self.leak_ = leak
        self.distance_ = np.linalg.norm(self._moves, axis=1)
        return self

    def guess(self, publication: object) -> Array:
        """Return each person's score from one publication: positive speaks for membership."""
        check_fitted(self)
        outputs = attackable(self.leak_)
        move = observed(outputs, publication) - outputs.values
        return np.asarray(self._score(outputs.in_noise_units(move))[0])

    def _score(self, seen: Array) -> Array:
        """Return (|seen - move|^2 - |seen|^2) / 2, shape (trials, people)."""
        return np.asarray(0.5 * self.distance_**2 - seen @ self._moves.T)

    def evaluate(self, *, trials: int = 100, seed: int = 0) -> Frame:
        """Attack releases drawn with and without each person.

        Returns
        -------
        data frame
            One row a person: `auc` and `success` (at equal odds) over the trials, the `standard_error` of the success,
            and `best_auc`, `best_success`: what no attacker exceeds. NaN for people without whom the model has no
            minimizer.
        """
        check_fitted(self)
        noise = np.random.default_rng(seed).standard_normal((2, trials, self._moves.shape[1]))
        inside = self._score(noise[0])
        # Without a person the release is around that person's own other minimizer.
        outside = self._score(noise[1]) - self.distance_**2
        pairs = np.mean([(inside > outside[k]).mean(axis=0) for k in range(trials)], axis=0)
        success = 0.5 * ((inside > 0).mean(axis=0) + (outside <= 0).mean(axis=0))
        pairs[np.isnan(self.distance_)] = success[np.isnan(self.distance_)] = np.nan
        return self.leak_.people.frame(
            {
                "auc": pairs,
                "success": success,
                "standard_error": np.sqrt(np.maximum(success * (1 - success), 1e-12) / (2 * trials)),
                "best_auc": ndtr(self.distance_ / np.sqrt(2)),
                "best_success": ndtr(self.distance_ / 2),
            }
        )
