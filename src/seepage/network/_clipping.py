"""The mechanism of a step of private training: clipping, noise and sampling."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.network._amplification import tabulated

Tensor = torch.Tensor
ClippingName = Literal["hard", "smooth"]


class Clipping(Protocol):
    """A gradient of norm s is published as c(s) times itself."""

    def factor(self, norms: Tensor) -> Tensor:
        """Return c(s)."""
        ...

    def slope(self, norms: Tensor) -> Tensor:
        """Return c'(s)."""
        ...

    @property
    def sensitivity(self) -> float:
        """The largest norm that a published gradient can have."""
        ...


@dataclass(frozen=True)
class HardClipping:
    """The clipping of Opacus (eq. 8.3): c(s) = min(1, C / (s + 1e-6)), differentiable everywhere but at the kink."""

    max_grad_norm: float
    # Opacus keeps the quotient finite by this much; the same number makes the accounted clipping the trained one.
    offset: float = 1e-6

    def factor(self, norms: Tensor) -> Tensor:
        return (self.max_grad_norm / (norms + self.offset)).clamp(max=1.0)

    def slope(self, norms: Tensor) -> Tensor:
        shifted = norms + self.offset
        return torch.where(shifted > self.max_grad_norm, -self.max_grad_norm / shifted**2, torch.zeros_like(norms))

    @property
    def sensitivity(self) -> float:
        return self.max_grad_norm


@dataclass(frozen=True)
class SmoothClipping:
    """The clipping of Guo et al. 2022 (eq. 8.4): c(s) = 1 / (gelu(s/C - 1) + 1), smooth, not the identity below C."""

    max_grad_norm: float

    # max over s of s c(s), for C = 1; the test of this module finds it again by search.
    bound = 1.1153

    def factor(self, norms: Tensor) -> Tensor:
        return 1.0 / (torch.nn.functional.gelu(norms / self.max_grad_norm - 1.0) + 1.0)

    def slope(self, norms: Tensor) -> Tensor:
        # c' = -gelu'(u) / (gelu(u) + 1)^2 / C, with gelu'(u) = Phi(u) + u phi(u) at u = s/C - 1.
        u = norms / self.max_grad_norm - 1.0
        phi = torch.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)
        gelu_slope = 0.5 * (1.0 + torch.erf(u / math.sqrt(2.0))) + u * phi
        return -gelu_slope * self.factor(norms) ** 2 / self.max_grad_norm

    @property
    def sensitivity(self) -> float:
        return self.bound * self.max_grad_norm


def clipping_of(name: str, max_grad_norm: float) -> Clipping:
    """Return the clipping of that name."""
    if not (isinstance(max_grad_norm, int | float) and 0 < max_grad_norm < math.inf):
        raise InputError(
            f"max_grad_norm must be one positive number, the norm that a whole gradient is clipped to, "
            f"not {max_grad_norm!r}."
        )
    if name == "hard":
        return HardClipping(float(max_grad_norm))
    if name == "smooth":
        return SmoothClipping(float(max_grad_norm))
    raise InputError(f"clipping must be 'hard' (what Opacus does) or 'smooth' (Guo et al. 2022), not {name!r}.")


Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """The mechanism by which a step of private training publishes gradients.

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

    def ratio(self, squared: Tensor) -> Array:
        """Return the norm of clipped gradients over the noise, given squared norms."""
        norm = squared.double().cpu().sqrt()
        found: Array = (self.rule.factor(norm) * norm / self.noise_scale).numpy()
        return found

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
        k_perp, k_par = tabulated(self.sample_rate, self.batches)(self.ratio(products[0]))
        amplified = k_perp * unamplified + (k_par - k_perp) * (radial**2).numpy() / self.noise_scale**2
        return np.maximum(amplified, 0.0), unamplified
