"""Saving, resuming, and adding up over processes."""

import io
import multiprocessing
import os
import socket

import numpy as np
import pytest
import torch
from runs import IMAGES, LABELS, PEOPLE, Run, attached, network
from torch import nn
from torch.utils.data import TensorDataset

import seepage
from seepage.network import FisherAccountant

DATA = TensorDataset(IMAGES, LABELS)
OBSERVED = {"noise_multiplier": 1.0, "max_grad_norm": 0.5, "sample_rate": 0.25}


def observe(accountant, steps):
    for _ in range(steps):
        accountant.step(**OBSERVED)
    return accountant


def made(ids=range(PEOPLE), **settings):
    accountant = FisherAccountant(network(), nn.CrossEntropyLoss(), ids=ids, label="public", seed=0, **settings)
    accountant.watch(DATA, steps=8)
    return accountant


@pytest.mark.parametrize("settings", [{}, {"probes": 2}, {"groups": {"top": torch.arange(36).view(1, 6, 6) < 18}}])
def test_a_killed_and_resumed_run_counts_every_step_once(settings):
    whole = observe(made(**settings), 8)
    killed = observe(made(**settings), 5)
    file = io.BytesIO()
    torch.save(killed.state_dict(), file)
    observe(killed, 2)  # lost with the process
    file.seek(0)
    resumed = made(**settings)
    observe(resumed, 1)  # whatever it saw before is not added
    resumed.load_state_dict(torch.load(file))
    observe(resumed, 3)
    assert resumed.steps == 8
    np.testing.assert_array_equal(resumed.leakage().examples, whole.leakage().examples)


def test_a_resumed_opacus_run_is_checked_against_opacus():
    run = Run("hooks").train(epochs=1)
    state, history = run.accountant.state_dict(), run.engine.accountant.history
    resumed = Run("hooks")
    resumed.engine.accountant.history = list(history)
    resumed.train(epochs=1)
    with pytest.raises(seepage.errors.UnansweredError, match="8 steps of training and this accountant 4"):
        resumed.accountant.leakage()
    again = Run("hooks")
    again.engine.accountant.history = list(history)
    again.accountant.load_state_dict(state)
    again.train(epochs=1)
    assert (again.accountant.leakage().examples["steps"] == 8).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"clipping": "smooth"},
        {"sweeps": 3},
        {"people": 5},
        {"groups": {"a": torch.ones(1, 6, 6) > 0}},
        {"ids": [0, *range(PEOPLE - 2, 0, -1), PEOPLE - 1]},
    ],
)
def test_the_state_of_another_accountant_is_refused(settings):
    with pytest.raises(seepage.errors.InputError, match="belongs to an accountant"):
        made().load_state_dict(made(**settings).state_dict())


def _free_port():
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        return listening.getsockname()[1]


def _rank(rank, port, queue):
    import warnings

    import torch.distributed as dist
    from opacus.distributed import DifferentiallyPrivateDistributedDataParallel
    from torch.utils.data import DataLoader, TensorDataset

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    try:
        inner = network()
        model = DifferentiallyPrivateDistributedDataParallel(inner)
        accountant = FisherAccountant(inner, nn.CrossEntropyLoss(), ids=range(PEOPLE), label="public", seed=0)
        torch.manual_seed(rank)
        loader = DataLoader(TensorDataset(IMAGES, LABELS), batch_size=20)
        module, optimizer, loader = attached(accountant, model, loader, 4, noise_multiplier=0.8, max_grad_norm=0.5)
        for _ in range(4):
            for x, y in loader:
                optimizer.zero_grad()
                nn.CrossEntropyLoss()(module(x), y).backward()
                optimizer.step()
        with pytest.raises(seepage.errors.UnansweredError, match="synchronize"):
            accountant.leakage()
        own = np.bincount(accountant._run.state.table("visits")["person"], minlength=PEOPLE)
        accountant.synchronize()
        accountant.synchronize()
        examples = accountant.leakage().examples
        weights = torch.cat([p.detach().flatten() for p in inner.parameters()])
        gathered = accountant._gathered_state()
        queue.put(
            (
                rank,
                own,
                examples["dfil"].to_numpy(),
                np.bincount(gathered.table("visits")["person"], minlength=PEOPLE),
                weights.numpy(),
            )
        )
    finally:
        dist.destroy_process_group()


def test_two_processes_add_up():
    context = multiprocessing.get_context("spawn")
    queue, port = context.Queue(), _free_port()
    processes = [context.Process(target=_rank, args=(rank, port, queue)) for rank in range(2)]
    for process in processes:
        process.start()
    first, second = sorted((queue.get(timeout=120) for _ in range(2)), key=lambda found: found[0])
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    np.testing.assert_allclose(first[4], second[4])
    np.testing.assert_array_equal(first[2], second[2])
    # Each rank visits people of its own; nobody is left out.
    assert ((first[1] > 0) != (second[1] > 0)).all()
    for found in (first, second):
        np.testing.assert_array_equal(found[3], first[1] + second[1])
        assert (found[2] > 0).all()
