"""Any estimator, by the equations that it solves."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._facts import BOUND, Assumption
from seepage._near import did_you_mean, several
from seepage._noise import GaussianNoise, as_noise, given_noise
from seepage._tables import Array, Column, Data, Table, column_values
from seepage.attackers import SamplingLeakage, TableQuestion, Told
from seepage.equations._checks import SOME, check_bread, check_own, check_pure, check_refits, solve, values_of
from seepage.equations._information import EquationsInformation, released
from seepage.equations._printed import printed_of
from seepage.equations._psi import Differentiation, Psi, as_table
from seepage.equations._solved import Solved, bread
from seepage.errors import InputError
from seepage.leakage import Leakage, PeopleInMemory


@dataclass(frozen=True, eq=False)
class Equations:
    """An estimator that solves estimating equations: the sum over all rows of psi(theta, row) is zero.

    Nearly all estimators do: regressions with weights of a survey or of propensity scores, GEE, doubly robust effects,
    instrumental variables, likelihoods of one's own. `seepage.measure(equations, frame, published=["effect"], ...)`
    says what publishing all of theta, or a part of it, gives away.

    Parameters
    ----------
    psi : callable
        ``psi(theta, frame)`` returns an array of shape (parameters, rows): one equation for each parameter, evaluated
        at each row. The frame is of the kind that is measured: a data frame, an array, or a tensor of PyTorch, whose
        derivatives are then taken automatically. It is called with some of the rows too, and holds all that psi needs.
    theta : array-like of shape (parameters,)
        Where the equations are solved.
    names : sequence of str, optional
        Of the parameters; "theta 0", "theta 1", ... by default.

    Examples
    --------
    A mean, and how far values are from it:

    >>> import numpy as np, pandas as pd, seepage
    >>> people = pd.DataFrame({"age": np.random.default_rng(0).normal(60.0, 9.0, 200)})
    >>> def psi(theta, frame):
    ...     mean, variance = theta
    ...     return np.stack([frame["age"] - mean, (frame["age"] - mean) ** 2 - variance])
    >>> theta = people["age"].mean(), people["age"].var(ddof=0)
    >>> equations = seepage.models.Equations(psi, theta, names=["mean", "variance"])
    >>> leak = seepage.measure(equations, people, published=["mean"], noise_scale=0.1)
    >>> leak.error_floor()["age"].round(9).unique()
    array([20.])
    """

    psi: Callable[[Any, Any], Any]
    theta: ArrayLike
    names: Sequence[str] | None = None

    kind = "a set of equations"
    takes = frozenset({"noise_scale", "clusters", "published", "numbers"})

    def __init__(self, psi: Callable[[Any, Any], Any], theta: ArrayLike, *, names: Sequence[str] | None = None) -> None:
        if not callable(psi):
            raise InputError(
                f"psi is a function of theta and a frame, not {type(psi).__name__}: Equations(psi, theta)."
            )
        try:
            found = np.array(theta, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"theta is the list of numbers that solve the equations, not {theta!r}.") from None
        if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
            raise InputError(f"theta is one finite number for each equation; it has shape {found.shape}: {theta!r}.")
        called = tuple(f"theta {i}" for i in range(len(found))) if names is None else tuple(names)
        if isinstance(names, str) or len(called) != len(found) or len(set(called)) < len(called):
            raise InputError(f"names gives each of the {len(found)} parameters a name of its own, not {names!r}.")
        for name, value in (("psi", psi), ("theta", found), ("names", called)):
            object.__setattr__(self, name, value)

    def fingerprinted(self, X: Data) -> tuple[Iterator[Column], Array]:
        """Return the columns of the frame, and theta as it was given: a certificate knows both by them."""
        table, _ = as_table(X)
        return (table.column_at(i) for i in range(len(table.names))), np.asarray(self.theta)

    def measured(self, X: Data, asked: TableQuestion) -> Leakage:
        """Return what the solution gives away: `seepage.measure(equations, frame)` asks here.

        Parameters
        ----------
        X : data frame, array or tensor
            The rows on which the equations are solved.
        asked : TableQuestion
        """
        table, tensors = as_table(X)
        own = {each for each in (asked.ids, asked.clusters) if isinstance(each, str)}
        for name in own - {*table.names}:
            raise InputError(f"There is no column {name!r}. {did_you_mean(name, table.names)}")
        ids = table.column(asked.ids) if isinstance(asked.ids, str) else asked.ids
        people = PeopleInMemory.of(table, ids=ids, groups=asked.groups)
        if len(table) < 3:
            raise InputError(f"The frame has {len(table)} rows, and of fewer than three there are no others.")
        family = None if asked.clusters is None else _family(asked.clusters, table, people)
        unit = people.person if family is None else family if people.person is None else family[people.person]
        psi = Psi(self.psi, tuple(self.names or ()), tensors)
        solved = self._solved(psi, table, unit, asked.published)
        solved = replace(solved, clusters=family is not None, private=_private(solved, asked, own))
        check_refits(solved)
        what, noise = tuple(psi.names[i] for i in solved.published), None
        if asked.noise_scale is not None:
            noise = given_noise(as_noise(asked.noise_scale), what, EquationsInformation.unshaped)
        base = EquationsInformation(
            people=people,
            solved=solved,
            noise=as_noise(1.0) if noise is None else noise,
            attribute_names=tuple(solved.private),
            categorical=frozenset(name for name, each in solved.private.items() if each.levels is not None),
            assumptions=(*([] if noise is None else [released(noise, what)]), _EQUATIONS),
        )
        if noise is not None and asked.known_records in (None, "all"):
            for name in ("digits", "known_group_sizes"):
                if getattr(asked, name):
                    raise InputError(
                        f"{name}= is about attackers who do not know everybody else, and with noise_scale= alone the "
                        f"attacker does: leave it out, or say known_records=."
                    )
            return Leakage(replace(base, assumptions=(*base.assumptions, *_ATTACKER)))
        return _without(base, asked, family, noise)

    def _solved(
        self, psi: Psi, table: Table, unit: NDArray[np.intp] | None, published: Sequence[str] | str | None
    ) -> Solved:
        """Return the solution, checked."""
        theta = np.asarray(self.theta)
        strange = [published] if isinstance(published, str) else [n for n in published or () if n not in psi.names]
        if strange or (published is not None and not len(published)):
            raise InputError(f"published is a list of {several(list(psi.names))}, not {published!r}.")
        chosen = range(len(theta)) if published is None else sorted({psi.names.index(name) for name in published})
        check_pure(psi, theta, table)
        check_own(psi, theta, table, unit)
        part = Table(table.picked(_some(unit, len(table))), table.names)
        steps = [psi.step(psi.along_theta(theta, part, i)) or Differentiation(1e-4) for i in range(len(theta))]

        def at(theta: Array) -> Solved:
            matrix = bread(psi, theta, table, steps)
            check_bread(psi.names, matrix)
            return Solved(
                psi, table, theta, tuple(steps), unit, False, np.array(chosen), np.asarray(np.linalg.inv(matrix))
            )

        found = at(theta)
        nearer = solve(found)
        return found if (np.abs(nearer - theta) <= 1e-9 * found.errors).all() else at(nearer)


_EQUATIONS = Assumption(
    "equations",
    "The parameters solve the equations that were given, and nothing of the people was looked at before these were "
    "chosen. Derivatives are taken by machine, and held against refits.",
)


_ATTACKER = (
    Assumption("attacker", "The attacker knows the equations and all but one person's private values."),
    BOUND,
)


def _some(unit: NDArray[np.intp] | None, count: int) -> NDArray[np.intp]:
    """Return the rows of some people."""
    place = np.arange(count) if unit is None else unit
    drawn = np.random.default_rng(0).permutation(int(place.max()) + 1)[:SOME]
    return np.flatnonzero(np.isin(place, drawn))


def _private(solved: Solved, asked: TableQuestion, own: set[str]) -> dict[str, Any]:
    """Return the private columns, and how the equations move with each."""
    table, named = solved.table, asked.attributes
    if isinstance(named, str):
        raise InputError(f"attributes is a list of columns: [{named!r}].")
    for name in named or ():
        if name not in table.names:
            raise InputError(f"There is no column {name!r}. {did_you_mean(name, table.names)}")
    sample = solved.of(_some(solved.unit, len(table)))
    found = {}
    for name in table.names if named is None else named:
        number = asked.numbers is not None and name in asked.numbers
        values = None if name in own else values_of(solved.psi, solved.theta, table, sample, name, number)
        if values is None and named is not None:
            raise InputError(
                f"psi does not move with {name!r}, so that nothing is told of it. If it should, read it from the frame "
                "that psi is given, and not from one outside."
            )
        if values is not None:
            found[name] = values
    if not found:
        raise InputError(
            "psi moves with no column of the frame: it reads its data from elsewhere. Read them from the frame that it "
            'is given: psi(theta, frame) with frame["age"].'
        )
    return found


def _family(clusters: object, table: Table, people: PeopleInMemory) -> NDArray[np.intp]:
    values: Column = table.column(clusters) if isinstance(clusters, str) else column_values(clusters)
    if values.shape != (len(table),):
        raise InputError(f"clusters= must name the cluster of each of {len(table)} rows, not shape {values.shape}.")
    of_rows = np.unique(values, return_inverse=True)[1].astype(np.intp)
    if people.person is None:
        return of_rows
    first = np.unique(people.person, return_index=True)[1]
    if (of_rows != of_rows[first][people.person]).any():
        raise InputError("Some people have rows in several clusters: clusters= is about people who belong together.")
    return np.asarray(of_rows[first])


def _without(
    base: EquationsInformation, asked: TableQuestion, family: NDArray[np.intp] | None, noise: GaussianNoise | None
) -> SamplingLeakage:
    """Return what is printed says to attackers who do not know everybody else."""
    printed, private = printed_of(base), base.solved.private
    encoded = frozenset(name for name in private if base.blocks[name].size > 1)
    # Which of them is an outcome is not known, and how many have one always is.
    two = tuple(name for name, each in private.items() if len(each.levels or ()) == 2)
    counted = two if base.people.person is None else ()
    told = Told(base, printed, printed.names, base.people, family, encoded, noise, counted)
    return told.before(asked.known_records, asked.digits, asked.known_group_sizes, base.assumptions)
