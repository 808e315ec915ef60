"""What cannot be accounted for is refused, with the reason and the way out."""

import subprocess
import sys

import pytest
import torch
from opacus import PrivacyEngine
from runs import IMAGES, LABELS, PEOPLE, Run, attached, network
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset, WeightedRandomSampler

import seepage
from seepage.network import FisherAccountant, patches, susceptibility

LOSS = nn.CrossEntropyLoss()
OBSERVED = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "sample_rate": None}
X, Y = torch.randn(3, 4), torch.tensor([0, 1, 1])
THREE = {"ids": range(3), "label": "public"}


def observe(accountant, ids=(0, 1, 2), x=X, **changed):
    accountant.watch(TensorDataset(x, Y), steps=2)
    for _ in range(2):
        accountant.step(batch=ids, **{**OBSERVED, **changed})


class First(nn.Module):
    def forward(self, pair):
        return pair[0]


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 2))

    def forward(self, x):
        return x @ self.weight, x


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), "mixes the examples of a batch"),
        (nn.Sequential(nn.Conv1d(1, 2, 2), nn.InstanceNorm1d(2, track_running_stats=True)), "running statistics"),
        (nn.Sequential(nn.LSTM(4, 2)), "opacus.layers.DPLSTM"),
        (nn.Sequential(nn.Tanh()), "no trained parameters"),
    ],
)
def test_networks(model, reason):
    with pytest.raises(seepage.errors.UnsupportedError, match=reason):
        FisherAccountant(model, LOSS, **THREE)


def test_a_layer_that_returns_a_tuple():
    accountant = FisherAccountant(nn.Sequential(Pair(), First(), nn.Linear(2, 2)), LOSS, **THREE)
    with pytest.raises(seepage.errors.UnsupportedError, match="returns a tuple"):
        observe(accountant)


def test_kinks_are_warned_of_once():
    with pytest.warns(UserWarning, match=r"kinks \(MaxPool1d, ReLU\)") as caught:
        accountant = FisherAccountant(
            nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.MaxPool1d(2), nn.Linear(2, 2)), LOSS, **THREE
        )
    assert len(caught) == 1
    observe(accountant)


def test_tokens_are_warned_of_once():
    model = nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(8, 2))
    with pytest.warns(UserWarning, match=r"looks up tokens") as caught:
        FisherAccountant(model, LOSS, **THREE)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"probes": 0}, "probes"),
        ({"probes": "many"}, "probes"),
        ({"probes": 0.5}, "probes"),
        ({"sweeps": 0}, "sweeps"),
        ({"people": 4}, "between 1 and the 3"),
        ({"people": [7]}, "nobody called 7"),
        ({"clipping": "soft"}, "'soft'"),
        ({"label": "secret"}, "'secret'"),
        ({"groups": {}}, "names no group"),
        ({"ids": []}, "ids"),
    ],
)
def test_settings(settings, reason):
    with pytest.raises(seepage.errors.InputError, match=reason):
        FisherAccountant(nn.Linear(4, 2), LOSS, **{**THREE, **settings})


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ({"a": [0, 1], "b": [1]}, "overlap"),
        ({"a": [7]}, "of 4"),
        ({"a": torch.ones(3, 3) > 0}, "mask of shape"),
        ({"a": [0.5]}, "column numbers"),
    ],
)
def test_groups(groups, reason):
    accountant = FisherAccountant(nn.Linear(4, 2), LOSS, **THREE, groups=groups)
    with pytest.raises(seepage.errors.InputError, match=reason):
        observe(accountant)


@pytest.mark.parametrize(
    ("ids", "changed", "reason"),
    [
        (None, {}, "give batch="),
        ([0, 1, 9], {}, "nobody called 9"),
        ([0, 1, 2], {"noise_multiplier": 0.0}, "infinite"),
        ([0, 1, 2], {"max_grad_norm": -1.0}, "max_grad_norm"),
        ([0, 1, 2], {"sample_rate": 2.0}, "sample_rate"),
    ],
)
def test_observations(ids, changed, reason):
    accountant = FisherAccountant(nn.Linear(4, 2), LOSS, **THREE)
    with pytest.raises(seepage.errors.InputError, match=reason):
        observe(accountant, ids, **changed)


def test_steps_without_watching_and_steps_of_two_kinds():
    accountant = FisherAccountant(nn.Linear(4, 2), LOSS, **THREE)
    with pytest.raises(seepage.errors.InputError, match="watch"):
        accountant.step(**OBSERVED)
    observe(accountant)
    with pytest.raises(seepage.errors.InputError, match="or none"):
        accountant.step(**{**OBSERVED, "sample_rate": 0.5})
    with pytest.raises(seepage.errors.InputError, match="attached already"):
        accountant.watch(TensorDataset(X, Y), steps=2)
    with pytest.raises(seepage.errors.InputError, match="2 examples, but ids names 3"):
        FisherAccountant(nn.Linear(4, 2), LOSS, **THREE).watch(TensorDataset(X[:2], Y[:2]), steps=2)


def test_the_label_has_no_default():
    with pytest.raises(TypeError, match="label"):
        FisherAccountant(nn.Linear(4, 2), LOSS, ids=range(3))


def test_batches_that_do_not_say_what_the_target_is():
    accountant = FisherAccountant(nn.Linear(4, 2), LOSS, **THREE)
    with pytest.raises(seepage.errors.InputError, match="forward="):
        accountant.watch([{"a": x, "b": y} for x, y in zip(X, Y, strict=True)], steps=2)


def test_a_loss_that_gives_no_value_for_each_example():
    accountant = FisherAccountant(nn.Linear(4, 2), lambda out, y: out.mean(0), **THREE)
    with pytest.raises(seepage.errors.InputError, match="one value for each example"):
        observe(accountant)


def test_private_labels_that_cannot_move():
    accountant = FisherAccountant(nn.Linear(4, 2), LOSS, ids=range(3), label="private")
    with pytest.raises(seepage.errors.UnsupportedError, match="one_hot"):
        observe(accountant)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"noise_multiplier": 1.0}, "max_grad_norm"),
        ({"max_grad_norm": 1.0}, "noise_multiplier"),
        ({"max_grad_norm": 1.0, "noise_multiplier": 0.0}, "infinite"),
        ({"max_grad_norm": 1.0, "noise_multiplier": 1.0, "grad_sample_mode": "ew"}, "'ew'"),
        ({"max_grad_norm": 1.0, "noise_multiplier": 1.0, "clipping": "per_layer"}, "per_layer"),
        ({"max_grad_norm": 1.0, "noise_multiplier": 1.0, "batch_first": False}, "batch_first"),
    ],
)
def test_ways_of_training(options, reason):
    model = network()
    accountant = FisherAccountant(model, LOSS, ids=range(PEOPLE), label="public")
    with pytest.raises((seepage.errors.InputError, seepage.errors.UnsupportedError), match=reason):
        attached(accountant, model, DataLoader(TensorDataset(IMAGES, LABELS), batch_size=10), **options)


def test_another_network_or_another_data_set():
    model = network()
    accountant = FisherAccountant(model, LOSS, ids=range(5), label="public")
    loader = DataLoader(TensorDataset(IMAGES, LABELS), batch_size=10)
    for given, reason in ((model, "40 examples, but ids names 5"), (network(), "another network")):
        with pytest.raises(seepage.errors.InputError, match=reason):
            attached(accountant, given, loader, noise_multiplier=1.0, max_grad_norm=1.0)


def test_attaching_twice():
    run = Run("hooks")
    with pytest.raises(seepage.errors.InputError, match="attached already"):
        run.accountant.attach(run.engine, model=run.model, optimizer=run.optimizer, data_loader=run.loader, epochs=1)


def test_training_that_is_private_already():
    model, loader = network(), DataLoader(TensorDataset(IMAGES, LABELS), batch_size=8)
    engine, accountant = PrivacyEngine(), FisherAccountant(model, LOSS, ids=range(PEOPLE), label="public")
    privacy = {"noise_multiplier": 1.0, "max_grad_norm": 1.0}
    wrapped, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=loader, **privacy
    )
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    for given, steps in ((wrapped, optimizer), (model, optimizer), (wrapped, plain)):
        with pytest.raises(seepage.errors.InputError, match="attach calls make_private itself"):
            accountant.attach(engine, model=given, optimizer=steps, data_loader=loader, epochs=1, **privacy)


def test_nothing_is_reported_before_training_nor_about_sets_of_people():
    run = Run("hooks")
    with pytest.raises(seepage.errors.UnansweredError, match="No step"):
        run.accountant.leakage()
    leakage = run.train(epochs=1).accountant.leakage()
    with pytest.raises(seepage.errors.UnansweredError, match="joint"):
        leakage.joint_information_loss()
    with pytest.raises(seepage.errors.UnansweredError, match="derivatives"):
        leakage.information.distances("all values", None)
    assert "estimated" in leakage.summary()
    assert isinstance(leakage.information, seepage.leakage.Information)


def test_a_stated_variance_is_that_of_a_gaussian():
    accountant = FisherAccountant(nn.Sequential(nn.Linear(4, 2)), LOSS, **THREE)
    observe(accountant)
    leak = accountant.leakage()
    (name,) = leak.attributes
    floors, eta = leak.error_floor(prior={name: 4.0})[name], leak.attributes[name]
    assert floors.to_numpy() == pytest.approx((eta**2 + 0.25).to_numpy() ** -0.5)


def test_synchronizing_without_a_process_group():
    with pytest.raises(seepage.errors.InputError, match="process group"):
        Run("hooks").accountant.synchronize()


def test_patches_of_no_size():
    with pytest.raises(seepage.errors.InputError, match="size"):
        patches((4, 4), 0)


def test_susceptibility_of_what_cannot_move():
    with pytest.raises(seepage.errors.UnsupportedError, match="floating-point"):
        susceptibility(nn.Linear(4, 2), LOSS, torch.ones(2, 4).long(), LABELS[:2], noise_scale=None, max_grad_norm=None)
    with pytest.raises(seepage.errors.InputError, match="noise_scale"):
        susceptibility(nn.Linear(4, 2), LOSS, torch.ones(2, 4), LABELS[:2], noise_scale=0.0, max_grad_norm=None)


def test_a_missing_extra_is_named():
    code = (
        "import sys; sys.modules['opacus'] = None\n"
        "import seepage\n"
        "try:\n    seepage.network\n"
        "except seepage.errors.MissingExtraError as error:\n    assert 'seepage[torch]' in str(error), error\n"
        "else:\n    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_plan_says_cost_and_memory_beforehand():
    plan = FisherAccountant(network(), LOSS, ids=range(1000), label="public").plan(steps=1000, batch_size=50)
    assert plan.bytes == 8 * 1000 * 4 * 5
    assert plan.cost == pytest.approx(1 + 1.6 * 4000 / 50000)
    assert "1.1 times the work" in str(plan)
    assert "160 kB" in str(plan)


def test_plan_knows_that_training_few_parameters_is_cheap_beside_a_visit():
    model = network()
    for parameter in list(model.parameters())[:-1]:
        parameter.requires_grad_(False)
    share = list(model.parameters())[-1].numel() / sum(p.numel() for p in model.parameters())
    plan = FisherAccountant(model, LOSS, ids=range(1000), label="public").plan(steps=1000, batch_size=50)
    assert plan.cost == pytest.approx(1 + 3.2 / (1 + share) * 4000 / 50000)


@pytest.mark.parametrize("mode", ["hooks", "functorch", "ghost"])
@pytest.mark.parametrize("trained", [False, True])
def test_a_layer_frozen_or_unfrozen_during_training_is_refused(mode, trained):
    def build():
        model = network()
        model[0].requires_grad_(not trained)
        return model

    run = Run(mode, build=build).train(epochs=1)
    run.model[0].requires_grad_(trained)
    before = run.weights
    with pytest.raises(seepage.errors.UnsupportedError, match=r"'0\.weight', '0\.bias' has changed.*a run of its own"):
        run.train(epochs=1)
    # Nothing was published, and what came before is still answered for.
    assert torch.equal(run.weights, before)
    assert run.accountant.steps == 4
    assert (run.accountant.leakage().examples["dfil"] > 0).all()


def test_a_layer_frozen_after_its_batch_was_drawn_is_refused():
    run = Run("hooks")
    x, y = next(iter(run.loader))
    run.loss(run.module(x), y).backward()
    run.model[5].requires_grad_(False)
    with pytest.raises(seepage.errors.UnsupportedError, match=r"'5\.weight', '5\.bias' has changed"):
        run.optimizer.step()


def test_a_layer_frozen_in_a_loop_of_one_s_own_or_between_runs_is_refused():
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    accountant = FisherAccountant(model, LOSS, **THREE)
    observe(accountant)
    model[0].requires_grad_(False)
    with pytest.raises(seepage.errors.UnsupportedError, match=r"'0\.weight', '0\.bias' has changed"):
        accountant.step(batch=[0, 1, 2], **OBSERVED)
    later = FisherAccountant(model, LOSS, **THREE)
    with pytest.raises(seepage.errors.InputError, match="another trained parameters"):
        later.load_state_dict(accountant.state_dict())


def test_noise_from_a_generator_that_was_handed_in_is_refused():
    with pytest.raises(seepage.errors.InputError, match=r"its seed is 5\).*Leave noise_generator out\.$"):
        Run("hooks", noise_generator=torch.Generator().manual_seed(5))
    run = Run("hooks")
    run.optimizer.generator = torch.Generator().manual_seed(6)
    with pytest.raises(seepage.errors.InputError, match=r"its seed is 6\)"):
        run.train()
    said = " ".join(Run("hooks").train().accountant.leakage().assumptions)
    assert "whoever knows its seed (torch.manual_seed) or state takes the noise away" in said


class Twice(torch.utils.data.Sampler):
    def __iter__(self):
        yield [0, 0, 1]

    def __len__(self):
        return 1


@pytest.mark.parametrize(
    ("sampling", "reason"),
    [
        ({"sampler": WeightedRandomSampler([1.0] * 3, 3), "batch_size": 3}, "WeightedRandomSampler draws with"),
        ({"sampler": RandomSampler(range(3), replacement=True), "batch_size": 3}, "RandomSampler draws with"),
        ({"batch_sampler": Twice()}, "in one step twice"),
    ],
)
def test_a_sampler_that_draws_a_record_twice(sampling, reason):
    """Its gradient is published twice: that is four times the information, and was counted as two."""
    model, data = nn.Linear(4, 2), TensorDataset(X, Y)
    accountant = FisherAccountant(model, LOSS, **THREE)

    options = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "poisson_sampling": False}
    with pytest.raises(seepage.errors.UnsupportedError, match=reason):
        list(attached(accountant, model, DataLoader(data, **sampling), **options)[-1])


def test_a_person_whose_numbers_overflow_misses_every_target():
    torch.manual_seed(0)
    x, y = torch.randn(20, 2), torch.randint(0, 2, (20,))
    x[3, 1] = 1e20
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
    accountant = FisherAccountant(
        model, LOSS, ids=range(20), label="public", groups={"a": [0], "b": [1]}, categories={"label": [0, 1]},
        sweeps=2, seed=0,
    )  # fmt: skip
    accountant.watch(TensorDataset(x, y), steps=4)
    for _ in range(4):
        accountant.step(batch=range(20), **OBSERVED)
    leak = accountant.leakage()
    floors = leak.error_floor()
    assert floors.min().tolist() == [0, 0]
    assert (floors.drop(index=3) > 0).all(axis=None)
    missed = seepage.Policy(error_floor={"a": 0.01, "b": 0.01}, eta=1e9).violations(leak)
    assert {target.attribute for target in missed} == {"a", "b", None}
    assert any("1 people are too large" in sentence for sentence in leak.assumptions)
