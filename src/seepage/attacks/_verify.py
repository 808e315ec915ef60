"""An attack beside the bound that it should not pass."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seepage._errors import InputError
from seepage._tables import Frame
from seepage.attacks._inversion import AttributeInversion
from seepage.attacks._membership import MembershipScore
from seepage.attacks._reconstruction import Reconstruction
from seepage.attacks._release import attackable
from seepage.leakage import Leakage
from seepage.meaning import success_rate

if TYPE_CHECKING:
    from seepage.display import AttackDisplay

Array = NDArray[np.float64]

# An attack counts as below its floor when it is so by more than this many of its own standard errors.
_ERRORS = 4.0


@dataclass(frozen=True, eq=False)
class Verification:
    """An attack's result beside the bound, person by person.

    Attributes
    ----------
    frame : data frame
        One row an attacked person. For errors: `error`, `standard_error`, `floor` (of unbiased attacks),
        `biased_floor` (for an attack with the bias that was measured), `below` (the floor) and `explained` (by the
        bias). For success rates: `success`, `standard_error`, `best` and `above`.
    verdict : str
        In words.
    holds : bool
        Whether every person's result agrees with the bound.
    quantity : str
        What is compared: "root mean square error", "mean squared error" or "success rate".
    """

    frame: Frame
    verdict: str
    holds: bool
    quantity: str

    def plot(self, ax: Any = None) -> "AttackDisplay":
        """Draw the attack against the bound, one dot a person, with the bound as a line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        # Imported here: pictures are for those who ask for them.
        from seepage.display import AttackDisplay

        return AttackDisplay.from_verification(self).plot(ax)

    def __repr__(self) -> str:
        return f"Verification({self.verdict})"


def verify(leak: Leakage, attack: Any, *, trials: int = 1000, seed: int = 0) -> Verification:
    """Attack a release many times and hold the result against the bound.

    Parameters
    ----------
    leak : Leakage
        The measurement to verify.
    attack : AttributeInversion, Reconstruction or MembershipScore
        The attack, fitted or not.
    trials : int, default=1000
        Releases to draw.
    seed : int, default=0
        Of the draws.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> leak = seepage.measure(Ridge(alpha=0.1).fit(X, y), X, y, noise_scale=1.0)
    >>> seepage.verify(leak, seepage.attacks.MembershipScore()).holds
    True
    """
    attack = attack.fit(leak)
    if isinstance(attack, MembershipScore):
        return _membership(attack, trials, seed)
    if isinstance(attack, Reconstruction):
        return _reconstruction(attack, trials, seed)
    if isinstance(attack, AttributeInversion):
        return _categories(attack, trials, seed) if attack.nominal_ else _numbers(attack, trials, seed)
    raise InputError(
        f"verify knows AttributeInversion, Reconstruction and MembershipScore, not {type(attack).__name__}."
    )


def _numbers(attack: AttributeInversion, trials: int, seed: int) -> Verification:
    """Hold the guesses of a number against 1/eta."""
    information = attackable(attack.leak_)
    if attack.kind != "white-box":
        raise InputError("The bound is on the white-box attacker, who does best; verify that one.")
    eta = information.attributes()[attack.attribute]
    step = attack.step(eta)
    parts = []
    for at, guesses, noise in attack.draws(trials=trials, seed=seed):
        # The same noise on records moved up and down: the slope of the attack's mean, by exact refits alone.
        moved = [attack.guess_moved(noise, at, sign * step) for sign in (1.0, -1.0)]
        slopes = (moved[0] - moved[1]) / (2 * step[at, None])
        errors = guesses - attack.truth_[at, None]
        parts.append((errors.mean(axis=1), *_mean_and_error(errors**2), *_mean_and_error(slopes)))
    bias, mse, error, slope, slope_error = (np.concatenate(part) for part in zip(*parts, strict=True))
    biased = _biased_floor(slope, slope_error, eta, bias)
    return _of_errors(attack.leak_.people.frame, mse, error, 1 / eta**2, biased, mse, error, "root mean square error")


def _reconstruction(attack: Reconstruction, trials: int, seed: int) -> Verification:
    """Hold reconstructed records against 1/dFIL^2, and their part along the record itself against its own floor."""
    information = attackable(attack.leak_)
    geometry, rows, truth = information.geometry, attack.rows_, attack.truth
    features = truth.shape[1]
    reading = geometry.reading[:features]
    if reading.shape != (features, features) or abs(reading - np.eye(features)).max() > 0:
        raise InputError(
            "Reconstruction is verified where every feature is a private attribute: measure without a pipeline."
        )
    along = truth / np.linalg.norm(truth, axis=1, keepdims=True)
    every, whole = np.empty(len(rows)), np.empty(len(rows))
    for k, row in enumerate(rows):
        batch = information.rows.read(slice(int(row), int(row) + 1))
        jacobian = np.vstack([geometry.jacobian(batch, j) for j in range(features)])
        seen = geometry.in_noise_units(jacobian)
        every[k], whole[k] = np.mean((seen**2).sum(axis=1)), ((along[k] @ seen) ** 2).sum()
    losses, component = [], []
    for guesses, _ in attack.draws(trials=trials, seed=seed):
        errors = guesses - truth
        losses.append((errors**2).mean(axis=2))
        component.append(np.einsum("tkp,kp->tk", errors, along))
    mse, error = _mean_and_error(np.concatenate(losses).T)
    parts = np.concatenate(component).T
    square, square_error = _mean_and_error(parts**2)
    eta = np.sqrt(whole)
    slope, slope_error = attack.slopes(along, 0.5 / eta, trials=min(trials, 200), seed=seed)
    biased = _biased_floor(slope, slope_error, eta, parts.mean(axis=1))
    frame = attack.leak_.people.take(rows).frame
    return _of_errors(frame, mse, error, 1 / every, biased, square, square_error, "mean squared error", root=False)


def _mean_and_error(values: Array) -> tuple[Array, Array]:
    """Return the mean over trials, and its standard error."""
    return values.mean(axis=1), values.std(axis=1) / np.sqrt(values.shape[1])


def _biased_floor(slope: Array, error: Array, eta: Array, bias: Array) -> Array:
    """Return the floor for an attack whose mean moves by `slope` with the value (eq. 5.2)."""
    sure = np.maximum(np.abs(slope) - _ERRORS * error, 0.0)
    return np.asarray((sure / eta) ** 2 + bias**2)


def _of_errors(
    make: Any,
    mse: Array,
    error: Array,
    floors: Array,
    biased: Array,
    square: Array,
    square_error: Array,
    name: str,
    *,
    root: bool = True,
) -> Verification:
    """Compare mean squared errors with floors; `biased` is the floor of `square` that allows for the bias."""
    below = mse < floors - _ERRORS * error
    passed = square < biased - _ERRORS * square_error - 1e-3 * biased
    explained = below & ~passed
    show = np.sqrt if root else np.asarray
    frame = make(
        {
            "error": show(mse),
            "standard_error": error / (2 * np.sqrt(mse)) if root else error,
            "floor": show(floors),
            "biased_floor": show(biased),
            "below": below,
            "explained": explained,
        }
    )
    unexplained = int(passed.sum())
    return Verification(
        frame,
        _verdict(len(mse), int(below.sum()), unexplained),
        unexplained == 0,
        name,
    )


def _verdict(count: int, below: int, unexplained: int) -> str:
    if unexplained:
        return (
            f"{unexplained} of {count} people are below the floor, and the bias of the attack does not explain it: the "
            "measurement does not describe this release."
        )
    if below:
        return (
            f"{below} of {count} people are below the floor of unbiased attacks; the attack is biased, and at or above "
            "the floor for its bias in every case."
        )
    return f"All {count} people: the attack is at or above the floor."


def _categories(attack: AttributeInversion, trials: int, seed: int) -> Verification:
    """Hold the test between the true value and the one farthest from it against its best success rate."""
    information = attackable(attack.leak_)
    if attack.kind != "white-box":
        raise InputError("The bound is on the white-box attacker, who does best; verify that one.")
    farthest = (attack._moves**2).sum(axis=2).argmax(axis=1)
    moves = attack._moves[np.arange(information.count), farthest]
    distance = np.linalg.norm(moves, axis=1)
    random = np.random.default_rng(seed)
    unit = np.divide(moves, distance[:, None], out=np.zeros_like(moves), where=distance[:, None] > 0)
    noise = np.stack([random.standard_normal((trials, moves.shape[1])) for _ in range(2)])
    along = noise @ unit.T
    right = 0.5 * ((along[0] < distance / 2).mean(axis=0) + (along[1] + distance > distance / 2).mean(axis=0))
    return _of_rates(attack.leak_.people.frame, right, success_rate(distance), 2 * trials)


def _membership(attack: MembershipScore, trials: int, seed: int) -> Verification:
    distance = attack.distance_
    found = attack.evaluate(trials=trials, seed=seed)
    return _of_rates(attack.leak_.people.frame, np.asarray(found["success"]), success_rate(distance), 2 * trials)


def _of_rates(make: Any, success: Array, best: Array, draws: int) -> Verification:
    error = np.sqrt(best * (1 - best) / draws) + 1.0 / draws
    above = success > best + _ERRORS * error
    frame = make({"success": success, "standard_error": error, "best": best, "above": above})
    count = int(above.sum())
    verdict = (
        f"All {len(success)} people: the attack succeeds no more often than the bound allows."
        if count == 0
        else f"{count} of {len(success)} people are guessed more often than the bound allows: the measurement does not "
        "describe this release."
    )
    return Verification(frame, verdict, count == 0, "success rate")
