"""Cells of a printed table that were compared with nothing."""

from collections.abc import Collection, Sequence


def not_compared(
    rows: Sequence[Sequence[str]], compared: Collection[tuple[int, int]], head: int = 0
) -> tuple[str, ...]:
    """Return the columns and the rows that hold a cell which was compared with nothing.

    Parameters
    ----------
    rows : sequence of sequences of str
        All cells of the file.
    compared : collection of (int, int)
        Row and column of the others.
    head : int
        The row that names the columns.
    """
    left = [
        (i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell.strip() and (i, j) not in compared
    ]
    in_part = {i for i, _ in compared}
    columns = sorted({j for i, j in left if i in in_part})
    names = dict(enumerate(rows[head]))
    return (
        *(f"column {j + 1} ({names.get(j, '')!r})" for j in columns),
        *(f"row {i + 1}" for i in sorted({i for i, _ in left if i not in in_part})),
    )
