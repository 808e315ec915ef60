"""How labels become numbers."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array, Column
from seepage.errors import InputError

IN_TICKS = (
    "dates or times, which are counted in ticks: an error of so many microseconds says nothing to anyone. Make it a "
    "number of days before fitting and measuring: "
    '(column - pandas.Timestamp("2000-01-01")) / pandas.Timedelta(days=1), '
    "or column / pandas.Timedelta(days=1) for lengths of time."
)


@dataclass(frozen=True, eq=False)
class Labels:
    """How labels become the numbers that the loss sees."""

    classes: Column | None
    """The classes of a classifier; None for a regression."""
    codes: Array | None
    """One row of numbers for each class."""
    outputs: int
    above_zero: Literal["at least", "more than"] | None = None
    """What the loss asks of labels that are numbers, if it asks anything."""

    def check(self, numbers: Array, start: int) -> None:
        """Refuse labels for which the loss is no loss; `start` is what messages call the first row."""
        if self.above_zero is None:
            return
        wrong = numbers < 0 if self.above_zero == "at least" else numbers <= 0
        if wrong.any():
            row, output = np.argwhere(wrong)[0]
            raise InputError(
                f"y is {numbers[row, output]:g} in row {start + row}, and the labels of this model must be "
                f"{self.above_zero} 0. Drop the row, or choose a loss that knows such labels."
            )

    def encode(self, labels: Column) -> Array:
        """Return labels as numbers, shape (n, outputs)."""
        if self.classes is None or self.codes is None:
            if labels.dtype.kind in "mM":
                raise InputError(f"The target holds {IN_TICKS}")
            try:
                numbers = np.asarray(labels, dtype=np.float64)
            except (TypeError, ValueError):
                raise InputError(f"The target of a regression must be numbers, not {labels[:1].tolist()!r}.") from None
            numbers = numbers.reshape(len(numbers), -1)
            if numbers.shape[1] != self.outputs:
                raise InputError(f"y has {numbers.shape[1]} columns; the model was fitted on {self.outputs}.")
            return numbers
        return self.codes[self.positions(labels)]

    def positions(self, labels: Column) -> NDArray[np.intp]:
        """Return the index of each label among the classes."""
        assert self.classes is not None
        try:
            index = np.searchsorted(self.classes, labels).clip(0, len(self.classes) - 1)
            strange = self.classes[index] != labels
        except TypeError:
            strange = np.ones(len(labels), dtype=bool)
        if np.any(strange):
            value = labels[np.argmax(strange)].item()
            raise InputError(f"y holds {value!r}, which is none of the model's classes {self.classes.tolist()}.")
        return np.asarray(index)
