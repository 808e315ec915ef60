"""Every world that a printed table could have come from, counted: what somebody who counts finds out.

Two kinds. Toys of a few people, whose records are one of two values each: all of their worlds are written down. And
models of a yes/no outcome with covariates in whole numbers, which everybody knows: all that such a model prints is a
function of X^T y, whose distribution over all worlds is a few convolutions, so that hundreds of people can be counted.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import seepage
from seepage.attackers import Crowd, Digits, Formed, Held, Level, Printed
from seepage.attackers._claims import CLAIMED, MOST_LIKE_NORMAL, Claims, even

Array = NDArray[np.float64]

MOST_BETTER = 0.03


@dataclass(frozen=True, eq=False)
class Toy:
    """People each of whom moves the printed numbers in one of two ways; the first of them is attacked."""

    name: str
    low: Array
    """What each adds to the sums in the first case, shape (people, sums)."""
    high: Array
    share: Array
    """How likely the second is."""
    solve: Callable[[Array], Array]
    """From sums to printed numbers."""
    levels: Callable[[float], tuple[Level, ...]]
    """How many have either value, of as many people."""

    @property
    def unknown(self) -> int:
        return len(self.share) - 1

    def moves(self) -> Array:
        """Return what each person's case moves the numbers by, to first order, at the mean of all worlds."""
        mean = (self.low + self.share[:, None] * (self.high - self.low)).sum(axis=0)
        steps = 1e-5 * np.eye(len(mean)) * np.maximum(np.abs(mean), 1.0)[:, None]
        slope = np.stack([(self.solve(mean[None] + s) - self.solve(mean[None] - s))[0] / (2 * s.sum()) for s in steps])
        return np.asarray((self.high - self.low) @ slope)


def binary_outcomes(people: int, coefficients: int, share: float, rng: np.random.Generator) -> Toy:
    """Draw least squares of a yes/no outcome, covariates known."""
    Z = np.column_stack([rng.normal(size=(people, coefficients - 1)), np.ones(people)])
    inverse = np.linalg.inv(Z.T @ Z)

    def levels(count: float) -> tuple[Level, ...]:
        yes = round(share * count)
        return (Level("y", 1, yes, coefficients), Level("y", 0, round(count) - yes, coefficients))

    return Toy(
        f"outcomes, {share:.0%}",
        np.zeros_like(Z),
        Z,
        np.full(people, share),
        lambda sums: np.asarray(sums @ inverse.T),
        levels,
    )


def one_of_two(people: int, coefficients: int, share: float, rng: np.random.Generator) -> Toy:
    """Draw least squares of people whose whole record is one of two."""
    at = np.triu_indices(coefficients)

    def sums(Z: Array, y: Array) -> Array:
        return np.column_stack([Z[:, at[0]] * Z[:, at[1]], Z * y[:, None]])

    def records() -> Array:
        Z = np.column_stack([rng.normal(size=(people, coefficients - 1)), np.ones(people)])
        return sums(Z, Z[:, 0] + rng.normal(size=people))

    def solve(found: Array) -> Array:
        square = np.zeros((len(found), coefficients, coefficients))
        square[:, at[0], at[1]] = square[:, at[1], at[0]] = found[:, : len(at[0])]
        return np.asarray(np.linalg.solve(square, found[:, len(at[0]) :, None])[:, :, 0])

    return Toy(f"records, {share:.0%}", records(), records(), np.full(people, share), solve, lambda count: ())


def counted(toy: Toy, steps: Array) -> float:
    """Return how often the best guess of the first person's case is right, at even odds, over all worlds."""
    m = toy.unknown
    worlds = ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(np.float64)
    weight = np.exp(worlds @ np.log(toy.share[1:]) + (1 - worlds) @ np.log1p(-toy.share[1:]))
    rest = toy.low[1:].sum(axis=0) + worlds @ (toy.high - toy.low)[1:]
    seen = np.concatenate([np.round(toy.solve(rest + own) / steps) for own in (toy.low[0], toy.high[0])])
    seen = (seen - seen.min(axis=0)).astype(np.int64)
    keys = np.ravel_multi_index(seen.T, seen.max(axis=0) + 1)
    _, cell = np.unique(keys, return_inverse=True)
    first, second = np.bincount(cell[: len(worlds)], weight, cell.max() + 1), np.bincount(cell[len(worlds) :], weight)
    second = np.pad(second, (0, len(first) - len(second)))
    return float(0.5 * np.maximum(first, second).sum())


def said(toy: Toy, delta: float) -> tuple[float, bool, Array]:
    """Return what the theory says of the first person, whether it is claimed, and the steps of printing."""
    moves = toy.moves()
    deviations = np.sqrt(toy.share * (1 - toy.share))[:, None] * moves
    signs = np.where(np.arange(len(moves)) % 2, 1.0, -1.0)[:, None]
    crowd = Crowd(Held(deviations), modeled=True)
    steps = delta * np.sqrt((deviations[1:] ** 2).sum(axis=0))
    printed = _printed(deviations * signs, toy.levels(toy.unknown))
    bits = float(-(toy.share * np.log2(toy.share) + (1 - toy.share) * np.log2(1 - toy.share)).mean())
    claims = Claims(printed, crowd, Digits(steps, "printed"), bits)
    seen = crowd.unknown(toy.unknown).without(deviations[:1], Formed(moves[:1, :, None]))
    claimed = claims.reason(toy.unknown) == CLAIMED
    claimed &= bool(even(seen, np.ones((1, 1, 1)), toy.unknown)[0, 0] >= MOST_LIKE_NORMAL)
    return float(norm.cdf(np.sqrt(seen.matrices()[0, 0, 0]) / 2)), claimed, steps


def _printed(moves: Array, levels: tuple[Level, ...]) -> Printed:
    """Return numbers of which only how they scatter is asked for."""
    none: Callable[..., Array] = lambda *asked: np.empty(0)  # noqa: E731
    q = moves.shape[1]
    return Printed(
        names=tuple(map(str, range(q))),
        values=np.zeros(q),
        whole=np.zeros(q, dtype=bool),
        moves=Held(moves),
        blocks={},
        jacobian=none,
        shifted=none,
        changed=none,
        elsewhere=None,
        guesses=dict,
        levels=levels,
        record_bits=0.0,
        scatter=lambda: None,
        parameters=q,
        leverages=lambda: np.zeros(len(moves)),
        twice=np.zeros(len(moves), dtype=bool),
    )


def toys(designs: int, most: int = 18, seed: int = 0) -> Iterator[dict[str, object]]:
    """Yield, for each kind of toy and step, the exact success and the theory's, in the mean over designs."""
    kinds = [(binary_outcomes, share, p, m) for share in (0.5, 0.1) for p in (2, 3, 4) for m in (8, 12, 16, 18)]
    kinds += [(one_of_two, share, p, m) for share in (0.5, 0.2) for p in (2, 3) for m in (8, 12, 15)]
    for make, share, p, m in kinds:
        if m > most:
            continue
        for delta in (0.01, 0.1, 0.5, 1.0):
            rng = np.random.default_rng([seed, p, m])
            found = []
            for _ in range(designs if m < 16 else max(designs // 4, 1)):
                toy = make(m + 1, p, share, rng)
                theory, claimed, steps = said(toy, delta)
                found.append((counted(toy, steps), theory, claimed))
            exact, theory, claimed = np.array(found, dtype=float).T
            yield {
                "case": toy.name,
                "numbers": p,
                "unknown": m,
                "step": delta,
                "exact": float(exact.mean()),
                "theory": float(theory.mean()),
                "claimed": float(claimed.mean()),
                "claimed exact": float(exact[claimed > 0].mean()) if claimed.any() else np.nan,
                "claimed theory": float(theory[claimed > 0].mean()) if claimed.any() else np.nan,
            }


@dataclass(frozen=True, eq=False)
class Lattice:
    """A logistic model whose covariates are whole numbers that everybody knows."""

    covariates: NDArray[np.int64]
    """Shape (people, columns), from 0."""
    share: Array

    @property
    def rows(self) -> NDArray[np.int64]:
        return np.column_stack([self.covariates, np.ones(len(self.covariates), dtype=np.int64)])

    def worlds(self, but: int) -> tuple[NDArray[np.int64], Array]:
        """Return every sum X^T y over all people but one, and its probability."""
        rows = np.delete(self.rows, but, axis=0)
        dense = np.zeros(rows.sum(axis=0) + 1)
        dense[(0,) * rows.shape[1]] = 1.0
        for row, share in zip(rows, np.delete(self.share, but), strict=True):
            moved = np.zeros_like(dense)
            to = tuple(slice(int(step), None) for step in row)
            fro = tuple(slice(0, size - int(step)) for size, step in zip(dense.shape, row, strict=True))
            moved[to] = dense[fro]
            dense = (1 - share) * dense + share * moved
        at = np.argwhere(dense > 1e-12)
        return at, dense[tuple(at.T)]

    def tables(self, sums: NDArray[np.int64]) -> Array:
        """Return what is printed for each X^T y: coefficients, standard errors, number of cases."""
        Z = self.rows.astype(float)
        theta = np.zeros((len(sums), Z.shape[1]))
        outer = (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), -1)
        for _ in range(60):
            mean = 1 / (1 + np.exp(-np.clip(theta @ Z.T, -30, 30)))
            hessian = ((mean * (1 - mean)) @ outer).reshape(len(sums), *(Z.shape[1],) * 2)
            hessian += 1e-9 * np.eye(Z.shape[1])
            step = np.linalg.solve(hessian, (sums - mean @ Z)[:, :, None])[:, :, 0]
            # Where the outcomes can be told apart there is no fit, and the sums are all that is told.
            theta = np.clip(theta + np.clip(step, -2, 2), -40, 40)
            if np.abs(step).max(initial=0.0) < 1e-9:
                break
        errors = np.sqrt(np.abs(np.einsum("kii->ki", np.linalg.inv(hessian))))
        wild = (np.abs(theta) >= 20).any(axis=1)
        theta[wild], errors[wild] = 1e3 * sums[wild], 1e3
        return np.concatenate([theta, errors, sums[:, -1:]], axis=1)

    def posterior(self, person: int, outcomes: NDArray[np.int64], steps: Array, kept: NDArray[np.intp]) -> float:
        """Return how sure somebody who counts all worlds is of one person's outcome, at even odds."""
        return float(self.posteriors(person, [(outcomes, steps)], kept)[0])

    def posteriors(
        self, person: int, seen: list[tuple[NDArray[np.int64], Array]], kept: NDArray[np.intp]
    ) -> list[float]:
        """Return the same for several outcomes of everybody, each with its steps of printing."""
        at, weight = self.worlds(person)
        shown = [self.tables(at + outcome * self.rows[person])[:, kept] for outcome in (0, 1)]
        found = []
        for outcomes, steps in seen:
            table = self.tables((outcomes @ self.rows)[None])[0, kept]
            cell = np.round(table / steps)
            fits = [weight[(np.round(each / steps) == cell).all(axis=1)].sum() for each in shown]
            found.append(float(max(fits) / max(sum(fits), 1e-300)))
        return found


def lattices(people: int, columns: tuple[int, ...], margin: Array, rng: np.random.Generator) -> Lattice:
    """Draw covariates of so many values each, and how likely an outcome is."""
    X = np.column_stack([rng.integers(0, values, people) for values in columns])
    return Lattice(X, 1 / (1 + np.exp(-(np.column_stack([X, np.ones(people)]) @ margin))))


LATTICES = {
    # People, values of each column, margins: with how likely outcomes are.
    "one column": (60, (5,), (0.4, -0.8)),
    "one column, many": (150, (5,), (0.4, -0.8)),
    "two columns": (80, (4, 2), (0.4, 0.5, -0.8)),
    "rare outcome": (300, (5,), (0.3, -3.2)),
    "rare outcome, few people": (120, (5,), (0.3, -3.2)),
    "few people": (26, (5,), (0.4, -0.8)),
}


def through_the_door(
    name: str, worlds: int, seed: int = 0, digits_of: Sequence[int | None] = (None, 1, 3)
) -> Iterator[dict[str, object]]:
    """Yield success by counting and by `seepage.measure`, for what is printed and to which digits."""
    people, columns, margin = LATTICES[name]
    rng = np.random.default_rng([seed, people])
    lattice = lattices(people, columns, np.array(margin), rng)
    names = [f"x{i}" for i in range(len(columns))]
    X, size = pd.DataFrame(lattice.covariates.astype(float), columns=names), len(columns) + 1
    drawn = []
    while len(drawn) < worlds:
        y = (rng.random(people) < lattice.share).astype(np.int64)
        y[0] = rng.integers(2)
        wild = np.abs(lattice.tables((y @ lattice.rows)[None])[0, :size]).max() > 15
        if not wild:
            drawn.append(y)
    for published, kept in ((["coefficients"], np.append(np.arange(size), 2 * size)), (None, np.arange(2 * size + 1))):
        for digits in digits_of:
            said, seen = [], []
            for y in drawn:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
                leak = seepage.measure(
                    model, X, pd.Series(y, name="y"), known_records="covariates", published=published, digits=digits
                )
                said.append(float(np.asarray(leak.success_rate("y")["success_rate"])[0]))
                seen.append((y, leak.information.digits.steps))
            exact, theory = np.array(lattice.posteriors(0, seen, kept)), np.array(said)
            claimed = ~np.isnan(theory)
            yield {
                "case": f"{name}, {'coefficients' if published else 'a table'}",
                "numbers": len(kept),
                "unknown": people - 1,
                "step": "rule" if digits is None else f"{digits} decimals",
                "exact": float(exact.mean()),
                "theory": float(np.nanmean(theory)) if claimed.any() else np.nan,
                "claimed": float(claimed.mean()),
                "claimed exact": float(exact[claimed].mean()) if claimed.any() else np.nan,
                "claimed theory": float(theory[claimed].mean()) if claimed.any() else np.nan,
            }
