"""Two runs of the MNIST page, from different starting weights, tell the same of people."""

import pytest
import torch
from opacus import PrivacyEngine
from scipy.stats import spearmanr
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from experiments.datasets import load_mnist
from seepage.network import FisherAccountant

PEOPLE = 1500


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3), nn.Tanh(), nn.AvgPool2d(2, 1), nn.Conv2d(16, 32, 4, 2), nn.Tanh(),
        nn.AvgPool2d(2, 1), nn.Flatten(), nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 10),
    )  # fmt: skip


def run(data, seed):
    """Return each person's dfil, and how often they were drawn."""
    torch.manual_seed(seed)
    model, loss = network(), nn.CrossEntropyLoss()
    accountant = FisherAccountant(model, loss, ids=range(PEOPLE), label="public", sweeps=4, seed=seed)
    model, optimizer, loader = accountant.attach(
        PrivacyEngine(), model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=DataLoader(data, batch_size=64), epochs=3, noise_multiplier=1.0, max_grad_norm=1.0,
    )  # fmt: skip
    for _ in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
    return accountant.leakage().examples["dfil"].to_numpy(), sum(accountant._run.course.drawn)


@pytest.mark.usefixtures("data_home")
def test_two_runs_rank_people_alike_and_nobody_by_chance():
    digits = load_mnist()
    images = torch.tensor(digits.data[:PEOPLE], dtype=torch.float32).reshape(-1, 1, 28, 28)
    data = TensorDataset((images - 0.1307) / 0.3081, torch.tensor(digits.target[:PEOPLE], dtype=torch.int64))
    (first, drawn), (second, _) = (run(data, seed) for seed in (0, 1))
    assert spearmanr(first, second)[0] > 0.9
    assert abs(spearmanr(first, drawn)[0]) < 0.2
    assert (first > 0).all()
