"""How a job runs: who reads the rows, and where its results go."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seepage.errors import InputError
from seepage.execution._engine import Engine

if TYPE_CHECKING:
    import pyarrow.fs


@dataclass(frozen=True, eq=False)
class Job:
    """How a job runs: who reads the rows, and where its results go. No number depends on it.

    Parameters
    ----------
    engine : Engine, optional
        Who reads the rows: one of `seepage.engines`. This process for data in memory, `Local()` for files by default.
    output : path, optional
        For files, a new folder for the per-person results, one file for each unit of work, and not among the rows.
        Without it only summaries can be asked for.
    resume : bool, default=False
        Whether to continue the unfinished job in `output`.
    filesystem : pyarrow.fs.FileSystem, optional
        Where paths are, when a URI cannot say it.
    progress : bool, optional
        Whether to print how far files have been read and the time left; by default if standard error is a terminal.

    Examples
    --------
    >>> import seepage
    >>> seepage.engines.Job(engine=seepage.engines.Local(workers=2), output="leakage")
    Job(engine=Local(workers=2, retries=3, stall=60.0), output='leakage')
    """

    engine: Engine | None = None
    output: str | os.PathLike[str] | None = None
    resume: bool = False
    filesystem: "pyarrow.fs.FileSystem | None" = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        if self.resume and self.output is None:
            raise InputError("resume=True continues the job in an output folder: name it with output=.")

    def __repr__(self) -> str:
        told = {name: value for name, value in vars(self).items() if value is not None and value is not False}
        return f"Job({', '.join(f'{name}={value!r}' for name, value in told.items())})"
