"""What measures itself: tables that know which people they are of, and how these move them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from seepage._tables import Data, Listed
from seepage.leakage.types import By
from seepage.others._leakage import OthersLeakage
from seepage.others.types import Known


@dataclass(frozen=True, eq=False)
class TableQuestion:
    """What is asked of a table; `seepage.measure` says what each of it is."""

    others_known: Known
    digits: int | str | None
    attributes: Sequence[str] | None
    known_sizes: Sequence[str]
    ids: Listed
    groups: By


@runtime_checkable
class Tabular(Protocol):
    """A fitted table, as `seepage.measure` takes it beside models."""

    def measured(self, X: Data, asked: TableQuestion) -> OthersLeakage:
        """Return what it gives away without noise."""
        ...
