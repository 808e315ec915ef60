"""Steps of private training, and the attacker who guesses some values of a person by least squares.

Each step publishes the sum of all clipped gradients plus noise, and the next one starts from there. The attacker knows
the weights of every step and all records but some values v of one person, so that step t leaves
r_t(v) = noise_t + g_t(truth) - g_t(v), where g_t is the clipped gradient of that person. The guess minimizes the sum of
|r_t(v)|^2 over the steps: it has the largest likelihood.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import functional_call, grad, jvp, vmap
from torch.nn import functional as F  # noqa: N812

from seepage.network import Mechanism, step_information

Array = NDArray[np.float64]
Tensor = torch.Tensor
# Gauss-Newton: few iterations are needed from the truth, and one that makes the fit worse is halved.
ITERATIONS, HALVINGS = 30, 10
# Part of the standard error by which a converged guess may move; part by which rounding may make a fit worse.
CONVERGED, ROUNDED = 1e-4, 1e-6


class PrivateSteps:
    """Steps of private training in which all of a batch take part, with the values that an attacker does not know."""

    def __init__(
        self,
        model: nn.Module,
        batch: tuple[Tensor, Tensor],
        mechanism: Mechanism,
        values: Sequence[int],
        *,
        steps: int,
        step_size: float,
    ) -> None:
        self.model, self.batch, self.mechanism, self.values = model, batch, mechanism, values
        self.steps, self.step_size = steps, step_size
        self.start = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
        self.basis = torch.zeros(len(values), batch[0][0].numel()).to(batch[0])
        self.basis[range(len(values)), list(values)] = 1.0

    def guesses(self, trials: int) -> tuple[Array, Array]:
        """Return errors of several runs, shape (trials, people, values), and floors of their mean squares.

        Floors are those of the information that `step_information` finds, added up over steps, averaged over runs.
        """
        random = torch.Generator().manual_seed(0)
        errors, first, later = [], self._information(self.start), np.zeros(())
        for _ in range(trials):
            published = self._trained(random)
            errors.append(self._nearest(published).double().numpy())
            later = later + sum((self._information(weights) for weights, _, _ in published[1:]), np.zeros(()))
        return np.stack(errors), np.einsum("pvv->pv", np.linalg.inv(first + later / trials))

    def _information(self, weights: Tensor) -> Array:
        nn.utils.vector_to_parameters(weights, self.model.parameters())
        found = step_information(
            self.model, nn.CrossEntropyLoss(), self.batch, mechanism=self.mechanism, label="public", values=self.values
        ).matrices
        assert found is not None
        return found

    def _trained(self, random: torch.Generator) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Return weights, clipped gradients and noise of each step."""
        weights, published = self.start, []
        still = torch.zeros(len(self.batch[0]), len(self.values)).to(self.basis)
        for _ in range(self.steps):
            gradients = self._gradients(still, weights)
            drawn = torch.randn(1, len(weights), generator=random, dtype=torch.float64)[0]
            noise = (self.mechanism.noise_scale * drawn).to(weights)
            published.append((weights, gradients, noise))
            weights = weights - self.step_size / len(still) * (gradients.sum(0) + noise)
        return published

    def _clipped(self, shift: Tensor, image: Tensor, label: Tensor, weights: Tensor) -> Tensor:
        """Return the clipped gradient of a person whose values are shifted."""
        moved = image + (shift @ self.basis).view(image.shape)

        def loss(flat: Tensor) -> Tensor:
            parts: dict[str, Any] = {}
            start = 0
            for name, parameter in self.model.named_parameters():
                parts[name] = flat[start : start + parameter.numel()].view(parameter.shape)
                start += parameter.numel()
            return F.cross_entropy(functional_call(self.model, parts, (moved.unsqueeze(0),)), label.unsqueeze(0))

        gradient = grad(loss)(weights)
        return gradient * self.mechanism.rule.factor(gradient.norm())

    def _gradients(self, shifts: Tensor, weights: Tensor) -> Tensor:
        """Return clipped gradients, shape (people, parameters)."""
        return vmap(self._clipped, in_dims=(0, 0, 0, None))(shifts, *self.batch, weights)

    def _slopes(self, shifts: Tensor, weights: Tensor) -> Tensor:
        """Return the derivatives of clipped gradients, shape (people, values, parameters)."""

        def one(shift: Tensor, image: Tensor, label: Tensor) -> Tensor:
            def along(direction: Tensor) -> Tensor:
                return jvp(lambda moved: self._clipped(moved, image, label, weights), (shift,), (direction,))[1]

            return vmap(along)(torch.eye(len(shift)).to(shift))

        return vmap(one)(shifts, *self.batch)

    def _nearest(self, published: list[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
        """Return the shifts of the values whose gradients are nearest to the published sums."""

        def misfit(shifts: Tensor) -> Tensor:
            rest = (noise + true - self._gradients(shifts, weights) for weights, true, noise in published)
            return sum(each.double().square().sum(1) for each in rest)  # type: ignore[return-value]

        shifts = torch.zeros(len(self.batch[0]), len(self.values)).to(self.basis)
        near = None
        for _ in range(ITERATIONS):
            normal = torch.zeros(len(shifts), shifts.shape[1], shifts.shape[1], dtype=torch.float64)
            slope = torch.zeros_like(shifts, dtype=torch.float64)
            for weights, true, noise in published:
                slopes = self._slopes(shifts, weights)
                normal += (slopes @ slopes.mT).double()
                rest = noise + true - self._gradients(shifts, weights)
                slope += (slopes @ rest.unsqueeze(2)).squeeze(2).double()
            if near is None:
                near = CONVERGED * self.mechanism.noise_scale / normal.diagonal(dim1=1, dim2=2).sqrt()
            move, singular = torch.linalg.solve_ex(normal, slope)
            # Far from the truth a gradient may be flat: such a guess stays where it is.
            move[(singular > 0) | ~move.isfinite().all(1)] = 0.0
            converged = bool((move.abs() < near).all())
            before = misfit(shifts)
            for _ in range(0 if converged else HALVINGS):
                worse = misfit(shifts + move.to(shifts)) > before * (1 + ROUNDED)
                if not worse.any():
                    break
                move[worse] /= 2
            shifts = shifts + move.to(shifts)
            if converged:
                break
        return shifts
