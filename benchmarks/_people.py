"""People in Parquet files, made in parts so that no part is large."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEATURES = 64


@contextmanager
def people(rows: int, files: int, features: int = FEATURES) -> Iterator[Path]:
    """Write people with odd numbers of rows a file and three row groups each; ids are strings; delete them after."""
    folder = Path(mkdtemp(prefix="seepage-benchmark-"))
    try:
        (folder / "data").mkdir()
        random = np.random.default_rng(0)
        coefficients = random.normal(size=features) / np.sqrt(features)
        edges = np.linspace(0, rows, files + 1).astype(int)
        edges[1:-1] += random.integers(-99, 100, files - 1)
        for i in range(files):
            count = int(edges[i + 1] - edges[i])
            X = random.normal(size=(count, features))
            columns = {f"x{j}": X[:, j] for j in range(features)}
            columns["outcome"] = X @ coefficients + random.normal(size=count)
            columns["person"] = np.char.add("person ", np.arange(edges[i], edges[i + 1]).astype(str))
            columns["region"] = random.choice(["north", "south", "east"], count)
            pq.write_table(pa.table(columns), folder / "data" / f"part-{i:04d}.parquet", row_group_size=count // 3 + 1)
        yield folder
    finally:
        shutil.rmtree(folder)
