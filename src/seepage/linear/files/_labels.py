"""What must be known of the labels and weights in files before the first pass."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from seepage._tables import Array, Column
from seepage.errors import InputError
from seepage.execution.storage import FileStore, Unit
from seepage.linear.files._roles import Roles
from seepage.linear.files._rows import labels_in, weights_in
from seepage.linear.information import WARM

# Two narrow columns: many rows at a time.
_BATCH = 2**17


@dataclass(frozen=True, eq=False)
class Tally:
    """The rows and their weight, for each class if there are classes."""

    weight: float
    classes: Mapping[Hashable, tuple[int, float]]

    def __add__(self, other: "Tally") -> "Tally":
        classes = {**self.classes, **other.classes}
        for label in self.classes.keys() & other.classes.keys():
            (count, weight), (more, heavier) = self.classes[label], other.classes[label]
            classes[label] = count + more, weight + heavier
        return Tally(self.weight + other.weight, classes)

    def of(self, classes: Column) -> tuple[Array, Array]:
        """Return the number of rows and the weight of each class."""
        found = np.array([self.classes.get(label, (0, 0.0)) for label in classes.tolist()], dtype=np.float64)
        return found[:, 0], found[:, 1]


@dataclass(frozen=True, eq=False)
class Tallying:
    """Counts the labels of a unit."""

    preload: ClassVar[str] = WARM

    store: FileStore
    roles: Roles
    classifier: bool

    def __call__(self, unit: Unit) -> Tally:
        columns = [*self.roles.target, *([] if self.roles.weight is None else [self.roles.weight])]
        found = Tally(0.0, {})
        for batch in self.store.read(unit, columns, _BATCH):
            try:
                labels = labels_in(batch, self.roles.target)
                weights = weights_in(batch, self.roles.weight)
            except InputError as error:
                raise InputError(f"{unit.path}: {error}") from error
            each = np.ones(len(labels)) if weights is None else weights
            classes: dict[Hashable, tuple[int, float]] = {}
            if self.classifier:
                names, index = np.unique(labels, return_inverse=True)
                rows, weight = np.bincount(index).tolist(), np.bincount(index, each).tolist()
                classes = dict(zip(names.tolist(), zip(rows, weight, strict=True), strict=True))
            found += Tally(float(each.sum()), classes)
        return found
