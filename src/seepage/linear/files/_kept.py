"""How many rows of files a filter keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from seepage._where import columns_of
from seepage.execution.storage import Store, Unit
from seepage.linear.information import WARM

_BATCH = 2**17


@dataclass(frozen=True, eq=False)
class Keeping:
    """Counts the rows of each of some units that the filter of their store keeps, by the columns that it looks at."""

    preload: ClassVar[str] = WARM

    store: Store

    def __call__(self, run: Sequence[Unit]) -> list[int]:
        columns = columns_of(self.store.where)
        return [sum(batch.num_rows for batch in self.store.kept(unit, columns, _BATCH)) for unit in run]
