"""Standard errors mean what they say."""

import explicit
import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812
from zoo import build

from seepage.network._information import NetworkInformation
from seepage.network._ledger import Ledger
from seepage.network._step import Mechanism

REPETITIONS = 1000


def repeated(values, probed, steps):
    """Return estimates and standard errors of dfil from many ledgers at once, each person being a repetition."""
    ledger = Ledger(REPETITIONS, 1)
    everyone = np.arange(REPETITIONS)
    for step in range(steps):
        ledger.take_part(everyone)
        rows = everyone[probed[step]]
        ledger.probe(rows, np.zeros(len(rows), np.int64), values[step][rows], values[step][rows])
    traces, variances, plain = ledger.estimate()
    found = NetworkInformation(
        attribute_names=("all values",),
        sizes=np.array([50.0]),
        steps=ledger.steps,
        traces=traces,
        uncertainty=variances,
        unamplified=plain,
        spectrum=None,
        mechanisms=(),
        assumptions=(),
    )
    return found.examples()["dfil"], found.examples()["dfil_standard_error"]


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_intervals_cover_as_often_as_they_should(share):
    """A network that stands still: sixty steps, a probe each (or half of them), a thousand times over."""
    model, x, y = build("conv2d", 1)
    mechanism = Mechanism("hard", 0.5, 1.0, None)
    (example,) = explicit.published(model, F.cross_entropy, x, y, "hard", 0.5)
    steps = 60
    # |A w|^2 for random signs w, by the explicit Jacobian; that it equals the accountant's is tested elsewhere.
    generator = torch.Generator().manual_seed(0)
    signs = torch.randint(0, 2, (steps * REPETITIONS, 50), generator=generator).double() * 2 - 1
    values = ((signs @ example.jacobian.T).square().sum(1) / mechanism.noise_scale**2).reshape(steps, REPETITIONS)
    probed = np.random.default_rng(0).random((steps, REPETITIONS)) < share
    dfil, error = repeated(values.numpy(), probed, steps)
    exact = np.sqrt(steps * float(example.jacobian.square().sum()) / mechanism.noise_scale**2 / 50)
    within = np.abs(dfil - exact) / error
    one, two = (within < 1).mean(), (within < 1.96).mean()
    print(f"share {share}: coverage {one:.3f} and {two:.3f}, mean {dfil.mean() / exact:.4f} of the truth")
    # Four binomial standard deviations, and a hundredth for the normal approximation itself.
    assert abs(one - 0.683) < 4 * np.sqrt(0.683 * 0.317 / REPETITIONS) + 0.01
    assert abs(two - 0.95) < 4 * np.sqrt(0.95 * 0.05 / REPETITIONS) + 0.01
    assert abs(dfil.mean() - exact) < 4 * dfil.std() / np.sqrt(REPETITIONS) + 0.002 * exact


def test_a_person_who_was_never_probed_is_put_at_the_average():
    ledger = Ledger(3, 1)
    none = np.zeros(2, np.int64)
    for value in (1.0, 3.0):
        ledger.take_part(np.arange(3))
        ledger.probe(np.array([0, 1]), none, np.full(2, value), np.full(2, value))
    traces, variances, _ = ledger.estimate()
    np.testing.assert_allclose(traces[:, 0], 4.0)
    assert np.isfinite(variances).all()
    assert variances[2, 0] > variances[0, 0]


def test_a_single_probe_alone_has_no_standard_error():
    ledger = Ledger(1, 1)
    ledger.take_part(np.array([0]))
    ledger.probe(np.array([0]), np.array([0]), np.array([2.0]), np.array([2.0]))
    traces, variances, _ = ledger.estimate()
    assert traces[0, 0] == 2.0
    assert np.isnan(variances[0, 0])


def test_who_took_no_part_gives_nothing_away():
    ledger = Ledger(2, 1)
    ledger.take_part(np.array([0]))
    ledger.probe(np.array([0]), np.array([0]), np.array([2.0]), np.array([2.0]))
    traces, variances, _ = ledger.estimate()
    assert traces[1, 0] == 0.0
    assert variances[1, 0] == 0.0
