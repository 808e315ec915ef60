"""Riding along with real Opacus training, in every mode."""

import explicit
import numpy as np
import pytest
import torch
from runs import IMAGES, LABELS, OPTIONS, PEOPLE, Run, network
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

import seepage
from seepage.network import PoissonSampler, poisson_factors
from seepage.network._clipping import SmoothClipping

MODES = ["hooks", "functorch", "ghost"]


@pytest.mark.parametrize("virtual", [None, 4])
@pytest.mark.parametrize("probes", [0.5, 1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_training_is_what_it_would_have_been(mode, probes, virtual):
    bare = Run(mode, None).train(virtual=virtual)
    run = Run(mode, probes).train(virtual=virtual)
    torch.testing.assert_close(run.weights, bare.weights, rtol=0, atol=1e-13)
    assert run.engine.accountant.history == bare.engine.accountant.history
    assert run.accountant.steps == 8
    assert run.engine.get_epsilon(1e-5) == bare.engine.get_epsilon(1e-5)


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_a_network_that_opacus_does_not_wrap(mode):
    found = []
    for probes in (None, 1):
        run = Run(mode, probes, wrap_model=False)
        for x, y in run.loader:
            run.optimizer.zero_grad()
            run.loss(run.model(x), y).backward()
            run.optimizer.step()
        found.append(run.weights)
    torch.testing.assert_close(*found, rtol=0, atol=1e-13)
    assert (run.accountant.leakage().examples["dfil"] > 0).any()


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad])
def test_any_optimizer(make):
    torch.testing.assert_close(
        Run("hooks", 1, make=make).train().weights, Run("hooks", None, make=make).train().weights, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("mode", MODES)
def test_batches_made_by_worker_processes_are_known_too(mode):
    alone = Run(mode, 1).train(epochs=1)
    workers = Run(mode, 1, workers=2).train(epochs=1)
    for name in ("dfil", "steps"):
        np.testing.assert_allclose(
            workers.accountant.leakage().examples[name], alone.accountant.leakage().examples[name], rtol=1e-10
        )


@pytest.mark.parametrize("clipping", ["hard", "smooth"])
@pytest.mark.parametrize("virtual", [None, 3])
@pytest.mark.parametrize("mode", MODES)
def test_what_is_accounted_is_what_the_explicit_jacobian_says(mode, virtual, clipping):
    """Two steps of training, each person's |A w|^2 at the weights of the step, with the directions that were drawn."""
    run = Run(mode, 1, accountant={"clipping": clipping})
    accountant = run.accountant
    seen, visits = [], []
    accountant._direct, direct = lambda v: seen.append(direct(v)) or seen[-1], accountant._direct
    accountant._publish, publish = (
        lambda *a: (visits.append(([v.rows for v in accountant._pending], before.copy())), publish(*a))[1],
        accountant._publish,
    )
    rate = run.loader.batch_sampler.sample_rate
    scale = OPTIONS["noise_multiplier"] * OPTIONS["max_grad_norm"]
    expected = np.zeros(PEOPLE)
    done = 0
    before = {}
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    manager = BatchMemoryManager(
        data_loader=run.loader, max_physical_batch_size=virtual or 1000, optimizer=run.optimizer
    )
    with manager as loader:
        for x, y in loader:
            before = {k: v.clone() for k, v in run.model.state_dict().items()}
            run.optimizer.zero_grad()
            run.loss(run.module(x), y).backward()
            run.optimizer.step()
            if len(visits) == 2:
                break
    for parts, weights in visits:
        model = network()
        model.load_state_dict(weights)
        for rows in parts:
            w = seen[done]
            done += 1
            examples = explicit.published(
                model, F.cross_entropy, IMAGES[rows], LABELS[rows], clipping, OPTIONS["max_grad_norm"]
            )
            for i, example in enumerate(examples):
                k = poisson_factors(rate, float(example.gradient.norm()) / scale)
                matrix = explicit.information(example, scale, (float(k[0]), float(k[1])))
                direction = w[i].flatten()
                expected[rows[i]] += float(direction @ matrix @ direction)
    np.testing.assert_allclose(accountant.information().traces[:, 0], expected, rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize("virtual", [None, 4])
@pytest.mark.parametrize("mode", MODES)
def test_private_labels_are_accounted_for_beside_training(mode, virtual):
    """What a loop of one's own would have accounted for the same batches at the same weights."""
    chances = F.one_hot(LABELS, 3).double()
    bare = Run(mode, None, labels=chances).train(epochs=1, virtual=virtual)
    run = Run(mode, 2, labels=chances, accountant={"label": "private"})
    twin = network()
    own = seepage.network.FisherAccountant(
        twin, nn.CrossEntropyLoss(), ids=range(PEOPLE), probes=2, label="private", seed=0
    )
    batches = []
    announced = run.accountant._attachment.announce
    run.accountant._attachment.announce = lambda rows, batch: (batches.append(rows), announced(rows, batch))[1]
    rate = run.accountant._attachment.rate

    def observed(*_):
        twin.load_state_dict(run.model.state_dict())
        rows = np.concatenate(batches)
        own.observe((IMAGES[rows], chances[rows]), rows, **OPTIONS, sample_rate=rate)
        batches.clear()

    if virtual is None:
        pre_step = run.optimizer.pre_step
        run.optimizer.pre_step = lambda closure=None: (observed(), pre_step(closure))[1]
    run.train(epochs=1, virtual=virtual)
    torch.testing.assert_close(run.weights, bare.weights, rtol=0, atol=1e-13)
    ours = run.accountant.leakage()
    assert ours.information.sizes.sum() == 36 + 3
    if virtual is None:
        np.testing.assert_allclose(ours.information.traces, own.leakage().information.traces, rtol=1e-8)


@pytest.mark.parametrize("mode", MODES)
def test_smooth_clipping_is_what_training_uses_then(mode):
    run = Run(mode, 1, accountant={"clipping": "smooth"}, noise_multiplier=1e-9, poisson_sampling=False)
    start = run.weights
    x, y = next(iter(run.loader))
    examples = explicit.published(network(), F.cross_entropy, x, y, "smooth", OPTIONS["max_grad_norm"])
    run.loss(run.module(x), y).backward()
    run.optimizer.step()
    total = torch.stack([e.gradient for e in examples]).sum(0) / 10
    torch.testing.assert_close((start - run.weights) / 0.05, total, rtol=1e-6, atol=1e-8)


def test_opacus_is_told_that_smooth_clipping_lets_longer_gradients_through():
    run = Run("hooks", 1, accountant={"clipping": "smooth"}).train(epochs=1)
    (noise, _, steps), *_ = run.engine.accountant.history
    assert noise == pytest.approx(OPTIONS["noise_multiplier"] / SmoothClipping.bound)
    assert steps == 4


def test_arithmetic_on_the_loss_of_ghost_mode_takes_two_passes_and_gives_the_same():
    bare = Run("ghost", None).train(scale=1.0)
    run = Run("ghost", 1).train(scale=1.0)
    torch.testing.assert_close(run.weights, bare.weights, rtol=0, atol=1e-13)
    assert (run.accountant.leakage().examples["dfil"] > 0).any()


def test_credit_for_sampling_is_given_to_recognized_poisson_sampling_only():
    poisson = Run("hooks", 1).train().accountant.leakage()
    assert "Opacus's Poisson sampler" in " ".join(poisson.assumptions)
    taken = poisson.examples[poisson.examples["steps"] > 0]
    assert (taken["dfil"] < 0.9 * taken["dfil_unamplified"]).all()
    shuffled = Run("hooks", 1, poisson_sampling=False).train().accountant.leakage()
    assert "factor 1" in " ".join(shuffled.assumptions)
    np.testing.assert_array_equal(shuffled.examples["dfil"], shuffled.examples["dfil_unamplified"])
    seeded = PoissonSampler(PEOPLE, sample_rate=0.25, steps=5, seed=0)
    known = Run("hooks", 1, batch_sampler=seeded).train(epochs=1).accountant.leakage()
    assert "known seed" in " ".join(known.assumptions)
    np.testing.assert_array_equal(known.examples["dfil"], known.examples["dfil_unamplified"])


# Opacus's functorch mode cannot take an empty batch.
@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_our_sampler_keeps_its_rate_and_its_empty_batches(mode):
    sampler = PoissonSampler(PEOPLE, sample_rate=0.03, steps=30)
    run = Run(mode, 1, batch_sampler=sampler).train(epochs=1)
    assert run.accountant.steps == 30
    assert run.engine.accountant.history == [(0.8, 0.03, 30)]
    assert run.optimizer.expected_batch_size == pytest.approx(1.2)
    assert any("Poisson sampling" in sentence for sentence in run.accountant.leakage().assumptions)


def test_gradients_that_are_thrown_away_are_not_counted():
    run = Run("hooks", 1, poisson_sampling=False)
    batches = iter(run.loader)
    for taken in (True, False, True):
        x, y = next(batches)
        run.loss(run.module(x), y).backward()
        if taken:
            run.optimizer.step()
        run.optimizer.zero_grad()
    assert run.accountant.steps == 2
    assert run.accountant.leakage().examples["steps"].sum() == 20


def test_accumulated_batches_are_one_step():
    run = Run("hooks", 1, poisson_sampling=False)
    bare = Run("hooks", None, poisson_sampling=False)
    for each in (run, bare):
        for i, (x, y) in enumerate(each.loader):
            each.loss(each.module(x), y).backward()
            if i % 2:
                each.optimizer.step()
                each.optimizer.zero_grad()
    assert run.accountant.steps == 2
    torch.testing.assert_close(run.weights, bare.weights, rtol=0, atol=1e-13)
    assert run.accountant.leakage().examples["steps"].tolist() == [1.0] * PEOPLE


def test_clearing_gradients_between_forward_and_backward_changes_nothing():
    found = []
    for late in (False, True):
        run = Run("hooks", 1)
        for x, y in run.loader:
            if not late:
                run.optimizer.zero_grad()
            loss = run.loss(run.module(x), y)
            if late:
                run.optimizer.zero_grad()
            loss.backward()
            run.optimizer.step()
        found.append(run.accountant.leakage().examples["dfil"])
    np.testing.assert_array_equal(*found)


def test_evaluation_is_not_accounted_for():
    run = Run("hooks", 1).train(epochs=1)
    run.module.eval()
    run.module(IMAGES)
    run.module.train()
    with torch.no_grad():
        run.module(IMAGES)
    assert run.accountant.steps == 4
    run.train(epochs=1)


@pytest.mark.filterwarnings("ignore:Optimal order is the largest alpha")
def test_a_target_epsilon_chooses_the_noise():
    model = network()
    accountant = seepage.network.FisherAccountant(model, nn.CrossEntropyLoss(), ids=range(PEOPLE))
    from opacus import PrivacyEngine

    _, optimizer, _ = accountant.attach(
        PrivacyEngine(accountant="rdp"),
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=DataLoader(TensorDataset(IMAGES, LABELS), batch_size=10),
        target_epsilon=5.0,
        target_delta=1e-5,
        epochs=1,
        max_grad_norm=1.0,
    )
    assert optimizer.noise_multiplier > 0.5


def test_the_renyi_bound_is_opacus_s_own_at_order_two():
    from opacus.accountants.analysis.rdp import compute_rdp

    accountant = Run("hooks", 1).train().accountant
    epsilon = float(compute_rdp(q=0.25, noise_multiplier=0.8, steps=8, orders=[2])[0])
    assert accountant.renyi_epsilon() == pytest.approx(epsilon, rel=1e-9)
    assert accountant.renyi_floor(value_range=2.0) == pytest.approx(1 / (np.exp(epsilon) - 1))


@pytest.mark.parametrize("clipping", ["hard", "smooth"])
def test_the_guarantee_beside_it_is_opacus_s_own(clipping):
    from opacus.accountants import RDPAccountant

    run = Run("hooks", 1, accountant={"clipping": clipping}).train()
    opacus = RDPAccountant()
    opacus.history = run.engine.accountant.history
    guarantee = run.accountant.information().guarantee(1e-5, None)
    assert guarantee.epsilon == pytest.approx(opacus.get_epsilon(1e-5), rel=1e-9)
    assert guarantee.renyi == run.accountant.renyi_epsilon()
