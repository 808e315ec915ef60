"""Real training with Opacus, in every mode: untouched, and accounted for."""

import copy
import io

import explicit
import numpy as np
import pytest
import torch
from opacus import PrivacyEngine
from runs import IMAGES, LABELS, OPTIONS, PEOPLE, Run, attached, network
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

import seepage
from seepage.network import PoissonSampler
from seepage.network._amplification import replacement_divergence
from seepage.network._clipping import SmoothClipping

MODES = ["hooks", "functorch", "ghost"]


@pytest.mark.parametrize("virtual", [None, 4])
@pytest.mark.parametrize("mode", MODES)
def test_training_is_what_it_would_have_been_bit_by_bit(mode, virtual):
    bare = Run(mode, None).train(virtual=virtual)
    run = Run(mode).train(virtual=virtual)
    assert torch.equal(run.weights, bare.weights)
    assert run.engine.accountant.history == bare.engine.accountant.history
    assert run.accountant.steps == 8
    assert run.engine.get_epsilon(1e-5) == bare.engine.get_epsilon(1e-5)


def dropping():
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 5), nn.Dropout(0.3), nn.Tanh(), nn.Linear(5, 3)).double()


def test_random_numbers_of_training_are_left_alone():
    bare, run = (Run("hooks", sweeps, build=dropping).train() for sweeps in (None, 4))
    assert torch.equal(run.weights, bare.weights)


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_a_network_that_opacus_does_not_wrap(mode):
    found = []
    for sweeps in (None, 4):
        run = Run(mode, sweeps, wrap_model=False, epochs=1)
        for x, y in run.loader:
            run.optimizer.zero_grad()
            run.loss(run.model(x), y).backward()
            run.optimizer.step()
        found.append(run.weights)
    assert torch.equal(*found)
    assert (run.accountant.leakage().examples["dfil"] > 0).all()


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.Adagrad])
def test_any_optimizer(make):
    assert torch.equal(Run("hooks", make=make).train().weights, Run("hooks", None, make=make).train().weights)


@pytest.mark.parametrize("mode", MODES)
def test_smooth_clipping_is_what_training_uses_then(mode):
    run = Run(mode, accountant={"clipping": "smooth"}, noise_multiplier=1e-9, poisson_sampling=False)
    start = run.weights
    x, y = next(iter(run.loader))
    examples = explicit.published(network(), F.cross_entropy, x, y, "smooth", OPTIONS["max_grad_norm"])
    run.loss(run.module(x), y).backward()
    run.optimizer.step()
    total = torch.stack([e.gradient for e in examples]).sum(0) / 10
    torch.testing.assert_close((start - run.weights) / 0.05, total, rtol=1e-6, atol=1e-8)


def test_opacus_is_told_that_smooth_clipping_lets_longer_gradients_through():
    run = Run("hooks", accountant={"clipping": "smooth"}).train(epochs=1)
    (noise, _, steps), *_ = run.engine.accountant.history
    assert noise == pytest.approx(OPTIONS["noise_multiplier"] / SmoothClipping.bound)
    assert steps == 4


def test_arithmetic_on_the_loss_of_ghost_mode():
    bare = Run("ghost", None).train(scale=1.0)
    run = Run("ghost").train(scale=1.0)
    assert torch.equal(run.weights, bare.weights)
    assert (run.accountant.leakage().examples["dfil"] > 0).all()


def test_private_labels_are_accounted_for():
    chances = F.one_hot(LABELS, 3).double()
    bare = Run("hooks", None, labels=chances).train()
    run = Run("hooks", labels=chances, accountant={"label": "private"}).train()
    assert torch.equal(run.weights, bare.weights)
    assert run.accountant.information().sizes[0].sum() == 36 + 3


def test_credit_for_sampling_is_given_to_recognized_poisson_sampling_only():
    poisson = Run("hooks").train().accountant.leakage()
    assert "Opacus's Poisson sampler" in " ".join(poisson.assumptions)
    assert (poisson.examples["dfil"] < 0.9 * poisson.examples["dfil_unamplified"]).all()
    assert (poisson.examples["steps"] == 8).all()
    shuffled = Run("hooks", poisson_sampling=False).train().accountant.leakage()
    assert "factor 1" in " ".join(shuffled.assumptions)
    assert (shuffled.examples["steps"] == 2).all()
    seeded = PoissonSampler(PEOPLE, sample_rate=0.25, steps=5, seed=0)
    known = Run("hooks", batch_sampler=seeded, epochs=1).train(epochs=1).accountant.leakage()
    assert "known seed" in " ".join(known.assumptions)
    drawn = np.zeros(PEOPLE)
    for batch in PoissonSampler(PEOPLE, sample_rate=0.25, steps=5, seed=0):
        drawn[batch] += 1
    np.testing.assert_array_equal(known.examples["steps"], drawn)


def test_a_generator_of_the_user_s_earns_no_secrecy():
    model = network()
    accountant = seepage.network.FisherAccountant(model, nn.CrossEntropyLoss(), ids=range(PEOPLE), label="public")

    generator = torch.Generator().manual_seed(3)
    loader = DataLoader(TensorDataset(IMAGES, LABELS), batch_size=10, generator=generator)
    module, optimizer, loader = attached(accountant, model, loader, **OPTIONS)
    for x, y in loader:
        optimizer.zero_grad()
        nn.CrossEntropyLoss()(module(x), y).backward()
        optimizer.step()
    assert "known seed" in " ".join(accountant.leakage().assumptions)


# Opacus's functorch mode cannot take an empty batch.
@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_our_sampler_keeps_its_rate_and_its_empty_batches(mode):
    sampler = PoissonSampler(PEOPLE, sample_rate=0.03, steps=30)
    run = Run(mode, batch_sampler=sampler, epochs=1).train(epochs=1)
    assert run.accountant.steps == 30
    assert run.engine.accountant.history == [(0.8, 0.03, 30)]
    assert run.optimizer.expected_batch_size == pytest.approx(1.2)
    assert any("Poisson sampling" in sentence for sentence in run.accountant.leakage().assumptions)


def test_the_rate_that_opacus_books_is_compared_with_the_sampler_s():
    run = Run("hooks")
    run.accountant._attachment._before = run.engine.accountant.get_optimizer_hook_fn(sample_rate=0.1)
    with pytest.raises(
        seepage.errors.InputError, match=r"books a sampling rate of 0.1, but batches are drawn with 0.25"
    ):
        run.train()


def test_stopping_early_and_going_on_make_errors_wider_and_nothing_else():
    whole = Run("hooks", 4, epochs=8).train(epochs=8).accountant.leakage().examples
    early = Run("hooks", 4, epochs=24).train(epochs=8).accountant
    further = Run("hooks", 4, epochs=2).train(epochs=8).accountant
    assert any("ended before everybody was visited" in s for s in early.leakage().assumptions)
    relative = {}
    for name, examples in (("whole", whole), ("early", early.leakage().examples), ("on", further.leakage().examples)):
        assert examples["dfil"].mean() == pytest.approx(whole["dfil"].mean(), rel=0.15)
        relative[name] = float((examples["dfil_standard_error"] / examples["dfil"]).median())
    assert len(further.leakage().examples) == PEOPLE
    assert relative["early"] > relative["whole"]


def test_only_some_people_are_visited():
    run = Run("hooks", accountant={"people": 10}).train()
    leakage = run.accountant.leakage()
    assert len(leakage.examples) == 10
    assert any("30 people were not visited" in sentence for sentence in leakage.assumptions)
    named = Run("hooks", accountant={"people": [3, 5]}).train().accountant.leakage()
    assert list(named.examples.index) == [3, 5]


def test_the_cost_is_said_at_the_start(capsys):
    Run("hooks", epochs=2)
    assert "visit 40 people 4 times each in 8 steps: about 4.2 times the work" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Optimal order is the largest alpha")
def test_a_target_epsilon_chooses_the_noise():
    model = network()
    accountant = seepage.network.FisherAccountant(model, nn.CrossEntropyLoss(), ids=range(PEOPLE), label="public")
    loader = DataLoader(TensorDataset(IMAGES, LABELS), batch_size=10)
    privacy = {"target_epsilon": 5.0, "target_delta": 1e-5, "max_grad_norm": 1.0}
    _, optimizer, _ = attached(accountant, model, loader, engine=PrivacyEngine(accountant="rdp"), **privacy)
    assert optimizer.noise_multiplier > 0.5


@pytest.mark.parametrize("clipping", ["hard", "smooth"])
def test_the_guarantee_beside_it_is_opacus_s_own(clipping):
    from opacus.accountants import RDPAccountant

    run = Run("hooks", accountant={"clipping": clipping}).train()
    opacus = RDPAccountant()
    opacus.history = run.engine.accountant.history
    guarantee = run.accountant.information().guarantee(1e-5, None)
    assert guarantee.epsilon == pytest.approx(opacus.get_epsilon(1e-5), rel=1e-9)
    assert guarantee.renyi == run.accountant.renyi_epsilon()


def test_the_renyi_bound_is_that_of_replacing_a_record():
    accountant = Run("hooks").train().accountant
    epsilon = 8 * replacement_divergence(0.25, 0.8)
    assert accountant.renyi_epsilon() == pytest.approx(epsilon, rel=1e-9)
    assert accountant.renyi_floor(value_range=2.0) == pytest.approx(1 / (np.exp(epsilon) - 1))


def test_visits_come_before_the_batch_when_gradients_of_the_last_are_gone():
    run = Run("hooks")
    held, visit = [], run.accountant._run.look

    def noting(rows, batch):
        held.append(any(getattr(p, "grad_sample", None) is not None for p in run.model.parameters()))
        return visit(rows, batch)

    run.accountant._run.look = noting
    run.train()
    assert held
    assert not any(held)


def test_weights_that_change_before_the_step_are_visited_again():
    def trained(elsewhere):
        run = Run("hooks", sweeps=2, epochs=1, poisson_sampling=False, accountant={"batch_size": PEOPLE})
        if elsewhere:
            weights = run.weights
            nn.utils.vector_to_parameters(3 * weights, run.model.parameters())
            run.accountant._run.visit()
            assert run.accountant._run.pending
            nn.utils.vector_to_parameters(weights, run.model.parameters())
        torch.manual_seed(3)
        return run.train(1).accountant._run.state.table("visits")

    plain, moved = trained(False), trained(True)
    assert (plain["step"] == 0).any()
    for name, values in plain.items():
        np.testing.assert_array_equal(moved[name], values)


def test_a_saved_or_copied_network_knows_nothing_of_visits():
    run = Run("hooks").train(1)
    file = io.BytesIO()
    torch.save(run.model._forward_pre_hooks, file)
    file.seek(0)
    saved = torch.load(file, weights_only=False)
    visited = run.accountant._run.moment
    for hooks in (saved, copy.deepcopy(run.model)._forward_pre_hooks):
        (hook,) = hooks.values()
        hook(run.model, (IMAGES,))
        assert run.accountant._run.moment == visited


def test_only_a_network_that_is_being_trained_is_visited_early():
    run = Run("hooks").train(1)
    (hook,) = run.model._forward_pre_hooks.values()
    visited = run.accountant._run.moment
    with torch.no_grad():
        hook(run.model, (IMAGES,))
    hook(run.model.eval(), (IMAGES,))
    run.model.train()
    torch.func.vmap(lambda x: (hook(run.model, (x,)), x)[1])(IMAGES)
    assert run.accountant._run.moment == visited
    hook(run.model, (IMAGES,))
    assert run.accountant._run.moment != visited
    run.accountant.detach()
    assert not run.model._forward_pre_hooks


def test_ghost_mode_trains_with_the_loss_of_the_accountant():
    """Of outputs in a column as well, where Opacus by itself would mix the people of a batch."""
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    trained = []
    for mode in ("hooks", "ghost"):
        torch.manual_seed(1)
        model, loss = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), nn.MSELoss()
        accountant = seepage.network.FisherAccountant(model, loss, ids=range(8), label="public", seed=0)
        options = {"noise_multiplier": 0.1, "max_grad_norm": 0.3, "poisson_sampling": False, "grad_sample_mode": mode}
        module, optimizer, *criterion, loader = attached(accountant, model, DataLoader(data, batch_size=8), **options)
        torch.manual_seed(2)
        for x, y in loader:
            optimizer.zero_grad()
            (criterion or [loss])[0](module(x), y).backward()
            optimizer.step()
        assert (accountant.leakage().examples["dfil"] > 0).all()
        trained.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    torch.testing.assert_close(*trained)
