"""Sensitivity of layers, against explicit Jacobians and against the accountant."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, hessian, jacrev
from torch.nn import functional as F  # noqa: N812
from zoo import ZOO, build

import seepage
from seepage.network import layer_sensitivity
from seepage.network._composites import Composites

NORMS = {
    "fro": lambda j, weights: j.square().sum().sqrt() / weights**0.5,
    "l1": lambda j, weights: j.abs().sum() / weights,
    "max": lambda j, weights: j.abs().max(),
}


def weights_of(model, layer):
    """How many weights a layer has, biases not counted, as Mo and Borovykh print psi; all where it has vectors only."""
    own = [p for name, p in model.named_parameters() if p.requires_grad and name.rpartition(".")[0] == layer]
    return sum(p.numel() for p in own if p.ndim >= 2) or sum(p.numel() for p in own)


def jacobians(model, x, y, wrt):
    """Of each example, by layer: the gradient, and its whole Jacobian in the label, the output or the input."""
    parameters = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def loss(theta, one, label):
        return F.cross_entropy(functional_call(model, theta, (one.unsqueeze(0),)), label.unsqueeze(0))

    for one, label in zip(x, F.one_hot(y, 3).to(x), strict=True):
        gradient = grad(loss)(parameters, one, label)
        if wrt == "output":
            output = model(one.unsqueeze(0)).detach()
            network = jacrev(lambda theta, at: functional_call(model, theta, (at,))[0])(parameters, one.unsqueeze(0))
            curvature = hessian(F.cross_entropy)(output, label.unsqueeze(0))[0, :, 0]
            moved = {k: torch.einsum("c...,cd->...d", j, curvature) for k, j in network.items()}
        else:
            moved = jacrev(grad(loss), argnums=2 if wrt == "label" else 1)(parameters, one, label)
        by_layer: dict[str, list] = {}
        for name in parameters:
            pair = gradient[name].flatten(), moved[name].reshape(gradient[name].numel(), -1)
            by_layer.setdefault(name.rpartition(".")[0], []).append(pair)
        yield {k: (torch.cat([g for g, _ in v]), torch.cat([j for _, j in v])) for k, v in by_layer.items()}


@pytest.mark.parametrize("room", [2, 50])
@pytest.mark.parametrize("wrt", ["label", "output", "input"])
@pytest.mark.parametrize("name", [name for name in ZOO if name != "recurrent"])
def test_sensitivity_is_that_of_the_explicit_jacobian(name, wrt, room):
    model, x, y = build(name, 3)
    examples = list(jacobians(model, x, y, wrt))
    for norm, measure in NORMS.items():
        found = layer_sensitivity(model, nn.CrossEntropyLoss(), x, y, wrt=wrt, norm=norm, batch_size=room)
        expected: dict[str, list[float]] = {}
        for example in examples:
            for layer, (gradient, jacobian) in example.items():
                weights = weights_of(model, layer)
                span = gradient.max() - gradient.min() if gradient.numel() > 1 else torch.nan
                value = measure(jacobian, weights) / span
                expected.setdefault(layer, []).append(float(value))
        assert found["name"].tolist() == list(expected)
        np.testing.assert_allclose(found["sensitivity"], [np.mean(v) for v in expected.values()], rtol=1e-8, atol=1e-8)
        errors = [np.std(v, ddof=1) / np.sqrt(len(v)) for v in expected.values()]
        np.testing.assert_allclose(found["standard_error"], errors, rtol=1e-7, atol=1e-8)
        assert found["parameters"].sum() == sum(p.numel() for p in model.parameters() if p.requires_grad)


def test_random_directions_agree_with_all_of_them():
    model, x, y = build("conv2d", 60)
    for norm, tolerance in (("fro", 0.05), ("l1", 0.05)):
        whole = layer_sensitivity(model, F.cross_entropy, x, y, wrt="input", norm=norm)
        some = layer_sensitivity(model, F.cross_entropy, x, y, wrt="input", norm=norm, directions=20)
        np.testing.assert_allclose(some["sensitivity"], whole["sensitivity"], rtol=tolerance)
        assert not np.allclose(some["sensitivity"], whole["sensitivity"], rtol=1e-6)
    whole, some = (
        layer_sensitivity(model, F.cross_entropy, x, y, wrt="input", norm="max", directions=d) for d in (50, 20)
    )
    assert (some["sensitivity"] <= whole["sensitivity"]).all()
    assert (some["sensitivity"] > 0.6 * whole["sensitivity"]).all()


def test_a_dead_layer_has_no_sensitivity():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    nn.init.zeros_(model[2].weight)
    x, y = torch.randn(5, 3, dtype=torch.float64), torch.tensor([0, 1, 1, 0, 1])
    found = layer_sensitivity(model, nn.CrossEntropyLoss(), x, y)
    assert found["sensitivity"][0] == 0
    assert found["sensitivity"][1] > 0


def test_labels_that_are_numbers_move_as_they_are():
    model = nn.Linear(3, 1).double()
    x, y = torch.randn(4, 3, dtype=torch.float64), torch.randn(4, 1, dtype=torch.float64)
    found = layer_sensitivity(model, nn.MSELoss(), x, y, normalized=False)
    # g = 2 (prediction - y) (x, 1), so that d g / d y = -2 (x, 1).
    assert found["sensitivity"][0] == pytest.approx(float((2 * (x.square().sum(1) + 1).sqrt()).mean()))
    assert found["type"].tolist() == ["Linear"]


def test_tokens_move_behind_their_embedding():
    model = nn.Sequential(nn.Embedding(7, 3), nn.Flatten(), nn.Linear(6, 2)).double()
    found = layer_sensitivity(
        model, nn.CrossEntropyLoss(), torch.randint(0, 7, (5, 2)), torch.tensor([0, 1, 0, 1, 1]), wrt="input"
    )
    assert (found["sensitivity"] > 0).all()


def test_the_network_is_left_as_it_was():
    model, x, y = build("conv2d")
    before = {name: p.clone() for name, p in model.named_parameters()}
    layer_sensitivity(model, nn.CrossEntropyLoss(), x, y, wrt="input")
    assert all(p.grad is None and p.requires_grad and torch.equal(p, before[k]) for k, p in model.named_parameters())
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(
    ("options", "message"),
    [({"wrt": "weights"}, "'weights'"), ({"norm": "l2"}, "'l2'"), ({"directions": 0}, "positive number of passes")],
)
def test_wrong_choices_are_refused(options, message):
    model, x, y = build("linear")
    with pytest.raises(seepage.errors.InputError, match=message):
        layer_sensitivity(model, nn.CrossEntropyLoss(), x, y, **options)


def test_kinks_are_warned_of_only_where_the_input_moves():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    layer_sensitivity(model, nn.CrossEntropyLoss(), x, y)
    with pytest.warns(UserWarning, match="kinks"):
        layer_sensitivity(model, nn.CrossEntropyLoss(), x, y, wrt="input")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 3, lambda x: 0.5 * x, lambda x: x / -1.7, lambda x: torch.mul(input=x, other=2),
        lambda x: x.div(other=4), lambda x: x * x / (x + 9), lambda x: torch.div(x, 2, rounding_mode="floor") * x,
        lambda x: torch.arange(5) * 2.5 * x,
    ],
)  # fmt: skip
def test_products_with_numbers_and_their_derivatives_are_pytorch_s(function):
    x = torch.linspace(-2, 2, 5, dtype=torch.float64, requires_grad=True)

    def stood_in(x):
        with Composites():
            return function(x)

    torch.testing.assert_close(stood_in(x), function(x))
    assert torch.autograd.gradcheck(stood_in, x + 0.1, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(stood_in, x + 0.1)
