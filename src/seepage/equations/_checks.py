"""What must hold of equations before a number is said of them, each refused by its name."""

from copy import deepcopy

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column, Table, missing_in
from seepage.equations._psi import Differentiation, Psi, same
from seepage.equations._solved import PrivateColumn, Solved
from seepage.errors import InputError, MinimizerError, UnsupportedError

# Of a standard error: how far a solution may be off, which is then mended.
_SOLVED = 1e-3
# People who are looked at for kinks, and columns of which a refit is compared.
SOME, _REFITS = 256, 4
# How far a refit may be from the derivative, of the largest move.
_AGREE = 1e-4
# Shares of an interval that are kept around a kink, how often, and the change of slope that is one.
_KEPT, _TURNS, _KINK = 0.6, 14, 1e-2
_SMOOTH = "What it tells of people is no derivative, and is not answered."


def check_pure(psi: Psi, theta: Array, table: Table) -> None:
    """Refuse psi that changes its frame, or answers twice differently."""
    given = Table(deepcopy(table.native), table.names)
    first = psi.numbers(theta, given)
    now = Table.of(given.native)
    changed = [name for name in now.names if name not in table.names or not same(now.column(name), table.column(name))]
    if changed or now.names != table.names:
        raise InputError(
            f"psi changes its frame: {(changed or [*table.names])[0]!r} is another column after it was called. Work on "
            "a copy: frame = frame.copy(), or frame.assign(...)."
        )
    if not np.array_equal(first, psi.numbers(theta, table)):
        raise InputError("psi answers differently when it is asked twice. Draw what is random before, into the frame.")


def check_own(psi: Psi, theta: Array, table: Table, unit: NDArray[np.intp] | None) -> None:
    """Refuse psi in which somebody's equations move with other people's rows."""
    whole = psi.numbers(theta, table)
    place = np.arange(len(table)) if unit is None else unit
    half = np.random.default_rng(0).permutation(int(place.max()) + 1) < (place.max() + 1) / 2
    for side in (half, ~half):
        rows = np.flatnonzero(side[place])
        part = psi.numbers(theta, Table(table.picked(rows), table.names), whose="a part of the people")
        apart = np.abs(part - whole[:, rows]) > 1e-9 * np.abs(whole).max(axis=1, keepdims=True)
        if apart.any():
            at, row = (int(each[0]) for each in np.nonzero(apart))
            raise UnsupportedError(
                f"psi mixes people: the equation of {psi.names[at]!r} in row {rows[row]} is another one without "
                "half of the others. Means and standardized columns of everybody are parameters with equations of "
                "their own; a number of rows is a constant; whose rows belong together is said by ids= or clusters=."
            )


def check_bread(names: tuple[str, ...], matrix: Array) -> None:
    """Refuse equations that do not determine their parameters, by their derivative."""
    size = np.abs(matrix).max(axis=0)
    still = [name for name, each in zip(names, size, strict=True) if not each > 0]
    if still:
        raise UnsupportedError(
            f"No equation moves with {still[0]!r}, so they do not say what it is. Equations of quantiles and "
            f"medians jump. {_SMOOTH} Print a mean, or a share above a threshold that was chosen beforehand."
        )
    scaled = matrix / size
    scaled = scaled / np.maximum(np.abs(scaled).max(axis=1, keepdims=True), 1e-300)
    _, sizes, right = np.linalg.svd(scaled)
    if sizes[-1] <= 1e-12 * sizes[0]:
        free = names[int(np.argmax(np.abs(right[-1])))]
        raise MinimizerError(
            f"The equations do not determine {free!r}: their derivative by theta is singular. Leave out columns that "
            "follow from others, and equations that say the same twice."
        )


def solve(solved: Solved) -> Array:
    """Return the solution next to a theta that was given, or refuse one that is not near."""
    step = solved.inverse @ solved.equations.sum(axis=1)
    errors = solved.errors
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.where(step == 0.0, 0.0, np.abs(step) / errors)
    at = int(np.argmax(off))
    if not off[at] <= _SOLVED:
        raise MinimizerError(
            f"theta does not solve the equations on this frame: {solved.psi.names[at]!r} is {off[at]:.2g} standard "
            "errors from where its equations are zero. Give the theta and the frame of one fit, in the order of psi's "
            "equations, and solve more closely, such as with scipy.optimize.root(..., tol=1e-10).",
            float(off[at]),
        )
    found = solved.refitted(solved.table)
    return solved.theta if np.isnan(found).any() else found


def values_of(psi: Psi, theta: Array, table: Table, sample: Solved, name: str, number: bool) -> PrivateColumn | None:
    """Return how equations move with a column; None if they do not.

    Parameters
    ----------
    psi, theta, table
        The equations and all rows.
    sample : Solved
        Some people, and nothing of their columns yet.
    name : str
    number : bool
        Whether a column of two values is a number all the same.
    """
    at, some = table.names.index(name), sample.table
    column = table.column_at(at)
    empty = int(missing_in(column).sum())
    moving = not np.array_equal(psi(theta, some.with_column(at, _otherwise(some.column_at(at)))), sample.equations)
    if not moving:
        moving = not np.array_equal(psi(theta, table.with_column(at, _otherwise(column))), psi.numbers(theta, table))
    if not moving:
        return None
    if empty:
        raise InputError(
            f"{name!r} is missing for {empty:,} of {len(column):,} rows, and what psi makes of that is no value of "
            f"theirs. Drop these rows first, or leave {name!r} out of attributes=."
        )
    levels = np.unique(column.astype(object) if column.dtype.kind == "O" else column)
    category = column.dtype.kind not in "iuf" or (len(levels) == 2 and not number)
    known = tuple(levels.tolist()) if category else None
    if known is not None and len(known) > len(column) / 2:
        raise InputError(f"{name!r} is another text in nearly every row: leave it out of attributes=.")
    if column.dtype.kind not in "biuf":
        return PrivateColumn(at, None, known)
    spread = float(np.std(column.astype(np.float64))) or 1.0
    slots = [np.where(sample.slots == slot, spread, 0.0) for slot in range(int(sample.slots.max()) + 1)]
    steps = [psi.step(psi.along_column(theta, some, at, moved)) for moved in slots]
    step = None if None in steps else next((each for each in steps if each is not None and each.size), steps[0])
    if known is None:
        if step is None:
            raise _not_smooth(name)
        ends = float(column.min()), float(column.max())
        for moved in slots:
            _check_kinks(name, at, spread, ends, sample, moved > 0)
    if step is not None and step.size is not None:
        step = Differentiation(step.size * spread)
    return PrivateColumn(at, step, known)


def _otherwise(column: Column) -> Column:
    """Return a column with other values: those of other rows, or one more where everybody has the same number."""
    moved = np.roll(column, 1)
    return column + 1 if column.dtype.kind in "iuf" and same(moved, column) else moved


def _not_smooth(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"psi jumps or has a kink in {name!r}, as absolute values, trimming and Huber's weights have, and quantiles, "
        f"ranks and classes of a number. {_SMOOTH} Use a smooth function; make classes of it beforehand, as a column "
        f"of text that psi reads instead; or leave {name!r} out of attributes=, if attackers know it."
    )


def _check_kinks(
    name: str, column: int, spread: float, ends: tuple[float, float], sample: Solved, some: NDArray[np.bool_]
) -> None:
    """Look for a kink within a deviation of each person's value, where the slope changes most, and closer and closer.

    A smooth slope changes the less the closer one looks; that at a kink does not. Nobody is looked at beyond the ends
    of the column: counts below zero are no counts.
    """
    mix = np.random.default_rng(1).uniform(0.5, 1.0, len(sample.equations))
    mix = mix / np.maximum(np.abs(sample.equations).max(axis=1), 1e-300)
    count, own = len(some), np.asarray(sample.table.column_at(column), dtype=np.float64)
    low, high = (np.clip((end - own) / spread, -1.0, 1.0) for end in ends)
    middle, half = ((low + high) / 2, (high - low) / 2) if ends[0] < ends[1] else (np.zeros(count), np.ones(count))
    moved = np.where(some, spread, 0.0)

    def at(points: Array) -> Array:
        """Return the mixed equations at some points of each row, shape (points, rows)."""
        # Where rows are people, copies of them are other people: one evaluation is enough.
        many = len(points) if sample.unit is None else 1
        table = Table(sample.table.picked(np.tile(np.arange(count), many)), sample.table.names)
        along = sample.psi.along_column(sample.theta, table, column, np.tile(moved, many), automatic=False)
        with np.errstate(all="ignore"):
            places = middle + half * points
            if sample.unit is None:
                return np.asarray(mix @ along(places.ravel())).reshape(points.shape)
            return np.stack([(mix @ sample.together(along(each)))[sample.unit] for each in places])

    def bends(starts: Array, width: float) -> Array:
        """Return how much the slope changes within intervals, shape (intervals, rows)."""
        values = at(np.concatenate([starts, starts + 0.5 * width, starts + width])).reshape(3, *starts.shape)
        found = np.abs(values[0] + values[2] - 2.0 * values[1]) / width
        return np.where(np.isfinite(found), found, 0.0)

    starts, wide = np.repeat(np.arange(-1.0, 1.0, 0.25)[:, None], count, axis=1), 0.25
    outer = at(np.stack([np.full(count, -1.0), np.full(count, 1.0)]))
    each = bends(starts, wide)
    near = starts[each.argmax(axis=0), np.arange(count)]
    largest = max(float(np.nan_to_num(np.abs(outer[1] - outer[0]) / 2.0, posinf=0.0).max()), 8.0 * float(each.max()))
    for _ in range(_TURNS):
        both = np.stack([near, near + (1.0 - _KEPT) * wide])
        wide *= _KEPT
        found = bends(both, wide)
        near = both[found.argmax(axis=0), np.arange(count)]
    if (found.max(axis=0)[some] > _KINK * largest).any():
        raise _not_smooth(name)


def check_refits(solved: Solved) -> None:
    """Refuse derivatives that a few refits do not agree with."""
    random, start = np.random.default_rng(2), 0
    scale = np.abs(solved.slopes).max(axis=0)
    numbers = [name for name, each in solved.private.items() if each.step is not None and each.levels is None]
    drawn = {numbers[i] for i in random.permutation(len(numbers))[:_REFITS]}
    for name, values in solved.private.items():
        if name in drawn:
            column = np.asarray(solved.table.column_at(values.at), dtype=np.float64)
            reach = 3e-3 * (float(column.std()) or 1.0)
            row = int(random.integers(len(column)))
            moved = [solved.with_value(np.array([row]), name, column[row] + sign * reach) for sign in (1, -1)]
            found = ((moved[0] - moved[1]) / (2 * reach))[solved.published]
            if not (np.abs(found - solved.slopes[row, :, start]) <= _AGREE * scale[:, start] + 1e-300).all():
                raise UnsupportedError(
                    f"A refit with another {name!r} in row {row} does not move as the derivative says: psi is not "
                    "smooth there, or its equations are nearly singular. Scale columns to like sizes, and look for "
                    "comparisons, clipping and rounding in psi."
                )
        start += values.width
