"""Rounds of a network's training are releases like any other: what they say about people adds up."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import seepage

PEOPLE = [f"patient {i}" for i in range(12)]


def _round(seed: int) -> seepage.Leakage:
    torch.manual_seed(seed)
    x, y = torch.rand(len(PEOPLE), 4), torch.randint(0, 2, (len(PEOPLE),))
    accountant = seepage.network.FisherAccountant(nn.Linear(4, 2), nn.CrossEntropyLoss(), ids=PEOPLE, label="public")
    accountant.watch(TensorDataset(x, y), steps=4)
    for _ in range(4):
        accountant.step(noise_multiplier=1.0, max_grad_norm=1.0, sample_rate=0.5)
    return accountant.leakage()


@pytest.fixture
def ledger(tmp_path):
    return seepage.ledger.Ledger.create(tmp_path / "ledger.db", key=bytes(32), eta=50.0)


def test_traces_of_rounds_add(ledger) -> None:
    rounds = [_round(seed) for seed in range(3)]
    for number, leak in enumerate(rounds):
        ledger.post(leak, title=f"round {number}")
    traces = [leak.information.private_values * np.asarray(leak.examples["dfil"]) ** 2 for leak in rounds]
    np.testing.assert_allclose(ledger.balance(PEOPLE)["trace"], np.sum(traces, axis=0), rtol=1e-12)
    assert not ledger.audit()


def test_a_round_that_was_visited_in_part_is_not_counted_as_nothing(ledger) -> None:
    torch.manual_seed(0)
    accountant = seepage.network.FisherAccountant(
        nn.Linear(4, 2), nn.CrossEntropyLoss(), ids=PEOPLE, label="public", people=PEOPLE[:3]
    )
    accountant.watch(TensorDataset(torch.rand(12, 4), torch.randint(0, 2, (12,))), steps=4)
    for _ in range(4):
        accountant.step(noise_multiplier=1.0, max_grad_norm=1.0, sample_rate=0.5)
    with pytest.raises(seepage.errors.InputError, match="9 of 12 people is not known"):
        ledger.post(accountant.leakage(), title="a sample of people")
