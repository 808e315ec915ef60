"""Clipping, against the formulas written out and against Opacus."""

import explicit
import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar

import seepage
from seepage.network._clipping import HardClipping, SmoothClipping, clipping_of


@pytest.mark.parametrize("name", ["hard", "smooth"])
def test_factor_and_slope_are_those_of_the_published_gradient(name):
    rule = clipping_of(name, 0.7)
    norms = torch.linspace(0.01, 5, 200, dtype=torch.float64, requires_grad=True)
    gradients = norms.unsqueeze(1) * torch.tensor([0.6, 0.8], dtype=torch.float64)
    expected = torch.stack([explicit.CLIPPINGS[name](g, 0.7).norm() for g in gradients]) / norms
    torch.testing.assert_close(rule.factor(norms), expected)
    (slope,) = torch.autograd.grad(rule.factor(norms).sum(), norms)
    torch.testing.assert_close(rule.slope(norms.detach()), slope)


def test_the_bound_of_smooth_clipping_is_found_by_search():
    def published(norm):
        return -norm * float(SmoothClipping(1.0).factor(torch.tensor(norm, dtype=torch.float64)))

    largest = -minimize_scalar(published, bounds=(0.5, 5.0), method="bounded", options={"xatol": 1e-10}).fun
    assert largest <= SmoothClipping.bound < largest + 1e-4
    assert SmoothClipping(2.0).sensitivity == pytest.approx(2 * SmoothClipping.bound)
    assert HardClipping(2.0).sensitivity == 2.0


@pytest.mark.parametrize("bound", [0.0, -1.0, np.inf, [1.0, 2.0], "1"])
def test_a_bound_that_is_none_is_refused(bound):
    with pytest.raises(seepage.errors.InputError, match="max_grad_norm"):
        clipping_of("hard", bound)
