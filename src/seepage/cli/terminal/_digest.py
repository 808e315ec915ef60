"""The few numbers that a screen has room for."""

from dataclasses import dataclass
from typing import Any

import narwhals as nw

from seepage.leakage import Distribution, Leakage

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
        examples, attributes = information.distributions("examples"), information.distributions("attributes")
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
            assumptions=leak.assumptions,
        )


def _spread(values: Distribution) -> tuple[float, float, float]:
    return values.quantile(0.5), values.quantile(0.95), values.largest


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
    found = leak.information.top(_MOST_EXPOSED)
    if ids is None and "file" in found.columns:
        files, rows = found.columns["file"].tolist(), found.columns["row"].tolist()
        who = [f"row {row} of {file.rpartition('/')[2]}" for file, row in zip(files, rows, strict=True)]
    else:
        who = [str(each) if ids else f"row {each}" for each in found.people.ids]
    return tuple(zip(who, found.columns["eta"].tolist(), strict=True))
