"""The exceptions of this library: each says what was given, what was expected, and the way out."""


class SeepageError(Exception):
    """Base class of every exception that this library raises on purpose."""


class InputError(SeepageError, ValueError):
    """The data or an argument cannot be used as given."""


class UnsupportedError(SeepageError, TypeError):
    """The model, or a step before it, is outside what can be measured exactly."""


class MinimizerError(SeepageError, ValueError):
    """The model is not the minimizer of its objective on this data, or there is no single one.

    Attributes
    ----------
    distance : float
        How far the model is from the minimizer, in standard errors; NaN where there is no single one.
    """

    def __init__(self, message: str, distance: float = float("nan")) -> None:
        super().__init__(message)
        self.distance = distance


class UnansweredError(SeepageError, LookupError):
    """A measurement cannot answer the question that was asked of it."""


class MissingExtraError(SeepageError, ImportError):
    """An optional dependency is needed and not installed."""


class PolicyError(SeepageError, ValueError):
    """A release misses a target of its policy.

    Attributes
    ----------
    factor : float
        By how much the noise scale must grow to meet every target, rounded up on a fixed grid; infinite if no noise is
        enough.
    """

    def __init__(self, message: str, factor: float = float("nan")) -> None:
        super().__init__(message)
        self.factor = factor


class LedgerError(SeepageError, RuntimeError):
    """A ledger is not as it was written, so that nothing can be decided by it.

    Attributes
    ----------
    place : str
        The entry, or the part of a table.
    reason : str
        What is wrong with it.
    way_out : str
        What to do.
    """

    def __init__(
        self, place: str, reason: str, way_out: str = "Restore it from a backup that has all entries."
    ) -> None:
        # All are arguments of the exception, so that it can travel from one process to another.
        super().__init__(place, reason, way_out)
        self.place, self.reason, self.way_out = place, reason, way_out

    def __str__(self) -> str:
        return (
            f"The ledger is not as it was written: {self.place} {self.reason}.\nUntil it is, nothing is posted. "
            f"{self.way_out} An audit of the ledger lists all that does not fit."
        )


class UnreadableError(InputError):
    """A file of rows cannot be read.

    Attributes
    ----------
    path : str
        The file.
    reason : str
        What its reader said.
    """

    def __init__(self, path: str, reason: str) -> None:
        # Both are arguments of the exception, so that it can travel from one process to another.
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return (
            f"{self.path} cannot be read as Parquet ({self.reason}). If it is truncated or damaged, write it again; "
            "if its store failed, wait. Then continue with resume=True."
        )


class EngineError(SeepageError, RuntimeError):
    """The engine could not finish the work: its workers die, or a unit failed in a way nobody foresaw."""


class StorageError(SeepageError, RuntimeError):
    """The database of a ledger cannot be reached or written to.

    Attributes
    ----------
    place : str
        Its file or address.
    reason : str
        The answer of the database.
    """

    def __init__(self, place: str, reason: str) -> None:
        # Both are arguments of the exception, so that it can travel from one process to another.
        super().__init__(place, reason)
        self.place, self.reason = place, reason

    def __str__(self) -> str:
        return (
            f"The ledger at {self.place} cannot be used: {self.reason}.\nNothing is half written. Make the database "
            "ready, and start again; ledger.releases (seepage ledger show) lists what is paid for."
        )
