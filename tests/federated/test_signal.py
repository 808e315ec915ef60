"""What layers carry about people, against explicit Jacobians in float64."""

import clients
import numpy as np
import pytest
import torch
from torch import nn

from seepage.federated._signal import measure

COUNT = 12
LOSS = nn.CrossEntropyLoss()


@pytest.fixture
def network():
    torch.manual_seed(0)
    return clients.Net(5).double()


@pytest.fixture
def examples():
    torch.manual_seed(1)
    return torch.randn(COUNT, 5, dtype=torch.float64), torch.randint(3, (COUNT,))


def explicit(network, x, y, plan):
    """Each person's clipped gradient of each layer, and its Jacobian in the person's values."""

    def gradient(one, label):
        found = clients.clipped(plan, network, one.unsqueeze(0), label.unsqueeze(0))
        return tuple(
            torch.cat([found[f"{layer}.{kind}"].flatten() for kind in ("weight", "bias")])
            for layer in ("first", "second")
        )

    jacobian = torch.func.jacrev(gradient)
    pairs = [(gradient(one, label), jacobian(one, label)) for one, label in zip(x, y, strict=True)]
    return [[(g, j) for g, j in zip(gs, js, strict=True)] for gs, js in pairs]


def measured(network, examples, plan, probes, of=COUNT, states=1):
    generator = torch.Generator().manual_seed(5)
    weights = [network.state_dict()] * states
    people = {"dfil": examples, "susceptibility": examples}
    return measure(network, LOSS, weights, people, plan, of=of, probes=probes, generator=generator)


def information(network, examples, plan, copies=400):
    """The information of each person and layer, as the mean over many copies of everybody: each has its directions."""
    x, y = examples
    found = measured(network, (x.repeat(copies, 1), y.repeat(copies)), plan, probes=1)
    return found.information.reshape(copies, len(x), -1).mean(0)


@pytest.mark.parametrize("norm", [None, 0.2, 0.6, 100.0])
def test_information_of_each_layer_is_the_squared_jacobian(network, examples, norm):
    plan = clients.training(max_grad_norm=norm, noise_multiplier=0.0, batch_size=COUNT)
    found = information(network, examples, plan)
    expected = [[(j**2).sum() / 5 for _, j in layers] for layers in explicit(network, *examples, plan)]
    np.testing.assert_allclose(found, np.array(expected), rtol=0.2)
    np.testing.assert_allclose(found.mean(0), np.mean(expected, 0), rtol=0.06)


@pytest.mark.parametrize("norm", [None, 0.2, 0.6, 100.0])
def test_one_direction_tells_all_about_one_value(norm):
    torch.manual_seed(0)
    network = clients.Net(1).double()
    examples = torch.randn(COUNT, 1, dtype=torch.float64), torch.randint(3, (COUNT,))
    plan = clients.training(max_grad_norm=norm, noise_multiplier=0.0, batch_size=COUNT)
    expected = [[(j**2).sum() for _, j in layers] for layers in explicit(network, *examples, plan)]
    np.testing.assert_allclose(measured(network, examples, plan, probes=1).information, np.array(expected), rtol=1e-10)


def accounted(network, examples, clip):
    """An accountant that has seen one step of all these people, with noise of size one."""
    from torch.utils.data import TensorDataset

    from seepage.network import FisherAccountant

    people = range(len(examples[0]))
    accountant = FisherAccountant(network, LOSS, ids=people, label="public", seed=0)
    accountant.watch(TensorDataset(*examples), steps=1)
    accountant.step(noise_multiplier=1 / clip, max_grad_norm=clip, sample_rate=None, batch=people)
    return accountant


@pytest.mark.parametrize("norm", [None, 0.2, 100.0])
def test_layers_add_up_to_the_accountant(network, examples, norm):
    clip = norm or 1e6
    plan = clients.training(max_grad_norm=norm, noise_multiplier=0.0, batch_size=COUNT)
    x, y = examples
    many = (x.repeat(400, 1), y.repeat(400))
    accountant = accounted(network, many, clip)
    # The noise of the accountant's step is one.
    dfil = accountant.leakage().examples["dfil"].to_numpy().reshape(400, COUNT)
    np.testing.assert_allclose(information(network, examples, plan).sum(1), (dfil**2).mean(0), rtol=0.2)


@pytest.mark.parametrize("norm", [None, 0.2, 100.0])
def test_susceptibility_of_each_layer_is_twice_jacobian_times_gradient(network, examples, norm):
    plan = clients.training(max_grad_norm=norm, noise_multiplier=0.0, batch_size=COUNT)
    found = measured(network, examples, plan, probes=1)
    expected = [[torch.linalg.norm(2 * j.T @ g) for g, j in layers] for layers in explicit(network, *examples, plan)]
    np.testing.assert_allclose(found.susceptibility, np.array(expected), rtol=1e-6)


def test_people_count_as_often_as_they_take_part(network, examples):
    once = measured(network, examples, clients.training(batch_size=COUNT), probes=2)
    often = measured(network, examples, clients.training(batch_size=4, steps=30), probes=2, of=24)
    np.testing.assert_allclose(often.information, 5 * once.information)
    np.testing.assert_allclose(often.susceptibility, 5 * once.susceptibility)


def test_the_mean_over_weights_stands_for_the_round(network, examples):
    plan = clients.training(batch_size=COUNT, max_grad_norm=None, noise_multiplier=0.0)
    twice = measured(network, examples, plan, probes=1, states=2)
    once = measured(network, examples, plan, probes=1)
    assert once.layers == ("first", "second")
    np.testing.assert_allclose(twice.susceptibility, once.susceptibility)
