"""Gradients of many batches, layer by layer: in memory, or in one Parquet file a layer.

A layer with many parameters is read a few batches at a time, and reduced in one of two ways. Maxima are the features of
Melis et al. (2019): absolute values without biases, the largest entry of each convolution's window, the largest entry
of each input of a large matrix, the row scaled to norm 1. Entries are as they are, a part of them drawn where there are
many.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.errors import InputError

COLUMN = "gradient"
NOTE = "gradients.json"
# Numbers that are read at once.
_SCRATCH = 2**22
# Entries of a matrix from which on only the largest of each input counts (Melis et al. 2019).
_LARGE = 5000

Features = Literal["maxima", "entries"]
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Gradients:
    """The gradients of many batches, one row per batch, by layer.

    Attributes
    ----------
    names : tuple of str
        The layers.
    sizes : tuple of int
        How many parameters each has.
    count : int
        How many batches there are.
    shapes : tuple of tuple of shapes
        For each layer the shapes of its parameters, one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from seepage.network import Gradients
    >>> Gradients.of({"first": np.zeros((10, 3, 2)), "last": np.zeros((10, 4))})
    Gradients(10 batches of 2 layers, 10 parameters)
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    count: int
    shapes: tuple[tuple[Shape, ...], ...]
    _sources: tuple[NDArray[np.floating] | Path, ...]
    """An array for each layer, or the path of its file."""

    @classmethod
    def of(cls, given: object) -> "Gradients":
        """Return gradients that were collected, that lie in a folder, or that are arrays by the name of the layer."""
        if isinstance(given, Gradients):
            return given
        if isinstance(given, str | Path):
            return cls._in_folder(Path(given))
        if not isinstance(given, Mapping) or not given:
            raise InputError(
                "gradients must be what collect_gradients returned, the folder it wrote to, or a mapping from the name "
                f"of each layer to an array with one row per batch, not {type(given).__name__}."
            )
        arrays = {str(name): np.asarray(value) for name, value in given.items()}
        flat = {name: value.reshape(len(value), -1) for name, value in arrays.items() if value.ndim > 0}
        counts = {len(value) for value in flat.values()}
        if len(flat) < len(arrays) or len(counts) > 1:
            had = {name: value.shape for name, value in arrays.items()}
            raise InputError(f"Every layer needs one row for each batch; the layers have shapes {had}.")
        sizes = tuple(value.shape[1] for value in flat.values())
        shapes = tuple((value.shape[1:],) for value in arrays.values())
        return cls(tuple(flat), sizes, counts.pop(), shapes, tuple(flat.values()))

    @classmethod
    def _in_folder(cls, folder: Path) -> "Gradients":
        try:
            note = json.loads((folder / NOTE).read_text())
        except FileNotFoundError:
            raise InputError(f"There are no collected gradients in {str(folder)!r}: it has no {NOTE}.") from None
        layers = note["layers"]
        paths = tuple(folder / layer["file"] for layer in layers)
        shapes = tuple(tuple(tuple(shape) for shape in layer["shapes"]) for layer in layers)
        sizes = tuple(sum(math.prod(shape) for shape in each) for each in shapes)
        return cls(tuple(layer["name"] for layer in layers), sizes, note["count"], shapes, paths)

    def __repr__(self) -> str:
        return f"Gradients({self.count} batches of {len(self.names)} layers, {sum(self.sizes):,} parameters)"

    def rows(self, name: str) -> Iterator[NDArray[np.floating]]:
        """Yield the gradients of one layer, a few batches at a time.

        Parameters
        ----------
        name : str
            The layer.
        """
        if name not in self.names:
            raise InputError(f"There is no layer {name!r}. There are {list(self.names)}.")
        place = self.names.index(name)
        source, step = self._sources[place], max(1, _SCRATCH // max(self.sizes[place], 1))
        if isinstance(source, np.ndarray):
            for start in range(0, self.count, step):
                yield source[start : start + step]
            return
        with pq.ParquetFile(source, pre_buffer=False) as file:
            for batch in file.iter_batches(step, columns=[COLUMN], use_threads=False):
                yield batch.column(0).flatten().to_numpy().reshape(len(batch), -1)

    def features(self, name: str, kind: Features, *, width: int, seed: int) -> Array:
        """Return what a predictor is shown of one layer: at most `width` numbers a batch, shape (batches, numbers).

        Parameters
        ----------
        name : str
            The layer.
        kind : {"maxima", "entries"}
            Largest absolute values, row by row of norm 1; or entries as they are.
        width, seed : int
            How many numbers at most, and the seed of which are drawn.
        """
        parts = self.rows(name)
        size, shapes = self.sizes[self.names.index(name)], self.shapes[self.names.index(name)]
        # Of rows without a shape nothing is known that could be taken together.
        if kind == "maxima" and any(len(shape) > 1 for shape in shapes):
            wide = np.concatenate([_maxima(part, shapes) for part in parts])
            values = wide[:, _drawn(wide.shape[1], width, seed)]
            lengths = np.linalg.norm(values, axis=1, keepdims=True)
            return np.asarray(np.divide(values, lengths, out=values, where=lengths > 0))
        columns = _drawn(size, width, seed)
        return np.concatenate([part[:, columns].astype(np.float64) for part in parts])


def check_features(kind: str, width: int) -> None:
    """Refuse features that nobody knows."""
    if kind not in ("maxima", "entries"):
        raise InputError(f'features must be "maxima" or "entries", not {kind!r}.')
    if not (isinstance(width, int) and width >= 1):
        raise InputError(f"width must be a positive whole number, not {width!r}.")


def _maxima(rows: NDArray[np.floating], shapes: Sequence[Shape]) -> Array:
    """Return absolute values without biases, large ones reduced to maxima, shape (batches, features)."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    found = []
    for part, shape in zip(np.split(np.abs(rows), ends[:-1], axis=1), shapes, strict=True):
        if len(shape) > 2:
            # One number for each filter and channel.
            found.append(part.reshape(len(part), shape[0] * shape[1], -1).max(axis=2))
        elif len(shape) == 2:
            # One number for each input of the layer.
            found.append(part.reshape(-1, *shape).max(axis=1) if math.prod(shape) > _LARGE else part)
    return np.concatenate(found, axis=1).astype(np.float64)


def _drawn(size: int, width: int, seed: int) -> NDArray[np.int64] | slice:
    """Return which columns are kept: all, or as many as there may be, drawn at random."""
    return slice(None) if size <= width else np.sort(np.random.default_rng(seed).choice(size, width, replace=False))


class GradientWriter:
    """Writes one Parquet file a layer, a batch at a time."""

    def __init__(self, folder: Path, names: Sequence[str], shapes: Sequence[Sequence[Shape]]) -> None:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"output={str(folder)!r} is not an empty folder. Name one that is, or a new one.")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.names, self.shapes = folder, list(names), list(shapes)
        self.sizes = [sum(math.prod(shape) for shape in each) for each in shapes]
        self.files = [f"layer-{i:03d}.parquet" for i in range(len(names))]
        self.schemas = [pa.schema([pa.field(COLUMN, pa.list_(pa.float32(), size))]) for size in self.sizes]
        self.writers = [
            # Gradients hardly repeat: a dictionary of them, or squeezing them, is work for nothing.
            pq.ParquetWriter(folder / file, schema, use_dictionary=False, compression="none")
            for file, schema in zip(self.files, self.schemas, strict=True)
        ]
        self.waiting: list[list[NDArray[np.float32]]] = [[] for _ in names]
        self.count = 0

    def write(self, gradients: Sequence[NDArray[np.float32]]) -> None:
        """Take the gradients of one batch, a vector for each layer."""
        self.count += 1
        for place, values in enumerate(gradients):
            self.waiting[place].append(values)
            if len(self.waiting[place]) * self.sizes[place] >= _SCRATCH:
                self._flush(place)

    def close(self) -> None:
        """Write what waits, and the note that makes the folder complete."""
        for place, writer in enumerate(self.writers):
            self._flush(place)
            writer.close()
        layers = [
            {"name": n, "shapes": s, "file": f} for n, s, f in zip(self.names, self.shapes, self.files, strict=True)
        ]
        (self.folder / NOTE).write_text(json.dumps({"count": self.count, "layers": layers}, indent=1) + "\n")

    def abandon(self) -> None:
        """Close the files of a job that failed; without the note nobody reads them."""
        for writer in self.writers:
            writer.close()

    def _flush(self, place: int) -> None:
        if self.waiting[place]:
            values = pa.array(np.concatenate(self.waiting[place]), pa.float32())
            column = pa.FixedSizeListArray.from_arrays(values, self.sizes[place])
            self.writers[place].write_table(pa.table([column], schema=self.schemas[place]))
            self.waiting[place] = []
