"""Refusing a model whose coefficients grow without end: what solvers then return is where they stopped."""

import numpy as np
from numpy.typing import NDArray

from seepage.linear.columns import Features
from seepage.linear.objective import Minimizer, Problem, escape_of
from seepage.linear.rows import Frame, RowData

# A linear program over more parameters than these is solved only where a minimizer seems to have been found.
_MOST_PARAMETERS = 1000
# Looking for one column that is enough takes a few passes for each.
_MOST_COLUMNS = 30


def refuse_endless(
    problem: Problem,
    affine: Features,
    rows: RowData,
    frame: Frame,
    names: tuple[str, ...],
    found: Minimizer | None,
    *,
    single: bool,
) -> None:
    """Refuse a model without a minimizer, by the columns that are to blame (eq. 4.7).

    Parameters
    ----------
    problem, affine, rows : Problem, Features, RowData
        What was minimized, what the steps do to the raw columns, and the rows.
    frame : Frame
        A center to look at the rows from.
    names : tuple of str
        What the parameters of one output are called.
    found : Minimizer or None
        What Newton's steps took for one, if they did.
    single : bool
        Whether features were computed in single precision.
    """
    free = (problem.penalty == 0) & (problem.absolute == 0)
    if problem.free is not None:
        free = free & problem.free
    if found is None and free.sum() > _MOST_PARAMETERS:
        return
    groups = _groups(affine)
    escape = escape_of(
        problem.loss,
        free,
        rows.total,
        frame,
        turned=None if found is None else (found.frame, found.inverse),
        groups=groups if len(groups) <= _MOST_COLUMNS else (),
        single=single,
    )
    if escape is not None:
        classes = problem.labels.classes
        raise escape.error(
            names,
            problem.estimator,
            levels=_levels(affine),
            classes=None if classes is None else np.asarray(classes).tolist(),
        )


def _groups(affine: Features) -> list[NDArray[np.intp]]:
    """Return the features that each raw column is in."""
    reach = affine.reach().tocoo()
    columns = np.array([affine.coordinates[int(i)].column for i in reach.col], dtype=np.intp)
    return [np.unique(reach.row[columns == column]) for column in np.unique(columns)]


def _levels(affine: Features) -> set[int]:
    """Return the features that are one level of one column each."""
    reach = affine.reach().tocoo()
    several = np.bincount(reach.row, minlength=affine.count) > 1
    found = zip(reach.row.tolist(), reach.col.tolist(), strict=True)
    return {f for f, i in found if affine.coordinates[i].level is not None and not several[f]}
