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
    """A ledger is not what was written to it, so that nothing can be decided by it.

    Attributes
    ----------
    place : str
        The file, or the entry in it.
    reason : str
        What is wrong with it.
    way_out : str
        What to do.
    """

    def __init__(
        self, place: str, reason: str, way_out: str = "Put it back as it was, from a backup that has every entry."
    ) -> None:
        # All are arguments of the exception, so that it can travel from one process to another.
        super().__init__(place, reason, way_out)
        self.place, self.reason, self.way_out = place, reason, way_out

    def __str__(self) -> str:
        return (
            f"The ledger is not what was written: {self.place} {self.reason}. Until it is, nothing is posted. "
            f"{self.way_out} An audit of the ledger lists all that does not fit."
        )


class UnwrittenError(SeepageError, OSError):
    """A ledger's store takes no file: no space is left, or it may not be written to. Nothing was posted.

    Attributes
    ----------
    path : str
        The file.
    reason : str
        Why.
    way_out : str
        What to do.
    """

    def __init__(self, path: str, reason: str, way_out: str) -> None:
        # All are arguments of the exception, so that it can travel from one process to another.
        super().__init__(path, reason, way_out)
        self.path, self.reason, self.way_out = path, reason, way_out

    def __str__(self) -> str:
        return (
            f"{self.path} cannot be written: {self.reason}. Nothing was posted, and nothing is left half written. "
            f"{self.way_out}, and start again."
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
    """A store of files failed, or kept silent.

    Attributes
    ----------
    path : str
        What it was asked for.
    seconds : float
        How long the request took.
    reason : str
        The answer.
    """

    def __init__(self, path: str, seconds: float, reason: str) -> None:
        # All are arguments of the exception, so that it can travel from one process to another.
        super().__init__(path, seconds, reason)
        self.path, self.seconds, self.reason = path, seconds, reason

    def __str__(self) -> str:
        return (
            f"The store of {self.path} failed after {self.seconds:.0f} s ({self.reason}). Nothing is known to be wrong "
            "with the file: check that the store is reachable, then start again."
        )
