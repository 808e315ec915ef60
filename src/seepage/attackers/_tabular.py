"""What measures itself: tables and equations that know which people they are of, and how these move them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from seepage._noise import GaussianNoise
from seepage._tables import Array, Column, Data, Listed
from seepage.attackers.types import Known
from seepage.leakage import Leakage
from seepage.leakage.types import By


@dataclass(frozen=True, eq=False)
class TableQuestion:
    """What is asked of what measures itself; `seepage.measure` says what each of it is."""

    known_records: Known | None
    digits: int | str | None
    attributes: Sequence[str] | None
    known_group_sizes: Sequence[str]
    ids: Listed
    groups: By
    noise_scale: float | GaussianNoise | None = None
    clusters: Listed = None
    published: Sequence[str] | str | None = None
    numbers: Collection[str] | None = None

    @property
    def known(self) -> Known:
        """What the attacker holds of the others where no noise is added: nothing, if nobody says."""
        return 0 if self.known_records is None else self.known_records


@runtime_checkable
class Tabular(Protocol):
    """What measures itself, as `seepage.measure` takes it beside models."""

    @property
    def kind(self) -> str:
        """What it is called in a sentence, such as "a table"."""
        ...

    @property
    def takes(self) -> frozenset[str]:
        """The arguments of `seepage.measure` that it answers, beside those that every table does."""
        ...

    def measured(self, X: Data, asked: TableQuestion) -> Leakage:
        """Return what it gives away."""
        ...


@runtime_checkable
class Publishable(Tabular, Protocol):
    """What measures itself and can be published with noise: numbers that have names."""

    def fingerprinted(self, X: Data) -> tuple[Iterator[Column], Array]:
        """Return the columns of the rows, and the exact numbers: a certificate knows both by them."""
        ...
