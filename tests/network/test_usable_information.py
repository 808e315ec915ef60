"""Usable information, against closed forms; collected gradients, against autograd; the display of both."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.naive_bayes import GaussianNB
from torch import nn
from zoo import build

import seepage
from seepage.network import Gradients, Update, collect_gradients, usable_information


def gaussian_information(distance, share=0.5):
    """Bits about which of two unit Gaussians a number comes from, by integration."""
    other = 1 - share
    entropy = -share * np.log2(share) - other * np.log2(other)

    def lost(t):
        a, b = share * norm.pdf(t), other * norm.pdf(t - distance)
        return sum(w * np.log2((a + b) / w) for w in (a, b) if w > 0)

    return entropy - quad(lost, -12, 12 + distance, limit=200)[0]


def toy(distance, count=1600, dimensions=3, seed=0, share=0.5):
    random = np.random.default_rng(seed)
    has = (np.arange(count) >= share * count).astype(int)
    direction = np.ones(dimensions) / np.sqrt(dimensions)
    return random.normal(size=(count, dimensions)) + distance * has[:, None] * direction, has


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("distance", [0.5, 1.5, 3.0])
def test_logistic_regression_finds_what_two_gaussians_tell(distance, share):
    """For equal covariances the true posterior is logistic: the family holds the best predictor there is."""
    rows, has = toy(distance, share=share)
    found = usable_information({"layer": rows}, has).iloc[0]
    truth = gaussian_information(distance, share)
    assert found["usable_information"] == pytest.approx(truth, abs=3 * found["standard_error"] + 0.005)
    assert found["standard_error"] < 0.03


@pytest.mark.parametrize("family", ["logistic", "forest", "network", GaussianNB()])
def test_an_independent_property_has_none_and_a_plain_one_at_most_its_entropy(family):
    rows, has = toy(8.0, 300)
    other = np.random.default_rng(5).normal(size=(300, 3))
    found = usable_information({"plain": rows, "independent": other}, has, family=family)
    plain, independent = found["usable_information"]
    assert 0.85 < plain <= found["entropy"][0]
    assert found["entropy"][0] == pytest.approx(1.0, abs=1e-3)
    # A predictor that has learnt nothing may lose bits; it cannot find any.
    assert independent < 3 * found["standard_error"][1]
    if family == "logistic":
        assert independent > -3 * found["standard_error"][1] - 0.01


def test_several_values_and_names_are_properties_too():
    random = np.random.default_rng(0)
    names = np.repeat(["a", "b", "c"], 60)
    rows = random.normal(size=(180, 2)) + 6 * np.array([[0, 0], [1, 0], [0, 1]])[np.repeat(range(3), 60)]
    found = usable_information({"layer": rows}, names)
    assert 1.4 < found["usable_information"][0] <= found["entropy"][0] == pytest.approx(np.log2(3), abs=1e-3)


def test_of_a_wide_layer_the_same_entries_are_drawn_again():
    random = np.random.default_rng(0)
    has = np.repeat([0, 1], 150)
    rows = random.normal(size=(300, 20_000)) + 0.03 * has[:, None]
    found, again = (usable_information({"layer": rows}, has, width=256, seed=1) for _ in range(2))
    assert found["width"][0] == 256
    np.testing.assert_array_equal(found["usable_information"], again["usable_information"])
    assert usable_information({"layer": rows[:, :50]}, has)["width"][0] == 50


def test_collected_gradients_are_those_of_autograd(tmp_path):
    model, x, y = build("conv2d", 12)
    model.float()
    x = x.float()
    batches = [(x[i : i + 4], y[i : i + 4]) for i in (0, 4, 8)]
    stored = collect_gradients(model, nn.CrossEntropyLoss(), iter(batches), output=tmp_path / "gradients")
    assert stored.count == 3
    assert sum(stored.sizes) == sum(p.numel() for p in model.parameters())
    for row, (inputs, labels) in enumerate(batches):
        model.zero_grad()
        nn.CrossEntropyLoss()(model(inputs), labels).backward()
        for name in stored.names:
            expected = torch.cat([p.grad.flatten() for p in model.get_submodule(name).parameters()])
            np.testing.assert_allclose(np.concatenate(list(stored.rows(name)))[row], expected, rtol=1e-5, atol=1e-7)
    with pytest.raises(seepage.errors.InputError, match="not an empty folder"):
        collect_gradients(model, nn.CrossEntropyLoss(), batches, output=tmp_path / "gradients")
    assert repr(seepage._gradients.Gradients.of(str(tmp_path / "gradients"))) == repr(stored)


def test_a_folder_that_was_not_finished_is_not_read(tmp_path):
    model, x, y = build("linear")
    with pytest.raises(seepage.errors.InputError, match="pair"):
        collect_gradients(model, nn.CrossEntropyLoss(), [(x, y), 3], output=tmp_path)
    with pytest.raises(seepage.errors.InputError, match="no collected gradients"):
        usable_information(tmp_path, [0, 1])


def descended(model, x, y, steps, rate):
    """Several steps of plain gradient descent by PyTorch's own optimizer."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for _ in range(steps):
        optimizer.zero_grad()
        nn.CrossEntropyLoss()(model(x), y).backward()
        optimizer.step()
    return {name: (before[name] - p.detach()) / rate for name, p in model.named_parameters()}


def test_several_local_steps_send_how_far_the_parameters_moved():
    model, x, y = build("group norm")
    sent = Update(local_steps=3, learning_rate=0.1).of(model, nn.CrossEntropyLoss(), x, y)
    for name, moved in descended(model, x, y, 3, 0.1).items():
        torch.testing.assert_close(sent[name], moved, rtol=1e-9, atol=1e-12)


def test_clipped_and_noised_updates_are_what_private_training_sends():
    model, x, y = build("linear")
    loss = nn.CrossEntropyLoss()
    clipped = Update(max_grad_norm=0.2).of(model, loss, x, y)
    expected = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    for i in range(len(x)):
        model.zero_grad()
        loss(model(x[i : i + 1]), y[i : i + 1]).backward()
        whole = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
        for name, p in model.named_parameters():
            expected[name] += p.grad * min(1.0, 0.2 / (float(whole) + 1e-6)) / len(x)
    for name, value in expected.items():
        torch.testing.assert_close(clipped[name], value)
    update = Update(max_grad_norm=0.2, noise_multiplier=3.0)
    random = torch.Generator().manual_seed(0)
    noise = [update.of(model, loss, x, y, generator=random)["0.weight"] - clipped["0.weight"] for _ in range(300)]
    assert float(torch.stack(noise).std()) == pytest.approx(3.0 * 0.2 / len(x), rel=0.05)


@pytest.mark.parametrize("options", [{}, {"max_grad_norm": 0.2}])
def test_messages_of_a_mean_without_shares_are_refused(options):
    model, x, _ = build("linear")
    loss = nn.CrossEntropyLoss(weight=torch.tensor([0.2, 1.0, 4.0]).double())
    with pytest.raises(seepage.errors.InputError, match="depends on the others"):
        Update(**options).of(model, loss, x, torch.tensor([0, 1, 2, 2, 1, 0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"local_steps": 0}, "at least 1"),
        ({"local_steps": 2}, "learning_rate"),
        ({"noise_multiplier": 1.0}, "Give both"),
        ({"max_grad_norm": -1.0}, "positive"),
    ],
)
def test_updates_that_make_no_sense_are_refused(options, message):
    with pytest.raises(seepage.errors.InputError, match=message):
        Update(**options)


@pytest.mark.parametrize(
    ("gradients", "values", "options", "message"),
    [
        ([1, 2], [0, 1], {}, "must be what collect_gradients returned"),
        ({"a": np.ones((4, 2)), "b": np.ones((3, 2))}, [0, 1, 0, 1], {}, "one row for each batch"),
        ({"a": np.ones((4, 2))}, [0, 1], {}, "each of the 4 batches"),
        ({"a": np.ones((4, 2))}, [0, 0, 0, 1], {"folds": 2}, "at least 2 batches"),
        ({"a": np.ones((8, 2))}, [0, 1] * 4, {"folds": 2, "family": "boosting"}, "'boosting'"),
        ({"a": np.ones((8, 2))}, [0, 1] * 4, {"folds": 1}, "at least 2"),
        ({"a": np.ones((4, 2))}, [0, 1, 0, 1], {"folds": 2, "features": "mean"}, "features must be"),
        ({"a": np.ones((4, 2))}, [0, 1, 0, 1], {"folds": 2, "width": 0}, "width must be"),
    ],
)
def test_wrong_inputs_are_quoted(gradients, values, options, message):
    with pytest.raises(seepage.errors.InputError, match=message):
        usable_information(gradients, values, **options)


def written_out_maxima(layer_gradients):
    """The features of Melis et al. (2019) of one batch, entry by entry: weights only, absolute, maxima, norm 1."""
    found = []
    for value in layer_gradients:
        entries = value.abs().tolist()
        if value.ndim == 4:
            found += [max(entry for row in window for entry in row) for filters in entries for window in filters]
        elif value.ndim == 2 and value.numel() > 5000:
            found += [max(row[j] for row in entries) for j in range(value.shape[1])]
        elif value.ndim == 2:
            found += [entry for row in entries for entry in row]
    length = sum(entry**2 for entry in found) ** 0.5
    return [entry / length for entry in found]


def test_features_are_the_maxima_that_the_attack_takes(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(108, 50), nn.Tanh(), nn.Linear(50, 2))
    x, y = torch.randn(6, 2, 8, 8), torch.randint(0, 2, (6,))
    stored = collect_gradients(model, nn.CrossEntropyLoss(), [(x[:3], y[:3]), (x[3:], y[3:])], output=tmp_path / "g")
    for row, some in enumerate((slice(0, 3), slice(3, 6))):
        model.zero_grad()
        nn.CrossEntropyLoss()(model(x[some]), y[some]).backward()
        for name in stored.names:
            expected = written_out_maxima([p.grad for p in model.get_submodule(name).parameters()])
            found = stored.features(name, "maxima", width=4096, seed=0)[row]
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    # One number for each filter and channel, for each input of a large matrix, for each entry of a small one.
    assert [stored.features(n, "maxima", width=4096, seed=0).shape[1] for n in stored.names] == [6, 108, 100]


def test_entries_are_drawn_and_never_mixed():
    rows = np.arange(60.0).reshape(2, 30)
    stored = Gradients.of({"layer": rows})
    some = stored.features("layer", "entries", width=7, seed=3)
    assert some.shape == (2, 7)
    assert set(some[0]) <= set(rows[0])
    np.testing.assert_array_equal(some[1] - some[0], 30.0)
    # Rows without a shape are taken as they are.
    np.testing.assert_array_equal(stored.features("layer", "maxima", width=30, seed=0), rows)
