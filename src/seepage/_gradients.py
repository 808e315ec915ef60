"""Gradients of many batches, layer by layer: in memory, or in one Parquet file a layer.

A layer with many parameters is read a few batches at a time and reduced by a seeded sketch: each entry is added, with a
random sign, to one of a few numbers. Squared distances between batches are kept on average; how far off they are is
measured beside.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import sparse

from seepage._errors import InputError
from seepage._tables import Array

COLUMN = "gradient"
NOTE = "gradients.json"
# Numbers that are read at once.
_SCRATCH = 2**22


@dataclass(frozen=True, eq=False)
class Sketched:
    """The gradients of one layer, reduced if they are long."""

    values: Array
    """Shape (batches, width)."""
    size: int
    """How long they were."""
    distortion: float
    """The root mean square relative error of squared distances between batches; 0 where nothing was reduced."""


@dataclass(frozen=True, eq=False, repr=False)
class Gradients:
    """The gradients of many batches, one row a batch, by layer.

    Attributes
    ----------
    names : tuple of str
        The layers.
    sizes : tuple of int
        How many parameters each has.
    count : int
        How many batches there are.

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
                f"of each layer to an array with one row a batch, not {type(given).__name__}."
            )
        arrays = {str(name): np.asarray(value) for name, value in given.items()}
        flat = {name: value.reshape(len(value), -1) for name, value in arrays.items() if value.ndim > 0}
        counts = {len(value) for value in flat.values()}
        if len(flat) < len(arrays) or len(counts) > 1:
            shapes = {name: value.shape for name, value in arrays.items()}
            raise InputError(f"Every layer needs one row for each batch; the layers have shapes {shapes}.")
        return cls(tuple(flat), tuple(value.shape[1] for value in flat.values()), counts.pop(), tuple(flat.values()))

    @classmethod
    def _in_folder(cls, folder: Path) -> "Gradients":
        try:
            note = json.loads((folder / NOTE).read_text())
        except FileNotFoundError:
            raise InputError(f"There are no collected gradients in {str(folder)!r}: it has no {NOTE}.") from None
        layers = note["layers"]
        paths = tuple(folder / layer["file"] for layer in layers)
        return cls(
            tuple(layer["name"] for layer in layers), tuple(layer["size"] for layer in layers), note["count"], paths
        )

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

    def sketch(self, name: str, width: int, seed: int) -> Sketched:
        """Return the gradients of one layer, reduced to `width` numbers a batch if they have more.

        Parameters
        ----------
        name : str
            The layer.
        width, seed : int
            Of the sketch.
        """
        size = self.sizes[self.names.index(name)]
        if size <= width:
            return Sketched(np.concatenate([part.astype(np.float64) for part in self.rows(name)]), size, 0.0)
        reduce = _count_sketch(size, width, seed)
        found, errors = [], []
        for part in self.rows(name):
            whole = part.astype(np.float64)
            found.append(whole @ reduce)
            errors.append(_squared_distance_errors(whole, found[-1]))
        return Sketched(np.concatenate(found), size, float(np.sqrt(np.mean(np.concatenate(errors) ** 2))))


def _count_sketch(size: int, width: int, seed: int) -> sparse.csr_array:
    random = np.random.default_rng(seed)
    signs = random.integers(0, 2, size) * 2.0 - 1.0
    buckets = random.integers(0, width, size)
    return sparse.csr_array((signs, buckets, np.arange(size + 1)), shape=(size, width))


def _squared_distance_errors(whole: Array, reduced: Array) -> Array:
    """Return the relative error of the squared distance between rows that are read together (or of their norms)."""
    if len(whole) > 1:
        whole, reduced = np.diff(whole, axis=0), np.diff(reduced, axis=0)
    true, kept = (whole**2).sum(axis=1), (reduced**2).sum(axis=1)
    return np.asarray((kept[true > 0] - true[true > 0]) / true[true > 0])


class GradientWriter:
    """Writes one Parquet file a layer, a batch at a time."""

    def __init__(self, folder: Path, names: Sequence[str], sizes: Sequence[int]) -> None:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"output={str(folder)!r} is not an empty folder. Name one that is, or a new one.")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.names, self.sizes = folder, list(names), list(sizes)
        self.files = [f"layer-{i:03d}.parquet" for i in range(len(names))]
        self.schemas = [pa.schema([pa.field(COLUMN, pa.list_(pa.float32(), size))]) for size in sizes]
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
        layers = [{"name": n, "size": s, "file": f} for n, s, f in zip(self.names, self.sizes, self.files, strict=True)]
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
