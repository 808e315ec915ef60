"""The name of one state of a table that keeps its past."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime

from seepage.errors import InputError


@dataclass(frozen=True)
class Snapshot:
    """One state of a Delta or Iceberg table, for whoever asks for people in files.

    A path of such a table stands for its newest state; this names an older one. Which one was read is among the
    assumptions of a result.

    Parameters
    ----------
    path : path or URI
        The table's folder; for Iceberg also a metadata file, which is what catalogs know
        (`table.metadata_location`).
    version : int, optional
        The version of a Delta table, or the id of a snapshot of an Iceberg table.
    at : datetime or str, optional
        A time, as a datetime with a time zone or in ISO 8601: the state that the table had then.

    Examples
    --------
    >>> import seepage
    >>> seepage.engines.Snapshot("s3://lake/people", version=12)
    Snapshot('s3://lake/people', version=12)
    >>> seepage.engines.Snapshot("s3://lake/people", at="2026-11-01T00:00:00+00:00")
    Snapshot('s3://lake/people', at='2026-11-01T00:00:00+00:00')
    """

    path: str | os.PathLike[str]
    version: int | None = None
    at: datetime | str | None = None

    def __post_init__(self) -> None:
        if self.version is not None and self.at is not None:
            raise InputError(f"A snapshot is named by version={self.version!r} or by at={self.at!r}: leave one out.")
        if self.version is not None and (isinstance(self.version, bool) or not isinstance(self.version, int)):
            raise InputError(f"version= is a whole number, not {self.version!r}.")
        self.time()

    @property
    def is_newest(self) -> bool:
        """Whether neither a version nor a time was asked for."""
        return self.version is None and self.at is None

    def time(self) -> datetime | None:
        """Return the time that was asked for."""
        if self.at is None:
            return None
        try:
            found = self.at if isinstance(self.at, datetime) else datetime.fromisoformat(self.at)
        except (TypeError, ValueError):
            raise InputError(
                f"at={self.at!r} is no time. Give a datetime, or text such as '2026-11-01T00:00:00+00:00'."
            ) from None
        if found.tzinfo is None:
            raise InputError(f"at={self.at!r} has no time zone. Add one, such as +00:00.")
        return found.astimezone(UTC)

    def __repr__(self) -> str:
        told = {name: getattr(self, name) for name in ("version", "at") if getattr(self, name) is not None}
        return f"Snapshot({', '.join([repr(os.fspath(self.path)), *(f'{k}={v!r}' for k, v in told.items())])})"
