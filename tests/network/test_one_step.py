"""One step's information, against the explicit Jacobian of the published gradient."""

import explicit
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from zoo import ZOO, build

import seepage.network
from seepage.network._step import Mechanism
from seepage.network._tangents import tangent_pass

NOISE, RATE = 1.3, 0.2
# Above and below the norms of these networks' gradients, so that hard clipping is met on both sides.
BOUNDS = (0.3, 30.0)


def factors(example, mechanism):
    ratio = float(example.gradient.norm()) / mechanism.noise_scale
    return tuple(float(k) for k in seepage.network.poisson_factors(mechanism.sample_rate, ratio))


def moved(model, x, y, direction, loss=F.cross_entropy, materialize=False):
    with tangent_pass(model, lambda _: direction, materialize=materialize) as passing:
        output = model(*passing.open((x,)))
        passing.forwarded()
        loss(output, y, reduction="sum").backward()
        return passing.close(), passing


@pytest.mark.parametrize("materialize", [False, True])
@pytest.mark.parametrize("clipping", ["hard", "smooth"])
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("name", ZOO)
def test_each_direction_gives_away_what_the_explicit_jacobian_says(name, bound, clipping, materialize):
    model, x, y = build(name)
    mechanism = Mechanism(clipping, bound, NOISE, RATE)
    examples = explicit.published(model, F.cross_entropy, x, y, clipping, bound)
    matrices = [explicit.information(e, mechanism.noise_scale, factors(e, mechanism)) for e in examples]
    plain = [explicit.information(e, mechanism.noise_scale) for e in examples]
    for j in range(x[0].numel()):
        direction = torch.zeros_like(x).flatten(1)
        direction[:, j] = 1
        products, passing = moved(model, x, y, direction.view_as(x), materialize=materialize)
        value, unamplified = mechanism.information(products)
        np.testing.assert_allclose(unamplified, [float(m[j, j]) for m in plain], rtol=1e-6, atol=1e-14)
        np.testing.assert_allclose(value, [float(m[j, j]) for m in matrices], rtol=1e-6, atol=1e-14)
    total = passing.clipped_sum(mechanism.rule.factor(products[0].sqrt()))
    trained = [p for p in model.parameters() if p.requires_grad]
    expected = torch.stack([e.gradient for e in examples]).sum(0)
    torch.testing.assert_close(torch.cat([total[p].flatten() for p in trained]), expected, rtol=1e-9, atol=1e-12)
    assert all(p.grad is None for p in trained)
    if materialize:
        kept = torch.cat([passing.gradients[p].flatten(1) for p in trained], 1)
        assert torch.allclose(kept.norm(dim=1), products[0].sqrt())


@pytest.mark.parametrize("clipping", ["hard", "smooth"])
@pytest.mark.parametrize("rate", [None, RATE])
def test_trace_attributes_and_eta_of_the_accountant(clipping, rate):
    model, x, y = build("linear")
    mechanism = Mechanism(clipping, 0.5, NOISE, rate)
    columns = {f"column {j}": [j] for j in range(5)}
    accountant = seepage.network.FisherAccountant(
        model, F.cross_entropy, ids=range(6), clipping=clipping, groups=columns, spectrum=8, probes=60, seed=0
    )
    accountant.observe((x, y), range(6), noise_multiplier=NOISE, max_grad_norm=0.5, sample_rate=rate)
    examples = explicit.published(model, F.cross_entropy, x, y, clipping, 0.5)
    matrices = [
        explicit.information(e, mechanism.noise_scale, (1.0, 1.0) if rate is None else factors(e, mechanism))
        for e in examples
    ]
    leakage = accountant.leakage()
    # A group of a single value has no direction to average over, so nothing is left to estimate.
    for j in range(5):
        exact = np.sqrt([float(m[j, j]) for m in matrices])
        np.testing.assert_allclose(leakage.attributes[f"column {j}"], exact, rtol=1e-6)
    dfil = np.sqrt([float(m.trace()) / 5 for m in matrices])
    np.testing.assert_allclose(leakage.examples["dfil"], dfil, rtol=1e-6)
    eta = np.sqrt([float(torch.linalg.eigvalsh(m)[-1]) for m in matrices])
    np.testing.assert_allclose(leakage.examples["eta"], eta, rtol=1e-6)
    np.testing.assert_allclose(leakage.examples["eta_low"], eta, rtol=1e-6)


@pytest.mark.parametrize("name", ["conv2d", "attention", "recurrent"])
def test_estimates_are_within_four_standard_errors(name):
    model, x, y = build(name)
    accountant = seepage.network.FisherAccountant(model, F.cross_entropy, ids=range(6), probes=80, seed=0)
    accountant.observe((x, y), range(6), noise_multiplier=NOISE, max_grad_norm=0.5, sample_rate=None)
    exact = [
        np.sqrt(float(explicit.information(e, NOISE * 0.5).trace()) / x[0].numel())
        for e in explicit.published(model, F.cross_entropy, x, y, "hard", 0.5)
    ]
    found = accountant.leakage().examples
    assert (np.abs(found["dfil"] - exact) < 4 * found["dfil_standard_error"]).all()
    assert (found["dfil_standard_error"] < 0.2 * found["dfil"]).all()


def test_a_sketch_of_low_rank_brackets_the_largest_eigenvalue():
    model, x, y = build("conv2d")
    accountant = seepage.network.FisherAccountant(model, F.cross_entropy, ids=range(6), probes=200, spectrum=8, seed=0)
    accountant.observe((x, y), range(6), noise_multiplier=NOISE, max_grad_norm=0.5, sample_rate=RATE)
    mechanism = Mechanism("hard", 0.5, NOISE, RATE)
    exact = np.sqrt([
        float(torch.linalg.eigvalsh(explicit.information(e, NOISE * 0.5, factors(e, mechanism)))[-1])
        for e in explicit.published(model, F.cross_entropy, x, y, "hard", 0.5)
    ])  # fmt: skip
    found = accountant.leakage().examples
    assert (found["eta_low"] <= exact * (1 + 1e-9)).all()
    # The upper bound leans on the estimated trace.
    assert (found["eta"] + 4 * found["dfil_standard_error"] * np.sqrt(x[0].numel()) >= exact).all()
    assert (found["eta_low"] > 0.5 * exact).all()


def test_tokens_are_measured_at_the_output_of_the_embedding():
    torch.manual_seed(0)

    class Text(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.last = nn.Embedding(7, 3, padding_idx=0), nn.Linear(12, 3)

        def forward(self, tokens):
            return self.head(self.embedding(tokens))

        def head(self, values):
            return self.last(torch.tanh(values.flatten(1)))

    model = Text().double()
    tokens, y = torch.tensor([[1, 2, 2, 0], [3, 3, 3, 5], [6, 1, 4, 2]]), torch.tensor([0, 1, 2])
    accountant = seepage.network.FisherAccountant(model, F.cross_entropy, ids=list("abc"), probes=1, seed=0)
    seen = []
    accountant._direct, direct = lambda v: seen.append(direct(v)) or seen[-1], accountant._direct
    accountant.observe((tokens, y), list("abc"), noise_multiplier=NOISE, max_grad_norm=0.2, sample_rate=None)

    # By finite differences: move the looked-up values, leave the table's gradient where its tokens are.
    def gradient(values, i):
        leaf = values.clone().requires_grad_()
        loss = F.cross_entropy(model.head(leaf), y[i : i + 1])
        back, *rest = torch.autograd.grad(loss, [leaf, model.last.weight, model.last.bias])
        table = torch.zeros(7, 3, dtype=torch.float64).index_add(0, tokens[i], back[0])
        table[0] = 0
        return explicit.hard(torch.cat([table.flatten(), *(r.flatten() for r in rest)]), 0.2)

    step = 1e-6
    expected = []
    for i in range(3):
        at, w = model.embedding(tokens[i : i + 1]).detach(), seen[0][i : i + 1]
        moving = (gradient(at + step * w, i) - gradient(at - step * w, i)) / (2 * step)
        expected.append(float(moving.square().sum()) / (NOISE * 0.2) ** 2)
    np.testing.assert_allclose(accountant.information().traces[:, 0], expected, rtol=1e-6)
    assert any("embedding" in sentence for sentence in accountant.leakage().assumptions)


def test_a_private_label_counts_among_the_values():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    x, y = torch.randn(4, 2, dtype=torch.float64), torch.randn(4, 1, dtype=torch.float64)
    accountant = seepage.network.FisherAccountant(
        model, nn.MSELoss(), ids=range(4), probes=40, label="private", groups={"first": [0], "second": [1]}, seed=0
    )
    accountant.observe((x, y), range(4), noise_multiplier=NOISE, max_grad_norm=50.0, sample_rate=None)

    class Joint(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, both):
            return self.inner(both[:, :2]) - both[:, 2:]

    joint = torch.cat([x, y], 1)
    examples = explicit.published(Joint(), lambda out, _: out.square().mean(), joint, y, "hard", 50.0)
    attributes = accountant.leakage().attributes
    for j, name in enumerate(["first", "second", "label"]):
        exact = [float(explicit.information(e, NOISE * 50.0)[j, j]) ** 0.5 for e in examples]
        np.testing.assert_allclose(attributes[name], exact, rtol=1e-6)


def test_the_noise_in_the_denominator_is_sigma_times_c():
    """By Monte Carlo of the score of one step: o ~ N(g(x), (sigma C)^2), at a C that is not 1."""
    model, x, y = build("linear", 1)
    bound = 0.25
    accountant = seepage.network.FisherAccountant(
        model, F.cross_entropy, ids=[0], groups={"first": [0]}, probes=30, seed=0
    )
    accountant.observe((x, y), [0], noise_multiplier=NOISE, max_grad_norm=bound, sample_rate=None)
    (example,) = explicit.published(model, F.cross_entropy, x, y, "hard", bound)
    scale = NOISE * bound
    noise = scale * torch.randn(200_000, len(example.gradient), dtype=torch.float64)
    # log density = -|o - g(x)|^2 / (2 scale^2) up to a constant; its derivative in the first value of x:
    score = noise @ example.jacobian[:, 0] / scale**2
    squares = score.square()
    error = squares.std() / len(squares) ** 0.5
    found = float(accountant.leakage().attributes["first"][0]) ** 2
    assert abs(found - squares.mean()) < 4 * error
    assert abs(found * bound**2 - squares.mean()) > 40 * error
