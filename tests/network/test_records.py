"""People with several records: what all of them tell together, against explicit sums of clipped gradients."""

import explicit
import numpy as np
import pytest
import torch
from runs import attached
from torch import nn
from torch.func import functional_call, grad, jacrev
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset
from zoo import build

import seepage
from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.network import FisherAccountant, Mechanism, step_information

LOSS = nn.CrossEntropyLoss()


def joint(model, x, y, clipping, bound):
    """Return how the sum of these records' clipped gradients moves with all their values, parameters x values."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def added(values):
        total = 0
        for one, label in zip(values.view(x.shape), y, strict=True):
            found = grad(lambda t, o=one, k=label: F.cross_entropy(functional_call(model, t, (o[None],)), k[None]))(
                parameters
            )
            total = total + explicit.CLIPPINGS[clipping](torch.cat([g.flatten() for g in found.values()]), bound)
        return total

    return jacrev(added)(x.flatten())


@pytest.mark.parametrize("clipping", ["hard", "smooth"])
@pytest.mark.parametrize("bound", [0.3, 30.0])
def test_a_step_tells_of_all_records_what_their_summed_gradients_tell(clipping, bound):
    model, x, y = build("linear")
    ids = ["ann", "ben", "ann", *(f"other {i}" for i in range(len(x) - 4)), "ann"]
    mechanism = Mechanism(noise_multiplier=1.3, max_grad_norm=bound, clipping=clipping)
    step = step_information(model, LOSS, (x, y), mechanism=mechanism, label="public", ids=ids)
    assert step.ids.tolist() == list(dict.fromkeys(ids))
    rows = [i for i, name in enumerate(ids) if name == "ann"]
    moved = joint(model, x[rows], y[rows], clipping, bound)
    expected = (moved.T @ moved / mechanism.noise_scale**2).numpy()
    np.testing.assert_allclose(step.matrices[0], expected, rtol=1e-6, atol=1e-12 * np.abs(expected).max())
    assert step.trace[0] == pytest.approx(np.trace(expected), rel=1e-9)
    assert step.sizes.tolist()[:2] == [3 * x[0].numel(), x[0].numel()]
    # The records hang together: it is not one block beside the other.
    width = x[0].numel()
    assert np.abs(step.matrices[0][:width, width : 2 * width]).max() > 1e-3 * np.abs(expected).max()
    alone = step_information(model, LOSS, (x[1:2], y[1:2]), mechanism=mechanism, label="public")
    np.testing.assert_allclose(step.matrices[1][:width, :width], alone.matrices[0], rtol=1e-9)
    assert not step.matrices[1][width:].any()


def test_random_directions_add_up_over_records_too():
    model, x, y = build("linear")
    ids = [0, 0, *range(1, len(x) - 1)]
    mechanism = Mechanism(noise_multiplier=1.3, max_grad_norm=0.3)
    asked = {"mechanism": mechanism, "label": "public", "ids": ids}
    exact = step_information(model, LOSS, (x, y), **asked)
    loose = step_information(model, LOSS, (x, y), directions=400, **asked)
    assert np.abs((loose.trace - exact.trace) / loose.standard_error).max() < 4
    np.testing.assert_array_equal(loose.sizes, exact.sizes)


def test_hidden_among_one_s_own_records_tells_less_than_the_sum_that_is_reported():
    """Two records, each drawn with its own coin: the density of what is published, integrated over the plane."""
    model, x, y = build("linear")
    rate, mechanism = 0.3, Mechanism(noise_multiplier=0.7, max_grad_norm=1.0, sample_rate=0.3)
    asked = {"mechanism": mechanism, "label": "public"}
    step = step_information(model, LOSS, (x[:2], y[:2]), ids=["ann", "ann"], **asked)
    singles = step_information(model, LOSS, (x[:2], y[:2]), **asked)
    assert step.trace[0] == pytest.approx(singles.trace.sum(), rel=1e-12)
    with pytest.raises(UnansweredError, match="several records"):
        _ = step.eta
    records = explicit.published(model, F.cross_entropy, x[:2], y[:2], "hard", 1.0)
    scale = mechanism.noise_scale
    plane = torch.linalg.qr(torch.stack([r.gradient for r in records], 1))[0]
    centers = [(plane.T @ r.gradient / scale).numpy() for r in records]
    axis = np.linspace(-9, 9, 361)
    u = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1)
    cell = (axis[1] - axis[0]) ** 2
    weights = {}
    for drawn in np.ndindex(2, 2):
        center = sum((z * c for z, c in zip(drawn, centers, strict=True)), np.zeros(2))
        chance = np.prod([rate if z else 1 - rate for z in drawn])
        weights[drawn] = (chance * np.exp(-0.5 * ((u - center) ** 2).sum(-1)) / (2 * np.pi), u - center)
    density = sum(w for w, _ in weights.values())
    assert density.sum() * cell == pytest.approx(1, abs=1e-9)
    total = 0.0
    for j, record in enumerate(records):
        inside, across = (
            (plane.T @ record.jacobian / scale).numpy(),
            record.jacobian - plane @ plane.T @ record.jacobian,
        )
        pull = sum(w[..., None] * rest for drawn, (w, rest) in weights.items() if drawn[j])
        member = sum(w for drawn, (w, _) in weights.items() if drawn[j])
        total += (((pull @ inside) ** 2).sum(-1) / density).sum() * cell
        # Noise across the plane tells nothing of who was drawn.
        total += (member**2 / density).sum() * cell * float((across**2).sum()) / scale**2
    assert 0.5 * step.trace[0] < total < step.trace[0]
    # And of one record alone the same way of counting is exact.
    only = step_information(model, LOSS, (x[:1], y[:1]), **asked)
    assert only.trace[0] == pytest.approx(singles.trace[0], rel=1e-9)


def perceptron():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()


def differences(model, x, y, bound, width=1e-5):
    """Return the trace of what the sum of clipped gradients of these records tells, by central differences."""
    weights, model = model.state_dict(), perceptron()
    model.load_state_dict(weights)

    def added(values):
        total = 0
        for one, label in zip(values, y, strict=True):
            loss = F.cross_entropy(model(one[None]), label[None])
            gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])
            total = total + explicit.hard(gradient, bound)
        return total

    found = 0.0
    for place in np.ndindex(*x.shape):
        shift = torch.zeros_like(x)
        shift[place] = width
        found += float(((added(x + shift) - added(x - shift)) / (2 * width)).square().sum())
    return found


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_a_run_adds_up_what_all_records_of_a_person_tell(mode):
    """Every step is visited and every value is a group: nothing is left to chance."""
    torch.manual_seed(0)
    x, y = torch.randn(9, 3).double(), torch.tensor([0, 1, 2] * 3)
    ids = ["ann", "ben", "ann", "cat", "ann", "ben", "dan", "eve", "eve"]
    model = perceptron()
    accountant = FisherAccountant(
        model, LOSS, ids=ids, label="public", sweeps=6, groups={str(j): [j] for j in range(3)}, seed=0
    )
    loader = DataLoader(TensorDataset(x, y), batch_size=3, shuffle=True)
    options = {"noise_multiplier": 0.8, "max_grad_norm": 0.5, "poisson_sampling": False, "grad_sample_mode": mode}
    module, optimizer, *criterion, loader = attached(accountant, model, loader, epochs=2, **options)
    people = list(dict.fromkeys(ids))
    expected, together = dict.fromkeys(people, 0.0), 0
    for _ in range(2):
        for one, label in loader:
            rows = [int((x == each).all(1).nonzero()[0]) for each in one]
            for name in people:
                mine = [row for row in rows if ids[row] == name]
                together += len(mine) > 1
                if mine:
                    expected[name] += differences(model, x[mine], y[mine], 0.5) / 0.4**2
            optimizer.zero_grad()
            (criterion or [LOSS])[0](module(one), label).backward()
            optimizer.step()
    assert together
    information = accountant.information()
    np.testing.assert_allclose(information.traces.sum(1), list(expected.values()), rtol=2e-7)
    assert accountant.leakage().examples.index.tolist() == people
    np.testing.assert_array_equal(information.sizes.sum(1), [9, 6, 3, 3, 6])
    np.testing.assert_array_equal(information.steps, [6, 4, 2, 2, 4])
    assert any("Somebody has 3 records" in sentence for sentence in accountant.leakage().assumptions)
    with pytest.raises(UnansweredError, match="somebody has 3"):
        information.guarantee(1e-5, None)


def watched(ids, steps=8, **settings):
    torch.manual_seed(0)
    model, data = nn.Linear(3, 2), TensorDataset(torch.randn(len(ids), 3), torch.arange(len(ids)) % 2)
    accountant = FisherAccountant(model, LOSS, ids=ids, label="public", seed=0, **settings)
    accountant.watch(data, steps=8)
    for _ in range(steps):
        accountant.step(noise_multiplier=1.0, max_grad_norm=0.5, sample_rate=0.25)
    return accountant


def test_with_secret_sampling_the_same_visits_add_up():
    whole, alone = watched([0, 1, 0, 2, 2, 2]).information(), watched(range(6)).information()
    for name in ("traces", "unamplified", "uncertainty", "doubt"):
        parts, added = getattr(alone, name).ravel(), getattr(whole, name).ravel()
        np.testing.assert_allclose(added, [parts[0] + parts[2], parts[1], parts[3:].sum()], rtol=1e-12)
    np.testing.assert_array_equal(whole.steps, [8, 8, 8])


def test_nothing_is_said_of_whoever_has_a_record_that_nobody_visited():
    accountant = watched([0, 1, 0, 2, 2, 2] * 4, steps=1, batch_size=1)
    visited = np.unique(accountant._run.state.table("visits")["person"])
    assert 0 < len(visited) < 24
    with pytest.raises(UnansweredError, match="No step"):
        accountant.leakage()


def test_people_are_chosen_with_all_their_records():
    accountant = watched(["a", "b", "a", "c", "c", "c"], people=["c"])
    assert accountant.leakage().examples.index.tolist() == ["c"]
    np.testing.assert_array_equal(np.unique(accountant._run.state.table("visits")["person"]), [3, 4, 5])
    assert len(watched(["a", "b", "a", "c", "c", "c"], people=2).leakage().examples) == 2
    assert repr(accountant).startswith("FisherAccountant(3 people")


def test_participation_must_be_known_record_by_record():
    torch.manual_seed(0)
    model, data = nn.Linear(3, 2), TensorDataset(torch.randn(4, 3), torch.tensor([0, 1, 0, 1]))
    accountant = FisherAccountant(model, LOSS, ids=["a", "b", "a", "c"], label="public", seed=0, sweeps=3)
    accountant.watch(data, steps=3)
    noise = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "sample_rate": None}
    with pytest.raises(InputError, match="'a' has 2 records and is in batch= 1 times"):
        accountant.step(**noise, batch=["a", "b"])
    with pytest.raises(InputError, match="records="):
        accountant.step(**noise)
    with pytest.raises(InputError, match="of 4 records"):
        accountant.step(**noise, records=[4])
    for twice in ({"batch": ["b", "b"]}, {"records": [2, 2]}):
        with pytest.raises(UnsupportedError, match="in one step twice"):
            accountant.step(**noise, **twice)
    accountant.step(**noise, batch=["a", "b", "a"])
    accountant.step(**noise, records=[2, 3])
    accountant.step(**noise, batch=["c"])
    np.testing.assert_array_equal(accountant.information().steps, [3, 1, 2])


def test_ids_of_another_length_are_refused():
    model, x, y = build("linear")
    with pytest.raises(seepage.errors.InputError, match="ids names 2"):
        step_information(
            model, LOSS, (x, y), mechanism=Mechanism(noise_multiplier=1, max_grad_norm=1), label="public", ids=[0, 1]
        )
