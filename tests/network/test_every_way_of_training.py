"""Ways of training with Opacus: a visit finds what finite differences find, or the way is refused by name."""

import copy
import io
from collections import UserDict

import differences
import numpy as np
import pytest
import torch
from differences import Perceptron, Watched, visited
from opacus import PrivacyEngine
from opacus.schedulers import ExponentialGradClip, ExponentialNoise
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, TensorDataset

import seepage
from seepage.network import FisherAccountant, step_information
from seepage.network._clipping import Mechanism

COUNT = 12
torch.manual_seed(0)
X, OTHER = torch.randn(COUNT, 6).double(), torch.randn(COUNT, 4).double()
Y, NUMBERS, BITS = torch.randint(0, 3, (COUNT,)), torch.randn(COUNT, 3).double(), (torch.rand(COUNT, 3) > 0.5).double()
TOKENS = torch.randint(0, 10, (COUNT, 3))
DATA = TensorDataset(X, Y)
LOSS = nn.CrossEntropyLoss()
CROSS_ENTROPY = differences.plain(F.cross_entropy)
WEIGHT = torch.tensor([0.2, 1.0, 4.0]).double()


class Focal(nn.Module):
    def __init__(self, detached=False):
        super().__init__()
        self.detached = detached

    def forward(self, output, target):
        log = output.log_softmax(1).gather(1, target[:, None])[:, 0]
        chance = log.exp().detach() if self.detached else log.exp()
        return (-((1 - chance) ** 2) * log).mean()


SUM = {"loss_reduction": "sum"}
LOSSES = {
    "mean": (LOSS, F.cross_entropy, Y, {}),
    "sum": (nn.CrossEntropyLoss(reduction="sum"), F.cross_entropy, Y, SUM),
    "label smoothing": (
        nn.CrossEntropyLoss(label_smoothing=0.1), lambda o, y: F.cross_entropy(o, y, label_smoothing=0.1), Y, {},
    ),
    "weighted sum": (
        nn.CrossEntropyLoss(weight=WEIGHT, reduction="sum"),
        lambda o, y: F.cross_entropy(o, y, weight=WEIGHT, reduction="sum"), Y, SUM,
    ),
    "several bits": (nn.BCEWithLogitsLoss(), F.binary_cross_entropy_with_logits, BITS, {}),
    "squares": (nn.MSELoss(), F.mse_loss, NUMBERS, {}),
    "sum of squares": (nn.MSELoss(reduction="sum"), lambda o, y: F.mse_loss(o, y, reduction="sum"), NUMBERS, SUM),
    "Huber": (nn.HuberLoss(), F.huber_loss, NUMBERS, {}),
    "smooth L1": (nn.SmoothL1Loss(), F.smooth_l1_loss, NUMBERS, {}),
    "absolute": (nn.L1Loss(), F.l1_loss, NUMBERS, {}),
    "negative log likelihood": (nn.NLLLoss(), F.nll_loss, Y, {}),
    "Kullback-Leibler": (
        nn.KLDivLoss(reduction="batchmean"), lambda o, y: F.kl_div(o, y, reduction="sum"), NUMBERS.softmax(1), {},
    ),
    "Poisson": (nn.PoissonNLLLoss(), F.poisson_nll_loss, NUMBERS.abs(), {}),
    "of one's own making": (Focal(), Focal(), Y, {}),
    "a sum of one's own making": (
        lambda o, y: F.cross_entropy(o, y, reduction="sum"), F.cross_entropy, Y, SUM,
    ),
    "of one's own making, partly detached": (Focal(True), Focal(True), Y, {}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:The model has kinks")
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    loss, function, target, options = LOSSES[name]
    Watched(Perceptron, TensorDataset(X, target), loss, epochs=2, **options).train().check(differences.plain(function))


def test_a_weighted_mean_that_the_accountant_was_not_told_of_is_refused():
    with pytest.raises(seepage.errors.InputError, match="weighted mean over the batch"):
        Watched(Perceptron, DATA, nn.CrossEntropyLoss(weight=WEIGHT), told=LOSS).train()


class Squeezed(nn.Module):
    """One output, whose axis is dropped: of one person alone, that of people too."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.inner(x).squeeze()


@pytest.mark.parametrize(
    ("loss", "target", "function"),
    [
        (nn.BCEWithLogitsLoss(), BITS[:, 0], F.binary_cross_entropy_with_logits),
        (nn.MSELoss(), NUMBERS[:, 0], F.mse_loss),
    ],
    ids=["bits", "numbers"],
)
def test_outputs_that_lose_the_axis_of_people_where_there_is_one(loss, target, function):
    run = Watched(
        Squeezed, TensorDataset(X, target), loss, epochs=2, sampling={"shuffle": True}, poisson_sampling=False
    )
    run.train().check(differences.plain(lambda output, target: function(output.reshape(1), target)))


def stepping(loss):
    def step(run, batch):
        run.optimizer.zero_grad()
        loss(run, batch).backward()
        run.optimizer.step()

    return step


def half(run, batch):
    some = max(1, len(batch[0]) // 2)
    return run.loss(run.module(batch[0])[:some], batch[1][:some])


HALF = "of half the batch"
WRONG = {
    "a twentieth": lambda run, batch: 0.05 * run.loss(run.module(batch[0]), batch[1]),
    "three times": lambda run, batch: 3.0 * run.loss(run.module(batch[0]), batch[1]),
    HALF: half,
}


# Ghost mode takes no loss of a part of its batch.
@pytest.mark.parametrize(
    ("name", "mode"), [(n, m) for n in WRONG for m in ("hooks", "functorch", "ghost") if (n, m) != (HALF, "ghost")]
)
def test_a_loss_that_is_not_that_of_training_is_refused(name, mode):
    with pytest.raises(seepage.errors.InputError, match="not those of the loss"):
        Watched(Perceptron, DATA, LOSS, mode=mode).train(stepping(WRONG[name]))


def contrastive(run, batch):
    x, y = batch
    if len(x) < 2:
        return run.module(x).sum() * 0
    z = F.normalize(run.module(x), dim=1)
    near = z @ z.T / 0.5 - 1e3 * torch.eye(len(x)).double()
    same = (y[:, None] == y[None]) & ~torch.eye(len(x)).bool()
    return -(near.log_softmax(1) * same).sum(1).mean()


MIXING = {
    "a loss between people": contrastive,
    "mixup": lambda run, b: LOSS(run.module(0.6 * b[0] + 0.4 * b[0][torch.randperm(len(b[0]))]), b[1]),
    "two passes": lambda run, b: LOSS(run.module(b[0]), b[1]) + LOSS(run.module(b[0] + 0.5), b[1]),
    "augmented by the loop": lambda run, b: LOSS(run.module(b[0] + 0.3 * torch.randn_like(b[0])), b[1]),
}


@pytest.mark.parametrize("name", MIXING)
def test_people_mixed_by_the_training_loop_are_refused(name):
    with pytest.raises((seepage.errors.InputError, ValueError), match=r"not those of the loss|accumul|Poisson"):
        Watched(Perceptron, DATA, LOSS).train(stepping(MIXING[name]))


class Centered(nn.Module):
    def __init__(self, pair=False, dropout=0.0):
        super().__init__()
        self.inner, self.pair, self.dropout = Perceptron(), pair, nn.Dropout(dropout)

    def forward(self, x):
        found = self.inner(self.dropout(x) - x.mean(0))
        return (found, found) if self.pair else found


@pytest.mark.parametrize("pair", [False, True])
def test_statistics_over_the_batch_are_refused(pair):
    settings = {"forward": lambda model, batch: (model(batch[0])[0], batch[1])} if pair else {}
    run = Watched(lambda: Centered(pair), DATA, LOSS, accountant=settings)
    with pytest.raises(seepage.errors.UnsupportedError, match="other examples in the batch"):
        run.train(stepping(lambda run, b: LOSS(run.module(b[0])[0] if pair else run.module(b[0]), b[1])))


class Frozen(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how, self.body, self.head = how, nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 3)
        self.body.requires_grad_(False)

    def forward(self, x):
        if self.how == "inference":
            with torch.inference_mode():
                found = self.body(x)
            return self.head(found.clone())
        if self.how.startswith("no_grad"):
            with torch.no_grad():
                found = self.body(x)
        else:
            found = self.body(x)
        if self.how == "data":
            return self.head(found.data)
        return self.head(found.detach() if "detach" in self.how else found)


@pytest.mark.filterwarnings("ignore:The model has kinks")
def test_a_frozen_backbone_with_batch_norm_in_evaluation_is_seen_through():
    """As it is fine-tuned: in training mode but for its batch norm, of which nothing is trained."""

    class Backbone(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 5)).requires_grad_(
                False
            )
            self.head = nn.Linear(5, 3)
            generator = torch.Generator().manual_seed(1)
            self.body[1].running_mean.copy_(torch.randn(8, generator=generator))
            self.body[1].running_var.copy_(torch.rand(8, generator=generator) + 0.5)
            self.train()

        def forward(self, x):
            return self.head(self.body(x))

        def train(self, mode=True):
            super().train(mode)
            self.body[1].eval()
            return self

    run = Watched(Backbone, DATA, LOSS, epochs=2)
    run.train().check(CROSS_ENTROPY)
    run.model.body[1].train()
    with pytest.raises(seepage.errors.UnsupportedError, match="again after each train"):
        run.train()


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
@pytest.mark.parametrize("how", ["plain", "no_grad", "no_grad, detach", "detach", "data"])
def test_a_frozen_backbone_is_seen_through(how, mode):
    Watched(lambda: Frozen(how), DATA, LOSS, mode=mode, epochs=2).train().check(CROSS_ENTROPY)


def test_networks_that_hide_the_input_from_derivatives_are_refused():
    with pytest.raises((seepage.errors.UnsupportedError, RuntimeError), match=r"derivatives|[Ii]nference"):
        Watched(lambda: Frozen("inference"), DATA, LOSS).train()


class Before(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.inner = function, Perceptron()

    def forward(self, x):
        return self.inner(self.function(x))


ROUNDED = {
    "binarized": lambda x: (x > 0.5).double(),
    "rounded": lambda x: torch.round(8 * x) / 8,
    "signs": torch.sign,
}


@pytest.mark.filterwarnings("ignore:The model has kinks")
@pytest.mark.parametrize("name", ROUNDED)
def test_an_input_that_is_rounded_is_refused(name):
    with pytest.raises(seepage.errors.UnsupportedError, match="does not move with the input at all"):
        Watched(lambda: Before(ROUNDED[name]), DATA, LOSS).train()


KINKED = {
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "amax": lambda x: x - x.amax(1, keepdim=True),
    "sort": lambda x: x.sort(1).values,
    "maximum": lambda x: torch.maximum(x, torch.full_like(x, 0.1)),
}


@pytest.mark.parametrize("name", KINKED)
def test_kinks_in_what_comes_before_are_said(name):
    run = Watched(lambda: Before(KINKED[name]), DATA, LOSS, epochs=2)
    with pytest.warns(UserWarning, match=rf"kinks \(.*{name}"):
        run.train()
    run.check(CROSS_ENTROPY)
    assert any(name in sentence for sentence in run.accountant.leakage().assumptions)


@pytest.mark.parametrize(
    ("of", "trained", "error", "reason"),
    [
        (slice(None), 2, seepage.errors.UnsupportedError, r"does not hold '0\.weight'"),
        (0, slice(None), seepage.errors.InputError, "a part of model="),
        (2, slice(None), seepage.errors.InputError, "a part of model="),
    ],
)
def test_an_optimizer_or_an_accountant_of_a_part_is_refused(of, trained, error, reason):
    model = nn.Sequential(*Perceptron())
    accountant = seepage.network.FisherAccountant(
        model if of == slice(None) else model[of], LOSS, ids=range(COUNT), label="public"
    )
    with pytest.raises(error, match=reason):
        accountant.attach(
            PrivacyEngine(), model=model, optimizer=torch.optim.SGD(model[trained].parameters(), lr=0.1),
            data_loader=DataLoader(DATA, batch_size=6), epochs=1, noise_multiplier=1.0, max_grad_norm=1.0,
        )  # fmt: skip


def late(run, batch):
    loss = run.loss(run.module(batch[0]), batch[1])
    run.optimizer.zero_grad()
    loss.backward()
    run.optimizer.step()


def after(run, batch):
    run.loss(run.module(batch[0]), batch[1]).backward()
    run.optimizer.step()
    run.optimizer.zero_grad()


def evaluating(run, batch):
    run.optimizer.zero_grad()
    run.module.eval()
    with torch.no_grad():
        run.module(X)
    run.module.train()
    loss = run.loss(run.module(batch[0]), batch[1])
    loss.backward()
    run.optimizer.step()


def permuted(run, batch):
    order = torch.randperm(len(batch[0]))
    Watched._ordinary(run, [batch[0][order], batch[1][order]])


def around(run, batch):
    run.optimizer.zero_grad()
    inner = run.module._module
    run.loss(inner[2](inner[1](inner[0](batch[0]))), batch[1]).backward()
    run.optimizer.step()


LOOPS = {
    "gradients cleared late": late, "cleared after": after,
    "evaluation in between": evaluating, "batches permuted": permuted, "layers called by hand": around,
}  # fmt: skip


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name, mode):
    run = Watched(Perceptron, DATA, LOSS, mode=mode, epochs=2)
    if name == "gradients cleared late" and mode == "ghost":
        pytest.skip("Opacus's ghost mode keeps what its passes found in the gradients.")
    run.train(LOOPS[name]).check(CROSS_ENTROPY)
    assert run.accountant.steps == 2 * len(run.loader)


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_batches_that_no_step_followed_are_not_counted(mode):
    run = Watched(Perceptron, DATA, LOSS, mode=mode, epochs=4)
    turns = iter(range(1000))

    def every_other(run, batch):
        run.optimizer.zero_grad()
        run.loss(run.module(batch[0]), batch[1]).backward()
        if next(turns) % 2:
            run.optimizer.step()

    run.train(every_other)
    assert run.accountant.steps == 4
    run.accountant.leakage()
    run.check(CROSS_ENTROPY)


def in_parts(run, epochs=1, enough=lambda: False):
    """Train on batches in parts, and leave after the part with which there were enough."""
    with BatchMemoryManager(data_loader=run.loader, max_physical_batch_size=3, optimizer=run.optimizer) as loader:
        for _ in range(epochs):
            for batch in loader:
                Watched._ordinary(run, batch)
                if enough():
                    return


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_loaders_left_early_with_batches_in_parts(mode):
    """A look at the first batch, or a loader left where a batch ends, is no part of any later step."""
    run = Watched(Perceptron, DATA, LOSS, mode=mode, epochs=3)
    next(iter(run.loader))
    in_parts(run)
    for _ in range(2):
        next(iter(run.loader))
    in_parts(run, enough=lambda: run.accountant.steps == 3)
    in_parts(run)
    assert run.accountant.steps == 5
    run.check(CROSS_ENTROPY)


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
@pytest.mark.parametrize("drawn", [False, True])
def test_parts_of_a_batch_that_enter_the_step_of_the_next_are_refused(drawn, mode):
    """Left in the middle, Opacus keeps the sum; left with a part in hand, it takes the next part for that one."""
    run = Watched(Perceptron, DATA, LOSS, mode=mode, batch_size=12)
    with BatchMemoryManager(data_loader=run.loader, max_physical_batch_size=3, optimizer=run.optimizer) as loader:
        parts = iter(loader)
        Watched._ordinary(run, next(parts))
        if drawn:
            next(parts)
    with pytest.raises(seepage.errors.UnsupportedError, match="leave its loader only where a batch ends"):
        in_parts(run, epochs=2)


def test_loaders_that_run_ahead_with_batches_in_parts():
    run = Watched(Perceptron, DATA, LOSS, epochs=2)
    for _ in range(2):
        with BatchMemoryManager(data_loader=run.loader, max_physical_batch_size=3, optimizer=run.optimizer) as loader:
            for batch in look_ahead(loader):
                Watched._ordinary(run, batch)
    run.check(CROSS_ENTROPY)


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_batches_that_are_often_empty(mode):
    run = Watched(Perceptron, DATA, LOSS, mode=mode, epochs=2, batch_size=1)
    run.train().check(CROSS_ENTROPY)


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
@pytest.mark.parametrize("what", ["noise", "bound", "both"])
def test_schedulers_change_the_mechanism_of_a_step(what, mode):
    run = Watched(Perceptron, DATA, LOSS, mode=mode, epochs=3)
    schedulers = [torch.optim.lr_scheduler.StepLR(run.optimizer.original_optimizer, 1, 0.9)]
    if what != "bound":
        schedulers.append(ExponentialNoise(run.optimizer, gamma=0.7))
    if what != "noise":
        schedulers.append(ExponentialGradClip(run.optimizer, gamma=0.8))

    def step(run, batch):
        Watched._ordinary(run, batch)
        for scheduler in schedulers:
            scheduler.step()

    run.train(step).check(CROSS_ENTROPY)
    assert len({mechanism.noise_scale for mechanism in run.steps}) == 6
    clipped = {mechanism.max_grad_norm for mechanism in run.steps}
    # Opacus's ghost mode clips to the norm it was given, whatever its optimizer's scheduler says.
    assert len(clipped) == (1 if what == "noise" or mode == "ghost" else 6)


def test_param_groups_and_adam():
    Watched(
        Perceptron, DATA, LOSS, epochs=2,
        optimizer=lambda p, lr: torch.optim.Adam([{"params": p[:2], "lr": 1e-2}, {"params": p[2:]}], lr=lr),
    ).train().check(CROSS_ENTROPY)  # fmt: skip


@pytest.mark.parametrize("poisson", [False, True])
def test_accumulated_batches_are_one_step(poisson):
    run = Watched(Perceptron, DATA, LOSS, epochs=4, batch_size=3, poisson_sampling=poisson)
    run.module.allow_grad_accumulation()
    turns = iter(range(1000))

    def accumulating(run, batch):
        if len(batch[0]):
            run.loss(run.module(batch[0]), batch[1]).backward()
            if next(turns) % 2:
                run.optimizer.step()
                run.optimizer.zero_grad()

    run.train(accumulating)
    assert run.accountant.steps >= 7
    if poisson:
        assert {mechanism.batches for mechanism in run.steps} == {2}
        assert run.engine.accountant.history[-1][1] == pytest.approx(0.5)
    else:
        run.check(CROSS_ENTROPY)
    run.accountant.leakage()


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 5), nn.Linear(4, 5), nn.Linear(10, 3)

    def forward(self, x, z=None):
        return self.c(torch.tanh(torch.cat([self.a(x), self.b(z)], 1)))


CALLS = {
    "by place": lambda run, b: run.module(b[0], b[1]),
    "one by name": lambda run, b: run.module(b[0], z=b[1]),
    "all by name": lambda run, b: run.module(x=b[0], z=b[1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_several_inputs_all_count(name):
    run = Watched(Both, TensorDataset(X, OTHER, Y), LOSS, epochs=2)
    run.train(stepping(lambda run, b: LOSS(CALLS[name](run, b), b[2])))
    run.check(CROSS_ENTROPY, lambda record: record[:2])
    assert run.accountant.information().sizes[0].sum() == 10
    assert any("input 0 (6), input 1 (4)" in sentence for sentence in run.accountant.leakage().assumptions)


class Encoding(UserDict):
    """A mapping of its own, with attributes, as tokenizers return it; PyTorch does not know what is in it."""

    def __getattr__(self, name):
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(name) from None


class FromEncoding(Both):
    def forward(self, encoding):
        return super().forward(encoding.x, encoding["z"])


def packed(records):
    x, z, y = torch.utils.data.default_collate(records)
    return Encoding(x=x, z=z), y


@pytest.mark.parametrize("way", ["by name", "as it is"])
def test_batches_in_mappings_that_pytorch_does_not_know(way):
    def loss(model, values, record):
        return F.cross_entropy(model(Encoding(x=values[0], z=values[1])), record[-1])

    def split(model, values, record):
        return F.cross_entropy(model(*values), record[-1])

    by_name = way == "by name"
    run = Watched(
        Both if by_name else FromEncoding, TensorDataset(X, OTHER, Y), LOSS, epochs=2, sampling={"collate_fn": packed},
        accountant={"forward": lambda model, batch: (model(**batch[0]) if by_name else model(batch[0]), batch[1])},
        poisson_sampling=False,
    )  # fmt: skip
    run.train(stepping(lambda run, b: LOSS(run.module(**b[0]) if by_name else run.module(b[0]), b[1])))
    run.check(split if by_name else loss, lambda record: record[:2])
    assert run.accountant.information().sizes[0].sum() == 10


class HuggingFace(nn.Module):
    def __init__(self, frozen=False):
        super().__init__()
        self.e, self.c = nn.Embedding(10, 4), nn.Linear(4, 3)
        self.e.requires_grad_(not frozen)

    def forward(self, input_ids=None, labels=None):
        logits = self.c(torch.tanh(self.e(input_ids)).mean(1))
        return {"loss": None if labels is None else F.cross_entropy(logits, labels), "logits": logits}


class Texts(Dataset):
    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return {"input_ids": TOKENS[index], "labels": Y[index]}


def moved_tokens(model, values, record):
    """The loss with the looked-up values moved by hand, the table's gradient staying with the tokens."""
    table = model.e(record[0])
    return F.cross_entropy(model.c(torch.tanh(table + values[0] - table.detach()).mean(1)), record[1])


@pytest.mark.filterwarnings("ignore:The model looks up tokens")
@pytest.mark.parametrize("frozen", [False, True])
def test_keyword_calls_and_embeddings(frozen, monkeypatch):
    def forward(model, batch):
        return model(input_ids=batch["input_ids"])["logits"], batch["labels"]

    run = Watched(lambda: HuggingFace(frozen), Texts(), LOSS, epochs=2,
                  accountant={"forward": forward, "private": {"input_ids": None}})  # fmt: skip
    run.train(stepping(lambda run, b: run.module(**b)["loss"]))
    # The oracle needs the table of the step to know where the values are.
    original = differences.information

    def with_table(model, loss, values, record, *args, **kwargs):
        return original(model, loss, [model.e(record[0]).detach()], record, *args, **kwargs)

    monkeypatch.setattr(differences, "information", with_table)
    run.check(moved_tokens, lambda record: [None])
    sentences = " ".join(run.accountant.leakage().assumptions)
    assert "embedding e (12)" in sentences
    assert "outputs of the embedding" in sentences


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.ModuleList([nn.Embedding(10, 4) for _ in range(3)])
        self.n, self.c = nn.Linear(6, 4), nn.Linear(16, 3)

    def forward(self, t, x):
        return self.c(torch.tanh(torch.cat([e(t[:, i]) for i, e in enumerate(self.e)] + [self.n(x)], 1)))


@pytest.mark.filterwarnings("ignore:The model looks up tokens")
def test_a_table_of_numbers_and_categories():
    run = Watched(Table, TensorDataset(TOKENS, X, Y), LOSS, epochs=2, accountant={"private": {0: None}}).train()
    assert run.accountant.information().sizes[0].sum() == 6 + 3 * 4


class Bytes(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Perceptron()

    def forward(self, x):
        return self.inner(x.double() / 255)


def test_integers_that_no_embedding_looks_up_are_refused():
    data = TensorDataset(torch.randint(0, 255, (COUNT, 6), dtype=torch.uint8), Y)
    with pytest.raises(seepage.errors.UnsupportedError, match="divide images by 255 in the data set"):
        Watched(Bytes, data, LOSS).train()


class Augmented(Dataset):
    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return X[index] + 0.1 * torch.randn(6).double(), Y[index]


def test_random_augmentation_is_said():
    run = Watched(Perceptron, Augmented(), LOSS).train()
    assert any("random augmentation" in sentence for sentence in run.accountant.leakage().assumptions)


def dropped():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 3))


def test_dropout_is_said_and_a_wrong_loss_is_seen_all_the_same():
    run = Watched(dropped, DATA, LOSS).train()
    assert any("dropout" in sentence for sentence in run.accountant.leakage().assumptions)
    assert (run.accountant.leakage().examples["dfil"] > 0).all()
    with pytest.raises(seepage.errors.InputError, match="not those of the loss"):
        Watched(dropped, DATA, LOSS).train(stepping(lambda run, b: 0.05 * LOSS(run.module(b[0]), b[1])))


class Lengths(Dataset):
    def __init__(self):
        self.items = [torch.randn(2 + i % 3, 6).double() for i in range(COUNT)]

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return self.items[index], Y[index]


def padded(items):
    if not items:
        return [torch.zeros(0, 3, 6).double(), torch.zeros(0, dtype=torch.long)]
    x = nn.utils.rnn.pad_sequence([a for a, _ in items], batch_first=True)
    return [x, torch.stack([y for _, y in items])]


class Pooled(nn.Module):
    def __init__(self, masked):
        super().__init__()
        self.a, self.c, self.masked = nn.Linear(6, 4), nn.Linear(4, 3), masked

    def forward(self, x):
        found = torch.tanh(self.a(x))
        if not self.masked:
            return self.c(found.mean(1))
        real = (x.abs().sum(2, keepdim=True) > 0).double()
        return self.c((found * real).sum(1) / real.sum(1))


@pytest.mark.filterwarnings("ignore:The model has kinks")
def test_sequences_count_as_long_as_they_are():
    run = Watched(lambda: Pooled(True), Lengths(), LOSS, sampling={"collate_fn": padded}, epochs=2)
    run.train().check(CROSS_ENTROPY)
    assert run.accountant.information().sizes[:, 0].tolist() == [6.0 * (2 + i % 3) for i in range(COUNT)]


def test_padding_that_is_not_masked_is_refused():
    with pytest.raises(seepage.errors.InputError, match="padding that is not masked"):
        Watched(lambda: Pooled(False), Lengths(), LOSS, sampling={"collate_fn": padded}, epochs=5).train()


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_lower_precision_is_noticed_and_visits_compute_in_that_of_the_weights(mode):
    run = Watched(Perceptron, TensorDataset(X.float(), Y), LOSS, mode=mode, dtype=torch.float32)

    def autocast(run, batch):
        run.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = run.loss(run.module(batch[0]), batch[1])
        loss.backward()
        run.optimizer.step()

    run.train(autocast)
    assert any("lower precision" in sentence for sentence in run.accountant.leakage().assumptions)
    assert (run.accountant.leakage().examples["dfil"] > 0).all()


def test_workers():
    run = Watched(Perceptron, DATA, LOSS, epochs=2, sampling={"num_workers": 2})
    run.train().check(CROSS_ENTROPY)


def look_ahead(loader):
    batches = iter(loader)
    coming = next(batches)
    for batch in batches:
        yield coming
        coming = batch
    yield coming


@pytest.mark.parametrize("poisson", [False, True])
def test_loaders_that_run_ahead(poisson):
    run = Watched(Perceptron, DATA, LOSS, epochs=2, poisson_sampling=poisson)
    loader = run.loader
    for _ in range(2):
        for batch in look_ahead(loader):
            Watched._ordinary(run, batch)
    run.check(CROSS_ENTROPY)
    if not poisson:
        assert run.accountant.leakage().examples["steps"].tolist() == [2.0] * COUNT


def test_batches_used_again_are_refused_where_it_matters_who_is_in_them():
    run = Watched(Perceptron, DATA, LOSS, epochs=3, poisson_sampling=False)
    batches = list(run.loader)
    for _ in range(3):
        for batch in batches:
            Watched._ordinary(run, batch)
    with pytest.raises(seepage.errors.UnansweredError, match="used more than once"):
        run.accountant.leakage()


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_copies_of_the_network_and_saved_states(mode):
    run = Watched(Perceptron, DATA, LOSS, mode=mode, epochs=2)
    turns = iter(range(100))

    def copying(run, batch):
        Watched._ordinary(run, batch)
        if next(turns) == 1:
            copy.deepcopy(run.model)

    run.train(copying).check(CROSS_ENTROPY)
    file = io.BytesIO()
    torch.save({"accountant": run.accountant.state_dict()}, file)
    file.seek(0)
    state = torch.load(file)["accountant"]
    again = Watched(Perceptron, DATA, LOSS, mode=mode, epochs=2)
    again.engine.accountant.history = list(run.engine.accountant.history)
    again.accountant.load_state_dict(state)
    np.testing.assert_array_equal(again.accountant.information().traces, run.accountant.information().traces)


def test_an_error_in_the_middle_of_a_step_leaves_nothing_behind():
    run = Watched(Perceptron, DATA, LOSS, epochs=2)
    with pytest.raises(RuntimeError):
        run.train(stepping(lambda run, b: F.cross_entropy(run.module(b[0]), b[1].float())))
    from torch.autograd import forward_ad
    from torch.overrides import _get_current_function_mode

    assert _get_current_function_mode() is None
    assert forward_ad._current_level == -1
    assert torch.func.jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))[1] == 1
    fresh = Watched(Perceptron, DATA, LOSS, epochs=2)
    fresh.train().check(CROSS_ENTROPY)


def test_after_detaching_training_goes_on_alone_and_another_accountant_may_come():
    run = Watched(Perceptron, DATA, LOSS, epochs=1).train()
    run.accountant.detach()
    before = run.accountant.leakage().examples
    run.train()
    np.testing.assert_array_equal(run.accountant.leakage().examples, before)
    model = run.model
    model.train()
    LOSS(model(X), Y)


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
        run.train(stepping(lambda run, b: F.cross_entropy(run.module(b[0]), b[1], label_smoothing=0.9)))


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
