"""Training with Opacus as it is, once step by step with every person's exact information, and then with an accountant.

Weights are the same in every repetition, to the last bit, and so is who is in which batch; an accountant draws whom it
visits when, and in which direction.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from seepage.network import FisherAccountant, Mechanism, step_information

Array = NDArray[np.float64]
PEOPLE, BATCH, EPOCHS = 100, 20, 12
_NOISE, _BOUND, _RATE = 1.0, 1.0, 0.5
_LOSS = nn.CrossEntropyLoss()


@dataclass(frozen=True)
class PrivateRun:
    """A way of training with Opacus."""

    mode: Literal["hooks", "ghost"]
    poisson: bool
    values: int

    def data(self) -> TensorDataset:
        x = torch.randn(PEOPLE, self.values, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        return TensorDataset(x, x[:, :3].argmax(1))

    def made(self, make_private: Callable[..., Any]) -> tuple[nn.Module, Iterator[list[torch.Tensor]]]:
        """Return the network, and a training that yields every batch before its step."""
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(self.values, 8), nn.Tanh(), nn.Linear(8, 3)).double()
        options: dict[str, Any] = {"criterion": _LOSS} if self.mode == "ghost" else {}
        private, optimizer, *criterion, loader = make_private(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=_RATE),
            data_loader=DataLoader(self.data(), batch_size=BATCH, shuffle=not self.poisson),
            noise_multiplier=_NOISE,
            max_grad_norm=_BOUND,
            poisson_sampling=self.poisson,
            grad_sample_mode=self.mode,
            **options,
        )

        def steps() -> Iterator[list[torch.Tensor]]:
            for _ in range(EPOCHS):
                for batch in loader:
                    yield batch
                    optimizer.zero_grad()
                    (criterion[0] if criterion else _LOSS)(private(batch[0]), batch[1]).backward()
                    optimizer.step()

        return model, steps()

    def exact(self) -> tuple[Array, torch.Tensor]:
        """Return what the run tells about each person in truth, the root of the mean, and its last weights."""
        model, steps = self.made(lambda model, **rest: PrivacyEngine().make_private(module=model, **rest))
        rate = BATCH / PEOPLE if self.poisson else None
        mechanism = Mechanism(noise_multiplier=_NOISE, max_grad_norm=_BOUND, sample_rate=rate)
        everybody = list(self.data().tensors)
        names = {row.numpy().tobytes(): i for i, row in enumerate(everybody[0])}
        total = np.zeros(PEOPLE)
        for batch in steps:
            who = range(PEOPLE) if self.poisson else [names[row.numpy().tobytes()] for row in batch[0]]
            asked = tuple(entry[list(who)] for entry in everybody)
            total[list(who)] += step_information(model, _LOSS, asked, mechanism=mechanism, label="public").trace
        return np.sqrt(total / self.values), _flat(model)

    def accounted(self, seed: int, weights: torch.Tensor) -> pd.DataFrame:
        """Return what an accountant finds in the same run."""
        accountant: FisherAccountant | None = None

        def make_private(**options: Any) -> Any:
            nonlocal accountant
            accountant = FisherAccountant(options["model"], _LOSS, ids=range(PEOPLE), label="public", seed=seed)
            return accountant.attach(PrivacyEngine(), epochs=EPOCHS, **options)

        model, steps = self.made(make_private)
        for _ in steps:
            pass
        assert accountant is not None
        # Whoever is looked at must have trained as if nobody looked.
        assert torch.equal(_flat(model), weights)
        found: pd.DataFrame = accountant.leakage().examples
        return found


def _flat(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


PRIVATE_RUNS = {
    f"Opacus, {mode}, {'Poisson' if poisson else 'shuffled'}, {many}": PrivateRun(mode, poisson, values)
    for mode in ("hooks", "ghost")
    for poisson in (True, False)
    for many, values in (("few values", 6), ("many values", 40))
    if mode == "hooks" or many == "few values"
}
