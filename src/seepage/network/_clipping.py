"""How training bounds the gradient of each example, and how that bound moves with the gradient's norm."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import torch

from seepage.errors import InputError

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
    """What Opacus does (eq. 8.3): c(s) = min(1, C / (s + 1e-6)), differentiable everywhere but at the kink."""

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
