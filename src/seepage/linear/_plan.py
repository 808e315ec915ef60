"""What a job over files will take, before it starts."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seepage._amounts import size
from seepage._tables import Data, Listed, Model
from seepage.errors import InputError
from seepage.execution import Job, in_runs
from seepage.execution.storage import Unit
from seepage.leakage import Sketch
from seepage.linear.columns import fitted_columns, split
from seepage.linear.files import FileReader, Hashing, Roles, SourceInFiles, are_paths, check_smooth
from seepage.linear.information import Fit
from seepage.linear.objective import check_supported
from seepage.linear.rows import (
    Batch,
    Rows,
    batch_rows,
    matrices_bytes,
    one_threaded_blas,
    threads_allowed,
    waiting_bytes,
)
from seepage.linear.spectra import top_eigenvalues

# What Python and the libraries take before any row is read.
_BASE_BYTES = 280 * 2**20
# Rows that are timed, if there are so many.
_SAMPLE = 20_000
# What a file of results takes, however few rows it holds.
_SECONDS_A_FILE = 3e-3
# Newton steps from a solver's tolerance to the exact minimizer of a loss that is not quadratic.
_POLISHING = 3


@dataclass(frozen=True)
class Plan:
    """What a job over files will take.

    Attributes
    ----------
    passes : int
        How often every row is read: sums for each Newton step (one for squared loss), then the scores.
    bytes_read : int
        Uncompressed, over all passes.
    memory_per_worker : int
        In bytes, at the peak.
    core_hours : float
        From timing the first rows of the first file on this machine.
    """

    rows: int
    features: int
    units: int
    workers: int
    passes: int
    bytes_read: int
    memory_per_worker: int
    core_hours: float

    def __str__(self) -> str:
        wall = 60 * self.core_hours / min(self.workers, self.units)
        return "\n".join(
            [
                f"{self.rows:,} rows x {self.features:,} features in {self.units:,} units of work",
                f"passes over the rows     {self.passes}",
                f"bytes read               {size(self.bytes_read)} (uncompressed)",
                f"memory of each worker    {size(self.memory_per_worker)}",
                f"core-hours               {self.core_hours:.3g}, {wall:.3g} minutes on {self.workers} workers",
            ]
        )


def plan(
    model: Model,
    X: Data,
    *,
    target: str | Sequence[str],
    sample_weight: str | None = None,
    ids: str | None = None,
    groups: str | None = None,
    job: Job | None = None,
) -> Plan:
    """Say what measuring a model on files will take, without measuring it.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model.
    X : paths of Parquet files
        As for `seepage.measure`.
    target, sample_weight, ids, groups, job
        As for `seepage.measure`.

    Returns
    -------
    Plan
        Print it.

    Examples
    --------
    >>> import tempfile
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge(alpha=1.0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X.assign(progression=y).to_parquet(f"{folder}/people.parquet")
    ...     plan = seepage.engines.plan(model, f"{folder}/*.parquet", target="progression")
    >>> print(plan)  # doctest: +ELLIPSIS
    442 rows x 10 features in 1 units of work
    passes over the rows     2
    ...
    """
    if not are_paths(X):
        raise InputError("plan() is for rows in Parquet files; rows in memory are measured at once.")
    preprocess, estimator = split(model)
    check_supported(estimator)
    roles = Roles.of(None, target=target, sample_weight=sample_weight, ids=ids, groups=groups)
    source = SourceInFiles.of(X, roles, fitted_columns(preprocess, estimator), job)
    fit, files = Fit.assembled(model, source, weighed=False), source.files
    check_smooth(fit)
    rows = fit.rows
    largest = max(unit.bytes // max(unit.groups[1] - unit.groups[0], 1) for unit in files.units)
    share = len({*source.names, *roles.target}) / len(files.schema.names)
    size = rows.reader.batch_size
    doublings = len(in_runs(files.units, source.engine.workers)[0]).bit_length() - 1
    some = _first(files.units)
    # What is read once: the file that a worker will not find warm either.
    next(iter(rows.reader.batches(some[0], None)))
    return _planned(
        fit,
        (batch for unit in some for batch in rows.reader.batches(unit, None)),
        besides=_besides(rows.reader, roles, some),
        rows=files.count,
        units=len(files.units),
        workers=source.engine.workers,
        bytes_a_pass=share * sum(unit.bytes for unit in files.units),
        memory=lambda width: (
            _BASE_BYTES + 6 * 8 * size * max(width, 1) + int(share * largest) + waiting_bytes(width, doublings)
        ),
    )


def plan_in_memory(
    model: Model,
    X: Data,
    y: Listed,
    *,
    rows: int,
    data_bytes: int,
    attributes: int | None,
    base_bytes: int = _BASE_BYTES,
) -> Plan:
    """Say what measuring rows in memory will take, from the first of them.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model.
    X, y : data frame, array-like
        The first rows, and their labels.
    rows : int
        How many rows there are in all.
    data_bytes : int
        What all of them take in memory.
    attributes : int, optional
        How many attributes are private; all columns by default.
    base_bytes : int, optional
        What the process takes already.
    """
    fit = Fit.of(model, X, y, None)
    held, workers = fit.rows, threads_allowed()
    size = held.batch_size
    results = 8 * rows * (2 + (len(fit.table.names) if attributes is None else attributes))
    return _planned(
        fit,
        (held.read(span) for span in held.spans()),
        besides=0.0,
        rows=rows,
        units=-(-rows // size),
        workers=workers,
        bytes_a_pass=data_bytes,
        memory=lambda width: base_bytes + workers * 6 * 8 * min(size, rows) * max(width, 1) + data_bytes + results,
    )


def _planned(
    fit: Fit[Rows],
    batches: Iterator[Batch],
    *,
    besides: float,
    rows: int,
    units: int,
    workers: int,
    bytes_a_pass: float,
    memory: Callable[[int], int],
) -> Plan:
    """Time the first rows.

    `besides` is what a row takes besides the passes, and `memory` what a worker holds besides square matrices, given
    their width.
    """
    features, outputs = fit.affine.features, fit.problem.labels.outputs
    width = (features + fit.problem.intercept) * outputs
    passes = (1 if fit.problem.loss.quadratic else _POLISHING) + 1
    each = _timed(batches, max(8 * batch_rows(features), _SAMPLE), width)
    return Plan(
        rows=rows,
        features=features,
        units=units,
        workers=workers,
        passes=passes,
        bytes_read=int(passes * bytes_a_pass),
        memory_per_worker=matrices_bytes(width) + memory(width),
        core_hours=rows * (passes * each.read + (passes - 1) * each.summed + each.scored + besides) / 3600,
    )


@dataclass(frozen=True)
class _Seconds:
    """Per row."""

    read: float
    summed: float
    scored: float


def _timed(batches: Iterator[Batch], enough: int, width: int) -> _Seconds:
    """Time the first rows on one thread."""
    with one_threaded_blas():
        taken, batch, seen = 0.0, None, 0
        start = time.process_time()
        for number, other in enumerate(batches):
            now = time.process_time()
            if number == 1:
                # What the very first took says more of starting than of reading.
                taken, seen = 0.0, 0
            batch, taken, seen, start = other, taken + now - start, seen + len(other), now
            if number and seen >= enough:
                break
        assert batch is not None
        seconds = taken / seen
        rows, one = len(batch), np.ones(len(batch))
        square, fixed = np.eye(batch.width), np.linspace(0.1, 1.0, batch.width)
        summed = _fastest(lambda: batch.gram(np.linspace(0.5, 1.0, rows))) * (width / batch.width) ** 2
        projected = batch.project(square)
        scored = _fastest(lambda: batch.project(square)) * (width / batch.width) ** 2
        scored += _fastest(
            lambda: top_eigenvalues(
                fixed[::-1].copy(), projected, fixed, one, one, one, True, one.copy(), one.copy(), one.copy()
            )
        )
    return _Seconds(seconds, summed / rows, scored / rows)


def _fastest(run: Callable[[], object]) -> float:
    return min(_taken(run) for _ in range(3))


def _taken(run: Callable[[], object]) -> float:
    # Of the processor: what others do on this machine now says nothing of the job.
    start = time.process_time()
    run()
    return time.process_time() - start


def _first(units: Sequence[Unit]) -> list[Unit]:
    """Return the first units that hold enough rows to be timed: where files are small, opening them counts."""
    found: list[Unit] = []
    for unit in units:
        found.append(unit)
        if sum(each.rows for each in found) >= _SAMPLE:
            break
    return found


def _besides(reader: FileReader, roles: Roles, units: Sequence[Unit]) -> float:
    """Return what comparing ids and writing results take a row."""
    rows = sum(unit.rows for unit in units)
    names = [name for name in (roles.ids, roles.groups) if name is not None]
    kept = [batch for unit in units for batch in reader.store.read(unit, names, rows)] if names else []
    results = [np.linspace(0.1, 1.0, rows)] * 2
    columns = [*(pa.Table.from_batches(kept).columns if kept else ()), *results]
    table = pa.table(columns, [*names, "eta", "dfil"])
    seconds = _fastest(lambda: pq.write_table(table, pa.BufferOutputStream(), use_dictionary=False, compression="lz4"))
    # What is known of all people together: two sketches, and one for each group.
    seconds += (2 if roles.groups is None else 3) * _fastest(lambda: Sketch.of(results[0]))
    if roles.ids is not None:
        hashing = Hashing(reader.store, roles.ids)
        seconds += _fastest(lambda: hashing(units))
    return seconds / rows + _SECONDS_A_FILE * len(units) / rows
