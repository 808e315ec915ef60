"""People in Parquet files: odd sizes, several row groups, ids as strings, a group column."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class People:
    folder: Path
    frame: pd.DataFrame
    features: list[str]

    @property
    def pattern(self) -> str:
        return f"{self.folder}/*.parquet"

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802
        return self.frame[self.features]


def write_people(folder: Path, *, rows: int = 6_000, features: int = 6, files: int = 5, seed: int = 0) -> People:
    """Write people whose outcome, class, count and kind depend on their features."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, features))
    margin = X @ random.normal(size=features) / np.sqrt(features)
    names = [f"x{i}" for i in range(features)]
    frame = pd.DataFrame(X, columns=names)
    frame["person"] = [f"person {i:07d}" for i in range(rows)]
    frame["region"] = random.choice(["north", "south", "east"], rows, p=[0.6, 0.3, 0.1])
    frame["outcome"] = margin + random.normal(size=rows)
    frame["class"] = margin + random.logistic(size=rows) > 0
    frame["kind"] = random.choice(["a", "b", "c"], rows)
    frame["visits"] = random.poisson(np.exp(0.3 * margin)).astype(np.float64)
    frame["weight"] = random.uniform(0.5, 2.0, rows)
    edges = np.linspace(0, rows, files + 1).astype(int)
    edges[1:-1] += random.integers(-7, 8, files - 1)
    folder.mkdir(parents=True)
    for i, (start, stop) in enumerate(pairwise(edges)):
        table = pa.Table.from_pandas(frame.iloc[start:stop], preserve_index=False)
        pq.write_table(table, folder / f"part-{i:03d}.parquet", row_group_size=(stop - start) // 3 + 1)
    return People(folder, frame, names)
