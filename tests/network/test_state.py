"""Saving, resuming, and adding up over processes."""

import io
import multiprocessing
import os
import socket

import numpy as np
import pytest
import torch
from runs import IMAGES, LABELS, PEOPLE, Run, network
from torch import nn

import seepage
from seepage.network import FisherAccountant


def observe(accountant, steps, start=0):
    for step in range(start, start + steps):
        rows = np.random.default_rng(step).permutation(PEOPLE)[:10]
        accountant.observe(
            (IMAGES[rows], LABELS[rows]), rows, noise_multiplier=1.0, max_grad_norm=0.5, sample_rate=0.25
        )
    return accountant


def made(**settings):
    return FisherAccountant(network(), nn.CrossEntropyLoss(), ids=range(PEOPLE), seed=0, **settings)


@pytest.mark.parametrize(
    "settings", [{}, {"probes": 2, "spectrum": 3}, {"groups": {"top": torch.arange(36).view(1, 6, 6) < 18}}]
)
def test_a_killed_and_resumed_run_counts_every_step_once(settings):
    whole = observe(made(**settings), 8)
    killed = observe(made(**settings), 5)
    file = io.BytesIO()
    torch.save(killed.state_dict(), file)
    observe(killed, 2, start=5)  # lost with the process
    file.seek(0)
    resumed = made(**settings)
    observe(resumed, 1)  # whatever it saw before is not added
    resumed.load_state_dict(torch.load(file, weights_only=False))
    observe(resumed, 3, start=5)
    assert resumed.steps == 8
    np.testing.assert_array_equal(resumed.leakage().examples, whole.leakage().examples)


def test_a_resumed_opacus_run_is_checked_against_opacus():
    run = Run("hooks", 1).train(epochs=1)
    state, history = run.accountant.state_dict(), run.engine.accountant.history
    resumed = Run("hooks", 1)
    resumed.engine.accountant.history = list(history)
    resumed.train(epochs=1)
    with pytest.raises(seepage.UnansweredError, match="8 steps of training and this accountant 4"):
        resumed.accountant.leakage()
    again = Run("hooks", 1)
    again.engine.accountant.history = list(history)
    again.accountant.load_state_dict(state)
    again.train(epochs=1)
    assert again.accountant.leakage().examples["steps"].sum() > run.accountant.leakage().examples["steps"].sum()


@pytest.mark.parametrize(
    "settings", [{"clipping": "smooth"}, {"spectrum": 2}, {"groups": {"a": torch.ones(1, 6, 6) > 0}}]
)
def test_the_state_of_another_accountant_is_refused(settings):
    with pytest.raises(seepage.InputError, match="belongs to an accountant"):
        made().load_state_dict(made(**settings).state_dict())


def _free_port():
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        return listening.getsockname()[1]


def _rank(rank, port, queue):
    import warnings

    import torch.distributed as dist
    from opacus import PrivacyEngine
    from opacus.distributed import DifferentiallyPrivateDistributedDataParallel
    from torch.utils.data import DataLoader, TensorDataset

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    try:
        inner = network()
        model = DifferentiallyPrivateDistributedDataParallel(inner)
        accountant = FisherAccountant(inner, nn.CrossEntropyLoss(), ids=range(PEOPLE), spectrum=3, seed=rank)
        torch.manual_seed(rank)
        loader = DataLoader(TensorDataset(IMAGES, LABELS), batch_size=20)
        module, optimizer, loader = accountant.attach(
            PrivacyEngine(),
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
            data_loader=loader,
            noise_multiplier=0.8,
            max_grad_norm=0.5,
        )
        own = np.zeros(PEOPLE)
        announced = accountant._attachment.announce
        accountant._attachment.announce = lambda i, b: (np.add.at(own, i, 1), announced(i, b))[1]
        for x, y in loader:
            optimizer.zero_grad()
            nn.CrossEntropyLoss()(module(x), y).backward()
            optimizer.step()
        local = accountant.information().traces.sum()
        table = accountant._sketch.table.numpy().copy()
        accountant.synchronize()
        accountant.synchronize()
        examples = accountant.leakage().examples
        weights = torch.cat([p.detach().flatten() for p in inner.parameters()])
        queue.put(
            (
                rank,
                own,
                local,
                examples["steps"].to_numpy(),
                accountant.information().traces.sum(),
                weights.numpy(),
                table,
                accountant._sketch.elsewhere[0].numpy(),
                examples[["eta_low", "eta"]].to_numpy(),
            )
        )
    finally:
        dist.destroy_process_group()


@pytest.mark.torch_heavy
def test_two_processes_add_up():
    context = multiprocessing.get_context("spawn")
    queue, port = context.Queue(), _free_port()
    processes = [context.Process(target=_rank, args=(rank, port, queue)) for rank in range(2)]
    for process in processes:
        process.start()
    first, second = sorted((queue.get(timeout=120) for _ in range(2)), key=lambda found: found[0])
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    np.testing.assert_allclose(first[5], second[5])
    for found in (first, second):
        np.testing.assert_array_equal(found[3], first[1] + second[1])
        assert found[4] > max(first[2], second[2])
        np.testing.assert_allclose(found[7], first[6] + second[6], rtol=1e-12)
        assert (found[8][:, 0] <= found[8][:, 1]).all()
    assert not np.array_equal(first[1], second[1])
