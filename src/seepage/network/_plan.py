"""What accounting will cost, said beforehand."""

from dataclasses import dataclass

from seepage._amounts import size


@dataclass(frozen=True)
class Plan:
    """The memory that is kept for all of training, and the extra passes over each batch."""

    people: int
    values: int
    ledger_bytes: int
    sketch_bytes: int
    probes: float
    spectrum: bool

    @property
    def bytes(self) -> int:
        """All memory that is kept."""
        return self.ledger_bytes + self.sketch_bytes

    def __str__(self) -> str:
        share = f"{self.probes:g} of the steps carry" if self.probes < 1 else "every step carries"
        lines = [
            f"{self.people} people with {self.values} private values each",
            f"kept for all of training: {size(self.bytes)}"
            + (f" ({size(self.sketch_bytes)} of them for the spectrum)" if self.spectrum else ""),
            f"{share} a direction along: about twice the work of such a step"
            + (f", and {self.probes - 1:g} further passes" if self.probes > 1 else ""),
        ]
        if self.spectrum:
            lines.append("the spectrum adds several passes an example to each step: far more than the rest")
        return "\n".join(lines)
