"""Tables of any library in, tables of the same library out."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seepage._errors import InputError

Frame = Any
"""A data frame of the library that the user's data came in."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as the user gave them: an array, a sparse matrix, or a data frame of any library."""

    native: Any
    names: tuple[str, ...]

    @classmethod
    def of(cls, data: Any, columns: Sequence[str] | None = None) -> "Table":
        """Wrap `data`; a frame is cut to `columns`, in their order, when these are given."""
        if sparse.issparse(data):
            return cls(sparse.csr_array(data), _numbered(data.shape[1], columns))
        frame = nw.from_native(data, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            names = [str(name) for name in frame.columns]
            if columns is not None:
                missing = [name for name in columns if name not in names]
                if missing:
                    raise InputError(
                        f"X has no column {missing[0]!r}, which the model was fitted on. Its columns are {names}."
                    )
                frame, names = frame.select(list(columns)), list(columns)
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
        """Whether the rows came in a data frame."""
        return not isinstance(self.native, np.ndarray) and not sparse.issparse(self.native)

    def rows(self, start: int, stop: int) -> Any:
        """Return a range of rows, in the same library."""
        if not self.is_frame:
            return self.native[start:stop]
        return nw.from_native(self.native, eager_only=True)[start:stop].to_native()

    def rows_with(self, start: int, stop: int, name: str, value: Any) -> Any:
        """Return a range of rows with one column set to a value."""
        part = self.rows(start, stop)
        if self.is_frame:
            frame = nw.from_native(part, eager_only=True)
            return frame.with_columns(nw.lit(value).cast(frame[name].dtype).alias(name)).to_native()
        changed = part.toarray() if sparse.issparse(part) else np.array(part)
        changed[:, self.names.index(name)] = value
        return sparse.csr_array(changed) if sparse.issparse(part) else changed

    def column(self, name: str) -> NDArray[Any]:
        """Return one column as an array."""
        if self.is_frame:
            return column_values(nw.from_native(self.native, eager_only=True)[name])
        values = self.native[:, [self.names.index(name)]]
        return np.asarray(values.toarray() if sparse.issparse(values) else values)[:, 0]

    @property
    def library(self) -> str | None:
        """The library of a data frame; None for an array or a sparse matrix."""
        return str(nw.from_native(self.native, eager_only=True).implementation.value) if self.is_frame else None

    @property
    def index(self) -> Any:
        """The pandas index, which names the rows, or None."""
        return self.native.index if self.is_frame and hasattr(self.native, "iloc") else None


def _numbered(count: int, names: Sequence[str] | None) -> tuple[str, ...]:
    if names is not None and len(names) == count:
        return tuple(names)
    return tuple(f"x{i}" for i in range(count))


def frame(columns: Mapping[str, Any], library: str) -> Frame:
    """Return a frame of the given library."""
    return nw.from_dict(dict(columns), backend=library).to_native()  # type: ignore[arg-type]


def default_library() -> str:
    """Return the library of frames that are made from nobody's frame."""
    return "pandas" if importlib.util.find_spec("pandas") else "pyarrow"


def column_values(column: Any) -> NDArray[Any]:
    """Return a column of any library, or any sequence, as an array."""
    series = nw.from_native(column, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(series, nw.Series | nw.DataFrame):
        return np.asarray(series.to_numpy())
    return np.asarray(column)


def plain(values: NDArray[Any]) -> NDArray[Any]:
    """Return a column of objects as an array of their own type, if they have one in common."""
    return np.array(values.tolist()) if values.dtype == object and values.ndim == 1 else values


def column_name(column: Any, default: str) -> str:
    """Return the name that a column carries, if it carries one."""
    series = nw.from_native(column, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.name not in (None, ""):
        return str(series.name)
    return default
