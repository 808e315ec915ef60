"""What accounting costs beside bare Opacus training, on the network of Guo et al. and on a larger one."""

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
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import seepage.network
from experiments._networks import group_norm_network, guo_network

NETWORKS: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "guo (26,010 parameters)": (guo_network, 600),
    # In hooks mode Opacus holds a million gradients an example: 600 of them are 2.4 GB, and more while it works.
    "group norm (1 million parameters)": (group_norm_network, 150),
}


def _images(count: int = 6000) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(count, 1, 28, 28, generator=generator), torch.randint(0, 10, (count,), generator=generator)


class Run:
    """A training run that can be advanced step by step."""

    def __init__(self, build: Callable[[], nn.Module], mode: str, probes: float | None, batch: int) -> None:
        torch.manual_seed(0)
        x, y = _images()
        model, loss = build(), nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.5)
        loader: Any = DataLoader(TensorDataset(x, y), batch_size=batch)
        engine = PrivacyEngine()
        options: dict[str, Any] = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "grad_sample_mode": mode}
        self.accountant = None
        if probes is None:
            made = engine.make_private(module=model, optimizer=optimizer, data_loader=loader, **options)
        else:
            self.accountant = seepage.network.FisherAccountant(model, loss, ids=range(len(x)), probes=probes, seed=0)
            made = self.accountant.attach(engine, model=model, optimizer=optimizer, data_loader=loader, **options)
        self.model, self.optimizer, *criterion, self.loader = made
        self.loss = criterion[0] if criterion else loss
        self.batches = self._forever()

    def _forever(self) -> Any:
        while True:
            yield from self.loader

    def step(self) -> float:
        """Take one step; return its time."""
        x, y = next(self.batches)
        start = time.perf_counter()
        self.optimizer.zero_grad()
        self.loss(self.model(x), y).backward()
        self.optimizer.step()
        taken = time.perf_counter() - start
        # Opacus keeps the gradients of a batch until the next: they must not pile up over runs side by side.
        self.optimizer.zero_grad()
        return taken


def ratios(
    build: Callable[[], nn.Module], batch: int, mode: str, probes: list[float], rounds: int
) -> dict[float, float]:
    """Return the time of accounted steps over that of bare ones, interleaved: the median over rounds of a few steps."""
    bare = Run(build, mode, None, batch)
    runs = {p: Run(build, mode, p, batch) for p in probes}
    for run in (bare, *runs.values()):
        run.step()
    found: dict[float, list[float]] = {p: [] for p in probes}
    for _ in range(rounds):
        base = statistics.median(bare.step() for _ in range(5))
        for p, run in runs.items():
            steps = [run.step() for _ in range(3 if p >= 1 else 16)]
            # Fractions mix two kinds of steps: their mean is what training pays.
            found[p].append((statistics.median(steps) if p >= 1 else statistics.mean(steps)) / base)
    return {p: statistics.median(values) for p, values in found.items()}


def _peak(build_name: str, mode: str, probes: float | None, queue: Any) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    build, batch = NETWORKS[build_name]
    run = Run(build, mode, probes, batch)
    # Forget the peak of starting up, which a child process may even have from its parent.
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    for _ in range(3):
        run.step()
    queue.put(_status("VmHWM") - before)


def _status(name: str) -> float:
    """Return a size that Linux keeps about this process, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def peak(build_name: str, mode: str, probes: float | None) -> float:
    """Return the memory that training adds to a fresh process, in MB."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_peak, args=(build_name, mode, probes, queue))
    process.start()
    grown = queue.get()
    process.join()
    return grown / 1024


def relative_errors(build: Callable[[], nn.Module], batch: int, probes: float, steps: int) -> float:
    """Return the median relative standard error of dfil after so many steps of a run over 6,000 people."""
    run = Run(build, "hooks", probes, batch)
    for _ in range(steps):
        run.step()
    assert run.accountant is not None
    examples = run.accountant.leakage().examples
    return float((examples["dfil_standard_error"] / examples["dfil"]).median())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks network")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    quick = parser.parse_args(sys.argv[2:]).quick
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    probes = [0.25, 1.0, 2.0, 4.0]
    for name, (build, batch) in NETWORKS.items():
        print(f"\n{name}, batch {batch}, one thread: time and memory over bare Opacus in the same mode")
        print(f"{'':12}" + "".join(f"{f'probes={p:g}':>14}" for p in probes) + f"{'memory, 1 probe':>18}")
        for mode in ("hooks", "ghost"):
            found = ratios(build, batch, mode, probes, 3 if quick else 7)
            bare, accounted = peak(name, mode, None), peak(name, mode, 1.0)
            memory = f"{accounted / bare:.2f} ({accounted:.0f}/{bare:.0f} MB)"
            print(f"{mode:12}" + "".join(f"{found[p]:14.2f}" for p in probes) + f"{memory:>24}", flush=True)
        steps = 20 if quick else 60
        errors = [relative_errors(build, batch, p, steps) for p in probes]
        print(f"{'error':12}" + "".join(f"{e:14.1%}" for e in errors) + f"   of dfil, median, after {steps} steps")
