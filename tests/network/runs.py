"""Real training with Opacus, with and without the accountant."""

from contextlib import nullcontext

import torch
from opacus import PrivacyEngine
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import seepage.network

PEOPLE = 40
torch.manual_seed(0)
IMAGES = torch.randn(PEOPLE, 1, 6, 6, dtype=torch.float64)
LABELS = torch.randint(0, 3, (PEOPLE,))
OPTIONS = {"noise_multiplier": 0.8, "max_grad_norm": 0.5}


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.Tanh(), nn.GroupNorm(1, 3), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(27, 5), nn.Tanh(), nn.Linear(5, 3),
    ).double()  # fmt: skip


def attached(accountant, model, loader, epochs=1, engine=None, **options):
    """Make training private, as a script does."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    engine = engine or PrivacyEngine()
    return accountant.attach(engine, model=model, optimizer=optimizer, data_loader=loader, epochs=epochs, **options)


class Run:
    """One training run; `sweeps=None` is Opacus alone."""

    def __init__(
        self, mode="hooks", sweeps=4, workers=0, make=torch.optim.SGD, batch_sampler=None, accountant=None,
        labels=LABELS, epochs=2, build=network, **options,
    ):  # fmt: skip
        torch.manual_seed(2)
        self.model, self.criterion, self.engine = build(), nn.CrossEntropyLoss(), PrivacyEngine()
        data = TensorDataset(IMAGES, labels)
        sampling = {"batch_sampler": batch_sampler} if batch_sampler else {"batch_size": 10, "shuffle": True}
        loader = DataLoader(data, num_workers=workers, **sampling)
        optimizer = make(self.model.parameters(), lr=0.05)
        options = {**OPTIONS, "grad_sample_mode": mode, **options}
        self.accountant = None
        if sweeps is None:
            made = self.engine.make_private(module=self.model, optimizer=optimizer, data_loader=loader, **options)
        else:
            settings = {"ids": range(PEOPLE), "label": "public", "sweeps": sweeps, "seed": 0, **(accountant or {})}
            self.accountant = seepage.network.FisherAccountant(self.model, self.criterion, **settings)
            made = self.accountant.attach(
                self.engine, model=self.model, optimizer=optimizer, data_loader=loader, epochs=epochs, **options
            )
        self.module, self.optimizer, *criterion, self.loader = made
        self.loss = criterion[0] if criterion else self.criterion

    def train(self, epochs=2, virtual=None, scale=None):
        for _ in range(epochs):
            manager = (
                BatchMemoryManager(data_loader=self.loader, max_physical_batch_size=virtual, optimizer=self.optimizer)
                if virtual
                else nullcontext(self.loader)
            )
            with manager as loader:
                for x, y in loader:
                    self.optimizer.zero_grad()
                    loss = self.loss(self.module(x), y)
                    (loss if scale is None else loss * scale).backward()
                    self.optimizer.step()
        return self

    @property
    def weights(self):
        return torch.cat([p.detach().flatten() for p in self.model.parameters()])
