"""What accounting costs beside bare Opacus: whole trainings, with four visits to everybody and without."""

import argparse
import multiprocessing
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from opacus import PrivacyEngine
from opacus.layers import DPLSTM, DPMultiheadAttention
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

import seepage.network
from experiments._networks import guo_network

Tensor = torch.Tensor
SWEEPS = 4


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = DPMultiheadAttention(width, 4, batch_first=True)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        h = self.before(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.down(F.gelu(self.up(self.after(x))))


class Transformer(nn.Module):
    """Two layers over 64 tokens."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.embedding, self.last = nn.Embedding(1000, width), nn.Linear(width, 4)
        self.blocks = nn.Sequential(_Block(width), _Block(width))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(self.blocks(self.embedding(tokens)).mean(1))


class Recurrent(nn.Module):
    """An LSTM over 64 tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm, self.last = (
            nn.Embedding(1000, 64),
            DPLSTM(64, 128, batch_first=True),
            nn.Linear(128, 4),
        )

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(self.lstm(self.embedding(tokens))[0][:, -1])


class _Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.GroupNorm(8, outputs), nn.GroupNorm(8, outputs)])
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.GroupNorm(8, outputs))

    def forward(self, x: Tensor) -> Tensor:
        found = self.norms[1](self.second(F.gelu(self.norms[0](self.first(x)))))
        return F.gelu(found + self.shortcut(x))


def resnet() -> nn.Module:
    """ResNet-18 for small images, with group norm."""
    widths = [
        (64, 64, 1),
        (64, 64, 1),
        (64, 128, 2),
        (128, 128, 1),
        (128, 256, 2),
        (256, 256, 1),
        (256, 512, 2),
        (512, 512, 1),
    ]
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.GroupNorm(8, 64), nn.GELU(), *(_Residual(*w) for w in widths),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip


class Tuned(nn.Module):
    """BERT with LoRA on queries and values, over 64 tokens; from its configuration, nothing is downloaded."""

    def __init__(self) -> None:
        super().__init__()
        from peft import LoraConfig, get_peft_model
        from transformers import BertConfig, BertForSequenceClassification

        config = BertConfig(
            vocab_size=1000, hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=512,
            max_position_embeddings=64, num_labels=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        lora = LoraConfig(r=8, target_modules=["query", "value"])
        self.network = get_peft_model(BertForSequenceClassification(config), lora)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.network(input_ids=tokens).logits
        return logits


def _tokens(count: int) -> Tensor:
    return torch.randint(0, 1000, (count, 64))


NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Tensor], tuple[int, int], list[str]]] = {
    "MNIST network": (guo_network, lambda n: torch.rand(n, 1, 28, 28), (64, 256), ["hooks", "ghost"]),
    "transformer, 2 layers": (Transformer, _tokens, (16, 64), ["hooks", "ghost"]),
    "ResNet-18, group norm": (resnet, lambda n: torch.rand(n, 3, 32, 32), (4, 16), ["hooks", "ghost"]),
    "BERT, 2 layers, LoRA": (Tuned, _tokens, (16, 64), ["hooks", "ghost"]),
    # Opacus's ghost mode takes no layer that is used more than once.
    "LSTM": (Recurrent, _tokens, (16, 64), ["hooks"]),
}
"""How to build it, its inputs, people in a small batch and in an ordinary one, and the modes that Opacus trains in."""


class Training:
    """One training, an epoch at a time: others may take turns, and leave its random numbers alone."""

    def __init__(
        self, name: str, mode: str, sweeps: int | None, epochs: int, batches: int, batch: int, people: int | None = None
    ):
        torch.manual_seed(0)
        build, inputs, _, _ = NETWORKS[name]
        x, y = inputs(batch * batches), torch.randint(0, 4, (batch * batches,))
        self.model, self.loss, engine = build(), nn.CrossEntropyLoss(), PrivacyEngine()
        settings: dict[str, Any] = {
            "optimizer": torch.optim.SGD([p for p in self.model.parameters() if p.requires_grad], lr=0.01),
            "data_loader": DataLoader(TensorDataset(x, y), batch_size=batch),
            "noise_multiplier": 1.0,
            "max_grad_norm": 1.0,
            "grad_sample_mode": mode,
        }
        if sweeps is None:
            made = engine.make_private(module=self.model, **settings)
        else:
            accountant = seepage.network.FisherAccountant(
                self.model,
                self.loss,
                ids=range(len(x)),
                label="public",
                private=None if x.is_floating_point() else {0: None},
                sweeps=sweeps,
                people=people,
            )
            self.planned = accountant.plan(steps=epochs * batches, batch_size=batch).cost
            made = accountant.attach(engine, model=self.model, epochs=epochs, **settings)
        self.module, self.optimizer, *criterion, self.loader = made
        self.criterion = criterion[0] if criterion else self.loss
        self.seconds = 0.0
        self._random = torch.get_rng_state()

    def epoch(self) -> None:
        """Train an epoch, and add the processor time it took."""
        torch.set_rng_state(self._random)
        start = time.process_time()
        for one, label in self.loader:
            self.optimizer.zero_grad()
            self.criterion(self.module(one), label).backward()
            self.optimizer.step()
        self.optimizer.zero_grad()
        self.seconds += time.process_time() - start
        self._random = torch.get_rng_state()

    @property
    def weights(self) -> Tensor:
        """All weights in one vector."""
        return torch.cat([p.detach().flatten() for p in self.model.parameters()])


def compare(name: str, mode: str, epochs: int, batches: int, batch: int) -> tuple[float, bool]:
    """Return how much longer training takes with visits than without, in turn; and whether weights are the same."""
    bare, accounted = (Training(name, mode, sweeps, epochs, batches, batch) for sweeps in (None, SWEEPS))
    for _ in range(epochs):
        bare.epoch()
        accounted.epoch()
    return accounted.seconds / bare.seconds, torch.equal(bare.weights, accounted.weights)


def sampled(name: str, mode: str, epochs: int, batches: int, batch: int) -> tuple[float, float]:
    """Return what visits to a quarter of the people cost, over bare training, and what was planned."""
    bare = Training(name, mode, None, epochs, batches, batch)
    accounted = Training(name, mode, SWEEPS, epochs, batches, batch, people=batch * batches // 4)
    for _ in range(epochs):
        bare.epoch()
        accounted.epoch()
    return accounted.seconds / bare.seconds, accounted.planned


def _peak(name: str, mode: str, sweeps: int | None, batch: int, queue: Any) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    # Forget the peak of starting up, which a child process may even have from its parent.
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    training = Training(name, mode, sweeps, 2, 2, batch)
    for _ in range(2):
        training.epoch()
    queue.put(_status("VmHWM") - before)


def _status(name: str) -> float:
    """Return a size that Linux keeps about this process, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def peak(name: str, mode: str, sweeps: int | None, batch: int) -> float:
    """Return the memory that training adds to a fresh process, in MB."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_peak, args=(name, mode, sweeps, batch, queue))
    process.start()
    grown = queue.get()
    process.join()
    return float(grown) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks network")
    parser.add_argument("--epochs", type=int, default=20, help="of the trainings that are run")
    parser.add_argument("--long", type=int, default=50, help="of the longer ones")
    parser.add_argument("--really", nargs="*", default=["MNIST network"], help="networks whose longer ones are run too")
    parser.add_argument("--batches", type=int, default=16, help="batches in an epoch")
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--modes", nargs="+", default=["hooks", "ghost"])
    parser.add_argument(
        "--sampled", action="store_true", help="visit a quarter of the people too, and compare with the plan"
    )
    parser.add_argument("--people", type=int, nargs="+", help="in a batch; by default a small one and an ordinary one")
    options = parser.parse_args(sys.argv[2:])
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(
        f"{SWEEPS} visits to everybody: processor time (one thread) and memory of a whole training over bare Opacus "
        f"in the same mode, an epoch of each in turn. {options.batches} batches an epoch of random data. Visits "
        "are the same in a longer training, whose ratio follows (~) unless it was run."
    )
    longer = f"{options.long} epochs"
    print(f"{'':32}{'people':>8}{f'{options.epochs} epochs':>12}{longer:>12}{'memory':>10}{'weights':>12}")
    for name in options.networks:
        _, _, usual, modes = NETWORKS[name]
        rows = [(mode, batch) for mode in modes if mode in options.modes for batch in options.people or usual]
        for mode, batch in rows:
            compare(name, mode, 1, 1, batch)
            tried = [compare(name, mode, options.epochs, options.batches, batch) for _ in range(options.repetitions)]
            ratio, same = statistics.median(ratio for ratio, _ in tried), all(same for _, same in tried)
            cells = f"{ratio:12.2f}"
            if name in options.really:
                cells += f"{compare(name, mode, options.long, options.batches, batch)[0]:12.2f}"
            else:
                cells += f"{f'~{1 + (ratio - 1) * options.epochs / options.long:.2f}':>12}"
            memory = peak(name, mode, SWEEPS, batch) / peak(name, mode, None, batch)
            weights = "identical" if same else "differ"
            print(f"{f'{name}, {mode}':32}{batch:8}{cells}{memory:10.2f}{weights:>12}", flush=True)
            if options.sampled:
                found, planned = sampled(name, mode, options.epochs, options.batches, batch)
                print(f"{'  people= a quarter of them':40}{found:12.2f}, planned {planned:.2f}", flush=True)
