"""Functions that carry a direction forward and back at little more than twice what they cost without one.

PyTorch carries directions through its own at several times the cost: it writes their gradients' derivatives out in many
small steps, and asks what moves by zero for its shape.
"""

import math
from typing import Any, Protocol

import torch
from torch.nn import functional as F  # noqa: N812

Tensor = torch.Tensor


class Context(Protocol):
    """What PyTorch keeps of a function between its passes."""

    saved_tensors: tuple[Tensor, ...]
    matrix: bool

    def save_for_backward(self, *tensors: Tensor) -> None: ...
    def save_for_forward(self, *tensors: Tensor) -> None: ...
    def set_materialize_grads(self, value: bool) -> None: ...


def apply(function: type[torch.autograd.Function], *args: Any) -> Any:
    """Use a function with all of its arguments.

    PyTorch looks for those that were left out at each use, which takes longer than a small function itself.
    """
    if torch._C._are_functorch_transforms_active():
        return function.apply(*args)
    return super(torch.autograd.Function, function).apply(*args)  # type: ignore[misc]


class Normalize(torch.autograd.Function):
    """Rows minus their mean, over their deviation; and one over the deviation."""

    generate_vmap_rule = True

    @staticmethod
    def forward(rows: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        normal, _, inverse = torch.native_layer_norm(rows, rows.shape[-1:], None, None, eps)
        return normal, inverse

    @staticmethod
    def setup_context(ctx: Context, inputs: object, output: tuple[Tensor, Tensor]) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output)
        ctx.save_for_forward(*output)

    @staticmethod
    def jvp(ctx: Context, moving: Tensor, _: None) -> tuple[Tensor, Tensor]:
        normal, inverse = ctx.saved_tensors
        spread = (normal * moving).mean(-1, keepdim=True)
        return NormalizeSlope.forward(moving, normal, inverse), -(inverse**2) * spread

    @staticmethod
    def backward(ctx: Context, back: Tensor | None, of_inverse: Tensor | None) -> tuple[Tensor | None, None]:
        normal, inverse = ctx.saved_tensors
        found = None if back is None else apply(NormalizeSlope, back, normal, inverse)
        if of_inverse is not None:
            more = -(inverse**2) * of_inverse * normal / normal.shape[-1]
            found = more if found is None else found + more
        return found, None


class NormalizeSlope(torch.autograd.Function):
    """What comes back through it, (b - mean(b) - u mean(u b)) / deviation; for u, rows that were normalized, alone."""

    generate_vmap_rule = True

    @staticmethod
    def forward(back: Tensor, normal: Tensor, inverse: Tensor) -> Tensor:
        # PyTorch's kernel, for rows that have a mean of 0 and a deviation of 1.
        one = torch.ones_like(inverse)
        found: Tensor = torch.ops.aten.native_layer_norm_backward(
            back, normal, normal.shape[-1:], torch.zeros_like(inverse), one, None, None, [True, False, False]
        )[0]
        return found * inverse

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def jvp(ctx: Context, moving: Tensor | None, n_moving: Tensor | None, i_moving: Tensor | None) -> Tensor | None:
        back, normal, inverse, output = ctx.saved_tensors
        found = None if moving is None else NormalizeSlope.forward(moving, normal, inverse)
        if n_moving is not None:
            found = _plus(found, n_moving, -inverse * (normal * back).mean(-1, keepdim=True))
            found = _plus(found, normal, -inverse * (n_moving * back).mean(-1, keepdim=True))
        return found if i_moving is None else _plus(found, output, i_moving / inverse)

    @staticmethod
    def backward(ctx: Context, again: Tensor | None) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        if again is None:
            return None, None, None
        back, normal, inverse = ctx.saved_tensors
        of_back = apply(NormalizeSlope, again, normal, inverse)
        one, other = again * (normal * back).mean(-1, keepdim=True), back * (normal * again).mean(-1, keepdim=True)
        return of_back, -inverse * (one + other), (of_back * back).sum(-1, keepdim=True) / inverse


def _plus(found: Tensor | None, one: Tensor, other: Tensor) -> Tensor:
    return one * other if found is None else torch.addcmul(found, one, other)


class ByConstants(torch.autograd.Function):
    """x A^T + b for constants A and b, or x times constants, which do not move."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, constant: Tensor, shift: Tensor | None, matrix: bool) -> Tensor:
        if matrix:
            return F.linear(x, constant, shift)
        return x * constant if shift is None else torch.addcmul(shift, x, constant)

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Tensor, Tensor, Tensor | None, bool], output: Tensor) -> None:
        ctx.matrix = inputs[3]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs[1])
        ctx.save_for_forward(inputs[1])

    @staticmethod
    def jvp(ctx: Context, moving: Tensor, *_: None) -> Tensor:
        return ByConstants.forward(moving, ctx.saved_tensors[0], None, ctx.matrix)

    @staticmethod
    def backward(ctx: Context, back: Tensor | None) -> tuple[Tensor | None, None, None, None]:
        if back is None:
            return None, None, None, None
        constant = ctx.saved_tensors[0]
        return apply(ByConstants, back, constant.T if ctx.matrix else constant, None, ctx.matrix), None, None, None


class Gelu(torch.autograd.Function):
    """The exact one, x Phi(x)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return F.gelu(x)

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx: Context, moving: Tensor) -> Tensor:
        return GeluSlope.forward(moving, ctx.saved_tensors[0])

    @staticmethod
    def backward(ctx: Context, back: Tensor | None) -> Tensor | None:
        return None if back is None else apply(GeluSlope, back, ctx.saved_tensors[0])


class GeluSlope(torch.autograd.Function):
    """What comes back through it, b (Phi(x) + x phi(x))."""

    generate_vmap_rule = True

    @staticmethod
    def forward(back: Tensor, x: Tensor) -> Tensor:
        return torch.ops.aten.gelu_backward(back, x)

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx: Context, moving: Tensor | None, x_moving: Tensor | None) -> Tensor | None:
        back, x = ctx.saved_tensors
        if x_moving is None:
            return None if moving is None else GeluSlope.forward(moving, x)
        bent = _gelu_bend(x, x_moving)
        return bent * back if moving is None else torch.addcmul(GeluSlope.forward(moving, x), bent, back)

    @staticmethod
    def backward(ctx: Context, again: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        if again is None:
            return None, None
        back, x = ctx.saved_tensors
        return apply(GeluSlope, again, x), _gelu_bend(x, again * back)


def _gelu_bend(x: Tensor, moving: Tensor) -> Tensor:
    """Return how fast the slope moves, phi(x) (2 - x^2) x'."""
    square = x.square()
    dense = (square * -0.5).exp() * (moving / math.sqrt(2 * math.pi))
    return torch.addcmul(2 * dense, dense, square, value=-1)
