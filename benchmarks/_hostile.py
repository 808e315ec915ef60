"""Data that a description by averages should not fit, through the public door: it must be right, or claim nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

import seepage
from benchmarks._redrawn import Tables, informations, slopes
from benchmarks.others import HELD, Case

Array = NDArray[np.float64]
Places = NDArray[np.intp]

_SLOPES = 40


@dataclass(frozen=True, eq=False)
class Hostile:
    """Rows, how they would be drawn anew, and how somebody asks about them."""

    case: Case
    people: Places
    """Who is attacked: those in whom it should fail first, and a few others."""
    families: Places | None = None
    """Rows that are drawn as a whole; each row by itself if None."""
    strata: Places | None = None
    """Of how many rows of each of these there are, the design says."""
    same: bool = False
    """Whether rows of a family are one person's, entered more than once."""
    asked: Mapping[str, object] = field(default_factory=dict)


def hostile(seed: int = 0) -> Iterator[Hostile]:
    """Yield the data sets."""
    rng = np.random.default_rng(seed)
    least, n = LinearRegression(), 400

    def some(count: int, *first: int) -> Places:
        rest = np.setdiff1d(np.arange(count), first)
        return np.concatenate([np.array(first, dtype=np.intp), rng.choice(rest, 6 - len(first), replace=False)])

    def normal(rows: int, columns: int = 3) -> Array:
        return rng.normal(size=(rows, columns))

    def case(name: str, X: Array, y: Array, family: str, model: object) -> Case:
        return Case(
            name, pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]), pd.Series(y, name="y"), family, model
        )

    logistic = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    poisson = PoissonRegressor(alpha=0, tol=1e-12, max_iter=10_000)

    X = rng.standard_t(3, size=(n, 3))
    y = X @ [1, 0.5, 0] + rng.standard_t(3, size=n)
    far = int(np.argmax((X**2).sum(axis=1)))
    yield Hostile(case("heavy tails", X, y, "squares", least), some(n, far, int(np.argmax(np.abs(y)))))

    X = normal(n)
    X[0] = [np.sqrt(n), 0, 0]
    y = X @ [0.3, 0.5, 0] + rng.normal(size=n)
    yield Hostile(case("a leverage of a half", X, y, "squares", least), some(n, 0, 1))
    X = normal(n)
    X[0] = [np.sqrt(n), 0, 0]
    y = X @ [0.3, 0.5, 0] + rng.normal(size=n)
    y[0] += 6
    yield Hostile(case("a leverage of a half, far off", X, y, "squares", least), some(n, 0, 1))

    for rows in (400, 1500):
        X = normal(rows, 2)
        y = (rng.random(rows) < 1 / (1 + np.exp(-(-4.2 + 0.7 * X[:, 0])))).astype(int)
        yes = np.flatnonzero(y)[:2].tolist()
        yield Hostile(case(f"outcomes of 2%, {rows}", X, y, "logistic", logistic), some(rows, *yes))
    X = normal(600, 2)
    y = (rng.random(600) < 0.02).astype(float)
    yield Hostile(
        case("outcomes of 2%, least squares", X, y, "squares", least), some(600, *np.flatnonzero(y)[:2].tolist())
    )
    X = normal(600, 2)
    y = rng.poisson(np.exp(-3 + 0.5 * X[:, 0])).astype(float)
    yield Hostile(case("counts, 95% zeros", X, y, "Poisson", poisson), some(600, *np.flatnonzero(y)[:2].tolist()))

    for holders in (4, 12, 40):
        X = np.column_stack([normal(n, 2), (np.arange(n) < holders)])
        y = X @ [1, 0.5, 1] + rng.normal(size=n)
        yield Hostile(case(f"a dummy of {holders}", X, y, "squares", least), some(n, 0, 1))
    d = np.arange(n) < 16
    X = np.column_stack([normal(n, 1), d, d * rng.normal(size=n)])
    y = X @ [1, 0.5, 1] + rng.normal(size=n)
    yield Hostile(case("a dummy of 16 and its slope", X, y, "squares", least), some(n, 0, 1))
    X = np.column_stack([normal(n, 1), np.arange(n) < 24])
    y = (rng.random(n) < 1 / (1 + np.exp(-(0.7 * X[:, 0] + 0.5 * X[:, 1])))).astype(int)
    yield Hostile(case("a dummy of 24, logistic", X, y, "logistic", logistic), some(n, 0, 1))

    family = np.repeat(np.arange(80), 5)
    shock = rng.normal(size=80)[family]
    X = np.column_stack([normal(n, 1), rng.normal(size=80)[family], normal(n, 1)])
    y = X @ [1, 0.5, 0] + shock + 0.7 * rng.normal(size=n)
    drawn = case("clusters, undeclared", X, y, "squares", least)
    yield Hostile(drawn, some(n), family)
    yield Hostile(case("clusters, declared", X, y, "squares", least), some(n), family, asked={"clusters": family})
    family = np.repeat(np.arange(70), 20)
    shock = rng.normal(size=70)[family]
    X = np.column_stack([normal(1400, 1), family < 6])
    y = X @ [1, 0.5] + shock + 0.7 * rng.normal(size=1400)
    yield Hostile(
        case("6 of 70 clusters treated", X, y, "squares", least), some(1400, 0, 1), family, asked={"clusters": family}
    )

    X = np.repeat(normal(200), 2, axis=0)
    y = X @ [1, 0.5, 0] + np.repeat(rng.normal(size=200), 2)
    twice = np.repeat(np.arange(200), 2)
    yield Hostile(case("everybody entered twice", X, y, "squares", least), some(n), twice, same=True)
    X = normal(n)
    X[200:220] = X[:20]
    y = X @ [1, 0.5, 0] + rng.normal(size=n)
    y[200:220] = y[:20]
    family = np.arange(n)
    family[200:220] = np.arange(20)
    yield Hostile(case("20 people entered twice", X, y, "squares", least), some(n, 0, 1), family, same=True)

    X = normal(40_000, 2)
    y = (rng.random(40_000) < 1 / (1 + np.exp(-(-4.2 + 0.9 * X[:, 0])))).astype(int)
    yes, no = np.flatnonzero(y)[:150], np.flatnonzero(y == 0)[:300]
    both = np.concatenate([yes, no])
    yield Hostile(
        case("cases and controls", X[both], y[both], "logistic", logistic),
        some(450, 0, 1),
        strata=y[both].astype(np.intp),
    )


def attacked(one: Hostile, redraws: int, seed: int = 0) -> list[dict[str, object]]:
    """Return what was said over what the best linear guess reached, one entry a cell."""
    rng, case = np.random.default_rng(seed), one.case
    X, y = case.X, case.y
    leak = seepage.measure(case.model.fit(X, y), X, y, **one.asked)  # type: ignore[arg-type, attr-defined]
    declared = "clusters" in one.asked
    family = np.arange(len(X)) if one.families is None else one.families
    members = [np.flatnonzero(family == each) for each in range(int(family.max()) + 1)]
    members = [each for each in members if len(each)]
    place = np.zeros(len(X), dtype=np.intp)
    for i, each in enumerate(members):
        place[each] = i
    strata = np.zeros(len(members), dtype=np.intp) if one.strata is None else one.strata[[m[0] for m in members]]
    tables = case.tables
    start = tables.fitted()
    units = len(members) if declared else len(X)
    most = units - 1 - int(np.ceil(leak.information.claims.fewest))
    cells = []
    for known in sorted({0, max(most, 0)}):
        said = leak.against(known)
        etas = said.attributes
        for i in one.people:
            rest = np.delete(np.arange(len(members)), place[i])
            own = members[place[i]]
            # Whoever is entered twice has their value in every one of their rows.
            moved = own if one.same else np.array([i])
            square = np.zeros(len(etas.columns))
            # Whose records are held is drawn as well.
            for _ in range(HELD):
                held = rng.permutation(rest)[: known * len(rest) // max(units - 1, 1)]
                left = np.setdiff1d(rest, held)
                weights = np.zeros((redraws // HELD, len(X)))
                weights[:, np.setdiff1d(own, moved)] = 1.0
                for draw in range(redraws // HELD):
                    chosen = [
                        rng.choice(rest[strata[rest] == s], (strata[left] == s).sum()) for s in np.unique(strata[left])
                    ]
                    for k in np.concatenate([held, *chosen]).astype(int):
                        weights[draw, members[k]] += 1.0
                square += _informations(tables, weights, moved, start) / HELD
            reached = 1 / np.sqrt(square)
            for name, error in zip([*X.columns, y.name], reached, strict=True):
                ratio = float(error * etas.iloc[i][name])
                cells.append(
                    {"case": case.name, "person": int(i), "value": str(name), "known": int(known), "ratio": ratio}
                )
    return cells


def _informations(tables: Tables, weights: Array, moved: Places, start: Array) -> Array:
    """Return the information of the best linear guess of each value from such tables."""
    found = tables(weights, moved, start)
    # Nobody with some value was drawn, or outcomes are told apart: there is no such table.
    far = np.abs(found[:, : tables.size]) < 50 * (1 + np.abs(start.T.ravel()))
    good = np.isfinite(found).all(axis=1) & far.all(axis=1)
    slope = slopes(tables, weights[good][: _SLOPES // HELD], moved, start)
    square = np.diag(informations(found[good], slope)).copy()
    # What the design fixes says nothing; that it is fixed would tell the label itself, which is not asked then.
    if (found[good].std(axis=0) <= 1e-12 * np.abs(found[good]).max(axis=0)).any():
        square[-1] = np.nan
    return square
