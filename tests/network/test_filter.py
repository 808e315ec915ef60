"""Privacy loss over training and who is left out, against gradients taken one person at a time."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, jacrev
from torch.nn import functional as F  # noqa: N812

import seepage
from seepage.network import PrivacyLossFilter


def of_one(model, weights, one, label, norm, noise_scale):
    """Privacy loss of one step about one person, and its derivative, by automatic differentiation of everything."""

    def lost(values):
        def loss(theta):
            return F.cross_entropy(functional_call(model, theta, (values.unsqueeze(0),)), label.unsqueeze(0))

        length = torch.cat([g.flatten() for g in grad(loss)(weights).values()]).norm()
        u = length / norm - 1
        clipped = length / (0.5 * u * (1 + torch.erf(u / 2**0.5)) + 1)
        return clipped**2 / noise_scale**2

    return float(lost(one)), jacrev(lost)(one)


@pytest.mark.parametrize("limits", [{}, {"privacy_loss": 0.5}, {"susceptibility": 0.03}])
@pytest.mark.parametrize("seed", range(3))
def test_losses_add_up_over_steps_and_whoever_would_exceed_a_limit_is_left_out(limits, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    x, y = torch.randn(7, 4).double(), torch.randint(0, 3, (7,))
    counted = PrivacyLossFilter(
        model, nn.CrossEntropyLoss(), x, y, noise_scale=1.5, max_grad_norm=0.8, batch_size=3, **limits
    )
    spent, values = np.zeros(7), np.zeros((7, 4))
    left_out = 0
    for _ in range(5):
        weights = {name: p.detach().clone() for name, p in model.named_parameters()}
        admitted = counted.admit()
        for i in range(7):
            lost, slope = of_one(model, weights, x[i], y[i], 0.8, 1.5)
            within = spent[i] + lost <= limits.get("privacy_loss", np.inf)
            quiet = float(slope.norm()) <= limits.get("susceptibility", np.inf)
            assert admitted[i] == (within and quiet)
            if admitted[i]:
                spent[i] += lost
                values[i] += slope.numpy()
        left_out += int((~admitted).sum())
        with torch.no_grad():
            for p in model.parameters():
                p += 0.3 * torch.randn_like(p)
    np.testing.assert_allclose(counted.privacy_loss, spent, rtol=1e-8)
    np.testing.assert_allclose(counted.susceptibility.values, values, rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(counted.susceptibility.privacy_loss, counted.privacy_loss)
    assert counted.steps == 5
    # The limits were such that they matter.
    assert (left_out > 0) == bool(limits)


def test_wrong_limits_are_refused():
    model, x, y = nn.Linear(2, 1), torch.randn(3, 2), torch.randn(3, 1)
    for options, match in (
        ({"noise_scale": None}, "infinite"),
        ({"privacy_loss": 0.0}, "privacy_loss"),
        ({"susceptibility": float("nan")}, "susceptibility"),
    ):
        with pytest.raises(seepage.errors.InputError, match=match):
            PrivacyLossFilter(model, nn.MSELoss(), x, y, **{"noise_scale": 1.0, "max_grad_norm": 1.0, **options})
