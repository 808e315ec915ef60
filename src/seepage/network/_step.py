"""What one step of private training publishes about each example in the batch."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.network._amplification import tabulated
from seepage.network._clipping import Clipping, clipping_of

Array = NDArray[np.float64]
Tensor = torch.Tensor


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """How a step of private training turns gradients into what is published.

    Parameters
    ----------
    noise_multiplier : float
        The standard deviation of the noise, in units of the bound.
    max_grad_norm : float
        The bound C on the norm of each example's gradient.
    sample_rate : float, optional
        The probability of Poisson sampling, if membership of a batch is secret and drawn so. Without it no credit is
        given for sampling: the answer is about whoever takes part.
    clipping : {"hard", "smooth"}, default="hard"
        How gradients are bounded: as Opacus does, or as Guo et al. (2022) do.
    batches : int, default=1
        How many batches the step adds up, each drawn anew.
    """

    noise_multiplier: float
    max_grad_norm: float
    sample_rate: float | None = None
    clipping: str = "hard"
    batches: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.noise_multiplier < float("inf"):
            raise InputError(
                f"noise_multiplier is {self.noise_multiplier!r}: a gradient published without noise carries infinite "
                "information about everyone in the batch. Give the multiplier that training uses, above 0."
            )
        clipping_of(self.clipping, self.max_grad_norm)

    @property
    def rule(self) -> Clipping:
        """The clipping, as a function of the gradient's norm."""
        return clipping_of(self.clipping, self.max_grad_norm)

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise: sigma C, not sigma."""
        return self.noise_multiplier * self.max_grad_norm

    def information(self, products: Tensor) -> tuple[Array, Array]:
        """Return what the step gives away along one direction, and what it would if the person were known to be in it.

        With secret sampling the first is about anybody, drawn or not; without, both are about who takes part.
        """
        # With grad the gradient, grad' how it moves, s = |grad| and p = grad . grad' (eq. 8.5):
        #
        #     g' = c grad' + c'(s) (p/s) grad,     |g'|^2 = c^2 |grad'|^2 + 2 c c' p^2/s + c'^2 p^2,
        #     ghat . g' = p (c/s + c'),
        #
        # and the information is (k_perp |g'|^2 + (k_par - k_perp) (ghat . g')^2) / (sigma C)^2 (eqs. 8.2 and 8.11).
        squared, inner, moved = products.double().cpu()
        norm = squared.sqrt()
        factor, slope = self.rule.factor(norm), self.rule.slope(norm)
        along = torch.where(norm > 0, inner / norm, torch.zeros_like(norm))
        change = (factor**2 * moved + (2 * factor * norm + slope * squared) * slope * along**2).clamp(min=0.0)
        radial = along * (factor + slope * norm)
        unamplified = (change / self.noise_scale**2).numpy()
        if self.sample_rate is None:
            return unamplified, unamplified
        ratio = (factor * norm / self.noise_scale).numpy()
        k_perp, k_par = tabulated(self.sample_rate, self.batches)(ratio)
        amplified = k_perp * unamplified + (k_par - k_perp) * (radial**2).numpy() / self.noise_scale**2
        return np.maximum(amplified, 0.0), unamplified
