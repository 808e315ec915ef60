"""What all tables have in common: they are fitted on a frame, and measure themselves."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from seepage._python import Self
from seepage._tables import Array, Data, Frame
from seepage.aggregates._measured import Made, measured
from seepage.attackers import SamplingLeakage, TableQuestion
from seepage.errors import InputError


class TableEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """A table that is fitted on a frame. It keeps what it prints, and nothing of the people."""

    kind = "a table"
    takes: frozenset[str] = frozenset()
    frame_: Frame
    _values: Array

    @abstractmethod
    def _made(self, X: Data) -> Made:
        """Return the table of a frame."""

    @abstractmethod
    def _shown(self, made: Made) -> Frame:
        """Return it as it is printed."""

    def fit(self, X: Data, y: Any = None) -> Self:
        """Make the table of a frame.

        Parameters
        ----------
        X : data frame
            One row a person.
        y : None
            There is no outcome.
        """
        made = self._made(X)
        self.frame_ = self._shown(made)
        self._values = made.numbers.values(made.numbers.at)
        return self

    def measured(self, X: Data, asked: TableQuestion) -> SamplingLeakage:
        """Return what the table gives away: `seepage.measure(table, frame)` asks here.

        Parameters
        ----------
        X : data frame
            The one that it was fitted on.
        asked : TableQuestion
        """
        called = type(self).__name__
        if not hasattr(self, "frame_"):
            raise InputError(f"This {called} is not fitted: table = {called}(...).fit(frame).")
        made = self._made(X)
        found = made.numbers.values(made.numbers.at)
        if found.shape != self._values.shape or not np.allclose(found, self._values, rtol=1e-9, atol=0.0):
            raise InputError(
                f"This {called} was fitted on other rows: its numbers are not those of this frame. Give the frame that "
                "it was fitted on, or fit it on this one."
            )
        return measured(made, asked)


def checked_names(named: Sequence[str], called: str) -> tuple[str, ...]:
    """Return names of columns, each once."""
    if isinstance(named, str):
        raise InputError(f"{called} is a list of columns: [{named!r}].")
    found = tuple(named)
    twice = [name for i, name in enumerate(found) if name in found[:i]]
    if twice:
        raise InputError(f"{called} names {twice[0]!r} twice.")
    return found
