"""What steps before the model say of the features they make: claims that the rows at hand can be held against.

A scaler that was fitted on these rows made features of mean zero and variance one over them, and an imputer that was
filled their gaps with their means. Whether it was is a question to the rows, which one pass over them answers.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Claim:
    """What one step says that it took from the rows it was fitted on, to be held against the rows at hand.

    The feature that the model sees is  factor z + shift, where z is what the step made.

    Attributes
    ----------
    step : str
        Where the step stands: the path that `through` was given.
    centers : bool
        Whether it took a mean away: z has mean zero over the rows it was fitted on.
    scales : bool
        Whether it divided by a standard deviation: z has variance one over them.
    fills : bool
        Whether it filled cells in.
    with_mean : bool
        Whether it filled them with the mean of the others.
    with_constant : bool
        Whether it filled them with a number that does not follow the rows it was fitted on.
    after_filling : bool
        Whether no cell was missing any more when the step came; the map that the claim is made of knows.
    factor, shift : float
        What steps behind this one did; their maps know.

    Examples
    --------
    >>> from seepage.linear import Affine, Claim
    >>> scaled = Affine.raw(2).scaled([0.5, 2.0]).claimed(Claim("scaler", scales=True))
    >>> scaled.shifted(1.0).claims[0][0].shift
    1.0
    """

    step: str
    centers: bool = False
    scales: bool = False
    fills: bool = False
    with_mean: bool = False
    with_constant: bool = False
    after_filling: bool = False
    factor: float = 1.0
    shift: float = 0.0

    def shifted(self, by: float) -> "Claim":
        """Return the claim after a constant was added to the feature."""
        return replace(self, shift=self.shift + by)

    def scaled(self, by: float) -> "Claim":
        """Return the claim after the feature was multiplied."""
        return replace(self, factor=self.factor * by, shift=self.shift * by)
