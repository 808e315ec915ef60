"""Losses of sequences, and the order of people by their loss traces."""

import differences
import numpy as np
import pytest
import torch
from runs import attached
from torch import nn
from torch.nn import functional as F  # noqa: N812

from seepage.errors import InputError, UnsupportedError
from seepage.network import FisherAccountant, exposure_order, mean_per_person

WORDS, WIDTH = 7, 3
torch.manual_seed(0)
LENGTHS = (5, 3, 4, 2)
REAL = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
TOKENS = torch.randint(1, WORDS, REAL.shape) * REAL
LABELS = TOKENS.masked_fill(~REAL, -100)
NAMES = ("input_ids", "attention_mask", "labels")
TEXTS = [dict(zip(NAMES, text, strict=True)) for text in zip(TOKENS, REAL.long(), LABELS, strict=True)]
STEP = {"noise_multiplier": 1.0, "max_grad_norm": 0.5, "sample_rate": None}
pytestmark = pytest.mark.filterwarnings("ignore:The model looks up tokens")


class Language(nn.Module):
    """Each word is predicted from the mean of those before it; the network knows the usual loss itself."""

    def __init__(self):
        super().__init__()
        self.word, self.last = nn.Embedding(WORDS, WIDTH).requires_grad_(False), nn.Linear(WIDTH, WORDS)

    def forward(self, input_ids, labels):
        logits = self.head(self.word(input_ids))
        return logits, F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())

    def head(self, looked):
        steps = torch.arange(1, looked.shape[1] + 1)[:, None]
        return self.last(torch.tanh(looked.cumsum(1) / steps))


def shifted(network, batch):
    return network(batch["input_ids"], batch["labels"])[0][:, :-1], batch["labels"][:, 1:]


def language():
    torch.manual_seed(1)
    return Language().double()


def watched(loss, forward, **settings):
    accountant = FisherAccountant(
        language(), loss, ids=range(4), label="public", private=["input_ids"], forward=forward, sweeps=1, seed=0,
        **settings,
    )  # fmt: skip
    accountant.watch(TEXTS, steps=1)
    accountant.step(batch=range(4), **STEP)
    return accountant.information()


def test_a_mean_per_person_is_the_mean_of_means():
    logits = torch.randn(4, 5, WORDS)
    each = [F.cross_entropy(logits[i, : LENGTHS[i]], LABELS[i, : LENGTHS[i]]) for i in range(4)]
    loss = mean_per_person(nn.CrossEntropyLoss())
    torch.testing.assert_close(loss(logits, LABELS), torch.stack(each).mean())
    loss.reduction = "none"
    torch.testing.assert_close(loss(logits, LABELS), torch.stack(each))
    assert loss(logits, torch.full_like(LABELS, -100)).tolist() == [0, 0, 0, 0]


def test_visits_to_texts_find_what_finite_differences_find():
    """In a hundred directions; the oracle takes each person alone, without padding."""
    model = language()

    def of_one(model, values, record):
        (labels,) = record
        return F.cross_entropy(model.head(values[0])[0, :-1], labels[0, 1:])

    found, exact = watched(mean_per_person(nn.CrossEntropyLoss()), shifted, probes=100), []
    for i, length in enumerate(LENGTHS):
        looked = model.word(TOKENS[i : i + 1, :length]).detach()
        moves = torch.eye(looked.numel()).double().view(-1, 1, 1, *looked.shape[1:])
        record = [LABELS[i : i + 1, :length]]
        exact.append(differences.information(model, of_one, [looked], record, moves, bound=0.5, scale=0.5).sum())
    np.testing.assert_allclose(found.traces.sum(1), exact, rtol=0.3)
    assert found.traces.sum() == pytest.approx(sum(exact), rel=0.1)


@pytest.mark.parametrize(
    ("loss", "forward"),
    [
        (lambda output, _: output, lambda net, b: (net(b["input_ids"], b["labels"])[1], b["labels"])),
        (lambda output, target: F.cross_entropy(output.flatten(0, 1), target.flatten()), shifted),
        (nn.CrossEntropyLoss(), lambda net, b: (shifted(net, b)[0].transpose(1, 2), b["labels"][:, 1:])),
    ],
    ids=["outputs.loss", "flattened", "transposed"],
)
def test_a_mean_over_the_tokens_of_the_batch_is_refused_with_the_line(loss, forward):
    with pytest.raises(InputError, match=r"tokens of all (4 )?people.*mean_per_person"):
        watched(loss, forward)


def test_integer_labels_that_are_private_are_refused_when_training_is_attached():
    """Before the first batch, with the line that helps."""
    data = torch.utils.data.TensorDataset(torch.randn(4, 3), torch.tensor([0, 1, 1, 0]))
    model = nn.Linear(3, 2)
    accountant = FisherAccountant(model, nn.CrossEntropyLoss(), ids=range(4), label="private")
    with pytest.raises(UnsupportedError, match=r"these are torch\.int64.*one_hot"):
        attached(accountant, model, torch.utils.data.DataLoader(data), noise_multiplier=1.0, max_grad_norm=1.0)


def test_people_are_ordered_by_the_spread_of_their_losses():
    losses = np.random.default_rng(0).gamma(1.0, 1.0, (12, 30)) * np.arange(1, 31)
    spread = [np.subtract(*np.percentile(column, [75, 25])) for column in losses.T]
    found = exposure_order(losses, ids=[f"p{i}" for i in range(30)])
    assert found["id"].tolist() == [f"p{i}" for i in np.argsort(spread)[::-1]]
    np.testing.assert_allclose(found["loss_spread"], np.sort(spread)[::-1])


@pytest.mark.parametrize(
    ("losses", "ids", "reason"),
    [
        (np.ones((3, 5)), None, "four or more"),
        (np.full((4, 5), np.nan), None, "finite"),
        (np.ones((4, 5)), [1], "names 1"),
    ],
)
def test_losses_that_make_no_order_are_refused(losses, ids, reason):
    with pytest.raises(InputError, match=reason):
        exposure_order(losses, ids=ids)
