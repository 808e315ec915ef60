"""Ways of training that few use: a visit finds what finite differences find, or the way is refused."""

import differences
import numpy as np
import pytest
import torch
from differences import Perceptron, Watched, visited
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint
from torch.utils.data import TensorDataset

import seepage
from seepage.network import FisherAccountant, step_information
from seepage.network._clipping import Mechanism

COUNT = 12
torch.manual_seed(0)
X, Y = torch.randn(COUNT, 6).double(), torch.randint(0, 3, (COUNT,))
TOKENS = torch.randint(0, 10, (COUNT, 3))
DATA, LOSS = TensorDataset(X, Y), nn.CrossEntropyLoss()
CROSS_ENTROPY = differences.plain(F.cross_entropy)


def half(module, loss, batch):
    some = max(1, len(batch[0]) // 2)
    loss(module(batch[0])[:some], batch[1][:some]).backward()


def stepping(loss):
    def step(run, batch):
        run.optimizer.zero_grad()
        loss(run.module, run.loss, batch)
        run.optimizer.step()

    return step


@pytest.mark.parametrize("mode", ["hooks", "functorch"])
def test_a_loss_of_half_the_batch_is_refused(mode):
    with pytest.raises(seepage.errors.InputError, match="not those of the loss"):
        Watched(Perceptron, DATA, LOSS, mode=mode).train(stepping(half))


def test_made_up_records_in_place_of_nobody_are_refused():
    with pytest.raises(seepage.errors.UnsupportedError, match="rand_on_empty"):
        Watched(Perceptron, DATA, LOSS, rand_on_empty=True)


def skipping(run):
    turns = iter(range(1000))

    def step(run, batch):
        run.optimizer.zero_grad()
        run.optimizer.signal_skip_step(next(turns) % 2 == 0)
        run.loss(run.module(batch[0]), batch[1]).backward()
        run.optimizer.step()

    return run.train(step)


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_secret_batches_added_up_behind_opacus_s_back_are_refused(mode):
    with pytest.raises(seepage.errors.UnsupportedError, match="adds up several batches"):
        skipping(Watched(Perceptron, DATA, LOSS, mode=mode, batch_size=3))


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_known_batches_added_up_by_skipped_steps_all_count(mode):
    run = skipping(Watched(Perceptron, DATA, LOSS, mode=mode, batch_size=3, poisson_sampling=False))
    run.check(CROSS_ENTROPY)
    assert run.accountant.steps == 6
    assert run.accountant.leakage().examples["steps"].tolist() == [3.0] * COUNT


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.c = nn.EmbeddingBag(10, 4), nn.Linear(4, 3)
        self.e.requires_grad_(False)

    def forward(self, tokens):
        return self.c(torch.tanh(self.e(tokens)))


def moved_bag(model, values, record):
    return F.cross_entropy(model.c(torch.tanh(values[0])), record[-1])


@pytest.mark.filterwarnings("ignore:The model looks up tokens")
@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_a_frozen_bag_of_embeddings(mode):
    run = Watched(Bag, TensorDataset(TOKENS, Y), LOSS, mode=mode, accountant={"private": {0: None}}).train()
    assert "embedding e (4)" in " ".join(run.accountant.leakage().assumptions)
    data, table = TensorDataset(TOKENS, Y), lambda model, record: [model.e(record[0]).detach()]
    visited(Bag, data, moved_bag, table, private={0: None})


class OneHot(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Linear(30, 3)

    def forward(self, tokens):
        return self.c(F.one_hot(tokens, 10).double().flatten(1))


def test_integers_made_one_hot_inside_the_network_are_refused():
    with pytest.raises(seepage.errors.UnsupportedError, match=r"Integers enter the network \(input 0\)"):
        Watched(OneHot, TensorDataset(TOKENS, Y), LOSS).train()
    with pytest.raises(seepage.errors.UnsupportedError, match="no embedding looks that up"):
        Watched(OneHot, TensorDataset(TOKENS, Y), LOSS, accountant={"private": {0: None}}).train()


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = torch.tanh(self.a(x))
        return self.c(checkpoint(lambda z: torch.tanh(self.b(z)), x, use_reentrant=False))


def test_layers_that_are_run_again_in_the_backward_pass_are_refused():
    with pytest.raises(seepage.errors.UnsupportedError, match="checkpoint"):
        visited(Checkpointed, DATA)


def normed():
    return nn.Sequential(parametrizations.weight_norm(nn.Linear(6, 8)), nn.Tanh(), nn.Linear(8, 3))


@pytest.mark.parametrize("mode", ["hooks", "functorch"])
def test_weights_that_are_computed_from_others(mode):
    Watched(normed, DATA, LOSS, mode=mode, epochs=2).train().check(CROSS_ENTROPY)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_compiled_network():
    def compiled():
        return torch.compile(Perceptron(), backend="eager")

    Watched(compiled, DATA, LOSS, epochs=2).train().check(CROSS_ENTROPY)


class Mixed(nn.Module):
    """Layers of different precision; the oracle computes in double precision throughout."""

    def __init__(self, precise=False):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3).double()
        if precise:
            self.a.double()

    def to(self, dtype):
        return self

    def forward(self, x):
        return self.b(torch.tanh(self.a(x.to(self.a.weight.dtype))).double())


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_layers_of_different_precision(mode):
    data = TensorDataset(X.float(), Y)
    run = Watched(Mixed, data, LOSS, mode=mode, epochs=2).train()
    run.make, run.data = (lambda: Mixed(precise=True)), TensorDataset(X.float().double(), Y)
    run.check(CROSS_ENTROPY, rtol=1e-4)


def test_a_network_in_half_precision_is_near():
    precise = Watched(Perceptron, TensorDataset(X.bfloat16().double(), Y), LOSS).train()
    run = Watched(Perceptron, TensorDataset(X.bfloat16(), Y), LOSS, dtype=torch.bfloat16).train()
    found, expected = (r.accountant.leakage().examples["dfil"].mean() for r in (run, precise))
    assert found == pytest.approx(expected, rel=0.1)


class Kept(nn.Module):
    """Dropout that keeps what it drew."""

    def __init__(self):
        super().__init__()
        self.mask = None

    def forward(self, x):
        self.mask = (torch.rand(x.shape) > 0.3).to(x.dtype) / 0.7
        return x * self.mask


class Again(nn.Module):
    def forward(self, x):
        return x * self.mask


@pytest.mark.parametrize("clipping", ["hard", "smooth"])
def test_a_visit_with_dropout_is_that_of_the_masks_it_drew(clipping):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), Kept(), nn.Linear(8, 3)).double()
    accountant = FisherAccountant(model, LOSS, ids=range(COUNT), label="public", clipping=clipping, seed=0)
    w = torch.randint(0, 2, X.shape).double() * 2 - 1
    products = accountant._run.probe.products((X, Y), lambda name, values: w)
    mask = accountant._run.probe.carrier.network[2].mask
    found = Mechanism(clipping=clipping, max_grad_norm=0.5, noise_multiplier=0.9, sample_rate=0.3).information(
        products
    )[0]
    fixed = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), Again(), nn.Linear(8, 3)).double()
    fixed.load_state_dict(model.state_dict())
    for i in range(COUNT):
        some = slice(i, i + 1)
        fixed[2].mask = mask[some].detach()
        (expected,) = differences.information(
            fixed, CROSS_ENTROPY, [X[some]], [X[some], Y[some]], [[w[some]]], bound=0.5, scale=0.45, rate=0.3,
            clipping=clipping,
        )  # fmt: skip
        assert found[i] == pytest.approx(expected, rel=1e-6)


class Tempered(nn.Module):
    """A network with a temperature and a drop rate that training changes, as plain attributes."""

    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(6, 8), nn.Dropout(0.0), nn.Linear(8, 3)
        self.temperature = 1.0

    def forward(self, x):
        return self.last(self.drop(torch.tanh(self.first(x)))) / self.temperature


def test_visits_follow_plain_attributes():
    """All that changes is the temperature; a single value is measured as it is."""
    model, true = Tempered().double(), 0.0
    mechanism = Mechanism(noise_multiplier=1.0, max_grad_norm=100.0)
    groups = {f"column {j}": [j] for j in range(5)}
    accountant = FisherAccountant(model, LOSS, ids=range(COUNT), label="public", groups=groups)
    accountant.watch(DATA, steps=4)
    for _ in range(4):
        true = true + step_information(model, LOSS, (X, Y), mechanism=mechanism, label="public").trace
        model.temperature *= 2.0
        accountant.step(noise_multiplier=1.0, max_grad_norm=100.0, sample_rate=None, batch=range(COUNT))
    np.testing.assert_allclose(accountant.information().traces.sum(1), true, rtol=1e-6)


@pytest.mark.parametrize("settings", [{"probes": 2}, {"label": "private"}])
def test_another_loss_than_training_s_is_refused_whatever_is_asked_for(settings):
    target = F.one_hot(Y, 3).double() if settings.get("label") == "private" else Y
    run = Watched(Perceptron, TensorDataset(X, target), LOSS, accountant=settings)
    with pytest.raises(seepage.errors.InputError, match="not those of the loss"):
        run.train(stepping(lambda module, loss, b: F.cross_entropy(module(b[0]), b[1], label_smoothing=0.9).backward()))


class Text(nn.Module):
    def __init__(self, size, frozen):
        super().__init__()
        self.e, self.c = nn.Embedding(10, 4), nn.Linear(4, 3)
        self.e.weight.data *= size
        self.e.requires_grad_(not frozen)

    def forward(self, tokens):
        return self.c(torch.tanh(self.e(tokens)).mean(1))


def token_distances(size, frozen):
    """How far a gradient really moves with another token in the second place, over what the information says."""
    torch.manual_seed(0)
    model = Text(size, frozen).double()
    accountant = FisherAccountant(model, LOSS, ids=range(COUNT), label="public", private={0: None}, seed=0)
    accountant.watch(TensorDataset(TOKENS, Y), steps=2)
    accountant.step(noise_multiplier=0.9, max_grad_norm=0.5, sample_rate=0.5)
    others = TOKENS.clone()
    others[:, 1] = (others[:, 1] + 1) % 10
    between = (model.e(others) - model.e(TOKENS)).detach()
    products = accountant._run.probe.products((TOKENS, Y), lambda name, held: between)
    said = Mechanism(clipping="hard", max_grad_norm=0.5, noise_multiplier=0.9, sample_rate=None).information(products)[
        0
    ]

    def published(tokens, i):
        return differences.clipped(differences.gradient(model, CROSS_ENTROPY, [tokens[i : i + 1]], [Y[i : i + 1]]), 0.5)

    real = [float((published(others, i) - published(TOKENS, i)).norm()) / 0.45 for i in range(COUNT)]
    return np.array(real) / np.sqrt(said), " ".join(accountant.leakage().assumptions)


@pytest.mark.filterwarnings("ignore:The model looks up tokens")
def test_another_token_moves_a_gradient_as_far_as_the_information_says_where_embeddings_are_frozen():
    found, _ = token_distances(1e-3, frozen=True)
    np.testing.assert_allclose(found, 1.0, rtol=0.01)


@pytest.mark.filterwarnings("ignore:The model looks up tokens")
def test_a_trained_embedding_shows_its_tokens_by_the_rows_that_move_and_the_result_says_so():
    found, said = token_distances(1e-3, frozen=False)
    assert found.min() > 10
    assert "by which rows of it move: that is not in the numbers" in said


@pytest.mark.parametrize("left_out", [1, 10, 30])
def test_people_in_no_batch_are_known_to_have_given_nothing_away_and_all_else_is_answered(left_out, tmp_path):
    torch.manual_seed(0)
    x, y, people = torch.randn(40, 6), torch.randint(0, 3, (40,)), 40 - left_out
    accountant = FisherAccountant(Perceptron(), LOSS, ids=range(40), label="public", seed=0)
    accountant.watch(TensorDataset(x, y), steps=3)
    for _ in range(3):
        accountant.step(noise_multiplier=1.0, max_grad_norm=1.0, sample_rate=None, batch=range(people))
    leak = accountant.leakage()
    floors = np.asarray(leak.error_floor(), dtype=float)
    assert np.isfinite(floors[:people]).all()
    assert np.isinf(floors[people:]).all()
    assert leak.examples["steps"].tolist() == [3.0] * people + [0.0] * left_out
    assert str(leak.summary())
    seepage.Report.of(leak, "internal").write_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 0


def test_secret_batches_leave_nobody_without_information_however_few_were_drawn():
    torch.manual_seed(0)
    accountant = FisherAccountant(Perceptron().double(), LOSS, ids=range(COUNT), label="public", seed=0)
    accountant.watch(DATA, steps=3)
    for _ in range(3):
        accountant.step(noise_multiplier=1.0, max_grad_norm=1.0, sample_rate=0.01)
    leak = accountant.leakage()
    assert (leak.examples["dfil"] > 0).all()
    assert np.isfinite(np.asarray(leak.error_floor(), dtype=float)).all()


def evaluating_layers(layers):
    """Steps after the first with the network in evaluation mode, its layers in training mode or not."""

    def step(run, batch):
        if run.accountant.steps:
            run.module.eval()
            for layer in run.module._module:
                layer.train(layers)
        Watched._ordinary(run, batch)

    return step


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_a_network_in_evaluation_mode_whose_layers_are_trained(mode):
    run = Watched(Perceptron, DATA, LOSS, mode=mode, epochs=2).train(evaluating_layers(True))
    assert run.accountant.steps == 2 * len(run.loader)
    run.check(CROSS_ENTROPY)


def test_opacus_refuses_layers_in_evaluation_mode():
    with pytest.raises(IndexError, match="pop from empty list"):
        Watched(Perceptron, DATA, LOSS).train(evaluating_layers(False))
