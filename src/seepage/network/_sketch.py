"""Estimates of the largest eigenvalue of each person's information matrix, from a low-rank sketch of it.

Each visit adds M_t Omega to the table of its stretch, Omega being a few fixed orthonormal directions; each stands for
as many steps as visits to the person in that stretch do, so that the weighted tables add up to an unbiased estimate of
M Omega for the sum M of all steps. The Nystrom approximation N = (M Omega)(Omega^T M Omega)^+ (M Omega)^T is never
above M, hence (eq. 8.13)

    lambda_max(N)  <=  lambda_max(M)  <=  lambda_max(N) + trace(M) - trace(N).

and so it is for the block of a group of values, with that of N. These are bounds for an M that is known. Ours is
estimated, from a few visits, and so are both sides.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd.function import FunctionCtx
from torch.func import jvp, vjp, vmap

from seepage.errors import InputError, UnsupportedError
from seepage.network._amplification import tabulated
from seepage.network._composites import Composites
from seepage.network._estimator import visit_weights
from seepage.network._probe import Probe
from seepage.network._records import Batch
from seepage.network._step import Mechanism

Array = NDArray[np.float64]
Tensor = torch.Tensor
State = dict[str, Any]
Spectrum = tuple[Array, Array, Array]
"""Estimates of largest eigenvalues: of each person's matrix from what a sketch holds, and with all that it may lack,
shape (people,); and with that of each group's block, shape (people, groups)."""
# Gradients of this many numbers exist at once: examples times directions times parameters.
_SCRATCH = 2**24
# Of derivatives forwards and backwards, which rounding in float32 keeps far closer than this.
_ROUNDED = 1e-2


class VisitSketch:
    """M Omega of every person, summed over the visits of each stretch, shape (people, values, rank)."""

    def __init__(self, people: int, rank: int) -> None:
        self.people = people
        self.rank = rank
        self.basis: Tensor | None = None
        self.columns: Tensor | None = None
        """Which values belong to each group, shape (groups, values)."""
        self.tables: list[Tensor] = []
        self.visits: list[Array] = []
        """How many visits of each person are in each table."""

    def bytes_for(self, values: int, stretches: int) -> int:
        """Return the memory of the tables when one example has so many values, in float32."""
        return 4 * self.people * values * min(self.rank, values) * stretches

    def directions(self, columns: Tensor, like: Tensor) -> Tensor:
        """Return Omega, shape (values, rank): the identity when the rank allows it, so that nothing is approximated."""
        values = columns.shape[1]
        if self.basis is None:
            if self.rank >= values:
                basis = torch.eye(values, dtype=torch.float64)
            else:
                # Fixed, so that the tables of all ranks and all resumed runs are about the same directions.
                generator = torch.Generator().manual_seed(0)
                basis = torch.linalg.qr(torch.randn(values, self.rank, generator=generator, dtype=torch.float64))[0]
            self.basis, self.columns = basis, columns
        if len(self.basis) != values:
            raise InputError(
                f"A spectrum needs the same number of values for everybody: {len(self.basis)} and now {values}."
            )
        return self.basis.to(like)

    def insert(self, stretch: int, rows: NDArray[np.int64], added: Tensor) -> None:
        """Add one visit of these people."""
        while len(self.tables) <= stretch:
            self.tables.append(torch.zeros(self.people, *added.shape[1:], dtype=added.dtype))
            self.visits.append(np.zeros(self.people))
        self.tables[stretch][torch.from_numpy(rows)] += added.to(self.tables[stretch])
        self.visits[stretch][rows] += 1

    def estimate(self, traces: Array, sizes: Array, taken: Array) -> Spectrum:
        """Return estimates of largest eigenvalues.

        Parameters
        ----------
        traces, sizes : array of shape (people, groups)
            The trace of each group's information about each person, and how many values it has.
        taken : array of shape (people, stretches)
            The steps of each stretch that count for each person.
        """
        # All values first, then group by group.
        traces, sizes = (np.column_stack([each.sum(1), each]) for each in (traces, sizes))
        low, inside = np.zeros_like(traces), np.zeros_like(traces)
        if self.basis is None or self.columns is None or not self.tables:
            return low[:, 0], traces[:, 0], traces[:, 1:]
        count = np.zeros_like(taken)
        for stretch, visits in enumerate(self.visits[: taken.shape[1]]):
            count[:, stretch] = visits
        weights = visit_weights(count, taken)
        blocks = [torch.ones_like(self.columns[0]), *self.columns]
        for start in range(0, self.people, 1024):
            some = slice(start, start + 1024)
            parts = zip(torch.from_numpy(weights[some].T), self.tables, strict=False)
            total = torch.stack([weight[:, None, None] * table[some].double() for weight, table in parts]).sum(0)
            root = _nystrom_root(total, self.basis)
            for i, block in enumerate(blocks):
                eigenvalues = torch.linalg.eigvalsh(root[:, block].mT @ root[:, block])
                low[some, i], inside[some, i] = eigenvalues[:, -1].numpy(), eigenvalues.sum(1).numpy()
        if self.basis.shape[1] == self.basis.shape[0]:
            # Nothing is left out; and no largest one is below the mean of all.
            high = np.where(weights.any(1, keepdims=True), np.maximum(low, traces / np.maximum(sizes, 1)), traces)
        else:
            high = low + np.maximum(traces - inside, 0.0)
        # A single value is all of its trace, and no group is better known than all values.
        high = np.where((sizes == 1) | np.isinf(traces), traces, high)
        return low[:, 0], high.max(1), high[:, 1:]

    def state(self) -> State:
        """Return copies of what is held, as tensors."""
        tables, visits = [table.clone() for table in self.tables], [torch.from_numpy(v.copy()) for v in self.visits]
        return {"tables": tables, "basis": self.basis, "columns": self.columns, "visits": visits}

    def restore(self, state: State) -> None:
        """Put back what `state` returned."""
        self.tables = [table.clone() for table in state["tables"]]
        self.basis, self.columns = state["basis"], state["columns"]
        self.visits = [visits.numpy().copy() for visits in state["visits"]]

    def plus(self, others: list[State]) -> "VisitSketch":
        """Return the sum of the sketches of several ranks."""
        found = VisitSketch(self.people, self.rank)
        for state in others:
            if found.basis is None:
                found.basis, found.columns = state["basis"], state["columns"]
            for stretch, (table, visits) in enumerate(zip(state["tables"], state["visits"], strict=True)):
                if stretch == len(found.tables):
                    found.tables.append(torch.zeros_like(table))
                    found.visits.append(np.zeros(self.people))
                found.tables[stretch] += table
                found.visits[stretch] += visits.numpy()
        return found


def _nystrom_root(table: Tensor, basis: Tensor) -> Tensor:
    """Return R with R R^T = N, each person's approximation, shape (people, values, rank)."""
    core = basis.T @ table
    values, vectors = torch.linalg.eigh((core + core.transpose(1, 2)) / 2)
    floor = values[:, -1:].clamp(min=0) * 1e-12
    inverse_root = torch.where(values > floor, values.clamp(min=1e-300).rsqrt(), torch.zeros_like(values))
    return table @ (vectors * inverse_root.unsqueeze(1))


def sketch_rows(probe: Probe, batch: Batch, basis: Tensor, mechanism: Mechanism, seed: int) -> Tensor:
    """Return M_t Omega of each person of a batch, shape (n, values, rank); `seed` is that of dropout."""
    one = probe.functional(batch)
    (name,) = one.shapes
    size = sum(p.numel() for p in probe.carrier.trained.values())

    def published(values: Tensor, own: list[Tensor]) -> Tensor:
        # The matrix is that of one network: dropout must draw the same each time.
        torch.manual_seed(seed)
        gradient = one.gradient({name: values.view(one.shapes[name])}, own)
        return gradient * mechanism.rule.factor(gradient.norm())

    def product(own: list[Tensor]) -> tuple[Tensor, Tensor]:
        still = torch.zeros(len(basis), dtype=basis.dtype, device=basis.device)
        value, pull, *_ = vjp(lambda values: published(values, own), still)

        def column(direction: Tensor) -> Tensor:
            return jvp(lambda values: published(values, own), (still,), (direction,))[1]

        moved = vmap(column, in_dims=1, out_dims=1, randomness="same")(basis)
        weighted = _weighted(value, moved, mechanism)
        return vmap(lambda u: pull(u)[0], in_dims=1, out_dims=1)(weighted), moved.T @ weighted

    chunk = max(1, _SCRATCH // (size * basis.shape[1]))
    with Composites():
        found, forward = vmap(product, randomness="different", chunk_size=chunk)(one.people)
    if (basis.T @ found - forward).norm() > _ROUNDED * forward.norm():
        raise UnsupportedError(
            "The largest eigenvalue of the information would be wrong: a part of the network is hidden from the "
            "backward pass (no_grad). Write detach() in its place, or use spectrum=False."
        )
    return found.detach() / mechanism.noise_scale**2


def _weighted(value: Tensor, moved: Tensor, mechanism: Mechanism) -> Tensor:
    """Apply k_perp across the gradient and k_par along it."""
    if mechanism.sample_rate is None:
        return moved
    norm = value.norm()
    along = value / norm.clamp(min=torch.finfo(value.dtype).tiny)
    k_perp, k_par = _factors(norm / mechanism.noise_scale, mechanism.sample_rate, mechanism.batches)
    return k_perp * moved + (k_par - k_perp) * along.unsqueeze(1) * (along @ moved)


class _Factors(torch.autograd.Function):
    """The tabulated factors, inside transformed functions; constants for differentiation."""

    generate_vmap_rule = False

    @staticmethod
    def forward(ratio: Tensor, rate: float, batches: int) -> Tensor:
        found = tabulated(rate, batches)(ratio.detach().double().cpu().numpy())
        return torch.stack([torch.as_tensor(f).to(ratio) for f in found], -1)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: object, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: object, in_dims: object, ratio: Tensor, rate: float, batches: int) -> tuple[Tensor, int]:
        return _Factors.apply(ratio, rate, batches), 0

    @staticmethod
    def backward(ctx: FunctionCtx, *back: Tensor) -> tuple[None, None, None]:
        return None, None, None


def _factors(ratio: Tensor, rate: float, batches: int) -> tuple[Tensor, Tensor]:
    found = _Factors.apply(ratio, rate, batches)
    return found[..., 0], found[..., 1]
