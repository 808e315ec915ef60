"""One step's information, against the explicit Jacobian of the published gradient."""

import explicit
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import TensorDataset
from zoo import build

import seepage.network
from seepage.network._clipping import Mechanism

NOISE, RATE = 1.3, 0.2


def observed(model, loss, x, y, *, noise, bound, rate, ids=None, steps=1, **settings):
    """An accountant of steps at weights that stand still, in which everybody takes part."""
    ids = range(len(x)) if ids is None else ids
    settings = {"label": "public", "seed": 0, "sweeps": steps, **settings}
    accountant = seepage.network.FisherAccountant(model, loss, ids=ids, **settings)
    accountant.watch(TensorDataset(x, y), steps=steps)
    for _ in range(steps):
        accountant.step(noise_multiplier=noise, max_grad_norm=bound, sample_rate=rate, batch=ids)
    return accountant


@pytest.mark.parametrize("clipping", ["hard", "smooth"])
@pytest.mark.parametrize("rate", [None, RATE])
def test_trace_and_attributes_of_the_accountant(clipping, rate):
    model, x, y = build("linear")
    mechanism = Mechanism(clipping=clipping, max_grad_norm=0.5, noise_multiplier=NOISE, sample_rate=rate)
    columns = {f"column {j}": [j] for j in range(5)}
    accountant = observed(
        model, F.cross_entropy, x, y, noise=NOISE, bound=0.5, rate=rate, clipping=clipping, groups=columns
    )
    matrices = explicit.matrices(model, F.cross_entropy, x, y, mechanism)
    leakage = accountant.leakage()
    examples = explicit.published(model, F.cross_entropy, x, y, clipping, 0.5)
    plain = np.sqrt([float(explicit.information(e, mechanism.noise_scale).trace()) / 5 for e in examples])
    np.testing.assert_allclose(leakage.examples["dfil_unamplified"], plain * np.sqrt(rate or 1.0), rtol=1e-6)
    # A group of a single value has no direction to average over, so nothing is left to estimate.
    for j in range(5):
        exact = np.sqrt([float(m[j, j]) for m in matrices])
        np.testing.assert_allclose(leakage.attributes[f"column {j}"], exact, rtol=1e-6)
    dfil = np.sqrt([float(m.trace()) / 5 for m in matrices])
    np.testing.assert_allclose(leakage.examples["dfil"], dfil, rtol=1e-6)
    # The trace bounds the largest eigenvalue.
    np.testing.assert_allclose(leakage.examples["eta"], np.sqrt([float(m.trace()) for m in matrices]), rtol=1e-6)


@pytest.mark.parametrize("name", ["conv2d", "attention", "recurrent"])
def test_estimates_are_within_four_standard_errors(name):
    model, x, y = build(name)
    accountant = observed(model, F.cross_entropy, x, y, noise=NOISE, bound=0.5, rate=None, steps=80)
    exact = [
        np.sqrt(80 * float(explicit.information(e, NOISE * 0.5).trace()) / x[0].numel())
        for e in explicit.published(model, F.cross_entropy, x, y, "hard", 0.5)
    ]
    found = accountant.leakage().examples
    assert (np.abs(found["dfil"] - exact) < 4 * found["dfil_standard_error"]).all()
    assert (found["dfil_standard_error"] < 0.2 * found["dfil"]).all()


GROUPS = {"scan": [0, 1, 2], "blood": [3, 4]}


def grouped(**settings):
    """One step about people of whom one value of a group tells nearly all, and the exact block of each group."""
    torch.manual_seed(0)
    x, y = torch.randn(30, 6).double(), torch.randn(30, 1).double()
    model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    with torch.no_grad():
        model[0].weight[:, 0] *= 6
    accountant = observed(model, nn.MSELoss(), x, y, noise=1.0, bound=1.0, rate=None, groups=GROUPS, **settings)
    matrices = [explicit.information(e, 1.0) for e in explicit.published(model, F.mse_loss, x, y, "hard", 1.0)]
    blocks = {name: torch.stack([m[columns][:, columns] for m in matrices]) for name, columns in GROUPS.items()}
    return accountant.leakage(), blocks


def roots(blocks):
    """The roots of the trace and of the largest eigenvalue, of each person."""
    traces = blocks.diagonal(dim1=1, dim2=2).sum(1)
    return traces.sqrt().numpy(), torch.linalg.eigvalsh(blocks)[:, -1].sqrt().numpy()


def test_no_value_of_a_group_is_known_better_than_its_floor_says():
    leak, blocks = grouped(probes=100)
    for name, block in blocks.items():
        trace, largest = roots(block)
        # Random directions leave some percent open.
        np.testing.assert_allclose(leak.attributes[name], trace, rtol=0.1)
        assert (leak.error_floor()[name] <= 1.02 / largest).all()
    exact = 1 / roots(blocks["scan"])[1].max()
    assert leak.error_floor()["scan"].min() == pytest.approx(exact, rel=0.2)
    # A mean over the values of the group would have promised this.
    promise = {"error_floor": {"scan": 1.4 * exact}}
    assert seepage.Report.of(leak, "internal", policy=promise).verdict.status == "missed"
    assert "no mean over them" in " ".join(leak.summary().split())
