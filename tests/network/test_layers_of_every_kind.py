"""Visits to people in real training with Opacus, against finite differences: networks of every kind."""

import differences
import numpy as np
import pytest
import torch
from differences import Perceptron, Watched, visited
from opacus.layers import DPGRU, DPLSTM, DPRNN, DPMultiheadAttention
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import TensorDataset

import seepage
from seepage.network._composites import Composites

COUNT = 12
torch.manual_seed(0)
ROWS, IMAGES, SEQUENCES = (torch.randn(COUNT, *shape).double() for shape in ((6,), (2, 8, 8), (5, 6)))
CLASSES = torch.randint(0, 3, (COUNT,))
CROSS_ENTROPY = differences.plain(F.cross_entropy)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 6), nn.Linear(6, 6, bias=False), nn.Linear(6, 3)

    def forward(self, x):
        x = x + torch.tanh(self.a(x))
        return self.c(x + F.gelu(self.b(x)))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(2, 4, 3, padding=1, stride=2)
        self.norm = nn.GroupNorm(2, 4)
        self.b = nn.Conv2d(4, 6, 3, groups=2, padding_mode="reflect", padding=1)
        self.c = nn.Linear(96, 3)

    def forward(self, x):
        return self.c(F.silu(self.b(torch.tanh(self.norm(self.a(x))))).flatten(1))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.c = nn.Linear(6, 8), nn.RMSNorm(8), nn.Linear(8, 3)

    def forward(self, x):
        return self.c(self.norm(F.gelu(self.a(x))))


class Attentive(nn.Module):
    def __init__(self, bias=False):
        super().__init__()
        self.e, self.c = nn.Linear(6, 8), nn.Linear(8, 3)
        self.m = DPMultiheadAttention(8, 2, batch_first=True, add_bias_kv=bias)

    def forward(self, x):
        h = self.e(x)
        return self.c((h + self.m(h, h, h)[0]).mean(1))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.r = kind(6, 5, batch_first=True, **options)
        self.c = nn.Linear(10 if options.get("bidirectional") else 5, 3)

    def forward(self, x):
        return self.c(self.r(x)[0][:, -1])


class Scaled(nn.Module):
    """A parameter of the network itself, beside a layer."""

    def __init__(self):
        super().__init__()
        self.s, self.a = nn.Parameter(torch.ones(6)), nn.Linear(6, 3)

    def forward(self, x):
        return self.a(torch.tanh(x * self.s))


class Transformer(nn.Module):
    """Class token and positions are parameters of the network itself, as is usual."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Parameter(torch.zeros(1, 1, 8)), nn.Parameter(torch.randn(1, 4, 8) * 0.1)
        self.embed, self.f, self.c = nn.Linear(2, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = self.embed(x.reshape(len(x), 3, 2))
        h = torch.cat([self.token.expand(len(x), -1, -1), h], 1) + self.position
        return self.c(torch.tanh(self.f(h)).mean(1))


class Encoded(nn.Module):
    """A head behind PyTorch's own encoder, which is not trained and looks back only."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, activation="gelu", batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).requires_grad_(False)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        order = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        return self.head(self.body(x, mask=order, is_causal=True).mean(1))


class LowRank(nn.Module):
    def __init__(self, base, layers):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.layers = layers
        if layers:
            self.a, self.b = nn.Linear(base.in_features, 2, bias=False), nn.Linear(2, base.out_features, bias=False)
        else:
            self.a = nn.Parameter(torch.randn(2, base.in_features) * 0.3)
            self.b = nn.Parameter(torch.randn(base.out_features, 2) * 0.3)

    def forward(self, x):
        return self.base(x) + (self.b(self.a(x)) if self.layers else x @ self.a.T @ self.b.T)


def transposed():
    layers = nn.ConvTranspose2d(2, 4, 3), nn.Tanh(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(16, 3))


NETWORKS = {
    "perceptron": (Perceptron, ROWS),
    "residual": (Residual, ROWS),
    "tied weights": (Tied, ROWS),
    "convolutions, group norm": (Convolutional, IMAGES),
    "RMS norm": (Normed, ROWS),
    "attention": (Attentive, SEQUENCES),
    "LSTM both ways, two layers": (lambda: Recurrent(DPLSTM, bidirectional=True, num_layers=2), SEQUENCES),
    "GRU": (lambda: Recurrent(DPGRU), SEQUENCES),
    "RNN": (lambda: Recurrent(DPRNN), SEQUENCES),
    "a parameter of the network itself": (Scaled, ROWS),
    "class token and positions": (Transformer, ROWS),
    "behind a frozen encoder": (Encoded, SEQUENCES),
    "low-rank layers": (
        lambda: nn.Sequential(LowRank(nn.Linear(6, 8), True), nn.Tanh(), LowRank(nn.Linear(8, 3), True)), ROWS,
    ),
    "low-rank parameters": (
        lambda: nn.Sequential(LowRank(nn.Linear(6, 8), False), nn.Tanh(), LowRank(nn.Linear(8, 3), False)), ROWS,
    ),
    "transposed convolution": (transposed, IMAGES),
}  # fmt: skip
# What Opacus itself trains in one mode only.
MODES = {
    "tied weights": ["hooks"], "GRU": ["hooks"], "RNN": ["hooks"], "LSTM both ways, two layers": ["hooks"],
    "convolutions, group norm": ["functorch"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "mode"), [(n, m) for n in NETWORKS for m in MODES.get(n, ["hooks", "ghost"])])
def test_a_visit_finds_what_finite_differences_find(name, mode):
    make, x = NETWORKS[name]
    run = Watched(make, TensorDataset(x, CLASSES), nn.CrossEntropyLoss(), mode=mode, epochs=2)
    run.train().check(CROSS_ENTROPY)


def test_a_whole_encoder_of_pytorch_in_one_step():
    """All of it trained, which Opacus does not do."""
    torch.manual_seed(0)
    model = Encoded().double().requires_grad_(True)
    few, classes = SEQUENCES[:2], CLASSES[:2]
    mechanism = seepage.network.Mechanism(noise_multiplier=0.9, max_grad_norm=0.5)
    step = seepage.network.step_information(
        model, nn.CrossEntropyLoss(), (few, classes), mechanism=mechanism, label="public"
    )
    for i in range(2):
        record = [few[i : i + 1], classes[i : i + 1]]
        moves = torch.eye(few[0].numel()).double().view(-1, 1, 1, *few.shape[1:])
        each = differences.information(model, CROSS_ENTROPY, record[:1], record, moves, bound=0.5, scale=0.45)
        assert np.diag(step.matrices[i]) == pytest.approx(each, rel=1e-6)


def test_padding_that_opacus_takes_for_zeros_is_refused():
    with pytest.raises(seepage.errors.UnsupportedError, match="reflect"):
        Watched(Convolutional, TensorDataset(IMAGES, CLASSES), nn.CrossEntropyLoss())


@pytest.mark.parametrize("name", ["perceptron", "convolutions, group norm", "GRU", "class token and positions"])
def test_with_smooth_clipping(name):
    make, x = NETWORKS[name]
    run = Watched(
        make, TensorDataset(x, CLASSES), nn.CrossEntropyLoss(), mode=MODES.get(name, ["ghost"])[0], epochs=2,
        accountant={"clipping": "smooth"},
    )  # fmt: skip
    run.train().check(CROSS_ENTROPY)


class InPlace(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.a, self.b, self.kind = nn.Linear(6, 8), nn.Linear(8, 3), kind

    def forward(self, x):
        z = self.a(x)
        if self.kind == "side effect":
            z = z + 0
            F.silu(z, inplace=True)
            return self.b(z)
        return self.b(torch.tanh_(z.mul_(2.0)) if self.kind == "tanh" else F.silu(z, inplace=True))


@pytest.mark.parametrize(
    ("make", "x"),
    [
        (lambda: Attentive(True), SEQUENCES),
        (lambda: InPlace("tanh"), ROWS),
        (lambda: InPlace("returned"), ROWS),
        (lambda: InPlace("side effect"), ROWS),
    ],
    ids=["attention with biases", "in place", "an activation in place", "only in place"],
)
def test_networks_that_opacus_does_not_train(make, x):
    """In a loop of one's own; what cannot be followed is refused."""
    try:
        visited(make, TensorDataset(x, CLASSES))
    except seepage.errors.UnsupportedError as error:
        assert any(reason in str(error) for reason in ("in place", "first axis must be"))  # noqa: PT017


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", ["nothing", "some, and all for somebody", "all but the first", "by a bias"])
def test_attention_that_carries_a_direction_is_that_of_pytorch(masked, causal):
    """Where a mask and the order together leave somebody nobody to see, they get zeros too."""
    query, key, value = torch.randn(3, 2, 4, 6, 8).double()
    some = torch.rand(2, 1, 6, 6) > 0.4
    some[1, 0, 2] = False
    masks = {
        "nothing": None,
        "some, and all for somebody": some,
        "all but the first": (torch.arange(6) > 0).expand(6, 6),
        "by a bias": torch.randn(6, 6).double().masked_fill(~some[0, 0], -torch.inf),
    }
    given = {"attn_mask": masks[masked], "is_causal": causal}
    with Composites():
        found = F.scaled_dot_product_attention(query, key, value, **given)
    torch.testing.assert_close(found, F.scaled_dot_product_attention(query, key, value, **given))
