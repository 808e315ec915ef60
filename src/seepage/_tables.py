"""Tables of any library in, tables of the same library out."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seepage.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Frame = Any
"""A data frame of the library that the user's data came in."""
Data = object
"""Rows as they are given: an array, a sparse matrix, a data frame of any library, or paths of files."""
Listed = object
"""One value a row, as it is given: any sequence, a column of any library, or the name of a column of files."""
Array = NDArray[np.float64]
"""Numbers."""
Column = NDArray[np.generic]
"""One value a row, of any type."""
Model = Any
"""An estimator of scikit-learn, a Pipeline that ends in one, or the transformer before it."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as the user gave them: an array, a sparse matrix, or a data frame of any library."""

    native: Any
    names: tuple[str, ...]

    @classmethod
    def of(cls, data: Data, columns: Sequence[str] | None = None) -> "Table":
        """Wrap `data`; a frame is cut to `columns`, in their order, when these are given."""
        if sparse.issparse(data):
            rows = sparse.csr_array(data)
            return cls(rows, _numbered(rows.shape[1], columns))
        _check_unique(data)
        frame = nw.from_native(data, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            names = [str(name) for name in frame.columns]
            if columns is not None:
                missing = [name for name in columns if name not in names]
                if missing:
                    raise InputError(
                        f"X has no column {missing[0]!r}, which the model was fitted on. Its columns are {names}."
                    )
                # By place: a column may be called by a number.
                frame, names = frame[:, [names.index(name) for name in columns]], list(columns)
            return cls(frame.to_native(), tuple(names))
        array = np.asarray(data)
        if array.ndim != 2:
            raise InputError(f"X must have two dimensions (rows, columns), not shape {array.shape}.")
        return cls(array, _numbered(array.shape[1], columns))

    @classmethod
    def header(cls, names: Sequence[str]) -> "Table":
        """Return column names without rows: those are elsewhere."""
        return cls(np.empty((0, len(names))), tuple(names))

    def __len__(self) -> int:
        return int(self.native.shape[0])

    @property
    def is_frame(self) -> bool:
        """True if the rows came in a data frame."""
        return not isinstance(self.native, np.ndarray) and not sparse.issparse(self.native)

    @property
    def has_names(self) -> bool:
        """True if column names are text, which scikit-learn remembers."""
        return self.is_frame and all(isinstance(name, str) for name in _labels(self.native))

    @cached_property
    def _frame(self) -> nw.DataFrame[Any]:
        # Once: it looks at the names of all columns, and every column may be asked for.
        return nw.from_native(self.native, eager_only=True)

    def rows(self, start: int, stop: int) -> Any:
        """Return a range of rows, in the same library."""
        if not self.is_frame:
            return self.native[start:stop]
        return self._frame[start:stop].to_native()

    def picked(self, rows: NDArray[np.intp]) -> Any:
        """Return some rows by their places, in the same library."""
        if not self.is_frame:
            return self.native[rows]
        return self._frame[rows.tolist()].to_native()

    def taken(self, rows: slice | NDArray[np.intp]) -> Any:
        """Return a range of rows, or some by their places, in the same library."""
        return self.rows(rows.start, rows.stop) if isinstance(rows, slice) else self.picked(rows)

    def rows_with(self, rows: slice | NDArray[np.intp], name: str, value: Any) -> Any:
        """Return some rows with one column set to a value."""
        part, at = self.taken(rows), self.names.index(name)
        if not self.is_frame:
            changed = part.toarray() if sparse.issparse(part) else np.array(part)
            if changed.dtype != object:
                # A half among integers stays a half.
                changed = changed.astype(np.result_type(changed.dtype, np.asarray(value).dtype))
            changed[:, at] = value
            return sparse.csr_array(changed) if sparse.issparse(part) else changed
        frame = nw.from_native(part, eager_only=True)
        if frame.implementation.is_pandas():
            changed = part.copy(deep=False)
            changed.isetitem(at, _repeated(value, part.iloc[:, at]))
            return changed
        held = frame[name].dtype
        literal = nw.lit(value)
        # Text and categories keep their type, which encoders ask for; a number may need a wider one.
        return frame.with_columns((literal if held.is_numeric() else literal.cast(held)).alias(name)).to_native()

    def with_column(self, position: int, values: Column) -> "Table":
        """Return the same rows with other values of one column, of any type that its library can hold."""
        if not self.is_frame:
            changed = np.array(self.native, dtype=np.result_type(self.native, values))
            changed[:, position] = values
            return Table(changed, self.names)
        frame = self._frame
        if frame.implementation.is_pandas():
            import pandas as pd

            held = self.native.dtypes.iloc[position]
            changed = self.native.copy(deep=False)
            # Text and categories keep their type; a number may need a wider one.
            kept = held if values.dtype.kind not in "biufc" else values.dtype
            changed.isetitem(position, pd.Series(values, index=changed.index, dtype=kept))
            return Table(changed, self.names)
        name = frame.columns[position]
        series = nw.new_series(name, values, backend=frame.implementation)
        return Table(frame.with_columns(series).to_native(), self.names)

    def column(self, name: str) -> Column:
        """Return one column as an array."""
        return self.column_at(self.names.index(name))

    def column_at(self, position: int) -> Column:
        """Return one column as an array, by its place: its name may be a number."""
        if self.is_frame:
            return column_values(self._frame[:, position])
        values = self.native[:, [position]]
        return np.asarray(values.toarray() if sparse.issparse(values) else values)[:, 0]

    @property
    def library(self) -> str | None:
        """The library of a data frame; None for an array or a sparse matrix."""
        return str(self._frame.implementation.value) if self.is_frame else None

    @property
    def index(self) -> "pd.Index | None":
        """The pandas index, which names the rows, or None."""
        return self.native.index if self.is_frame and hasattr(self.native, "iloc") else None


def _labels(data: object) -> list[object]:
    """Return what the columns of a frame are called: text, or numbers."""
    return list(getattr(data, "column_names", getattr(data, "columns", ())))


def _check_unique(data: object) -> None:
    names = _labels(data)
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise InputError(f"X has two columns called {twice[0]!r}: rename one, or attributes cannot be told apart.")


def _repeated(value: object, column: "pd.Series") -> "pd.Series":
    """Return a value for each row of a pandas column, in the column's own type if it can hold it."""
    import pandas as pd

    held = column.dtype
    if isinstance(held, pd.SparseDtype):
        held = held.subtype
    repeated = [value] * len(column)
    if isinstance(held, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(held):
        return pd.Series(repeated, index=column.index, dtype=held)
    return pd.Series(repeated, index=column.index)


def is_missing(value: object) -> bool:
    """Return whether a value stands for a missing one: None, NaN, or a library's own."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # pandas.NA compares with nothing, not even with itself.
        return True


def missing_in(values: Column, markers: Sequence[object] = ()) -> NDArray[np.bool_]:
    """Return where values are missing; `markers` stand for a missing value too."""
    if values.dtype.kind == "f":
        found = np.asarray(np.isnan(values))
    elif values.dtype.kind in "OMm":
        found = np.fromiter((is_missing(value) for value in values.tolist()), dtype=bool, count=len(values))
    else:
        found = np.zeros(len(values), dtype=bool)
    for marker in markers:
        found = found | np.asarray(values == marker, dtype=bool)
    return found


def _numbered(count: int, names: Sequence[str] | None) -> tuple[str, ...]:
    if names is not None and len(names) == count:
        return tuple(names)
    return tuple(f"x{i}" for i in range(count))


def frame(columns: Mapping[str, object], library: str) -> Frame:
    """Return a frame of the given library."""
    return nw.from_dict(dict(columns), backend=library).to_native()  # type: ignore[arg-type]


def default_library() -> str:
    """Return the library of frames that are made from nobody's frame."""
    return "pandas" if importlib.util.find_spec("pandas") else "pyarrow"


def column_values(column: object) -> Column:
    """Return a column of any library, or any sequence, as an array."""
    if str(getattr(column, "type", "")) == "extension<arrow.uuid>":
        # As pandas has them: Arrow's own arrays are of their bytes.
        column = column.to_pylist()  # type: ignore[attr-defined]
    series = nw.from_native(column, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(series, nw.Series | nw.DataFrame):
        return np.asarray(series.to_numpy())
    found = np.asarray(column)
    # Bytes of a fixed length lose their last zeros, and numbers among words become words: 7 and "7" would be one.
    mixed = found.dtype.kind == "U" and isinstance(column, list | tuple) and not all(isinstance(v, str) for v in column)
    return np.asarray(column, dtype=object) if mixed or found.dtype.kind == "S" else found


def comparable(values: Sequence[object], column: Column) -> Column:
    """Return values that were asked for as an array that compares with a column as they do, no digit lost."""
    if column.dtype == object:
        found = np.empty(len(values), dtype=object)
        found[:] = list(values)
        return found
    asked = np.array(list(values))
    # The same decimal digits are another number in single precision than in double.
    return asked.astype(column.dtype) if column.dtype.kind == "f" and asked.dtype.kind in "iuf" else asked


def which(values: Sequence[object], column: Column) -> NDArray[np.intp]:
    """Return which of some values each entry of a column is; -1 where it is none of them."""
    matches = column[:, None] == comparable(values, column)
    return np.where(matches.any(axis=1), matches.argmax(axis=1), -1)


def plain(values: Column) -> Column:
    """Return a column of objects as an array of their own type, if they have one in common."""
    return np.array(values.tolist()) if values.dtype == object and values.ndim == 1 else values


def column_name(column: object, default: str) -> str:
    """Return the name that a column carries, if it carries one."""
    series = nw.from_native(column, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.name not in (None, ""):
        return str(series.name)
    return default


def read_frame(path: Path, what: str) -> Frame:
    """Return the rows of a CSV or Parquet file, as a frame of pandas if that is installed; `what` is asked for."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if path.suffix.lower() == ".csv":
            found = pa.csv.read_csv(path)
        elif path.suffix.lower() in (".parquet", ".pq") or path.is_dir():
            found = pa.parquet.read_table(path)
        else:
            raise InputError(f"{path} holds no people that can be read here: write them as Parquet or CSV.")
    except FileNotFoundError:
        raise InputError(f"There is no file {path}: {what} is the table of everybody the outputs are about.") from None
    except (pa.ArrowException, OSError) as reason:
        raise InputError(f"{path} cannot be read: {str(reason).partition(chr(10))[0]}. Write it again.") from None
    return found.to_pandas(ignore_metadata=True) if importlib.util.find_spec("pandas") else found
