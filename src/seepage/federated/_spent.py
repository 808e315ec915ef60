"""What a client has given away in all rounds so far: a number that outlives rounds and, where asked to, restarts."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from flwr.app import ConfigRecord, Context

from seepage._writing import write_file

_RECORD = "seepage.spent"


@dataclass(frozen=True)
class Spent:
    """The sum over rounds of the largest squared dFIL of anyone, kept in Flower's state and, if named, in a file."""

    context: Context
    file: Path | None

    def squares(self) -> float:
        """Return the sum so far: the larger of the two, if one of them was lost."""
        record = self.context.state.config_records.get(_RECORD)
        held = float(record["squares"]) if record is not None else 0.0  # type: ignore[arg-type]
        if self.file is not None and self.file.exists():
            held = max(held, float(json.loads(self.file.read_text(encoding="utf-8"))["squares"]))
        return held

    def within(self, added: float, limit: float) -> bool:
        """Return whether one more round keeps within a limit on dFIL; a sum that is no number does not."""
        return self.squares() + added**2 <= limit**2 * (1 + 1e-9)

    def add(self, dfil: float) -> None:
        """Count a round, before its update leaves."""
        total = self.squares() + dfil**2
        self.context.state[_RECORD] = ConfigRecord({"squares": total if math.isfinite(total) else math.inf})
        if self.file is not None:
            write_file(self.file, json.dumps({"squares": total}))
