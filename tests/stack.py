"""The one idea of the library, written down once more in thirty lines, and differentiated by PyTorch.

What is fitted is a root of one stack of equations, Psi(theta; rows) = 0; what leaves is a Gaussian whose mean and
covariance are functions of theta. Then, for any person,

    I_i = J_i^T F J_i,    J_i = -A^-1 dPsi/dz_i,    A = dPsi/dtheta,    F the information of the Gaussian about theta.

A procedure is said in the unknowns that it has and the equations that they solve, under the same names: nothing of how
the library sees models, scalers, imputers, bends or shapes of noise is in here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch.func import jacfwd

Tensor = torch.Tensor
Unknowns = Mapping[str, Tensor]


def tensor(values: object) -> Tensor:
    return torch.tensor(np.asarray(values, dtype=np.float64))


@dataclass
class Stack:
    """A whole procedure."""

    rows: Tensor
    """What is private of each person, shape (n, k)."""
    start: Unknowns
    """Where to look for the unknowns."""
    equations: Callable[[Unknowns, Tensor], Unknowns]
    """Of unknowns and rows: what is zero, under the name of an unknown of the same shape."""
    release: Callable[[Unknowns], tuple[Tensor, Tensor]]
    """Of the unknowns: mean and covariance of what leaves."""
    private: Tensor | None = None
    """Which of the values a person has, shape (n, k); all by default."""

    def _named(self, theta: Tensor) -> Unknowns:
        parts = torch.split(theta, [each.numel() for each in self.start.values()])
        return {name: part.reshape(self.start[name].shape) for name, part in zip(self.start, parts, strict=True)}

    def _psi(self, theta: Tensor, rows: Tensor) -> Tensor:
        found = self.equations(self._named(theta), rows)
        return torch.cat([found[name].reshape(-1) for name in self.start])

    def solved(self, rows: Tensor) -> Tensor:
        theta = torch.cat([each.reshape(-1) for each in self.start.values()]).to(torch.float64)
        for _ in range(100):
            step = torch.linalg.solve(jacfwd(self._psi)(theta, rows), self._psi(theta, rows))
            # A long first step of Newton's leaves where exponentials are finite.
            theta = theta - step / max(1.0, float(step.norm()) / (5.0 * (1.0 + float(theta.norm()))))
            if step.abs().max() < 1e-13 * (1 + theta.abs().max()):
                break
        return theta

    @cached_property
    def root(self) -> Tensor:
        """F^(1/2), of the Gaussian's information about the unknowns."""
        theta = self.solved(self.rows)
        mean, covariance = (lambda t, part=part: self.release(self._named(t))[part] for part in (0, 1))
        inverse = torch.linalg.inv(covariance(theta))
        slopes, changes = jacfwd(mean)(theta), torch.einsum("ab,bct->act", inverse, jacfwd(covariance)(theta))
        fisher = slopes.T @ inverse @ slopes + 0.5 * torch.einsum("abs,bat->st", changes, changes)
        values, vectors = torch.linalg.eigh(0.5 * (fisher + fisher.T))
        return vectors * values.clamp(min=0.0).sqrt()

    @cached_property
    def moves(self) -> np.ndarray:
        """F^(1/2) J of each person, shape (n, unknowns, k)."""
        theta = self.solved(self.rows)
        pulls = jacfwd(self._psi, argnums=1)(theta, self.rows)
        q, n, k = pulls.shape
        found = -torch.linalg.solve(jacfwd(self._psi)(theta, self.rows), pulls.reshape(q, -1)).reshape(q, n, k)
        if self.private is not None:
            found = found * self.private
        return torch.einsum("qa,qnk->nak", self.root, found).numpy()

    def eta(self, columns: Sequence[int] | None = None) -> np.ndarray:
        return np.linalg.svd(self._of(columns), compute_uv=False)[:, 0]

    def dfil(self) -> np.ndarray:
        held = self.rows.shape[1] if self.private is None else self.private.sum(dim=1).numpy()
        return np.sqrt((self.moves**2).sum(axis=(1, 2)) / held)

    def joint(self, people: np.ndarray, columns: Sequence[int] | None = None) -> float:
        return float(np.linalg.norm(np.concatenate([*self._of(columns)[people]], axis=1), 2))

    def _of(self, columns: Sequence[int] | None) -> np.ndarray:
        return self.moves if columns is None else self.moves[:, :, list(columns)]
