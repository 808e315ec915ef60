"""Guess one attribute of each person from a release, all else known (eqs. 10.1 and 10.2)."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from seepage._python import Self
from seepage._tables import Array, Column, Frame, comparable
from seepage.attacks._release import attackable, check_fitted, chunks, drawn_noise, observed
from seepage.errors import InputError, UnansweredError
from seepage.execution.storage import Progress
from seepage.leakage import Leakage
from seepage.linear.objective import Logistic, Squared
from seepage.linear.rows import Batch

# Refits that a curve over all values of a number is drawn through.
_NODES = 17


@dataclass(eq=False)
class AttributeInversion:
    """Guess the value of one attribute of every person.

    The white-box attacker compares the release with the exact minimizer for each candidate value. The black-box
    attacker only compares the label with what the published model predicts for each candidate, weighted by a prior.

    Parameters
    ----------
    attribute : str
        The attribute to guess.
    kind : "white-box" or "black-box", default="white-box"
        What the attacker looks at.
    candidates : sequence, optional
        The values that come into question: those of the data by default. A number without candidates may be anything
        from half its range below to half its range above the data.
    prior : mapping from value to probability, optional
        What the attacker holds likely beforehand. The black-box attacker takes the shares in the data by default; the
        white-box attacker of Hannun et al. (2021) uses none, and with one never does worse, on average, than guessing
        by it.
    progress : bool, optional
        Whether to show how far it is and how long it takes; by default only in a terminal.

    Examples
    --------
    >>> import pandas as pd, seepage
    >>> from sklearn.linear_model import Ridge
    >>> X = pd.DataFrame({"a": [0.1, 0.4, 0.2, 0.9, 0.5], "b": [1.0, 0.0, 1.0, 0.0, 0.0]})
    >>> y = [0.0, 1.0, 0.0, 1.0, 2.0]
    >>> leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1e-6)
    >>> attack = seepage.attacks.AttributeInversion("b", candidates=[0.0, 1.0]).fit(leak)
    >>> attack.evaluate(trials=10)["success"].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """

    attribute: str
    kind: Literal["white-box", "black-box"] = "white-box"
    candidates: Sequence[Hashable] | None = None
    prior: Mapping[Hashable, float] | None = None
    progress: bool | None = None
    leak_: Leakage = field(init=False, repr=False)
    values_: Column = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in ("white-box", "black-box"):
            raise InputError(f'kind must be "white-box" or "black-box", not {self.kind!r}.')

    def fit(self, leak: Leakage) -> Self:
        """Learn what the attacker knows: the model, all data but the attribute in question, and the noise.

        Parameters
        ----------
        leak : Leakage
            The measurement of the model under attack.
        """
        outputs, information = attackable(leak, shaped=True), leak.information
        if self.attribute not in information.attribute_names:
            raise InputError(
                f"There is no private attribute {self.attribute!r}. There are {list(information.attribute_names)}."
            )
        self._label = self.attribute in information.outcome
        self._name = None if self._label else self.attribute
        column = outputs.rows.column(self._name)
        self.nominal_ = self.attribute in information.categorical or self.candidates is not None
        if not self.nominal_ and outputs.selects:
            raise UnansweredError(
                f"Refits with other values of {self.attribute!r} have kinks, because of the L1 penalty, and this "
                "attack on a number draws a smooth curve through a few of them. Name the values in question: "
                f"AttributeInversion({self.attribute!r}, candidates=[...])."
            )
        if self.candidates is not None:
            self.values_ = comparable(list(self.candidates), column)
        elif self.nominal_:
            self.values_ = np.unique(column)
        else:
            low, high = float(column.min()), float(column.max())
            half = (high - low) or 1.0
            self._middle, self._half = (low + high) / 2, half
            self.values_ = self._middle + half * chebyshev.chebpts1(_NODES)
        self.truth_ = column
        self.leak_ = leak
        if self.kind == "white-box":
            self._moves = self._refits()
            if not self.nominal_:
                # Refits are smooth in the value: a polynomial through a few of them is all of them.
                inverse = np.linalg.inv(chebyshev.chebvander(chebyshev.chebpts1(_NODES), _NODES - 1))
                self._curve = np.einsum("dj,njp->ndp", inverse, self._moves)
        return self

    @property
    def distances(self) -> Array:
        """Distance of the release with each candidate, in units of the noise, shape (people, candidates)."""
        check_fitted(self)
        return np.asarray(np.linalg.norm(self._moves, axis=2))

    def _refits(self) -> Array:
        """Return where the minimizer is for each person and candidate, relative to the true one, in noise units."""
        outputs = attackable(self.leak_, shaped=True)
        people, values = np.arange(outputs.rows.count)[:, None], self.values_.tolist()
        with Progress(self.progress).of("refitting", people.size * len(values), called="records") as watch:
            refit, seen = outputs.refit, outputs.in_noise_units
            exchanges = (refit.exchange(people, self._name, value) for value in values)
            moves = np.stack([seen(refit.moves(each, watch)) for each in exchanges], axis=1)
        missing = int(np.isnan(moves).any(axis=(1, 2)).sum())
        if missing:
            raise UnansweredError(
                f"The model could not be refitted with every candidate {self.attribute} of {missing} people: one "
                "record moves it very far. Fit with a stronger penalty, or give fewer candidates."
            )
        return moves

    def guess(self, publication: object) -> Column:
        """Return the guess for each person from one publication.

        Parameters
        ----------
        publication : Publication or estimator
            What was published.
        """
        check_fitted(self)
        outputs = attackable(self.leak_, shaped=True)
        theta = observed(outputs, publication)
        move = theta - outputs.values
        shared = np.broadcast_to(move, (outputs.rows.count, 1, move.shape[1]))
        return np.concatenate([self._guess(shared[at], at)[:, 0] for at in self._people(1)])

    def evaluate(self, *, trials: int = 100, seed: int = 0) -> Frame:
        """Attack releases drawn anew, each person in trials of their own.

        Parameters
        ----------
        trials : int, default=100
            Releases for each person.
        seed : int, default=0
            Of the draws.

        Returns
        -------
        data frame
            One row a person: for categories `success` and its `standard_error`; for numbers the root mean square
            `error`, its `standard_error`, and the `bias`.
        """
        check_fitted(self)
        truth, guesses = self.truth_, np.concatenate([guess for _, guess, _ in self.draws(trials=trials, seed=seed)])
        if self.nominal_:
            hits = (guesses == truth[:, None]).mean(axis=1)
            columns = {"success": hits, "standard_error": np.sqrt(hits * (1 - hits) / trials)}
        else:
            errors = guesses - truth[:, None]
            root = np.sqrt((errors**2).mean(axis=1))
            spread = (errors**2).std(axis=1) / np.sqrt(trials)
            columns = {"error": root, "standard_error": spread / (2 * root), "bias": errors.mean(axis=1)}
        return self.leak_.people.frame(columns)

    def draws(self, *, trials: int, seed: int):  # type: ignore[no-untyped-def]
        """Yield slices of people with their guesses (people, trials) and the noise (people, trials, parameters)."""
        outputs = attackable(self.leak_, shaped=True)
        random = np.random.default_rng(seed)
        with Progress(self.progress).of("attacking", outputs.rows.count, called="people") as watch:
            for at in self._people(trials):
                noise = drawn_noise(outputs, random, at.stop - at.start, trials)
                yield at, self._guess(noise, at), noise
                watch(at.stop - at.start)

    def step(self, eta: Array) -> Array:
        """Return by how much to move each person's value to see the attack follow: half its floor, within range."""
        return np.minimum(0.5 / np.maximum(eta, 1e-300), 0.1 * self._half)

    def guess_moved(self, noise: Array, at: slice, step: Array) -> Array:
        """Return the guesses when each person's value, and so the release, is moved by `step`."""
        value = np.asarray(self.truth_[at], dtype=np.float64)
        place = (value + step[at] - self._middle) / self._half
        moved = np.einsum("nd,ndp->np", chebyshev.chebvander(place, _NODES - 1), self._curve[at])
        back = attackable(self.leak_, shaped=True).from_noise_units(moved)
        return np.asarray(self._guess(noise + back[:, None, :], at))

    def _people(self, trials: int) -> Iterator[slice]:
        outputs = attackable(self.leak_, shaped=True)
        return chunks(outputs.rows.count, trials * (len(outputs.values) + len(self.values_)))

    def _guess(self, noise: Array, at: slice) -> Column:
        """Return guesses for releases that are off the exact minimizer by `noise`, shape (people, trials)."""
        if self.kind == "black-box":
            return self._by_prediction(noise, at)
        outputs = attackable(self.leak_, shaped=True)
        seen = outputs.in_noise_units(noise)
        moves = self._moves[at]
        # |seen - move|^2 without the term that all candidates share.
        cost = (moves**2).sum(axis=2)[:, None, :] - 2 * seen @ moves.transpose(0, 2, 1)
        if self.prior is not None:
            cost -= 2 * self._log_prior()
        best = self.values_[cost.argmin(axis=2)]
        return best if self.nominal_ else self._refined(best, seen, at)

    def _refined(self, guess: Array, seen: Array, at: slice) -> Array:
        """Return the value whose release is nearest, by Gauss-Newton steps along the curve of refits."""
        slopes = np.einsum("de,nep->ndp", chebyshev.chebder(np.eye(_NODES)), self._curve[at])
        for _ in range(8):
            place = (guess - self._middle) / self._half
            here = chebyshev.chebvander(place, _NODES - 1) @ self._curve[at]
            slope = chebyshev.chebvander(place, _NODES - 2) @ slopes
            lengths = np.maximum((slope**2).sum(axis=2), 1e-300)
            place = place + ((seen - here) * slope).sum(axis=2) / lengths
            guess = self._middle + self._half * place.clip(-1.0, 1.0)
        return np.asarray(guess)

    def _by_prediction(self, noise: Array, at: slice) -> Column:
        """Return the candidate under which the label is likeliest, given the published model's prediction."""
        outputs = attackable(self.leak_, shaped=True)
        if not isinstance(outputs.loss, Squared | Logistic) or outputs.loss.outputs > 1:
            raise InputError("The black-box attack is written for squared and logistic loss with one output.")
        theta = outputs.values + noise
        log_prior = self._log_prior()
        score = np.empty((*noise.shape[:2], len(self.values_)))
        for j, value in enumerate(self.values_.tolist()):
            batch = outputs.rows.altered(at, self._name, value)
            margins = np.einsum("np,ntp->nt", batch.augmented(), theta)
            if batch.offset is not None:
                margins += batch.offset[:, None]
            score[:, :, j] = log_prior[j] - self._surprise(batch, margins)
        return np.asarray(self.values_[score.argmax(axis=2)])

    def _surprise(self, batch: Batch, margins: Array) -> Array:
        outputs = attackable(self.leak_, shaped=True)
        loss, y = outputs.loss, batch.labels
        assert isinstance(loss, Squared | Logistic)
        each = np.asarray(loss.formula(margins, y))
        return each / self._residual_variance() if isinstance(loss, Squared) else each

    def _residual_variance(self) -> float:
        if not hasattr(self, "_variance"):
            outputs = attackable(self.leak_, shaped=True)
            squares = 0.0
            for span in outputs.rows.spans():
                batch = outputs.rows.read(span)
                squares += float(((outputs.margins(batch) - batch.labels) ** 2).sum())
            self._variance = squares / outputs.rows.count
        return self._variance

    def _truth_index(self) -> NDArray[np.intp]:
        return np.asarray((self.truth_[:, None] == self.values_).argmax(axis=1))

    def _log_prior(self) -> Array:
        if self.prior is not None:
            missing = [value for value in self.values_.tolist() if value not in self.prior]
            if missing:
                raise InputError(f"The prior gives no probability to {missing[0]!r}.")
            share = np.array([float(self.prior[value]) for value in self.values_.tolist()])
        elif self.nominal_:
            share = np.bincount(self._truth_index(), minlength=len(self.values_)).astype(np.float64)
        else:
            share = np.ones(len(self.values_))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(share / share.sum()))
