"""Delta and Iceberg tables of people, written by the libraries that platforms write them with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

FEATURES = ["age", "income"]


def people(rows: int, *, start: int = 0, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"person": np.arange(start, start + rows), "age": random.normal(50, 15, rows)})
    frame["income"] = random.lognormal(3, 0.5, rows)
    frame["region"] = random.choice(["north", "south east", "ü/west"], rows)
    frame["year"] = random.integers(2020, 2023, rows)
    frame["cost"] = 0.3 * frame["age"] + 0.05 * frame["income"] + random.normal(size=rows)
    return frame


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


@contextmanager
def catalog(folder: Path) -> Iterator[object]:
    """Yield an Iceberg catalog in SQLite."""
    from pyiceberg.catalog.sql import SqlCatalog

    folder.mkdir(parents=True)
    found = SqlCatalog("people", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    found.create_namespace("lake")
    try:
        yield found
    finally:
        found.close()
