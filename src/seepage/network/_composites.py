"""Stand-ins for the few PyTorch functions whose gradients cannot carry a direction.

Forward-over-reverse needs the directional derivative of each function's gradient. PyTorch lacks it for some fused
kernels; written out in elementary functions, the same values have it.
"""

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, Protocol

import torch
from torch.autograd import forward_ad
from torch.nn import functional as F  # noqa: N812
from torch.overrides import TorchFunctionMode

Tensor = torch.Tensor


class Context(Protocol):
    """State that PyTorch keeps for a function between its passes."""

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
    """The gradient through it, (b - mean(b) - u mean(u b)) / deviation; for u, rows that were normalized, alone."""

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
    """The gradient through it, b (Phi(x) + x phi(x))."""

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


def _silu(x: Tensor, inplace: bool = False) -> Tensor:
    return x * torch.sigmoid(x)


def _gelu(input: Tensor, *, approximate: str = "none") -> Tensor:  # noqa: A002
    return apply(Gelu, input) if approximate == "none" else F.gelu(input, approximate=approximate)


def _mish(x: Tensor, inplace: bool = False) -> Tensor:
    return x * torch.tanh(F.softplus(x))


def _hardsigmoid(x: Tensor, inplace: bool = False) -> Tensor:
    return torch.clamp(x / 6 + 0.5, 0.0, 1.0)


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    trained = weight.requires_grad or (bias is not None and bias.requires_grad)
    return F.linear(x, weight, bias) if trained else apply(ByConstants, x, weight, bias, True)


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is None or weight.requires_grad or (bias is not None and bias.requires_grad):
        x = x if weight is None else x * weight
        return x if bias is None else x + bias
    return apply(ByConstants, x, weight, bias, False)


def _times(input: Any, other: Any, **options: Any) -> Any:  # noqa: A002
    if _is_scaled(input, other, options):
        return apply(ByConstants, input, input.new_tensor(other), None, False)
    return torch.mul(input, other, **options)


def _over(input: Any, other: Any, **options: Any) -> Any:  # noqa: A002
    if _is_scaled(input, other, options):
        return apply(ByConstants, input, input.new_tensor(other).reciprocal(), None, False)
    return torch.div(input, other, **options)


def _is_scaled(x: object, other: object, options: dict[str, Any]) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point() and isinstance(other, int | float) and not options


def _layer_norm(
    x: Tensor, shape: tuple[int, ...], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    return _scaled(apply(Normalize, x.flatten(-len(shape)), eps)[0].reshape(x.shape), weight, bias)


def _group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    normal = apply(Normalize, x.reshape(x.shape[0], num_groups, -1), eps)[0].reshape(x.shape)
    shape = (1, -1) + (1,) * (x.dim() - 2)
    return _scaled(normal, *(constant if constant is None else constant.view(shape) for constant in (weight, bias)))


def _mse_loss(
    input: Tensor,  # noqa: A002
    target: Tensor,
    *args: Any,
    reduction: str = "mean",
    **kwargs: Any,
) -> Tensor:
    return _reduced((input - target) ** 2, reduction)


def _huber_loss(
    input: Tensor,  # noqa: A002
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    distance = (input - target).abs()
    losses = torch.where(distance <= delta, 0.5 * distance**2, delta * (distance - 0.5 * delta))
    return _reduced(losses if weight is None else losses * weight, reduction)


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    scores = _times(query, 1 / math.sqrt(query.shape[-1]) if scale is None else scale) @ key.transpose(-2, -1)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = scores.new_zeros(()).masked_fill(~attn_mask, -math.inf)
    if is_causal:
        later = scores.new_full(scores.shape[-2:], -math.inf).triu(1)
        attn_mask = later if attn_mask is None else attn_mask + later
    if attn_mask is None:
        shares = torch.softmax(scores, -1)
    else:
        # Who sees nobody, as padding on the left does, gets zeros, as PyTorch has it.
        nobody = (attn_mask == -math.inf).all(-1, keepdim=True)
        shares = torch.softmax(scores + attn_mask.masked_fill(nobody, 0.0), -1).masked_fill(nobody, 0.0)
    return F.dropout(shares, dropout_p) @ value


# PyTorch's own, which nn.TransformerEncoder calls, around the attention above.
_multi_head_attention = FunctionType(
    F.multi_head_attention_forward.__code__,
    {**vars(F), "has_torch_function": lambda _: False, "scaled_dot_product_attention": _attention},
    argdefs=F.multi_head_attention_forward.__defaults__,
)


def _detach(x: Tensor) -> Tensor:
    # No gradient goes back through it, but its value moves with the input all the same.
    if torch._C._are_functorch_transforms_active():
        # The innermost transform takes the gradient; those around it move the input.
        return torch._C._functorch._unwrap_for_grad(x, torch._C._functorch.maybe_current_level() or 0)
    value, moving = forward_ad.unpack_dual(x)
    return value.detach() if moving is None else forward_ad.make_dual(value.detach(), moving.detach())


_COMPOSITES: dict[Callable[..., Any], Callable[..., Any]] = {
    F.gelu: _gelu,
    F.silu: _silu,
    F.mish: _mish,
    F.hardsigmoid: _hardsigmoid,
    Tensor.mul: _times,
    torch.mul: _times,
    Tensor.div: _over,
    torch.div: _over,
    F.linear: _linear,
    F.layer_norm: _layer_norm,
    F.group_norm: _group_norm,
    torch.group_norm: lambda x, groups, weight=None, bias=None, eps=1e-5, _=True: _group_norm(
        x, groups, weight, bias, eps
    ),
    F.mse_loss: _mse_loss,
    F.huber_loss: _huber_loss,
    F.scaled_dot_product_attention: _attention,
    F.multi_head_attention_forward: _multi_head_attention,
}
_DETACHING = (Tensor.detach, torch.detach, Tensor.data.__get__)  # type: ignore[attr-defined]
_COMPOSITES |= dict.fromkeys(_DETACHING, _detach)


_KINKED = {
    F.relu: "relu", torch.relu: "relu", torch.relu_: "relu", Tensor.relu: "relu", F.relu6: "relu6",
    F.leaky_relu: "leaky_relu", F.hardtanh: "hardtanh", F.hardswish: "hardswish", F.hardsigmoid: "hardsigmoid",
    F.prelu: "prelu", F.threshold: "threshold", torch.max_pool1d: "max_pool1d", torch.max_pool2d: "max_pool2d",
    torch.max_pool3d: "max_pool3d", torch.abs: "abs", Tensor.abs: "abs",
} | {
    function: name
    for name in (
        "clamp", "clip", "amax", "amin", "max", "min", "sort", "topk", "median", "maximum", "minimum", "sign", "round",
        "floor", "ceil", "trunc",
    )
    for function in (getattr(torch, name), getattr(Tensor, name))
}  # fmt: skip


class Composites(TorchFunctionMode):
    """While active, the functions above are computed by their stand-ins, and functions with kinks are noted."""

    def __init__(self) -> None:
        super().__init__()
        self.kinks: set[str] = set()
        self.detached = False
        """True if a value was cut off from its gradient."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _KINKED:
            self.kinks.add(_KINKED[func])
        self.detached |= func in _DETACHING or (func is torch._C._set_grad_enabled and args[0] is False)
        return _COMPOSITES.get(func, func)(*args, **(kwargs or {}))
