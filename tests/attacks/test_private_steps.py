"""Least squares on the noisy gradients of private training, against floors and against a plain optimizer."""

import copy

import numpy as np
import pytest
import torch
from scipy.optimize import least_squares
from torch import nn

import seepage
from seepage.attacks import LeastSquares, MembershipScore
from seepage.errors import InputError, UnansweredError
from seepage.network import Guesses, Mechanism, PrivateSteps

LOSS = nn.CrossEntropyLoss()
LITTLE = Mechanism(noise_multiplier=1e-3, max_grad_norm=0.5)


def build(mechanism=LITTLE, **more):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    batch = torch.randn(5, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 1, 0])
    return PrivateSteps(model=model, loss=LOSS, batch=batch, mechanism=mechanism, **more)


RUNS = {
    "one step": {},
    "a run": {"steps": 3, "step_size": 0.5},
    "several records": {"steps": 2, "step_size": 0.5, "ids": ["ann", "bob", "ann", "eve", "dan"]},
}


@pytest.mark.parametrize("run", RUNS)
def test_least_squares_on_a_little_noise_reach_the_floor(run):
    found = seepage.verify(build(**RUNS[run]), LeastSquares([1, 3]), trials=300)
    assert found.holds, found.verdict
    ratio = (found.frame["error"] / found.frame["floor"]).to_numpy()
    assert len(ratio) == 10
    assert np.abs(ratio - 1).max() < 4 / np.sqrt(2 * 300)
    assert np.mean(ratio**2) == pytest.approx(1, abs=4 * np.sqrt(2 / 3000))


def clipped(model, training, rows, records):
    total = 0.0
    for row, record in zip(rows, records, strict=True):
        gradients = torch.autograd.grad(LOSS(model(record[None]), training.batch[1][row : row + 1]), model.parameters())
        flat = torch.cat([g.flatten() for g in gradients])
        total = total + flat * min(1.0, training.mechanism.max_grad_norm / (float(flat.norm()) + 1e-6))
    return total


@pytest.mark.parametrize("run", RUNS)
def test_guesses_are_those_of_a_plain_optimizer_after_plain_training(run):
    training = build(**RUNS[run])
    found = training.attacked([1, 3], trials=1, seed=7)
    x, _ = training.batch
    names = training.ids or list(range(5))
    random = torch.Generator().manual_seed(7)
    model, course = copy.deepcopy(training.model), []
    for _ in range(training.steps):
        true = clipped(model, training, range(5), x)
        noise = training.mechanism.noise_scale * torch.randn(1, len(true), generator=random, dtype=torch.float64)[0]
        course.append((copy.deepcopy(model), noise))
        start = nn.utils.parameters_to_vector(model.parameters()).detach()
        nn.utils.vector_to_parameters(start - (training.step_size or 0) / 5 * (true + noise), model.parameters())
    for person, name in enumerate(dict.fromkeys(names)):
        rows = [i for i, each in enumerate(names) if each == name]

        def left(shift, rows=rows):
            moved = x[rows].clone()
            moved[:, [1, 3]] += torch.from_numpy(shift).view(-1, 2)
            parts = [
                noise + clipped(m, training, rows, x[rows]) - clipped(m, training, rows, moved) for m, noise in course
            ]
            return torch.cat(parts).numpy()

        best = least_squares(left, np.zeros(2 * len(rows)), xtol=1e-12, ftol=1e-12, gtol=1e-12).x
        floors = np.sqrt(found.floors[person, : len(best)])
        np.testing.assert_allclose(found.errors[0, person, : len(best)] / floors, best / floors, atol=2e-3)


@pytest.mark.parametrize("run", ["one step", "a run"])
def test_a_floor_that_is_a_sixth_too_high_is_noticed(run, monkeypatch):
    right = Guesses.floors.fget
    monkeypatch.setattr(Guesses, "floors", property(lambda found: 1.36 * right(found)))
    found = seepage.verify(build(**RUNS[run]), LeastSquares([1, 3]), trials=600)
    assert not found.holds
    assert "does not describe" in found.verdict


def test_guesses_that_curve_are_below_the_floor_by_no_more_than_their_bias_allows():
    strong = Mechanism(noise_multiplier=0.4, max_grad_norm=0.5)
    found = seepage.verify(build(strong), LeastSquares([1, 3]), trials=400)
    assert found.holds, found.verdict


@pytest.mark.parametrize("run", ["a run", "several records"])
def test_runs_one_by_one_start_where_those_side_by_side_do(run, monkeypatch):
    together = build(**RUNS[run]).attacked([1, 3], trials=6)
    monkeypatch.setattr("seepage.network._private_steps._SMALL", 0)
    alone = build(**RUNS[run]).attacked([1, 3], trials=6)
    # They differ by their noise, of which there is little.
    np.testing.assert_allclose(alone.matrices, together.matrices, rtol=1e-2, atol=1e-3 * together.matrices.max())


def test_the_network_is_left_as_it_was():
    training = build(steps=2, step_size=0.5)
    before = [p.clone() for p in training.model.parameters()]
    state = torch.get_rng_state()
    training.attacked([0], trials=2)
    assert all(torch.equal(a, b) for a, b in zip(before, training.model.parameters(), strict=True))
    assert torch.equal(state, torch.get_rng_state())


def test_what_cannot_be_attacked_is_said():
    with pytest.raises(InputError, match="step_size"):
        build(steps=2)
    with pytest.raises(InputError, match="sample_rate"):
        build(Mechanism(noise_multiplier=1, max_grad_norm=1, sample_rate=0.1))
    with pytest.raises(InputError, match="names 2"):
        build(ids=["ann", "bob"])
    with pytest.raises(InputError, match="LeastSquares"):
        seepage.verify(build(), MembershipScore())
    with pytest.raises(InputError, match="everybody"):
        seepage.verify(build(), LeastSquares([0]), people=[1])
    with pytest.raises(InputError, match="not of dict"):
        seepage.verify({}, LeastSquares([0]))
    silent = build()
    with torch.no_grad():
        silent.model[0].weight[:, 2] = 0
        silent.model[2].weight[:] = 0
    with pytest.raises(UnansweredError, match="cannot be guessed"):
        seepage.verify(silent, LeastSquares([2]), trials=2)
