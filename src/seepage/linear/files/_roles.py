"""What the columns of files are for."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from seepage._tables import Data, Listed
from seepage.errors import InputError
from seepage.execution import Job
from seepage.execution.storage import Paths
from seepage.leakage.types import By


def are_paths(X: Data) -> TypeGuard[Paths]:
    """Return whether rows are given as names of files; refuse those that are elsewhere with what to pass instead."""
    if isinstance(X, str | os.PathLike) or _is_delta(X):
        return True
    _refuse_elsewhere(X)
    return isinstance(X, list | tuple) and all(isinstance(path, str | os.PathLike) for path in X)


# What to pass instead of rows that another system holds, or has only promised, by the package and kind of them.
_INSTEAD = {
    ("pyspark", "DataFrame"): 'Write it, df.write.parquet("folder"), or name the table it came from; pass that path, '
    "with job=seepage.engines.Job(engine=seepage.engines.Spark(session)).",
    ("ray", "Dataset"): 'Write it, dataset.write_parquet("folder"), and pass that path, with '
    "job=seepage.engines.Job(engine=seepage.engines.Ray()).",
    ("dask", "DataFrame"): 'Write it, df.to_parquet("folder"), and pass that path; or pass df.compute() if it fits in '
    "memory.",
    ("pyiceberg", "Table"): "Pass [task.file.file_path for task in table.scan().plan_files()] if no task has "
    "delete_files; or table.scan().to_arrow() if it fits in memory.",
    ("pyarrow", "Dataset"): "Pass its paths, dataset.files; or dataset.to_table() if it fits in memory.",
    ("polars", "LazyFrame"): "Pass X.collect(), or the paths of its files.",
}


def _is_delta(X: object) -> bool:
    return ("deltalake", "DeltaTable") in _kinds(X)


def _kinds(X: object) -> list[tuple[str, str]]:
    """Return the packages and names of an object's classes: libraries that X comes from are not imported here."""
    return [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(X).__mro__]


def _refuse_elsewhere(X: object) -> None:
    for package, name in _kinds(X):
        if (package, name) in _INSTEAD:
            raise InputError(
                f"X is a {type(X).__name__} of {package}: its rows are elsewhere, and are read there, not gathered. "
                f"{_INSTEAD[package, name]}"
            )


@dataclass(frozen=True)
class Roles:
    """The columns of files that are no attributes."""

    target: tuple[str, ...]
    weight: str | None
    ids: str | None
    groups: str | None

    @classmethod
    def of(
        cls, y: Listed, *, target: str | Sequence[str] | None, sample_weight: Listed, ids: Listed, groups: By
    ) -> "Roles":
        """Check that every role is the name of a column."""
        if y is not None:
            raise InputError('X names files, so the labels are a column of them: leave y out and give target="column".')
        if target is None:
            raise InputError('X names files: say which column holds the labels with target="column".')
        listed = (target,) if isinstance(target, str) else tuple(target)
        return cls(listed, _name("sample_weight", sample_weight), _name("ids", ids), _name("groups", groups))

    def named(self) -> dict[str, tuple[str, ...]]:
        """Return the columns of each role, under the argument that named them."""
        single = {"sample_weight": self.weight, "ids": self.ids, "groups": self.groups}
        return {"target": self.target} | {what: (name,) for what, name in single.items() if name is not None}

    def features(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that have no role."""
        taken = {name for names in self.named().values() for name in names}
        return [name for name in columns if name not in taken]


def _name(what: str, given: object) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise InputError(f"X names files, so {what} must be the name of one of their columns, not {type(given).__name__}.")


def refuse_in_memory(target: str | Sequence[str] | None, job: Job | None, **others: object) -> None:
    """Refuse what only makes sense for files."""
    told: dict[str, object] = {"target": target, **others}
    if job is not None:
        told |= {"output": job.output, "filesystem": job.filesystem}
    for name, value in told.items():
        if value is not None:
            raise InputError(
                f"{name}= is for rows in Parquet files, and X is in memory: leave it out, or pass X as paths."
            )
