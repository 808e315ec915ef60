"""What accounting will cost, said beforehand."""

from dataclasses import dataclass

from seepage._amounts import size

# What a visit costs, in examples of training with all parameters: measured by `python -m benchmarks network`.
_VISIT = 1.6


@dataclass(frozen=True)
class VisitPlan:
    """The visits that are planned, and what they cost beside training.

    Attributes
    ----------
    people, visits, passes : int
        Who is visited, how often each, and in how many directions each time.
    steps, batch : float
        The length of training, and the people in a batch.
    trained : float
        The share of the network's parameters that are trained. Where few are, training is cheap beside a visit, which
        goes through all of the network.
    """

    people: int
    visits: int
    passes: int
    steps: int
    batch: float
    trained: float

    @property
    def bytes(self) -> int:
        """The memory that is kept for all of training."""
        return 8 * self.people * self.visits * (3 + 2 * self.passes)

    @property
    def cost(self) -> float:
        """The time of the whole training over that without visits, roughly."""
        visit = 2 * _VISIT / (1 + self.trained)
        return 1 + visit * self.people * self.visits * self.passes / (self.steps * self.batch)

    def __str__(self) -> str:
        return (
            f"seepage will visit {self.people} people {self.visits} times each in {self.steps} steps: about "
            f"{self.cost:.2g} times the work of training alone, and {size(self.bytes)} kept."
        )
