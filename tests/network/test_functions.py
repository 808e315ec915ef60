"""One step through every function that a network may use, against finite differences; others are refused."""

import differences
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from seepage.errors import UnsupportedError
from seepage.network import Mechanism, step_information

PEOPLE, WIDTH = 2, 4
MECHANISM = Mechanism(noise_multiplier=0.9, max_grad_norm=0.5, sample_rate=0.3)
torch.manual_seed(0)
X, Y = torch.randn(PEOPLE, WIDTH).double(), torch.tensor([0, 2])
A, B = torch.randn(WIDTH, WIDTH).double(), torch.randn(WIDTH).double()
LARGE = torch.tensor([2.0, 0.5, 3.0, 1.5]).double()

FUNCTIONS = {
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "sin": torch.sin, "cos": torch.cos, "exp": torch.exp,
    "erf": torch.erf, "atan": torch.atan, "asinh": torch.asinh, "sinh": torch.sinh, "expm1": torch.expm1,
    "square": torch.square, "log1p": lambda x: torch.log1p(x * x), "sqrt": lambda x: torch.sqrt(x * x + 1),
    "rsqrt": lambda x: (x * x + 1).rsqrt(), "pow": lambda x: (x * x + 1) ** 1.7,
    "reciprocal": lambda x: 1 / (x * x + 1), "log": lambda x: (x * x + 1).log(), "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish, "elu": F.elu,
    "selu": F.selu, "celu": F.celu, "softplus": F.softplus, "softsign": F.softsign, "logsigmoid": F.logsigmoid,
    "tanhshrink": F.tanhshrink, "softmax": lambda x: F.softmax(x, 1), "softmin": lambda x: F.softmin(x, 1),
    "log_softmax": lambda x: F.log_softmax(x, 1), "glu": lambda x: F.glu(torch.cat([x, x * B], 1)), "relu": F.relu,
    "relu6": F.relu6, "leaky_relu": F.leaky_relu, "hardtanh": F.hardtanh, "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid, "abs": torch.abs, "clamp": lambda x: x.clamp(-0.5, 0.5),
    "where": lambda x: torch.where(x > 0, x, x * x), "maximum": lambda x: torch.maximum(x, B.expand_as(x)),
    "sort": lambda x: x.sort(1).values, "cumsum": lambda x: x.cumsum(1), "cumprod": lambda x: (x + LARGE).cumprod(1),
    "logsumexp": lambda x: x - x.logsumexp(1, keepdim=True), "mean": lambda x: x - x.mean(1, keepdim=True),
    "var": lambda x: x / (x.var(1, keepdim=True) + 1), "norm": lambda x: x / x.norm(dim=1, keepdim=True),
    "normalize": lambda x: F.normalize(x, dim=1), "matmul": lambda x: x @ A,
    "bmm": lambda x: x[:, None].bmm(x[:, :, None] * x[:, None])[:, 0],
    "einsum": lambda x: torch.einsum("ni,nj,ij->nj", x, x, A),
    "outer": lambda x: (x[:, :, None] * x[:, None]).flatten(1)[:, :WIDTH], "flip": lambda x: x.flip(1) * x,
    "roll": lambda x: x.roll(1, 1) * x,
    "gather": lambda x: x.gather(1, torch.tensor([[1, 2, 3, 0]]).expand_as(x)) * x,
    "pad": lambda x: F.pad(x, (1, 0))[:, :WIDTH] * x,
    "unfold": lambda x: x.unfold(1, 2, 1).prod(2).repeat(1, 2)[:, :WIDTH],
    "layer_norm": lambda x: F.layer_norm(x, (WIDTH,)),
    "group_norm": lambda x: F.group_norm(torch.stack([x, x * x], 2), 2).mean(2),
    "rms_norm": lambda x: F.rms_norm(x, (WIDTH,)),
    "conv1d": lambda x: F.conv1d(x[:, None], A[None, :1, :3], padding=1)[:, 0],
    "conv_transpose1d": lambda x: F.conv_transpose1d(x[:, None], A[None, :1, :3], padding=1)[:, 0],
    "avg_pool1d": lambda x: F.avg_pool1d(x[:, None], 2, 1, 1)[:, 0, :WIDTH],
    "max_pool1d": lambda x: F.max_pool1d(x[:, None], 2, 1, 1)[:, 0, :WIDTH],
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x[:, None], 4)[:, 0],
    "interpolate": lambda x: F.interpolate(x[:, None], scale_factor=2, mode="linear")[:, 0, :WIDTH],
    "attention": lambda x: F.scaled_dot_product_attention(*[torch.tanh(x[:, :, None] * w) for w in A[:3]]).mean(1),
    "bilinear": lambda x: F.bilinear(x, x, A[None].expand(WIDTH, -1, -1) * B[:, None, None]),
    "fft": lambda x: torch.fft.rfft(x, dim=1).abs().square().repeat(1, 2)[:, :WIDTH],
    "detach": lambda x: x * x.mean(1, keepdim=True).detach(), "data": lambda x: x * x.mean(1, keepdim=True).data,
    "straight through": lambda x: x + (torch.sin(x) - x).detach(), "index": lambda x: x[:, [1, 0, 3, 2]] * x,
    "stack": lambda x: torch.stack([x, x * x], 2).flatten(1)[:, :WIDTH],
    "cat": lambda x: torch.cat([x[:, :2], x[:, 2:] ** 3], 1),
    "chunk": lambda x: torch.cat([a * b for a, b in zip(x.chunk(2, 1), x.flip(1).chunk(2, 1), strict=True)], 1),
    "lerp": lambda x: torch.lerp(x, x * x, 0.3), "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
    "prod": lambda x: x * x.prod(1, keepdim=True), "hypot": lambda x: torch.hypot(x, B.expand_as(x)),
}  # fmt: skip
REFUSED = {"sign": torch.sign, "round": torch.round, "a number of its own": lambda x: x * x.sum().item()}


class Through(nn.Module):
    def __init__(self, function):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.last, self.function = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3), function

    def forward(self, x):
        return self.last(self.function(self.first(x)))


def traces(function):
    asked = {"mechanism": MECHANISM, "label": "public"}
    step = step_information(Through(function).double(), nn.CrossEntropyLoss(), (X, Y), **asked)
    return np.einsum("nvv->nv", step.matrices)


@pytest.mark.filterwarnings("ignore:The model has kinks")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_step_through_a_function_is_what_finite_differences_say(name):
    model, loss = Through(FUNCTIONS[name]).double(), differences.plain(F.cross_entropy)
    found = traces(FUNCTIONS[name])
    moves = torch.eye(WIDTH).double()[:, None, None]
    for i in range(PEOPLE):
        record = [X[i : i + 1], Y[i : i + 1]]
        expected = differences.information(
            model, loss, record[:1], record, moves, bound=0.5, scale=0.45, rate=0.3, step=1e-5
        )
        np.testing.assert_allclose(found[i], expected, rtol=1e-6, atol=1e-7 * expected.max())


@pytest.mark.parametrize("name", REFUSED)
def test_a_step_through_a_function_that_hides_its_input_is_refused(name):
    with pytest.raises(UnsupportedError):
        traces(REFUSED[name])
