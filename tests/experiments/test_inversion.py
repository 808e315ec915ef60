"""Attacks of the experiments: gradient inversion, similarity of images, least squares on the steps of training."""

import numpy as np
import pytest
import torch
from torch import nn

from experiments._inversion import GradientInversion, haar_similarity, structural_similarity
from experiments._least_squares import PrivateSteps
from seepage.network import Mechanism


def test_a_picture_comes_back_from_its_gradient_and_noise_prevents_it():
    torch.manual_seed(0)
    across = torch.linspace(-1, 1, 12)
    picture = torch.exp(-3 * ((across[:, None] - 0.4) ** 2 + (across[None] - 0.2) ** 2))[None, None]
    model = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(6 * 144, 10), nn.Tanh(), nn.Linear(10, 2)
    )
    attack = GradientInversion(steps=150, restarts=1, total_variation=0.01)
    _, bare = attack.evaluate(model, picture, torch.tensor([1]), norm=None, noise=1.0, seed=0)
    _, private = attack.evaluate(model, picture, torch.tensor([1]), norm=1.0, noise=1.0, seed=0)
    assert bare["ssim"][0] > 0.85
    assert bare["similarity"][0] > 0.99
    assert private["ssim"][0] < 0.3


def test_structural_similarity_is_that_of_its_definition():
    random = np.random.default_rng(0)
    a = random.uniform(size=(16, 16))
    b = np.clip(a + 0.2 * random.normal(size=a.shape), 0, 1)
    window = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    window = np.outer(window, window) / window.sum() ** 2
    x, y = (np.pad(image, 5, mode="symmetric") for image in (a, b))
    values = []
    for i in range(16):
        for j in range(16):
            p, q = x[i : i + 11, j : j + 11], y[i : i + 11, j : j + 11]
            mp, mq = (window * p).sum(), (window * q).sum()
            vp, vq = (window * (p - mp) ** 2).sum(), (window * (q - mq) ** 2).sum()
            both = (window * (p - mp) * (q - mq)).sum()
            values.append((2 * mp * mq + 1e-4) * (2 * both + 9e-4) / ((mp**2 + mq**2 + 1e-4) * (vp + vq + 9e-4)))
    assert structural_similarity(a, b) == pytest.approx(np.mean(values), rel=1e-9)


def test_haar_similarity_is_one_for_the_same_image_and_falls_with_noise():
    random = np.random.default_rng(0)
    image = random.uniform(0, 1, (28, 28)).cumsum(1) / 28
    scores = [haar_similarity(image, image + s * random.normal(size=image.shape)) for s in (0.0, 0.02, 0.1, 0.5)]
    assert scores[0] == pytest.approx(1.0, abs=1e-12)
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < 0.5


@pytest.mark.parametrize(("steps", "trials"), [(1, 30), (3, 10)])
def test_least_squares_on_a_little_noise_reach_the_floor(steps, trials):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    batch = torch.randn(5, 4).double(), torch.tensor([0, 1, 2, 1, 0])
    mechanism = Mechanism(noise_multiplier=1e-3, max_grad_norm=0.5)
    errors, floors = PrivateSteps(model, batch, mechanism, [1, 3], steps=steps, step_size=0.5).guesses(trials)
    assert (errors**2 / floors).mean() == pytest.approx(1, abs=4 * np.sqrt(2 / (trials * 10)))
