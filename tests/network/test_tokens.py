"""Text: what is looked up for real tokens is private; padding, positions, token types and neighbors change nothing."""

import differences
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

import seepage
from seepage.network import FisherAccountant, step_information
from seepage.network._clipping import Mechanism
from seepage.network._probe import Probe

WIDTH, LONGEST, PAD = 3, 6, 1
LOSS = nn.CrossEntropyLoss()
BOUND, NOISE = 0.5, 0.9
STEP = {"noise_multiplier": NOISE, "max_grad_norm": BOUND, "sample_rate": None}
TEXT = {"input_ids": "attention_mask"}
pytestmark = pytest.mark.filterwarnings("ignore:The model looks up tokens")


class Encoder(nn.Module):
    """Words, positions and token types, one layer of attention, and the mean over real tokens."""

    def __init__(self, counted=False, whole=False):
        super().__init__()
        self.word, self.kind = nn.Embedding(20, WIDTH, padding_idx=PAD), nn.Embedding(2, WIDTH)
        self.place = nn.Embedding(LONGEST + 2, WIDTH)
        self.query, self.key, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)
        self.counted, self.scale = counted, nn.Parameter(torch.ones(WIDTH)) if whole else None

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.word(input_ids), input_ids, attention_mask, token_type_ids)

    def head(self, words, input_ids, attention_mask, token_type_ids):
        places = torch.arange(input_ids.shape[1]).expand_as(input_ids)
        if self.counted:
            # As RoBERTa has them: counted from the tokens themselves, and all alike for padding.
            real = input_ids != PAD
            places = real.long().cumsum(1) * real + PAD
        h = words + self.place(places) + self.kind(token_type_ids)
        if self.scale is not None:
            h = h * self.scale
        near = (self.query(h) @ self.key(h).transpose(1, 2)).masked_fill(attention_mask[:, None] == 0, -1e9)
        h = torch.tanh(near.softmax(2) @ h) * attention_mask[..., None]
        return self.last(h.sum(1) / attention_mask.sum(1, keepdim=True))


def built(**kind):
    torch.manual_seed(0)
    return Encoder(**kind).double()


def padded(tokens, label, length=LONGEST):
    more = length - len(tokens)
    return {
        "input_ids": torch.tensor([*tokens, *[PAD] * more]),
        "attention_mask": torch.tensor([1] * len(tokens) + [0] * more),
        "token_type_ids": torch.tensor([i % 2 for i in range(length)]),
        "labels": torch.tensor(label),
    }


ANN = [5, 9, 13, 7]
TEXTS = [ANN, [4, 8], [6, 6, 12, 15, 3, 17], [11, 2, 19], [14, 5, 10, 16, 9, 8]]


def accounted(model, data, private=TEXT, probes=1, **settings):
    accountant = FisherAccountant(
        model, LOSS, ids=range(len(data)), label="public", private=private, probes=probes, sweeps=1, seed=0, **settings
    )
    accountant.watch(data, steps=1, batch_size=len(data))
    accountant.step(batch=range(len(data)), **STEP)
    return accountant.information()


def traces(model, data):
    """What visits find, along each value by itself instead of in random directions."""
    probe = Probe(model, LOSS, private=TEXT)
    batch, mechanism = (
        torch.utils.data.default_collate(data),
        Mechanism(clipping="hard", max_grad_norm=BOUND, noise_multiplier=NOISE, sample_rate=None),
    )
    units = torch.eye(LONGEST * WIDTH, dtype=torch.float64).view(-1, LONGEST, WIDTH)
    return sum(mechanism.information(probe.products(batch, lambda _, v, w=w: w.expand_as(v)))[0] for w in units)


def exact(model, record):
    """The trace for one person, each value that was looked up for a real token moved by itself."""
    one = {name: value[None] for name, value in record.items()}
    words, count = model.word(one["input_ids"]).detach(), int(one["attention_mask"].sum())

    def loss(model, values, _):
        table = model.word(one["input_ids"])
        inputs = {name: one[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        return F.cross_entropy(model.head(table + values[0] - table.detach(), **inputs), one["labels"])

    units = torch.eye(words.numel(), dtype=torch.float64).view(-1, *words.shape)[: count * WIDTH]
    moves = [[unit] for unit in units]
    return differences.information(model, loss, [words], one, moves, bound=BOUND, scale=BOUND * NOISE).sum()


@pytest.mark.parametrize("kind", [{}, {"counted": True}], ids=["plain", "RoBERTa"])
def test_only_what_is_looked_up_for_real_tokens_counts(kind):
    model, data = built(**kind), [padded(tokens, i % 3) for i, tokens in enumerate(TEXTS)]
    truth = np.array([exact(model, record) for record in data])
    np.testing.assert_allclose(traces(model, data), truth, rtol=1e-6)
    found = accounted(model, data, probes=20)
    assert found.sizes[:, 0].tolist() == [len(tokens) * WIDTH for tokens in TEXTS]
    assert found.traces.sum() == pytest.approx(truth.sum(), rel=0.3)
    said = " ".join(fact.sentence() for fact in found.assumptions)
    assert f"embedding word ({LONGEST * WIDTH})" in said
    assert "embedding kind" not in said
    assert "embedding place" not in said
    assert "Padding is not among them" in said


@pytest.mark.parametrize("kind", [{}, {"counted": True}], ids=["plain", "RoBERTa"])
def test_a_person_has_the_same_numbers_beside_anybody(kind):
    model, record = built(**kind), padded(ANN, 0)
    long = [padded([4 + i, 9, 3, 8, 2, 6], i % 3) for i in range(4)]
    short = [padded([4 + i, 9], i % 3) for i in range(4)]
    alike = [padded([4 + i, 9, 3, 8], i % 3) for i in range(4)]
    for others in (long, short, alike):
        assert traces(model, [record, *others])[0] == pytest.approx(exact(model, record), rel=1e-6)
        assert accounted(model, [record, *others]).sizes[0, 0] == len(ANN) * WIDTH


def test_padding_made_while_records_are_put_together_counts_for_nobody():
    def together(texts):
        longest = max(len(tokens) for tokens, _ in texts)
        return torch.utils.data.default_collate([padded(tokens, label, longest) for tokens, label in texts])

    class Raw(torch.utils.data.Dataset):
        def __len__(self):
            return len(TEXTS)

        def __getitem__(self, i):
            return TEXTS[i], i % 3

    accountant = FisherAccountant(built(), LOSS, ids=range(len(TEXTS)), label="public", private=TEXT, sweeps=1)
    accountant.watch(Raw(), steps=1, batch_size=len(TEXTS), collate=together)
    accountant.step(batch=range(len(TEXTS)), **STEP)
    assert accountant.information().sizes[:, 0].tolist() == [len(tokens) * WIDTH for tokens in TEXTS]


class Offset(Encoder):
    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.word(input_ids + 1), input_ids, attention_mask, token_type_ids)


class Both(Encoder):
    def forward(self, input_ids, attention_mask, token_type_ids):
        found = self.head(self.word(input_ids), input_ids, attention_mask, token_type_ids)
        return found + (input_ids * attention_mask).sum(1, keepdim=True) * torch.tensor([0.1, 0.0, 0.0])


class Hashed(Encoder):
    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.word(input_ids) + self.kind(input_ids % 2), input_ids, attention_mask, token_type_ids)


class Twice(Encoder):
    def forward(self, input_ids, attention_mask, token_type_ids):
        words = self.word(input_ids) + self.word(input_ids)
        return self.head(words, input_ids, attention_mask, token_type_ids)


class Sliced(Encoder):
    def forward(self, input_ids, attention_mask, token_type_ids):
        parts = [entry[:, :2] for entry in (input_ids, attention_mask, token_type_ids)]
        return self.head(self.word(parts[0]), *parts)


@pytest.mark.parametrize(
    ("kind", "private", "message"),
    [
        (Encoder, None, r"Integers enter the network \(input attention_mask, input input_ids, input token_type_ids\)"),
        (Encoder, {}, "all its inputs are integers"),
        (Encoder, {"words": None}, r"names 'words', but the entries of a batch that hold tensors are \['input_ids'"),
        (Encoder, {"input_ids": "labels"}, "must hold an integer or bool for each of its tokens"),
        (Encoder, {"input_ids": "padding"}, r"holds \[\d+, \d+, \d+\].*opposite of PyTorch's key_padding_mask"),
        (Encoder, {"input_ids": "nothing"}, "no real token of 'input_ids'"),
        (Offset, TEXT, "no embedding looks that up as it is"),
        (Both, TEXT, "in other ways than by looking them up"),
        (Hashed, TEXT, "in other ways than by looking them up"),
        (Twice, TEXT, "'word' looks up private integers, and is used more than once"),
        (Sliced, TEXT, "'word' looks up a part of the private integers"),
    ],
)
def test_undeclared_integers_are_refused(kind, private, message):
    torch.manual_seed(0)
    data = [padded(tokens, i % 3) for i, tokens in enumerate(TEXTS)]
    for record in data:
        record["padding"], record["nothing"] = 1 - record["attention_mask"], record["attention_mask"] * 0
    names = ("input_ids", "attention_mask", "token_type_ids")
    forward = lambda model, batch: (model(**{name: batch[name] for name in names}), batch["labels"])  # noqa: E731
    model = kind().double()
    # Where the last layer is still zero the loss shows nothing; gradients do.
    model.last.weight.data.zero_()
    with pytest.raises((seepage.errors.UnsupportedError, seepage.errors.InputError), match=message):
        accounted(model, data, private, forward=forward)
    mechanism = Mechanism(noise_multiplier=1.0, max_grad_norm=1.0)
    with pytest.raises((seepage.errors.UnsupportedError, seepage.errors.InputError), match=message):
        step_information(
            model, LOSS, torch.utils.data.default_collate(data[:2]), mechanism=mechanism, label="public",
            private=private, forward=forward,
        )  # fmt: skip


def test_tokens_that_are_looked_up_within_a_layer_are_refused():
    with pytest.raises(seepage.errors.UnsupportedError, match="inside the layer 'Encoder'"):
        accounted(built(whole=True), [padded(ANN, 0)])


def test_groups_are_not_of_tokens():
    with pytest.raises(seepage.errors.UnsupportedError, match="Leave groups out"):
        FisherAccountant(built(), LOSS, ids=range(5), label="public", private=TEXT, groups={"first": [0]})


def test_a_mask_beside_numbers_is_public_once_that_is_said():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(4, 3)

        def forward(self, x, mask):
            return self.last(x * mask)

    torch.manual_seed(0)
    model = Masked().double()
    data = torch.utils.data.TensorDataset(torch.randn(5, 4).double(), torch.ones(5, 4).bool(), torch.arange(5) % 3)
    with pytest.raises(seepage.errors.UnsupportedError, match=r"Integers enter the network \(input 1\)"):
        accounted(model, data, None)
    assert accounted(model, data, {}).sizes[:, 0].tolist() == [4] * 5
