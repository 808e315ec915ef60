"""End to end: five private steps on one parameter, whose information is known by brute force."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import seepage.network

X = np.array([1.2, -0.7, 0.4])
Y = np.array([0.5, 0.3, -0.4])
RATE, BOUND, NOISE, LEARNING_RATE, STEPS = 0.4, 0.8, 0.9, 0.5, 5
SCALE = NOISE * BOUND
THETA = 0.2
# Everything but the first person's membership is known, the others' membership too.
OTHERS = np.random.default_rng(5).random((STEPS, 2)) < RATE


def gradient(theta, x, y):
    """Return the clipped gradient of (theta x - y)^2, and how it moves with x."""
    raw, moving = 2 * (theta * x - y) * x, 4 * theta * x - 2 * y
    clipped = np.abs(raw) + 1e-6 > BOUND
    size = np.abs(raw) + 1e-6
    factor = np.where(clipped, BOUND / size, 1.0)
    slope = np.where(clipped, -BOUND / size**2 * np.sign(raw), 0.0)
    return factor * raw, (factor + slope * raw) * moving


def base(theta, step):
    return sum(gradient(theta, X[j + 1], Y[j + 1])[0] for j in range(2) if OTHERS[step, j])


def score_of_the_transcript(runs, random):
    """Return d/dx log density of all noisy sums, of runs drawn from the mechanism."""
    theta, score = np.full(runs, THETA), np.zeros(runs)
    for step in range(STEPS):
        g, moving = gradient(theta, X[0], Y[0])
        inside = random.random(runs) < RATE
        o = base(theta, step) + inside * g + SCALE * random.standard_normal(runs)
        distance = o - base(theta, step)
        post = 1 / (1 + (1 - RATE) / RATE * np.exp(-(distance * g - g**2 / 2) / SCALE**2))
        score += post * (distance - g) / SCALE**2 * moving
        theta = theta - LEARNING_RATE * o
    return score


def density_of_the_weights(x, grid):
    """Return the density of the final parameter on a grid, by carrying it through the steps."""
    step_size, spread = grid[1] - grid[0], LEARNING_RATE * SCALE

    def bell(distance):
        return np.exp(-0.5 * (distance / spread) ** 2) / (spread * np.sqrt(2 * np.pi))

    density = None
    for step in range(STEPS):
        start = np.array([THETA]) if density is None else grid
        weight = np.ones(1) if density is None else density * step_size
        g, _ = gradient(start, x, Y[0])
        without = start - LEARNING_RATE * base(start, step)
        moved = RATE * bell(grid[:, None] - (without - LEARNING_RATE * g)) + (1 - RATE) * bell(grid[:, None] - without)
        density = moved @ weight
    return density


def accounted(runs, random):
    """Return what the accountant says about the first person, in runs of real training with it."""
    found = []
    model = nn.Linear(1, 1, bias=False).double()
    data = TensorDataset(torch.tensor(X).view(-1, 1), torch.tensor(Y).view(-1, 1))
    for run in range(runs):
        with torch.no_grad():
            model.weight.fill_(THETA)
        accountant = seepage.network.FisherAccountant(
            model, nn.MSELoss(), ids=range(3), label="public", sweeps=2, seed=run
        )
        if run > 0:
            accountant._run.check = lambda: None  # once is enough
        accountant.watch(data, steps=STEPS)
        for step in range(STEPS):
            members = np.flatnonzero(np.append(random.random() < RATE, OTHERS[step]))
            theta = float(model.weight.detach())
            total = sum(gradient(theta, X[i], Y[i])[0] for i in members)
            with torch.no_grad():
                model.weight -= LEARNING_RATE * (total + SCALE * random.standard_normal())
            accountant.step(noise_multiplier=NOISE, max_grad_norm=BOUND, sample_rate=RATE)
        found.append(accountant.information().traces[0, 0])
    return np.array(found)


def test_the_accountant_expects_the_information_of_the_transcript_and_more_than_that_of_the_weights():
    random = np.random.default_rng(0)
    score = score_of_the_transcript(1_000_000, random)
    assert abs(score.mean()) < 4 * score.std() / 1000
    transcript, transcript_error = (score**2).mean(), (score**2).std() / 1000
    found = accounted(1000, random)
    expected, error = found.mean(), found.std() / np.sqrt(len(found))
    assert abs(expected - transcript) < 4 * np.hypot(error, transcript_error)
    grid, h = np.linspace(-12, 12, 2401), 1e-4
    low, high = density_of_the_weights(X[0] - h, grid), density_of_the_weights(X[0] + h, grid)
    middle = (low + high) / 2
    weights = (((high - low) / (2 * h)) ** 2 / np.maximum(middle, 1e-300)).sum() * (grid[1] - grid[0])
    assert middle.sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=1e-6)
    assert 0 < weights < transcript - 4 * transcript_error
    print(f"transcript {transcript:.4f} +- {transcript_error:.4f}, accountant {expected:.4f} +- {error:.4f}, "
          f"final weights {weights:.4f}")  # fmt: skip
