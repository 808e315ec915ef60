"""What steps before the model say of the features they make: claims that the rows at hand can be held against.

A scaler that was fitted on these rows made features of mean zero and variance one over them, and an imputer that was
filled their gaps with their means. Whether it was is a question to the rows, which one pass over them answers.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Claim:
    """What one step does to one feature that may be a mean over the rows at hand.

    The feature that the model sees is  factor z + shift, where z is what the step made.
    """

    step: str
    """Where the step stands."""
    centers: bool = False
    """Whether it took a mean away: z has mean zero over the rows it was fitted on."""
    scales: bool = False
    """Whether it divided by a standard deviation: z has variance one over them."""
    fills: bool = False
    """Whether it filled cells in."""
    with_mean: bool = False
    """Whether it filled them with the mean of the others."""
    with_constant: bool = False
    """Whether it filled them with a number that does not follow the rows it was fitted on."""
    after_filling: bool = False
    """Whether no cell was missing any more when the step came."""
    factor: float = 1.0
    shift: float = 0.0

    def shifted(self, by: float) -> "Claim":
        """Return the claim after a constant was added to the feature."""
        return replace(self, shift=self.shift + by)

    def scaled(self, by: float) -> "Claim":
        """Return the claim after the feature was multiplied."""
        return replace(self, factor=self.factor * by, shift=self.shift * by)
