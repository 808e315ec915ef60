"""What layers carry about people, against explicit Jacobians in float64."""

import clients
import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import chi2
from torch import nn

from seepage.errors import InputError
from seepage.federated import LayerPolicy, leakage_mod
from seepage.federated._confidence import factors, looks
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


def anyone(upper, lower):
    """Enough is known about everybody at once."""
    return np.ones(len(upper), dtype=bool)


def measured(network, examples, plan, probes=64, of=COUNT, states=1, settled=anyone):
    generator = torch.Generator().manual_seed(5)
    weights = [network.state_dict()] * states
    people = {"dfil": examples, "susceptibility": tuple(part[:COUNT] for part in examples)}
    return measure(network, LOSS, weights, people, plan, of=of, probes=probes, settled=settled, generator=generator)


@pytest.mark.parametrize("norm", [None, 0.2, 0.6, 100.0])
def test_information_of_each_layer_is_the_squared_jacobian(network, examples, norm):
    plan = clients.training(max_grad_norm=norm, noise_multiplier=0.0, batch_size=COUNT)
    found = measured(network, examples, plan)
    expected = [[(j**2).sum() / 5 for _, j in layers] for layers in explicit(network, *examples, plan)]
    np.testing.assert_allclose(found.information, np.array(expected), rtol=1e-10)
    # With a few values each is moved by itself: there is nothing to be unsure of.
    np.testing.assert_array_equal(found.upper, found.information)


def test_a_mean_in_which_nobody_has_a_share_is_refused(network, examples):
    loss = nn.CrossEntropyLoss(weight=torch.tensor([0.2, 1.0, 4.0]).double())
    people = {"dfil": examples, "susceptibility": examples}
    with pytest.raises(InputError, match="depends on the others"):
        measure(
            network, loss, [network.state_dict()], people, clients.training(), of=COUNT, probes=4, settled=anyone,
            generator=torch.Generator(),
        )  # fmt: skip


def test_people_of_one_number_are_a_vector_or_a_column(network, examples):
    class Vector(clients.Net):
        def forward(self, x):
            return super().forward(x.unsqueeze(1))

    network, (x, y) = clients.Net().double(), examples
    plan = clients.training(max_grad_norm=0.2, noise_multiplier=0.0, batch_size=COUNT)
    vector = Vector().double()
    vector.load_state_dict(network.state_dict())
    found, expected = measured(vector, (x[:, 0], y), plan), measured(network, (x[:, :1], y), plan)
    np.testing.assert_allclose(found.information, expected.information, rtol=1e-12)
    np.testing.assert_allclose(found.susceptibility, expected.susceptibility, rtol=1e-12)


class Wide(clients.Net):
    """More values than are moved one by one; frozen in front, all of them move its gradient in one way."""

    def __init__(self, frozen):
        super().__init__(100)
        self.first, self.second = nn.Linear(100, 1 if frozen else 4), nn.Linear(1 if frozen else 4, 3)
        self.first.requires_grad_(not frozen)


def wide(frozen, copies):
    """Many copies of one person, each measured in directions of its own, and what is true of all of them."""
    torch.manual_seed(2)
    network, plan = Wide(frozen).double(), clients.training(max_grad_norm=0.6, batch_size=COUNT)
    x, y = torch.randn(1, 100, dtype=torch.float64), torch.tensor([1])
    moved = torch.func.jacrev(
        lambda one: torch.cat(
            [g.flatten() for name, g in clients.clipped(plan, network, one[None], y).items() if "first" not in name]
        )
    )(x[0])
    assert (torch.linalg.matrix_rank(moved) == 1) == frozen
    return network, (x.repeat(copies, 1), y.repeat(copies)), plan, float(moved.square().sum()) / 100


@pytest.mark.parametrize("frozen", [False, True])
def test_random_directions_are_right_on_average(frozen):
    network, examples, plan, truth = wide(frozen, 4000)
    found = measured(network, examples, plan)
    assert found.information[:, -1].mean() == pytest.approx(truth, rel=0.06)


def guarded(network, plan, limit, **policy):
    """The mod's own rule, of a limit on the last layer."""
    policy = LayerPolicy(**{"dfil": {"second": limit}, **policy})
    mod = leakage_mod(model=lambda: network, loss=LOSS, data=None, training=plan, policy=policy, on_breach="drop")
    layers = [name for name in ("first", "second") if network.get_submodule(name).weight.requires_grad]
    return mod._settled(layers, plan.noise_scale)


@pytest.mark.parametrize(("frozen", "above"), [(False, 1.5), (True, 1.0)])
def test_whoever_is_above_a_limit_passes_in_one_of_a_hundred_rounds_at_most(frozen, above):
    network, examples, plan, truth = wide(frozen, 2000)
    limit = np.sqrt(truth) / plan.noise_scale / above
    found = measured(network, examples, plan, settled=guarded(network, plan, limit))
    assert (found.upper[:, -1] <= (limit * plan.noise_scale) ** 2).mean() <= 0.01
    assert (found.upper[:, -1] < truth).mean() <= 0.01


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("below", [2.0, 10.0])
def test_whoever_is_well_below_a_limit_is_let_through(frozen, below):
    network, examples, plan, truth = wide(frozen, 500)
    limit = below * np.sqrt(truth) / plan.noise_scale
    asked = []

    def settled(upper, lower):
        asked.append(guarded(network, plan, limit)(upper, lower))
        return asked[-1]

    found = measured(network, examples, plan, settled=settled)
    assert (found.upper[:, -1] <= (limit * plan.noise_scale) ** 2).mean() > 0.99
    # Far below, a few directions are enough for most.
    assert (asked[0].mean() > 0.5) == (below == 10.0)


def test_what_all_rounds_gave_away_is_known_closely():
    network, examples, plan, truth = wide(True, 200)
    limit = 100 * np.sqrt(truth) / plan.noise_scale
    found = measured(network, examples, plan, settled=guarded(network, plan, limit, total_dfil=limit))
    assert truth < found.upper.sum(1).max() < 6 * truth


@pytest.mark.parametrize("directions", [1, 4, 16, 64, 1000])
@pytest.mark.parametrize("doubt", [0.01, 0.0025])
def test_the_limits_of_a_mean_over_directions_hold_for_one_eigenvalue(directions, doubt):
    above, below = factors(directions, doubt)
    assert chi2.cdf(directions / above, directions) == pytest.approx(doubt)
    # Chernoff's bound: it holds, and gives away no more than it must.
    assert 0.02 * doubt < chi2.sf(directions / below, directions) < doubt


SPECTRA = {
    "nearly one": [0.99, 0.01],
    "one and many": [0.5, *[0.01] * 50],
    "two": [0.5, 0.5],
    "falling": 0.5 ** np.arange(1, 12),
    "slowly falling": 1 / np.arange(1, 40),
    "as large as the limit": [0.05] * 20,
    "all alike": [0.005] * 200,
}


@pytest.mark.parametrize("shares", SPECTRA.values(), ids=SPECTRA)
@pytest.mark.parametrize("directions", [4, 16, 64])
def test_no_spectrum_is_underestimated_more_often_than_one_eigenvalue(directions, shares):
    """How likely a weighted sum of chi-squared numbers is so small, by Imhof's integral."""
    doubt, scales = 0.005, np.asarray(shares) / np.sum(shares) / directions
    above, below = factors(directions, doubt)

    def smaller(limit):
        def inside(u):
            angle = 0.5 * directions * np.arctan(scales * u).sum() - 0.5 * limit * u
            return np.sin(angle) / u * np.exp(-0.25 * directions * np.log1p((scales * u) ** 2).sum())

        return 0.5 - quad(inside, 0, np.inf, limit=2000, epsabs=1e-7)[0] / np.pi

    assert smaller(1 / above) < doubt
    assert 1 - smaller(1 / below) < doubt


@pytest.mark.parametrize("probes", [1, 3, 16, 64, 100])
def test_the_doubts_of_all_looks_add_up_to_one_in_a_hundred(probes):
    assert max(looks(probes)) == probes
    assert sum(looks(probes).values()) == pytest.approx(0.01)


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
    np.testing.assert_allclose(measured(network, examples, plan).information.sum(1), (dfil**2).mean(0), rtol=0.2)


@pytest.mark.parametrize("norm", [None, 0.2, 100.0])
def test_susceptibility_of_each_layer_is_twice_jacobian_times_gradient(network, examples, norm):
    plan = clients.training(max_grad_norm=norm, noise_multiplier=0.0, batch_size=COUNT)
    found = measured(network, examples, plan)
    expected = [[torch.linalg.norm(2 * j.T @ g) for g, j in layers] for layers in explicit(network, *examples, plan)]
    np.testing.assert_allclose(found.susceptibility, np.array(expected), rtol=1e-6)


def test_people_count_as_often_as_they_take_part(network, examples):
    once = measured(network, examples, clients.training(batch_size=COUNT))
    often = measured(network, examples, clients.training(batch_size=4, steps=30), of=24)
    np.testing.assert_allclose(often.information, 5 * once.information)
    np.testing.assert_allclose(often.susceptibility, 5 * once.susceptibility)


def test_the_mean_over_weights_stands_for_the_round(network, examples):
    plan = clients.training(batch_size=COUNT, max_grad_norm=None, noise_multiplier=0.0)
    twice = measured(network, examples, plan, states=2)
    once = measured(network, examples, plan)
    assert once.layers == ("first", "second")
    np.testing.assert_allclose(twice.susceptibility, once.susceptibility)
    np.testing.assert_allclose(twice.information, once.information)
