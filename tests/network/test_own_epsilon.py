"""Each person's own epsilon, against the likelihoods of all ways to take part."""

import itertools

import numpy as np
import pytest
import torch
from differences import gradient, plain
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import TensorDataset

from seepage.errors import UnsupportedError
from seepage.network import FisherAccountant, PrivacyLossFilter

PEOPLE, STEPS, BOUND, DELTA = 6, 20, 0.6, 1e-3
NOISES = np.linspace(0.8, 1.6, STEPS)
torch.manual_seed(0)
X, Y = torch.randn(PEOPLE, 3).double() * torch.linspace(0.1, 3, PEOPLE)[:, None], torch.tensor([0, 1, 0, 1, 1, 0])


def network():
    torch.manual_seed(1)
    return nn.Linear(3, 2).double()


def ratios(model):
    """The norm of each person's clipped gradient over the noise of each step, at weights that stay."""
    trained = list(model.parameters())
    norms = [
        float(gradient(model, plain(F.cross_entropy), [X[i : i + 1]], [Y[i : i + 1]], trained).norm())
        for i in range(PEOPLE)
    ]
    return np.minimum(norms, BOUND)[:, None] / (NOISES * BOUND)


def accounted(rate, clip=BOUND, **settings):
    settings = {"ids": range(PEOPLE), "label": "public", "sweeps": STEPS, "seed": 0, "delta": DELTA, **settings}
    accountant = FisherAccountant(network(), nn.CrossEntropyLoss(), **settings)
    accountant.watch(TensorDataset(X, Y), steps=STEPS)
    for noise in NOISES:
        batch = range(PEOPLE) if rate is None else None
        accountant.step(noise_multiplier=noise, max_grad_norm=clip, sample_rate=rate, batch=batch)
    return accountant.leakage()


def likelihood_ratio(x, r, rate):
    """The likelihood of outcomes with the person over that without, as a logarithm."""
    return np.log1p(rate * np.expm1(r * x - r**2 / 2)).sum(1)


def true_epsilon(r, rate, draws=300_000):
    """The smallest epsilon of the whole run at delta, both with the person added and removed."""
    random, found = np.random.default_rng(0), []
    for drawn in (0.0, rate):
        x = random.normal(size=(draws, STEPS)) + r * (random.random((draws, STEPS)) < drawn)
        loss = np.sort(likelihood_ratio(x, r, rate) * (1 if drawn else -1))
        grid = np.linspace(0, max(loss[-1], 1e-9), 400)
        delta = np.array([np.maximum(-np.expm1(e - loss[np.searchsorted(loss, e) :]), 0).sum() / draws for e in grid])
        found.append(grid[np.argmax(delta <= DELTA)])
    return max(found)


def test_the_likelihood_ratio_is_that_of_all_subsets_of_participation():
    random, steps, rate = np.random.default_rng(0), 10, 0.3
    x, r = random.normal(size=(1, steps)), random.random(steps)
    total = 0.0
    for subset in itertools.product([0, 1], repeat=steps):
        part = np.array(subset)
        total += rate ** part.sum() * (1 - rate) ** (steps - part.sum()) * np.exp((part * (r * x[0] - r**2 / 2)).sum())
    assert likelihood_ratio(x, r, rate)[0] == pytest.approx(np.log(total))


@pytest.mark.parametrize("rate", [0.3, None])
def test_the_own_epsilon_of_a_person_is_never_below_the_true_one(rate):
    """Every step is visited, so that nothing is left to chance; Renyi accounting is a little above the truth."""
    examples, own = accounted(rate).examples, ratios(network())
    true = np.array([true_epsilon(r, 1.0 if rate is None else rate) for r in own])
    assert (examples["epsilon"] >= 0.99 * true).all()
    assert (examples["epsilon"] <= 1.5 * true + 0.1).all()
    advantage = (np.exp(examples["epsilon"]) - 1 + 2 * DELTA) / (np.exp(examples["epsilon"]) + 1)
    np.testing.assert_allclose(examples["membership_advantage"], advantage, rtol=1e-9)


def test_few_visits_estimate_it_and_the_filter_adds_it_up():
    leak = accounted(None, sweeps=4)
    np.testing.assert_allclose(leak.examples["epsilon"], accounted(None).examples["epsilon"], rtol=0.15)
    assert any("no guarantee" in sentence for sentence in leak.assumptions)
    exact = PrivacyLossFilter(
        network(), nn.CrossEntropyLoss(), X, Y, noise_scale=BOUND * NOISES[0], max_grad_norm=BOUND, clipping="hard"
    )
    for _ in range(STEPS):
        exact.admit()
    loss = STEPS * ratios(network())[:, 0] ** 2
    np.testing.assert_allclose(exact.privacy_loss, loss, rtol=1e-5)
    # A Gaussian mechanism of that size: Renyi accounting is not below the classical conversion at the best order.
    assert (exact.epsilon(DELTA) <= loss / 2 + np.sqrt(2 * loss * np.log(1 / DELTA)) + 1e-9).all()
    assert (exact.epsilon(DELTA) > 0.5 * np.sqrt(loss)).all()


def test_several_records_of_a_person_have_no_own_epsilon():
    with pytest.raises(UnsupportedError, match="'a' has several"):
        accounted(0.3, ids=["a", "a", "b", "c", "d", "e"])
