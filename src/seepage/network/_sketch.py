"""Bounds on the largest eigenvalue of each person's information matrix, from a low-rank sketch of it.

Each step adds M_t Omega to a table, Omega being a few fixed orthonormal directions, so the table holds M Omega for the
sum M of all steps. The Nystrom approximation N = (M Omega)(Omega^T M Omega)^+ (M Omega)^T is never above M, hence
(eq. 8.13)

    lambda_max(N)  <=  lambda_max(M)  <=  lambda_max(N) + trace(M) - trace(N).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import functional_call, grad, jvp, vjp, vmap

from seepage._errors import InputError
from seepage.network._amplification import tabulated
from seepage.network._composites import Composites
from seepage.network._listeners import silenced
from seepage.network._losses import Loss, per_example
from seepage.network._step import Mechanism

if TYPE_CHECKING:
    from seepage.network._accountant import FisherAccountant

Array = NDArray[np.float64]
Tensor = torch.Tensor
# Gradients of this many numbers exist at once: examples times directions times parameters.
_SCRATCH = 2**24


class Sketch:
    """M Omega of every person, shape (people, values, rank)."""

    def __init__(self, people: int, rank: int) -> None:
        self.people = people
        self.rank = rank
        self.basis: Tensor | None = None
        self.table: Tensor | None = None
        self.steps = np.zeros(people)
        """How many steps of each person are in the table."""
        self.elsewhere: tuple[Tensor, Array] | None = None
        """What other ranks have seen, and this one before the last exchange: a table and its steps."""

    def bytes_for(self, values: int) -> int:
        """Return the memory of the table when one example has so many values, in float32."""
        return 4 * self.people * values * min(self.rank, values)

    def directions(self, values: int, like: Tensor) -> Tensor:
        """Return Omega, shape (values, rank): the identity when the rank allows it, so that nothing is approximated."""
        if self.basis is None:
            if self.rank >= values:
                basis = torch.eye(values, dtype=torch.float64)
            else:
                # Fixed, so that the tables of all ranks and all resumed runs are about the same directions.
                generator = torch.Generator().manual_seed(0)
                basis = torch.linalg.qr(torch.randn(values, self.rank, generator=generator, dtype=torch.float64))[0]
            self.basis = basis
            self.table = torch.zeros(self.people, values, basis.shape[1], dtype=like.dtype)
        if len(self.basis) != values:
            raise InputError(f"The batch has {values} private values an example; those before had {len(self.basis)}.")
        return self.basis.to(like)

    def insert(self, rows: NDArray[np.int64], added: Tensor) -> None:
        """Add one step of these people."""
        assert self.table is not None
        self.table[torch.from_numpy(rows)] += added.to(self.table)
        self.steps[rows] += 1

    def bounds(self, traces: Array, steps: Array) -> tuple[Array, Array]:
        """Return a lower and an upper bound of each person's largest eigenvalue."""
        if self.table is None or self.basis is None:
            return np.zeros_like(traces), traces
        low, inside = np.zeros_like(traces), np.zeros_like(traces)
        seen = self.steps if self.elsewhere is None else self.steps + self.elsewhere[1]
        for start in range(0, self.people, 1024):
            some = slice(start, start + 1024)
            table = self.table[some] if self.elsewhere is None else self.table[some] + self.elsewhere[0][some]
            low[some], inside[some] = _nystrom(table.double(), self.basis)
        # Steps that were not probed are stood for by those that were.
        share = np.divide(steps, seen, out=np.zeros_like(steps), where=seen > 0)
        low, inside = share * low, share * inside
        if self.basis.shape[1] == self.basis.shape[0]:
            return low, np.where(seen > 0, low, traces)
        return low, low + np.maximum(traces - inside, 0.0)

    def state(self) -> dict[str, Any]:
        """Return copies of what is held."""
        table = None if self.table is None else self.table.clone()
        return {"table": table, "basis": self.basis, "steps": self.steps.copy(), "elsewhere": self.elsewhere}

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.table = None if state["table"] is None else state["table"].clone()
        self.basis, self.steps = state["basis"], state["steps"].copy()
        self.elsewhere = state["elsewhere"]

    def synchronize(self) -> None:
        """Add up the tables of all ranks of a distributed run, so that each holds everybody's."""
        import torch.distributed as dist

        sizes: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(sizes, None if self.table is None else (self.table.shape[1], self.table.dtype))
        held = [size for size in sizes if size is not None]
        if not held:
            return
        values, dtype = held[0]
        # A rank that has seen nobody yet takes part with zeros: the directions are the same everywhere.
        self.directions(values, torch.zeros((), dtype=dtype))
        assert self.table is not None
        summed, steps = self.table, torch.from_numpy(self.steps)
        dist.all_reduce(summed)
        dist.all_reduce(steps)
        before = (0.0, 0.0) if self.elsewhere is None else self.elsewhere
        self.elsewhere = before[0] + summed, before[1] + steps.numpy()
        self.table, self.steps = torch.zeros_like(summed), np.zeros(self.people)


def _nystrom(table: Tensor, basis: Tensor) -> tuple[Array, Array]:
    """Return the largest eigenvalue and the trace of each person's approximation."""
    core = basis.T @ table
    values, vectors = torch.linalg.eigh((core + core.transpose(1, 2)) / 2)
    floor = values[:, -1:].clamp(min=0) * 1e-12
    inverse_root = torch.where(values > floor, values.clamp(min=1e-300).rsqrt(), torch.zeros_like(values))
    root = table @ (vectors * inverse_root.unsqueeze(1))
    eigenvalues = torch.linalg.eigvalsh(root.transpose(1, 2) @ root)
    return eigenvalues[:, -1].numpy(), eigenvalues.sum(1).numpy()


def sketch_rows(accountant: "FisherAccountant", inputs: Any, target: Any, mechanism: Mechanism) -> Tensor:
    """Return M_t Omega of each example of a batch, shape (n, values, rank)."""
    assert accountant._sketch is not None
    if not isinstance(inputs, Tensor) or not inputs.is_floating_point() or accountant.label == "private":
        raise InputError("A spectrum needs one floating-point input and public labels. Use spectrum=0.")
    values = inputs[0].numel()
    basis = accountant._sketch.directions(values, inputs)
    parameters = {k: p.detach() for k, p in accountant.model.named_parameters() if p.requires_grad}
    size = sum(p.numel() for p in parameters.values())
    step = max(1, _SCRATCH // (size * basis.shape[1]))
    parts = []
    with silenced(accountant.model), Composites():
        for i in range(0, len(inputs), step):
            x, y = inputs[i : i + step], target[i : i + step]
            parts.append(_matrix_products(accountant.model, accountant.loss, parameters, x, y, basis, mechanism))
    return torch.cat(parts)


def _matrix_products(
    model: nn.Module,
    loss: Loss,
    parameters: dict[str, Tensor],
    x: Tensor,
    y: Tensor,
    basis: Tensor,
    mechanism: Mechanism,
) -> Tensor:
    def published(one: Tensor, label: Tensor) -> Tensor:
        gradient = example_gradient(model, loss, parameters, one, label)
        return gradient * mechanism.rule.factor(gradient.norm())

    def product(one: Tensor, label: Tensor) -> Tensor:
        value, pull, *_ = vjp(lambda moved: published(moved, label), one)

        def column(direction: Tensor) -> Tensor:
            return jvp(lambda moved: published(moved, label), (one,), (direction.view_as(one),))[1]

        moved = vmap(column, in_dims=1, out_dims=1)(basis)
        weighted = _weighted(value, moved, mechanism)
        return vmap(lambda u: pull(u)[0].flatten(), in_dims=1, out_dims=1)(weighted)

    return vmap(product)(x, y) / mechanism.noise_scale**2


def _weighted(value: Tensor, moved: Tensor, mechanism: Mechanism) -> Tensor:
    """Apply k_perp across the gradient and k_par along it."""
    if mechanism.sample_rate is None:
        return moved
    norm = value.norm()
    along = value / norm.clamp(min=torch.finfo(value.dtype).tiny)
    k_perp, k_par = _factors(norm / mechanism.noise_scale, mechanism.sample_rate)
    return k_perp * moved + (k_par - k_perp) * along.unsqueeze(1) * (along @ moved)


class _Factors(torch.autograd.Function):
    """The tabulated factors, inside transformed functions; constants for differentiation."""

    generate_vmap_rule = False

    @staticmethod
    def forward(ratio: Tensor, rate: float) -> Tensor:
        found = tabulated(rate)(ratio.detach().double().cpu().numpy())
        return torch.stack([torch.as_tensor(f).to(ratio) for f in found], -1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, ratio: Tensor, rate: float) -> Any:
        return _Factors.apply(ratio, rate), 0

    @staticmethod
    def backward(ctx: Any, *back: Any) -> Any:
        return None, None


def _factors(ratio: Tensor, rate: float) -> tuple[Tensor, Tensor]:
    found = _Factors.apply(ratio, rate)
    return found[..., 0], found[..., 1]


def example_gradient(model: nn.Module, loss: Loss, parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of one example's loss, all parameters in one vector."""

    def example_loss(values: dict[str, Tensor]) -> Tensor:
        output = functional_call(model, values, (x.unsqueeze(0),))
        return per_example(loss, output, y.unsqueeze(0), 1).sum()

    found = grad(example_loss)(parameters)
    return torch.cat([g.flatten() for g in found.values()])
