"""Susceptibility, against the explicit Jacobian and against information."""

import explicit
import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812
from zoo import ZOO, build

import seepage
from seepage.network import Susceptibility, susceptibility


@pytest.mark.parametrize("bound", [0.3, 30.0])
@pytest.mark.parametrize("clipping", ["hard", "smooth"])
@pytest.mark.parametrize("name", ZOO)
def test_the_identity_and_the_bound(name, clipping, bound):
    model, x, y = build(name)
    scale = 1.3 * bound
    found = susceptibility(
        model, F.cross_entropy, x, y, noise_scale=scale, max_grad_norm=bound, clipping=clipping, batch_size=4
    )
    assert found.values.shape == tuple(x.shape)
    for i, example in enumerate(explicit.published(model, F.cross_entropy, x, y, clipping, bound)):
        identity = 2 / scale**2 * example.jacobian.T @ example.gradient
        np.testing.assert_allclose(found.values[i].ravel(), identity.numpy(), rtol=1e-6, atol=1e-12)
        assert found.privacy_loss[i] == pytest.approx(float(example.gradient.square().sum()) / scale**2, rel=1e-9)
        eta = float(torch.linalg.matrix_norm(example.jacobian, 2)) / scale
        assert found.norm()[i] <= 2 * float(example.gradient.norm()) / scale * eta * (1 + 1e-9)


def test_a_mean_in_which_nobody_has_a_share_is_refused():
    model, x, _ = build("linear")
    weight = torch.tensor([0.2, 1.0, 4.0]).double()
    with pytest.raises(seepage.errors.InputError, match="depends on the others"):
        susceptibility(
            model,
            lambda output, target: F.cross_entropy(output, target, weight=weight),
            x,
            torch.tensor([0, 1, 2, 2, 1, 0]),
            noise_scale=1.0,
            max_grad_norm=1.0,
        )


def test_without_clipping_and_noise_it_is_that_of_the_gradient_signal():
    model, x, y = build("conv2d")
    found = susceptibility(model, F.cross_entropy, x, y, noise_scale=None, max_grad_norm=None)
    (example, *_) = explicit.published(model, F.cross_entropy, x, y, "hard", 1e9)
    np.testing.assert_allclose(found.values[0].ravel(), 2 * example.jacobian.T @ example.gradient, rtol=1e-6)
    assert "gradient signal" in repr(found)


def test_parts_and_rankings():
    found = Susceptibility(np.array([[3.0, 4.0, 0.0], [0.0, 4.0, 1.0]]), np.ones(2), 1.0, 1.0)
    np.testing.assert_allclose(found.norm(), [5.0, np.sqrt(17)])
    np.testing.assert_allclose(found.norm([True, False, False]), [3.0, 0.0])
    np.testing.assert_allclose(found.norm([0, 1]), [5.0, 4.0])
    assert found.ranking(["a", "b", "c"])["attribute"].tolist() == ["b", "a", "c"]
    with pytest.raises(seepage.errors.InputError, match="2 names"):
        found.ranking(["a", "b"])
    with pytest.raises(seepage.errors.InputError, match="shape"):
        found.norm([True, False])
    with pytest.raises(seepage.errors.InputError, match="rows of a table"):
        Susceptibility(np.ones((2, 3, 3)), np.ones(2), None, None).ranking()
