"""An engine that is this process: what workers do, without starting any."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from seepage.engines import Engine


class Here(Engine):
    """Runs units one after the other, as a pickled copy of the work would."""

    workers = 2

    def map(self, function: Callable[[Any], Any], units: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        for index, unit in enumerate(units):
            yield index, function(unit)
