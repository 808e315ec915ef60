"""Amounts of noise, as the command line takes and prints them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seepage.release import GaussianNoise

_UNIT = "se"


@dataclass(frozen=True)
class Amount:
    """A standard deviation, or so many standard errors of each coefficient: "0.1" or "0.25 se"."""

    number: float
    standard_errors: bool = False

    @classmethod
    def read(cls, text: str) -> "Amount":
        """Read an amount; what is none is a ValueError."""
        bare = text.strip().removesuffix(_UNIT)
        return cls(float(bare), bare != text.strip())

    @classmethod
    def of(cls, noise: "GaussianNoise") -> "Amount":
        """Return the amount of a noise of one scale, or in standard errors."""
        if noise.scale is not None:
            return cls(noise.scale)
        assert noise.shape is not None
        return cls(noise.shape.scale, standard_errors=True)

    @property
    def noise(self) -> "float | GaussianNoise":
        """The noise that is measured and drawn."""
        if not self.standard_errors:
            return self.number
        from seepage.release import GaussianNoise

        return GaussianNoise(standard_errors=self.number)

    def words(self, digits: str = "g") -> str:
        """Return what a sentence begins with."""
        if self.standard_errors:
            return f"Noise of {self.number:{digits}} standard errors on every coefficient"
        return f"A noise scale of {self.number:{digits}}"

    def option(self, digits: str = "g") -> str:
        """Return what the command line takes."""
        return f"{self.number:{digits}} {_UNIT}" if self.standard_errors else f"{self.number:{digits}}"
