"""What a client tells the server about what its update gives away: means over people, never a value of one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from seepage._tables import Array

SUPPORT = 10
"""People that any reported number is the mean of, at least."""

WHOLE = "all layers"
PREFIX = "seepage"
OVERALL = ("people", "training_seconds", "measuring_seconds")
NUMBERS = ("sensitivity", "dfil", "dfil_worst_ten", "susceptibility", "susceptibility_worst_ten")
FLAGS = ("dropped", "noised")
COLUMNS = (*NUMBERS, *FLAGS)


Action = Literal["sent", "dropped", "noised", "refused", "failed", "unmeasured"]


@dataclass(frozen=True)
class Row:
    """What became of a layer of a client's update in a round, or of the whole reply."""

    round: int
    client: str
    layer: str
    action: Action
    reason: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)

    def number(self, column: str) -> float:
        """Return a number about it; NaN if there is none."""
        return self.numbers.get(column, math.nan)


@dataclass(frozen=True)
class PeopleSpread:
    """How a value is spread over people: its mean, and the mean of the ten largest."""

    mean: float
    worst_ten: float

    @classmethod
    def of(cls, values: Array) -> "PeopleSpread":
        """Summarize; NaN where a number would be about fewer than ten people, itself or in the difference of both."""
        count = len(values)
        mean = float(np.mean(values)) if count >= SUPPORT else math.nan
        enough = count >= 2 * SUPPORT
        worst = float(np.mean(np.partition(values, count - SUPPORT)[-SUPPORT:])) if enough else math.nan
        return cls(mean, worst)


def to_metrics(rows: Mapping[str, Mapping[str, float]], overall: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics of a reply. All clients of a model have the same names, as Flower's strategies demand."""
    found = {f"{PREFIX}/{name}": float(overall[name]) for name in OVERALL}
    for layer, values in rows.items():
        found |= {f"{PREFIX}/{layer}/{column}": coarse(values[column]) for column in COLUMNS if column in values}
    return found


def coarse(value: float) -> float:
    """Return a number to two digits: enough to see where a round stands, and next to nothing about one person."""
    return float(f"{float(value):.2g}")


def from_metrics(metrics: Mapping[str, object]) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return what `to_metrics` was given; what a client adds of its own is left out."""
    rows: dict[str, dict[str, float]] = {}
    overall: dict[str, float] = {}
    for key, value in metrics.items():
        prefix, _, rest = key.partition("/")
        layer, _, column = rest.rpartition("/")
        if prefix != PREFIX or not isinstance(value, int | float):
            continue
        if layer and column in COLUMNS:
            rows.setdefault(layer, {})[column] = float(value)
        elif not layer and column in OVERALL:
            overall[column] = float(value)
    return rows, overall
