"""An attack beside the bound that it should not pass."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc, chdtr, ndtri

from seepage._tables import Array, Column, Frame
from seepage.attacks._anew import Anew
from seepage.attacks._inversion import AttributeInversion
from seepage.attacks._membership import MembershipScore
from seepage.attacks._reconstruction import Reconstruction
from seepage.attacks._release import attackable, checked_people
from seepage.errors import InputError, UnansweredError
from seepage.execution.storage import Progress
from seepage.leakage import Leakage
from seepage.meaning import success_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from seepage.display import AttackDisplay


FALSE_ALARMS = 0.01
"""Probability that a right measurement is reported as wrong, for any number of people and trials."""
# The slope of an attack's mean is a difference over a step: so much of the floor may be its curvature.
_CURVED = 1e-3


@dataclass(frozen=True, eq=False)
class Verification:
    """An attack's result beside the bound, person by person.

    Attributes
    ----------
    frame : data frame
        One row an attacked person. For errors: `error`, `standard_error`, `floor` (of unbiased attacks),
        `biased_floor` (for an attack with the bias that was measured), `below` (the floor), `explained` (by the bias)
        and `p_value` (how often an attack that is as good as the bound allows looks at least as good as this one). For
        success rates: `success`, `standard_error`, `best`, `above` and `p_value`.
    verdict : str
        In words.
    holds : bool
        Whether every person's result agrees with the bound. If the measurement is right, it is False for no more than
        one seed in a hundred.
    quantity : str
        "root mean square error", "mean squared error" or "success rate".
    """

    frame: Frame
    verdict: str
    holds: bool
    quantity: str

    def plot(self, ax: "Axes | None" = None) -> "AttackDisplay":
        """Draw the attack against the bound, one dot a person, with the bound as a line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        # Imported here: pictures are for those who ask for them.
        from seepage.display import AttackDisplay

        return AttackDisplay.from_frame(self.frame, quantity=self.quantity).plot(ax)

    def __repr__(self) -> str:
        return f"Verification({self.verdict})"


def verify(
    leak: Leakage,
    attack: AttributeInversion | Reconstruction | MembershipScore | None = None,
    *,
    trials: int = 1000,
    people: ArrayLike | None = None,
    seed: int = 0,
) -> Verification:
    """Attack a release many times and hold the result against the bound.

    Guesses of a number are held against 1/eta: at the bound their squared errors follow a chi-square distribution,
    which is the test. Success rates are those of an attacker who has scikit-learn fit both models from scratch, tells
    noisy releases of one from those of the other by their likelihood, and counts; they are held against the rates of
    the measurement by a binomial test. Both are corrected for the number of people, so that a right measurement is
    called wrong for at most one seed in a hundred. With 1,000 trials and ten people or more, an eta that is understated
    by 10% for everybody is noticed for more than 99 seeds in a hundred. If it is one person's alone, that is a
    chi-square test's power: 94% among ten people, 76% among 200, 41% among 10,000; if it is understated by 20%, nearly
    always.

    Parameters
    ----------
    leak : Leakage
        The measurement of a release with noise.
    attack : AttributeInversion, Reconstruction or MembershipScore
        The attack, fitted or not.
    trials : int, default=1000
        Releases to draw for each person, and for success rates for each of the two models.
    people : array-like of int, optional
        Rows to attack where each takes a fit of its own (success rates); all by default.
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
    if not isinstance(trials, int | np.integer) or trials < 2:
        raise InputError(f"trials must be a whole number of at least 2, not {trials!r}.")
    if not isinstance(leak, Leakage):
        raise InputError(f"verify takes what seepage.measure returned, not {type(leak).__name__}.")
    if attack is None:
        raise InputError(
            "verify needs an attack on a release with noise, such as seepage.attacks.MembershipScore() or "
            'seepage.attacks.AttributeInversion("age").'
        )
    attack = attack.fit(leak)
    if isinstance(attack, AttributeInversion) and attack.kind != "white-box":
        raise InputError("The bound is on the white-box attacker, who does best; verify that one.")
    if isinstance(attack, MembershipScore):
        return _membership(attack, trials, seed, people)
    if isinstance(attack, AttributeInversion) and attack.nominal_:
        return _categories(attack, trials, seed, people)
    if people is not None:
        raise InputError("people= chooses whom to fit anew for success rates; errors of numbers need no such fits.")
    if isinstance(attack, Reconstruction):
        return _reconstruction(attack, trials, seed)
    if isinstance(attack, AttributeInversion):
        return _numbers(attack, trials, seed)
    raise InputError(
        f"verify knows AttributeInversion, Reconstruction and MembershipScore, not {type(attack).__name__}."
    )


def _numbers(attack: AttributeInversion, trials: int, seed: int) -> Verification:
    """Hold the guesses of a number against 1/eta."""
    eta = attack.leak_.information.attributes()[attack.attribute]
    step = attack.step(eta)
    parts = []
    for at, guesses, noise in attack.draws(trials=trials, seed=seed):
        # The same noise on records moved up and down: the slope of the attack's mean, by exact refits alone.
        moved = [attack.guess_moved(noise, at, sign * step) for sign in (1.0, -1.0)]
        slopes = (moved[0] - moved[1]) / (2 * step[at, None])
        errors = guesses - attack.truth_[at, None]
        parts.append((*_mean_and_error(errors**2), errors.mean(axis=1), _variance(errors), *_mean_and_error(slopes)))
    mse, error, bias, variance, slope, slope_error = (np.concatenate(part) for part in zip(*parts, strict=True))
    test = ErrorTest(trials, bias, variance, slope, slope_error, eta)
    return _of_errors(attack.leak_.people.frame, mse, error, 1 / eta**2, test, "root mean square error")


def _reconstruction(attack: Reconstruction, trials: int, seed: int) -> Verification:
    """Hold reconstructed records against 1/dFIL^2, and their part along the record itself against its own floor."""
    outputs, rows, truth = attackable(attack.leak_), attack.rows_, attack.truth
    if not outputs.takes_columns:
        raise InputError(
            "Reconstruction is verified where every feature is a private attribute: measure without a pipeline."
        )
    along = truth / np.linalg.norm(truth, axis=1, keepdims=True)
    jacobians = attack.leak_.information.jacobians(rows)
    assert jacobians is not None
    # The label, if it is private, is the last value.
    moved = jacobians.moved[:, :, : truth.shape[1]]
    every = (moved**2).sum(axis=1).mean(axis=1)
    whole = (np.einsum("kmf,kf->km", moved, along) ** 2).sum(axis=1)
    losses, component = [], []
    for guesses, _ in attack.draws(trials=trials, seed=seed):
        errors = guesses - truth
        losses.append((errors**2).mean(axis=2))
        component.append(np.einsum("tkp,kp->tk", errors, along))
    mse, error = _mean_and_error(np.concatenate(losses).T)
    parts = np.concatenate(component).T
    eta = np.sqrt(whole)
    slope, slope_error = attack.slopes(along, 0.5 / eta, trials=min(trials, 200), seed=seed)
    test = ErrorTest(trials, parts.mean(axis=1), _variance(parts), slope, slope_error, eta)
    make = attack.leak_.people.take(rows).frame
    return _of_errors(make, mse, error, 1 / every, test, "mean squared error", root=False)


def _mean_and_error(values: Array) -> tuple[Array, Array]:
    """Return the mean over trials, and its standard error."""
    return values.mean(axis=1), values.std(axis=1) / np.sqrt(values.shape[1])


def _variance(values: Array) -> Array:
    return np.asarray(values.var(axis=1, ddof=1))


@dataclass(frozen=True, eq=False)
class ErrorTest:
    """Chi-square test of whether the guesses of an attack vary less than eq. 5.2 allows with its bias.

    An attack whose mean moves by `slope` with the value has a variance of at least (slope / eta)^2. It reaches that
    only if its guesses are linear in the score, which is Gaussian: the sample variance over the floor is then
    chi-square distributed. Any other attack is above its floor by more than it is further from Gaussian.
    """

    trials: int
    bias: Array
    variance: Array
    """Of the guesses, unbiased."""
    slope: Array
    slope_error: Array
    eta: Array

    @property
    def level(self) -> float:
        """The p-value below which one of all people counts: together they raise few false alarms."""
        return FALSE_ALARMS / len(self.eta)

    @property
    def least(self) -> Array:
        """The smallest variance that the slope allows, taken at its lower confidence limit."""
        sure = np.maximum(np.abs(self.slope) + float(ndtri(self.level)) * self.slope_error, 0.0)
        return np.divide(sure, self.eta, out=np.zeros_like(sure), where=self.eta > 0) ** 2

    @property
    def biased_floor(self) -> Array:
        """Of the mean squared error."""
        return np.asarray(self.least + self.bias**2)

    @property
    def p_values(self) -> Array:
        return chi_square_below(self.variance, (1 - _CURVED) * self.least, self.trials - 1)


def chi_square_below(mean_square: Array, floor: Array, draws: int) -> Array:
    """Return how often the mean of squares of Gaussian draws is as small as this, if its expectation is the floor."""
    ratio = np.divide(mean_square, floor, out=np.full_like(floor, np.inf), where=floor > 0)
    return np.asarray(np.where(np.isfinite(ratio), chdtr(draws, draws * np.minimum(ratio, 1e300)), 1.0))


def _of_errors(
    make: Callable[[dict[str, Column]], Frame],
    mse: Array,
    error: Array,
    floors: Array,
    test: ErrorTest,
    name: str,
    *,
    root: bool = True,
) -> Verification:
    """Compare mean squared errors with floors, and variances with those that the bias allows."""
    below = chi_square_below(mse, floors, test.trials) < test.level
    p_values = test.p_values
    passed = p_values < test.level
    show = np.sqrt if root else np.asarray
    frame = make(
        {
            "error": show(mse),
            "standard_error": error / (2 * np.sqrt(mse)) if root else error,
            "floor": show(floors),
            "biased_floor": show(test.biased_floor),
            "below": below,
            "explained": below & ~passed,
            "p_value": p_values,
        }
    )
    unexplained = int(passed.sum())
    return Verification(frame, _verdict(len(mse), int(below.sum()), unexplained), unexplained == 0, name)


def _verdict(count: int, below: int, unexplained: int) -> str:
    if unexplained:
        return (
            f"{unexplained} of {count} people are below the floor, and the bias of the attack does not explain it: "
            "the measurement does not describe this release."
        )
    if below:
        return (
            f"The bound holds for all {count} people. The attack leans toward what is likely, and such guesses may "
            f"be nearer than the floor of unbiased ones: for {below} people they are, by no more than the bias "
            "allows."
        )
    return f"All {count} people: the attack is at or above the floor."


def _categories(attack: AttributeInversion, trials: int, seed: int, people: ArrayLike | None) -> Verification:
    """Hold the test between the true value and the one farthest from it against its best success rate."""
    information = attack.leak_.information
    values = tuple(attack.values_.tolist())
    # What is verified are the measurement's distances, and the attack's own, which guesses are made with.
    found = information.distances(attack.attribute, values)
    exact = np.ones(attack.distances.shape, dtype=bool) if found.exact is None else found.exact
    distance = np.where(exact, np.minimum(found.distance, attack.distances), attack.distances)
    farthest = distance.argmax(axis=1)
    name = None if attack.attribute in information.outcome else attack.attribute

    def other(anew: Anew, person: int) -> Array:
        return anew.with_value(person, name, values[farthest[person]])

    return _told_apart(attack.leak_, other, distance.max(axis=1), trials, seed, people)


def _membership(attack: MembershipScore, trials: int, seed: int, people: ArrayLike | None) -> Verification:
    return _told_apart(attack.leak_, Anew.without, attack.distance_, trials, seed, people)


def _told_apart(
    leak: Leakage,
    other: Callable[[Anew, int], Array],
    distance: Array,
    trials: int,
    seed: int,
    people: ArrayLike | None,
) -> Verification:
    """Count how often releases of the model and of each person's other one are told apart, both fitted from scratch."""
    outputs = attackable(leak)
    rows = np.arange(outputs.rows.count) if people is None else checked_people(people, outputs.rows.count)
    assert outputs.noise.scale is not None
    anew = Anew(outputs)
    whole, random = anew.whole(), np.random.default_rng(seed)
    right = np.zeros(len(rows), dtype=np.int64)
    with Progress(None).of("fitting anew", len(rows), called="people") as watch:
        for k, person in enumerate(rows.tolist()):
            models = whole, _other(other, anew, person, whole.shape)
            for own, rival in (models, models[::-1]):
                release = own + outputs.noise.scale * random.standard_normal((trials, len(own)))
                # Gaussian noise of one scale: the likelier model is the nearer one.
                right[k] += int((((release - own) ** 2).sum(axis=1) < ((release - rival) ** 2).sum(axis=1)).sum())
            watch(1)
    who = leak.people if people is None else leak.people.take(rows)
    return _of_rates(who.frame, right, success_rate(distance[rows]), 2 * trials)


def _other(other: Callable[[Anew, int], Array], anew: Anew, person: int, shape: tuple[int, ...]) -> Array:
    try:
        found = other(anew, person)
        if found.shape == shape:
            return found
    except ValueError:
        pass
    raise UnansweredError(
        f"Without the record in row {person} scikit-learn fits no such model: nobody else has its label. Leave it out: "
        "people=[...] says whom to attack."
    )


def _of_rates(
    make: Callable[[dict[str, Column]], Frame],
    right: NDArray[np.int64],
    best: Array,
    draws: int,
) -> Verification:
    """Compare counts of successes with the best rates, person by person and all together, by binomial tests."""
    success = right / draws
    p_values = binomial_above(right, draws, best)
    # Half of the false alarms for single people, half for all of them: many small excesses are one large one. The sum
    # of unequal chances has lighter tails than as many equal ones (Hoeffding 1956).
    above = p_values < FALSE_ALARMS / 2 / len(right)
    whole = binomial_above(right.sum(), draws * len(right), best.mean()) < FALSE_ALARMS / 2
    error = np.sqrt(best * (1 - best) / draws)
    frame = make({"success": success, "standard_error": error, "best": best, "above": above, "p_value": p_values})
    count = int(above.sum())
    wrong = "more often than the bound allows: the measurement does not describe this release."
    verdict = f"All {len(success)} people: the attack succeeds no more often than the bound allows."
    if count:
        verdict = f"{count} of {len(success)} people are guessed {wrong}"
    elif whole:
        verdict = f"Taken together, {len(success)} people are guessed {wrong}"
    return Verification(frame, verdict, not (count or whole), "success rate")


def binomial_above(right: ArrayLike, draws: int, best: ArrayLike) -> Array:
    """Return how often this many of the draws, or more, succeed at a rate that is the best one."""
    hits = np.asarray(right, dtype=np.float64)
    return np.asarray(np.where(hits > 0, bdtrc(np.maximum(hits - 1, 0), draws, best), 1.0))
