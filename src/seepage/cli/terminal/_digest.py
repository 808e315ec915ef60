"""The few numbers that a screen has room for."""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from seepage.leakage import Leakage
from seepage.leakage._distribution import Distribution
from seepage.leakage._information import Summarized

_MOST_EXPOSED = 5


@dataclass(frozen=True)
class Spread:
    """A quantity over all people."""

    name: str
    median: float
    tail: float
    """The 95th percentile of what is large when bad, the 5th of what is small."""
    worst: float


@dataclass(frozen=True)
class GroupRow:
    """A group of people and its mean eta."""

    name: str
    count: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Digest:
    """What a measurement found."""

    people: int
    assurance: str
    noise_scale: float | None
    examples: tuple[Spread, ...]
    floors: tuple[Spread, ...]
    """The most exposed attribute first."""
    categories: tuple[str, ...]
    grouped_by: str | None
    groups: tuple[GroupRow, ...]
    most_exposed: tuple[tuple[str, float], ...]
    """Who, and eta."""
    assumptions: tuple[str, ...]

    @classmethod
    def of(cls, leak: Leakage, *, groups: Any = None, grouped_by: str | None, ids: str | None) -> "Digest":
        """Gather the numbers; `grouped_by` and `ids` are the columns of groups and names."""
        information = leak.information
        examples, attributes = _values(leak)
        numbers = [name for name in attributes if name not in information.categorical]
        return cls(
            people=information.count,
            assurance=information.assurance,
            noise_scale=None if information.noise is None else information.noise.scale,
            examples=tuple(Spread(name, *_spread(values)) for name, values in examples.items()),
            floors=tuple(Spread(name, *_inverse(_spread(attributes[name]))) for name in numbers),
            categories=tuple(name for name in attributes if name in information.categorical),
            grouped_by=grouped_by,
            groups=() if groups is None else _groups(leak, groups),
            most_exposed=_most_exposed(leak, ids),
            assumptions=information.assumptions,
        )


def _values(leak: Leakage) -> tuple[Any, Any]:
    information = leak.information
    if isinstance(information, Summarized):
        return information.distributions("examples"), information.distributions("attributes")
    return information.examples(), information.attributes()


def _spread(values: NDArray[np.float64] | Distribution) -> tuple[float, float, float]:
    if isinstance(values, Distribution):
        return values.quantile(0.5), values.quantile(0.95), values.largest
    return float(np.median(values)), float(np.quantile(values, 0.95)), float(values.max())


def _inverse(etas: tuple[float, float, float]) -> tuple[float, float, float]:
    median, tail, worst = (1 / eta if eta > 0 else float("inf") for eta in etas)
    return median, tail, worst


def _groups(leak: Leakage, groups: Any) -> tuple[GroupRow, ...]:
    rows = nw.from_native(leak.by_group(groups).frame, eager_only=True).iter_rows(named=True)
    found = [
        GroupRow(str(row["group"]), int(row["count"]), row["mean"], row["mean_low"], row["mean_high"]) for row in rows
    ]
    return tuple(sorted(found, key=lambda row: -row.mean))


def _most_exposed(leak: Leakage, ids: str | None) -> tuple[tuple[str, float], ...]:
    frame = leak.most_exposed(_MOST_EXPOSED)
    if isinstance(leak.information, Summarized):
        rows = frame.to_pylist()
        who = [str(row[ids]) if ids else f"row {row['row']} of {row['file'].rpartition('/')[2]}" for row in rows]
        return tuple((name, float(row["eta"])) for name, row in zip(who, rows, strict=True))
    table = nw.from_native(frame, eager_only=True)
    labels = frame.index.tolist() if hasattr(frame, "iloc") else table["id"].to_list()
    who = [str(label) if ids else f"row {label}" for label in labels]
    return tuple(zip(who, (float(eta) for eta in table["eta"].to_list()), strict=True))
