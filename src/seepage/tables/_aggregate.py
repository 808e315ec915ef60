"""Tables of means, counts, sums, shares and standard deviations."""

from collections.abc import Iterator, Sequence

import numpy as np

from seepage._near import several
from seepage._tables import Data, Frame, default_library, frame
from seepage.aggregates import (
    EVERYBODY,
    CellGrouping,
    Made,
    Records,
    Series,
    TableEstimator,
    TableNumbers,
    checked_names,
    groupings,
    made_of,
)
from seepage.errors import InputError, UnsupportedError

STATISTICS = ("count", "mean", "sum", "sd", "share")
_OF_PEOPLE = "is the value of one person or a few, and what it tells of them is not that of averages"
_SPREAD = (
    'Print the mean and the sd, or shares above thresholds that were chosen beforehand: a column frame["age"] >= 65'
)
_QUANTILES = ("median", "quantile", "quantiles", "percentile", "iqr", "min", "max", "minimum", "maximum", "range")
_REFUSED = dict.fromkeys(_QUANTILES, _SPREAD) | {"mode": "Print the shares of the values"}
WORDS = {"std": "sd", "n": "count", "size": "count", "total": "sum", "average": "mean", "percent": "share", "var": "sd"}


class Aggregate(TableEstimator):
    """A table of means, counts, sums, shares and standard deviations, by cells.

    `seepage.measure(table, frame)` says what it gives away about each person in it, as of a regression without noise.
    How often a category is told by counts and shares is exact, at any size; all else is "approximate": it describes
    attackers who use averages, and bounds nobody.

    Parameters
    ----------
    of : sequence of str, default=()
        The columns that are averaged. Columns of text, of true and false, and of two values are categories: they have
        shares, whose mean and sum are the share and the number of those who have the second value.
    by : sequence of str, default=()
        The columns whose values make the cells; none for one cell of everybody.
    statistics : sequence of str, default=("mean", "count")
        Of "count", "mean", "sum", "sd" (with n - 1) and "share".
    margins : bool, default=False
        Whether totals are printed: of every combination of fewer columns of `by`, and of everybody.
    where : str, optional
        For whom it is: comparisons joined by "and", such as "age >= 65 and sex == F". That somebody is among them
        counts as known. Levels are those of all rows: the table says which of them nobody inside has.

    Attributes
    ----------
    frame_ : data frame
        The table, one row a cell; cells that hold nobody are left out.

    Examples
    --------
    >>> import pandas as pd, seepage
    >>> people = pd.DataFrame({"ward": list("AAABBB") * 20, "age": range(120), "fell": [0, 0, 1, 0, 1, 1] * 20})
    >>> table = seepage.models.Aggregate(of=["age", "fell"], by=["ward"], statistics=["mean", "count"]).fit(people)
    >>> table.frame_
      ward  count  mean of age  share of fell
    0    A     60         58.0       0.333333
    1    B     60         61.0       0.666667
    >>> leak = seepage.measure(table, people)
    >>> leak
    Leakage(120 people, 3 private attributes, approximate)
    >>> float(leak.success_rate("fell")["success_rate"].max().round(3))
    0.557
    """

    def __init__(
        self,
        *,
        of: Sequence[str] = (),
        by: Sequence[str] = (),
        statistics: Sequence[str] = ("mean", "count"),
        margins: bool = False,
        where: str | None = None,
    ) -> None:
        self.of = of
        self.by = by
        self.statistics = statistics
        self.margins = margins
        self.where = where

    def _made(self, X: Data) -> Made:
        of, by = checked_names(self.of, "of"), checked_names(self.by, "by")
        both = [name for name in of if name in by]
        if both:
            raise InputError(
                f"{both[0]!r} is in of and in by: within a cell all have the same. Leave it in one of them."
            )
        asked = _checked_statistics(self.statistics)
        if "count" not in asked and not of:
            raise InputError(f"of is empty, and statistics are {list(asked)}: name a column, or ask for the count.")
        records = Records.of(X, (*of, *by), by, self.where)
        found = groupings(records, by, self.margins)
        series = tuple(each for one in found for each in _series(records, of, asked, one))
        return made_of(records, of, by, series, self.where)

    def _shown(self, made: Made) -> Frame:
        numbers, by = made.numbers, made.by
        assert isinstance(numbers, TableNumbers)
        columns: dict[str, list[object]] = {name: [] for name in by}
        seen: list[CellGrouping] = []
        for each, moments in zip(numbers.series, numbers.at, strict=True):
            if not any(each.grouping is one for one in seen):
                seen.append(each.grouping)
                for key in each.grouping.keys:
                    held = dict(zip(each.grouping.by, key, strict=True))
                    for name in by:
                        value = held.get(name, EVERYBODY)
                        # Beside totals every value is a word: a column has one type.
                        columns[name].append(str(value) if self.margins else value)
            columns.setdefault(each.title, []).extend(each.value(moments).tolist())
        for name, values in columns.items():
            if name not in by and _counts(numbers, name):
                found = np.array(values, dtype=np.float64)
                columns[name] = found.astype(np.int64).tolist() if (found == np.rint(found)).all() else values
        return frame(columns, numbers.records.table.library or default_library())


def _counts(numbers: TableNumbers, title: str) -> bool:
    return next(each.counts for each in numbers.series if each.title == title)


def _checked_statistics(statistics: Sequence[str]) -> tuple[str, ...]:
    if isinstance(statistics, str):
        raise InputError(f"statistics is a list: [{statistics!r}].")
    for name in statistics:
        if str(name).lower() in _REFUSED:
            raise UnsupportedError(f"A {name} {_OF_PEOPLE}. {_REFUSED[str(name).lower()]}.")
        if name not in STATISTICS:
            same = WORDS.get(str(name).lower())
            meant = f" Did you mean {same!r}?" if same else ""
            raise InputError(f"{name!r} is none of the statistics {several(list(STATISTICS))}.{meant}")
    if not statistics:
        raise InputError(f"statistics is empty: name some of {several(list(STATISTICS))}.")
    return tuple(name for name in STATISTICS if name in statistics)


def _series(records: Records, of: Sequence[str], asked: Sequence[str], grouping: CellGrouping) -> Iterator[Series]:
    """Yield what is printed of the cells of a grouping."""
    if "count" in asked:
        yield Series("count", None, None, "count", grouping)
    for name in of:
        levels = records.levels.get(name)
        if levels is None:
            found = [each for each in ("mean", "sum", "sd") if each in asked]
            if not found and "count" not in asked:
                raise InputError(
                    f"{name!r} is a number, of which there is no {several(list(asked))}: ask for its mean, or make "
                    f"classes of it first, such as frame[{name!r}] >= 65."
                )
            for statistic in found:
                yield Series(statistic, name, None, f"{statistic} of {name}", grouping)
            continue
        kinds = {"share": "mean", "mean": "mean", "sum": "sum"}
        wanted = dict.fromkeys(kinds[each] for each in asked if each in kinds)
        if not wanted:
            raise InputError(f"{name!r} is a category, of which there is no {several(list(asked))}: ask for its share.")
        yes = levels in ((0, 1), (False, True))
        for statistic in wanted:
            word = "share" if statistic == "mean" else "number"
            present = np.unique(records.values[name]).tolist()
            # Of two values the share of one says that of the other.
            for level in [1] if yes or (len(levels) == 2 and len(present) == 2) else present:
                title = f"{word} of {name}" + ("" if yes else f" = {levels[level]}")
                yield Series(statistic, name, level, title, grouping)
