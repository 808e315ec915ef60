"""An independent way to the same numbers: every example's published gradient, and its Jacobian, written out."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.func import functional_call, grad, jacrev

from seepage.network import Mechanism, poisson_factors

Tensor = torch.Tensor


def hard(gradient: Tensor, bound: float) -> Tensor:
    # As Opacus writes it.
    return gradient * (bound / (gradient.norm() + 1e-6)).clamp(max=1.0)


def smooth(gradient: Tensor, bound: float) -> Tensor:
    u = gradient.norm() / bound - 1
    gelu = u * 0.5 * (1 + torch.erf(u / 2**0.5))
    return gradient / (gelu + 1)


CLIPPINGS: dict[str, Callable[[Tensor, float], Tensor]] = {"hard": hard, "smooth": smooth}


@dataclass
class Published:
    gradient: Tensor
    jacobian: Tensor
    """Parameters x input values."""


def published(
    model: nn.Module,
    loss: Callable[[Tensor, Tensor], Tensor],
    x: Tensor,
    y: Tensor,
    clipping: str,
    bound: float,
    head: Callable[[Tensor], Tensor] | None = None,
) -> list[Published]:
    """Return what each example adds to the published sum, and how that moves with the example."""
    parameters = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def one(values: Tensor, label: Tensor) -> Tensor:
        def example_loss(theta: dict[str, Tensor]) -> Tensor:
            return loss(functional_call(model, theta, (values.unsqueeze(0),)), label.unsqueeze(0))

        found = grad(example_loss)(parameters)
        return CLIPPINGS[clipping](torch.cat([g.flatten() for g in found.values()]), bound)

    return [Published(one(x[i], y[i]), jacrev(one)(x[i], y[i]).reshape(-1, x[i].numel())) for i in range(len(x))]


def matrices(
    model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor, step: Mechanism
) -> Tensor:
    """Return what a step gives away about each example."""
    found = []
    for example in published(model, loss, x, y, step.clipping, step.max_grad_norm):
        rate, ratio = step.sample_rate or 1.0, float(example.gradient.norm()) / step.noise_scale
        k_perp, k_par = (1.0, 1.0) if rate == 1.0 else poisson_factors(rate, ratio)
        found.append(rate * information(example, step.noise_scale, (float(k_perp), float(k_par))))
    return torch.stack(found)


def information(example: Published, noise_scale: float, factors: tuple[float, float] = (1.0, 1.0)) -> Tensor:
    """Return the Fisher information matrix of one step, given (k_perp, k_par)."""
    k_perp, k_par = factors
    along = example.gradient / example.gradient.norm()
    weights = k_perp * torch.eye(len(along), dtype=along.dtype) + (k_par - k_perp) * torch.outer(along, along)
    return example.jacobian.T @ weights @ example.jacobian / noise_scale**2
