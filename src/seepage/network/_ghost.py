"""Norms and inner products of every example's gradient, layer by layer.

The gradient of a linear layer or a convolution is a sum over positions of (what came back) x (what went in), b a^T.
When the input moves, it moves by b' a^T + b a'^T. All that accounting needs of both are three numbers an example
(eq. 8.6):

    |grad|^2,   grad . grad',   |grad'|^2,

which are inner products of a, a', b and b' (the ghost-norm identity). They are taken from the position-by-position
products where these are few, and otherwise from the gradients of a few examples at a time: nothing of the size of the
batch times the parameters exists at any moment.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, grad, jvp, vmap
from torch.nn import functional as F  # noqa: N812
from torch.utils import _pytree as pytree

from seepage.errors import UnsupportedError
from seepage.network._composites import Composites, Normalize, NormalizeSlope
from seepage.network._layers import is_convolution, is_embedding, is_linear, is_norm

Tensor = torch.Tensor
Moving = tuple[Tensor, Tensor]
"""A value and how fast it moves."""

# Elements of scratch for the gradients of a few examples: 4 MB in float32, about what a core's cache can hold.
_SCRATCH = 2**20
# The same for a layer without formulas, which is run again.
_LAYER = 2**24


@dataclass(eq=False)
class Call:
    """One use of one layer: what went in and, once the backward pass has reached it, what came back."""

    name: str
    unit: nn.Module
    parameters: dict[str, nn.Parameter]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tangents: list[Tensor | None] = field(default_factory=list)
    """Tangent of each leaf of (args, kwargs); None where it does not move."""
    versions: list[int | None] = field(default_factory=list)
    """Of each leaf when the layer was used: another one later means that it was overwritten."""
    whole: bool = True
    """True if no other use adds to the gradients of the layer's parameters."""
    output: Tensor | None = None
    """The output of a layer without formulas, which is run again for its gradients."""
    random_state: Tensor | None = None
    """The state of PyTorch's generator when such a layer began."""

    @property
    def entered(self) -> Moving:
        """The first argument, moving."""
        value = self.args[0]
        return value, _or_zero(self.tangents[0], value)


def measured(call: Call, back: Moving) -> Tensor:
    """Return |grad|^2, grad . grad' and |grad'|^2 of each example's gradient of this layer, shape (3, n)."""
    unit = call.unit
    if is_linear(unit) or is_convolution(unit):
        return _of_contraction(call, back)
    if is_embedding(unit):
        return _of_embedding(call, back)
    return sum_products(list(gradients(call, back).values()))


def joined(calls: list[Call]) -> Call:
    """Return several uses of one linear layer as one, over the positions of all."""
    value, moving = over_positions([call.entered for call in calls])
    return Call(calls[0].name, calls[0].unit, calls[0].parameters, (value,), {}, [moving])


def over_positions(uses: list[Moving]) -> Moving:
    """Return what entered, or came back, at several uses of one linear layer, over the positions of all."""
    pairs = [_positions_linear(use) for use in uses]
    value, moving = (torch.cat([pair[i] for pair in pairs], 2).transpose(1, 2) for i in range(2))
    return value, moving


def sum_products(moving: list[Moving]) -> Tensor:
    """Return the three numbers of gradients that are at hand, shape (3, n)."""
    totals = [
        torch.stack([_dot(value, value), _dot(value, tangent), _dot(tangent, tangent)]) for value, tangent in moving
    ]
    return torch.stack(totals).sum(0)


def gradients(call: Call, back: Moving) -> dict[str, Moving]:
    """Return each example's gradient of this layer's parameters and how fast it moves, by name."""
    unit = call.unit
    if is_linear(unit):
        return _explicit(call, _positions_linear(call.entered), _positions_linear(back))
    if is_convolution(unit):
        a, a_moving = call.entered
        b = (back[0].flatten(2), back[1].flatten(2))
        return _explicit(call, (unfolded(unit, a), unfolded(unit, a_moving)), b)
    if is_embedding(unit):
        return {"weight": (_scattered(call, back[0]), _scattered(call, back[1]))}
    if is_norm(unit):
        return _of_norm(call, back)
    return _of_anything(call, back)


def unfolded(unit: Any, inputs: Tensor) -> Tensor:
    """Return what each position of a convolution sees, shape (n, channels times kernel, positions)."""
    x = _padded(unit, inputs)
    if x.requires_grad:
        return _windows(unit, x)
    # Windows are many short rows: picking numbers by their place takes a fraction of the time, but not its derivative.
    places = _windows(unit, torch.arange(math.prod(x.shape[1:]), device=x.device).view(1, *x.shape[1:]))
    return x.flatten(1).index_select(1, places.flatten()).view(len(x), *places.shape[1:])


def _windows(unit: Any, x: Tensor) -> Tensor:
    dims = len(unit.kernel_size)
    for axis, (size, dilation, stride) in enumerate(zip(unit.kernel_size, unit.dilation, unit.stride, strict=True)):
        x = x.unfold(axis + 2, dilation * (size - 1) + 1, stride)[..., ::dilation]
    # (n, channels, positions..., kernel...) -> (n, channels, kernel..., positions...)
    order = (0, 1, *range(2 + dims, 2 + 2 * dims), *range(2, 2 + dims))
    seen = (x.shape[1] * math.prod(unit.kernel_size), math.prod(x.shape[2 : 2 + dims]))
    return x.permute(order).reshape(len(x), *seen)


def _padded(unit: Any, inputs: Tensor) -> Tensor:
    if not any(unit._reversed_padding_repeated_twice):
        return inputs
    mode = "constant" if unit.padding_mode == "zeros" else unit.padding_mode
    return F.pad(inputs, unit._reversed_padding_repeated_twice, mode=mode)


def _positions_linear(moving: Moving) -> Moving:
    """Bring (n, ..., features) to (n, features, positions)."""
    first, second = (value.flatten(1, -2) if value.dim() > 2 else value.unsqueeze(1) for value in moving)
    return first.transpose(1, 2), second.transpose(1, 2)


def _of_contraction(call: Call, back: Moving) -> Tensor:
    """Treat the layers whose gradient is a sum over positions of b a^T, a few examples at a time."""
    unit: Any = call.unit
    convolution = is_convolution(unit)
    b = (back[0].flatten(2), back[1].flatten(2)) if convolution else _positions_linear(back)
    total = b[0].new_zeros(3, len(b[0]))
    if "bias" in call.parameters:
        total = total + sum_products([(b[0].sum(2), b[1].sum(2))])
    if "weight" not in call.parameters:
        return total
    a = call.entered if convolution else _positions_linear(call.entered)
    weight, groups = call.parameters["weight"], getattr(unit, "groups", 1)
    outputs, inputs = weight.shape[0] // groups, math.prod(weight.shape[1:])
    n, positions = b[0].shape[0], b[0].shape[2]
    gram = positions * (inputs + outputs) < 1.5 * inputs * outputs
    contract = _of_single if positions == 1 else _of_grams if gram else _of_outer
    space = 2 * groups * (inputs * positions + (positions**2 if gram else inputs * outputs))
    step = max(1, _SCRATCH // space) if positions > 1 else max(1, n)
    parts = []
    for i in range(0, n, step):
        some = slice(i, i + step)
        seen = [unfolded(unit, x[some]) if convolution else x[some] for x in a]
        a_some = [x.reshape(-1, inputs, positions) for x in seen]
        b_some = [x[some].reshape(-1, outputs, positions) for x in b]
        found = contract((a_some[0], a_some[1]), (b_some[0], b_some[1]))
        parts.append(found.reshape(3, -1, groups).sum(2))
    return total + torch.cat(parts, 1) if parts else total


def _of_single(a: Moving, b: Moving) -> Tensor:
    """One position: the gradient has rank one, and its products are those of its factors."""
    aa, am, mm = _dot(a[0], a[0]), _dot(a[0], a[1]), _dot(a[1], a[1])
    bb, bn, nn_ = _dot(b[0], b[0]), _dot(b[0], b[1]), _dot(b[1], b[1])
    return torch.stack([aa * bb, aa * bn + am * bb, aa * nn_ + 2 * am * bn + mm * bb])


def _of_outer(a: Moving, b: Moving) -> Tensor:
    """Form the gradients b a^T and how they move, stacked so that one product compares them all."""
    outputs = b[0].shape[1]
    both = torch.bmm(torch.cat(b, 1), a[0].transpose(1, 2))
    both[:, outputs:].baddbmm_(b[0], a[1].transpose(1, 2))
    flat = both.reshape(len(both), 2, -1)
    compared = torch.bmm(flat, flat.transpose(1, 2))
    return torch.stack([compared[:, 0, 0], compared[:, 0, 1], compared[:, 1, 1]])


def _of_grams(a: Moving, b: Moving) -> Tensor:
    """Compare positions with positions, never forming a gradient."""
    aa, am, mm = _gram(a[0], a[0]), _gram(a[0], a[1]), _gram(a[1], a[1])
    bb, bn, nn_ = _gram(b[0], b[0]), _gram(b[0], b[1]), _gram(b[1], b[1])
    # grad' = sum_t b'_t a_t^T + b_t a'_t^T: the mixed term pairs a_t . a'_s with b'_t . b_s.
    mixed = _dot(am, bn.transpose(1, 2))
    return torch.stack([_dot(aa, bb), _dot(aa, bn) + _dot(am, bb), _dot(aa, nn_) + 2 * mixed + _dot(mm, bb)])


def _gram(x: Tensor, y: Tensor) -> Tensor:
    return torch.bmm(x.transpose(1, 2), y)


def _explicit(call: Call, a: Moving, b: Moving) -> dict[str, Moving]:
    found: dict[str, Moving] = {}
    groups = getattr(call.unit, "groups", 1)
    n, positions = b[0].shape[0], b[0].shape[2]
    if "weight" in call.parameters:
        shape = (n, *call.parameters["weight"].shape)
        a0, a1 = (x.reshape(n * groups, -1, positions).transpose(1, 2) for x in a)
        b0, b1 = (x.reshape(n * groups, -1, positions) for x in b)
        moving = torch.baddbmm(torch.bmm(b1, a0), b0, a1)
        found["weight"] = (torch.bmm(b0, a0).reshape(shape), moving.reshape(shape))
    if "bias" in call.parameters:
        found["bias"] = (b[0].sum(2), b[1].sum(2))
    return found


def _token_backs(call: Call, back: Tensor) -> tuple[Tensor, Tensor]:
    unit: Any = call.unit
    if unit.scale_grad_by_freq:
        raise UnsupportedError(
            f"The embedding {call.name!r} scales gradients by how often a token occurs in the batch, which mixes "
            "examples. Give it scale_grad_by_freq=False."
        )
    ids = call.args[0].reshape(len(call.args[0]), -1)
    flat = back.reshape(*ids.shape, -1)
    if unit.padding_idx is not None:
        flat = flat * (ids != unit.padding_idx).unsqueeze(-1)
    return ids, flat


def _of_embedding(call: Call, back: Moving) -> Tensor:
    """Rows of the table add up only where the same token occurs twice."""
    ids, b = _token_backs(call, back[0])
    _, moving = _token_backs(call, back[1])
    same = (ids.unsqueeze(1) == ids.unsqueeze(2)).to(b.dtype)
    pairs = ((b, b), (b, moving), (moving, moving))
    return torch.stack([_dot(torch.bmm(x, y.transpose(1, 2)), same) for x, y in pairs])


def _scattered(call: Call, back: Tensor) -> Tensor:
    ids, flat = _token_backs(call, back)
    rows = flat.new_zeros(len(ids), *call.parameters["weight"].shape)
    return rows.scatter_add_(1, ids.unsqueeze(-1).expand_as(flat), flat)


def _of_norm(call: Call, back: Moving) -> dict[str, Moving]:
    """Return the gradients of a norm's scale and shift: small, and sums over positions of b x (normalized input)."""
    unit: Any = call.unit
    x, x_moving = call.entered
    if isinstance(unit, nn.LayerNorm):
        rows = (-1, math.prod(unit.normalized_shape))

        def collected(value: Tensor) -> Tensor:
            return value.reshape(len(value), -1, *unit.normalized_shape).sum(1)
    else:
        rows = (len(x) * unit.num_groups, -1)

        def collected(value: Tensor) -> Tensor:
            return value.flatten(2).sum(2) if value.dim() > 2 else value

    a, inverse = Normalize.forward(x.reshape(rows), unit.eps)
    a_moving = NormalizeSlope.forward(x_moving.reshape(rows), a, inverse)
    a, a_moving = a.reshape(x.shape), a_moving.reshape(x.shape)
    found: dict[str, Moving] = {}
    if "weight" in call.parameters:
        found["weight"] = (collected(back[0] * a), collected(back[1] * a + back[0] * a_moving))
    if "bias" in call.parameters:
        found["bias"] = (collected(back[0]), collected(back[1]))
    return found


def _of_anything(call: Call, back: Moving) -> dict[str, Moving]:
    """Differentiate the layer as a function of one example; Opacus calls this functorch mode."""
    n = len(back[0])
    leaves, layout = pytree.tree_flatten((call.args, call.kwargs))
    batched = [isinstance(leaf, Tensor) and leaf.dim() > 0 and len(leaf) == n for leaf in leaves]
    moves = [b and leaf.is_floating_point() for b, leaf in zip(batched, leaves, strict=True)]
    values = {name: parameter.detach() for name, parameter in call.parameters.items()}

    def gradient(moving: list[Tensor], back_one: Tensor, still: list[Tensor]) -> tuple[dict[str, Tensor], Tensor]:
        first, second = iter(moving), iter(still)
        filled = [
            next(first).unsqueeze(0) if m else next(second).unsqueeze(0) if b else leaf
            for leaf, b, m in zip(leaves, batched, moves, strict=True)
        ]
        args, kwargs = pytree.tree_unflatten(filled, layout)

        def weighted(parameters: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
            found = functional_call(call.unit, parameters, args, kwargs)
            output = (found[0] if isinstance(found, tuple) else found).squeeze(0)
            return (output * back_one).sum(), output

        found: tuple[dict[str, Tensor], Tensor] = grad(weighted, has_aux=True)(values)
        return found

    def moving_gradient(
        values_in: list[Tensor], tangents: list[Tensor], b: Tensor, b_moving: Tensor, still: list[Tensor]
    ) -> tuple[dict[str, Tensor], dict[str, Tensor], Tensor]:
        def at(moving: list[Tensor], back_one: Tensor) -> tuple[dict[str, Tensor], Tensor]:
            return gradient(moving, back_one, still)

        value, moving, output = jvp(at, (values_in, b), (tangents, b_moving), has_aux=True)  # type: ignore[misc]
        return value, moving, output

    moving_in = [leaf for leaf, m in zip(leaves, moves, strict=True) if m]
    tangents = [_or_zero(t, leaf) for leaf, m, t in zip(leaves, moves, call.tangents, strict=True) if m]
    still = [leaf for leaf, b, m in zip(leaves, batched, moves, strict=True) if b and not m]
    assert call.output is not None
    assert call.random_state is not None
    chunk = max(1, _LAYER // sum(value.numel() for value in values.values()))
    with Composites(), torch.random.fork_rng(devices=[]):
        torch.set_rng_state(call.random_state)
        repeated = vmap(moving_gradient, randomness="different", chunk_size=chunk if chunk < n else None)
        value, moving, output = repeated(moving_in, tangents, back[0], back[1], still)
    if (output - call.output).norm() > 1e-3 * call.output.norm():
        raise UnsupportedError(
            f"The layer {call.name!r} ({type(call.unit).__name__}) owns parameters, and gives another output when it "
            "is run again: it draws random numbers for the whole batch at once, or keeps a state. Put its dropout into "
            "a layer of its own, outside."
        )
    return {name: (value[name], moving[name]) for name in value}


def _or_zero(tangent: Tensor | None, value: Tensor) -> Tensor:
    return torch.zeros_like(value) if tangent is None else tangent


def _dot(x: Tensor, y: Tensor) -> Tensor:
    return torch.linalg.vecdot(in_rows(x), in_rows(y))


def in_rows(x: Tensor) -> Tensor:
    """Return one row for each example, who may have a single number."""
    return x.flatten(1) if x.dim() > 1 else x.unsqueeze(1)
