"""Several outputs about people in files."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from seepage.attackers._crowd import Moves
from seepage.attackers._printed import Printed
from seepage.leakage import People


class Shared(Protocol):
    """One table that several outputs are about, each about the rows that its filter keeps."""

    @property
    def people(self) -> People:
        """Everybody who is in one of them."""
        ...

    @property
    def rows(self) -> tuple[NDArray[np.intp], ...]:
        """Of each output the place in it of everybody; -1 for people who are not in it."""
        ...


class StoredMoves(Moves, Protocol):
    """The influence of people in files on one output."""

    def shared(self, outputs: Mapping[str, Moves]) -> Shared:
        """Return the table that all outputs are about, this one among them; refuse those of another table."""
        ...

    def gathered(self) -> Printed:
        """Return the output with its rows and their influence in memory."""
        ...
