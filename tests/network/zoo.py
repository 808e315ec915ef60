"""Small networks in float64, one for each kind of layer."""

from collections.abc import Callable

import torch
from opacus.layers import DPLSTM
from torch import nn
from torch.nn import functional as F  # noqa: N812


class Scale(nn.Module):
    """A layer of a kind that the library has no formula for."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x * self.scale)


class Gate(nn.Module):
    """A single number of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.level = nn.Parameter(torch.tensor(1.3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.level * x)


class OneColumn(nn.Module):
    """Somebody is a single number: a batch is a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(1, 4), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.tanh(self.first(x.unsqueeze(1))))


class Twice(nn.Module):
    """One layer used two times, and a weight shared between two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.second.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.tanh(self.first(torch.tanh(self.second(torch.tanh(self.first(x)))))))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.last = DPLSTM(2, 3, batch_first=True), nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.lstm(x)[0][:, -1])


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(4, 4) for _ in range(3))
        self.last = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x)).mean(1))


def _frozen() -> nn.Module:
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    model[0].weight.requires_grad_(False)
    return model


ZOO: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3, bias=False)), (5,)),
    "linear over positions": (
        lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2), nn.Flatten(), nn.Linear(6, 3)),
        (3, 4),
    ),
    "many positions": (lambda: nn.Sequential(nn.Linear(1, 2), nn.Tanh(), nn.Flatten(), nn.Linear(16, 3)), (8, 1)),
    "conv1d": (
        lambda: nn.Sequential(
            nn.Conv1d(2, 4, 3, padding="same", padding_mode="circular"), nn.SiLU(), nn.AvgPool1d(2), nn.Flatten(),
            nn.Linear(12, 3),
        ),
        (2, 6),
    ),
    "conv2d": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2), nn.Tanh(), nn.Conv2d(4, 3, 2, dilation=2, bias=False),
            nn.GELU(), nn.Flatten(), nn.Linear(3, 3),
        ),
        (2, 5, 5),
    ),
    "conv3d": (
        lambda: nn.Sequential(nn.Conv3d(1, 2, 2, padding=1), nn.Softplus(), nn.Flatten(), nn.Linear(54, 3)),
        (1, 2, 2, 2),
    ),
    "group norm": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 2), nn.GroupNorm(2, 4), nn.Tanh(), nn.Flatten(), nn.Linear(16, 4), nn.GroupNorm(2, 4),
            nn.Linear(4, 3),
        ),
        (1, 3, 3),
    ),
    "layer norm": (
        lambda: nn.Sequential(
            nn.LayerNorm((3, 2)), nn.Linear(2, 4), nn.LayerNorm(4), nn.Mish(), nn.Flatten(), nn.Linear(12, 3)
        ),
        (3, 2),
    ),
    "layer without a formula": (lambda: nn.Sequential(nn.Linear(4, 5), Scale(5), nn.Linear(5, 3)), (4,)),
    "instance norm": (
        lambda: nn.Sequential(
            nn.Conv1d(1, 2, 2), nn.InstanceNorm1d(2, affine=True), nn.Tanh(), nn.Flatten(), nn.Linear(8, 3)
        ),
        (1, 5),
    ),
    "shared weights": (Twice, (4,)),
    "recurrent": (Recurrent, (3, 2)),
    "attention": (Attention, (3, 4)),
    "frozen weights": (_frozen, (5,)),
    "a single number as a parameter": (lambda: nn.Sequential(nn.Linear(4, 5), Gate(), nn.Linear(5, 3)), (4,)),
    "a single number as an input": (OneColumn, ()),
}  # fmt: skip


def build(name: str, count: int = 6) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """Return a network in float64, a batch for it, and its labels."""
    torch.manual_seed(1)
    make, shape = ZOO[name]
    model = make().double()
    return model, torch.randn(count, *shape, dtype=torch.float64), torch.randint(0, 3, (count,))
