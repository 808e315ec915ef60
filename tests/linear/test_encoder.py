"""Linear heads on a frozen network that brings its own slopes, against its whole map differentiated."""

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from torch import nn

import seepage
from seepage.linear import Features, through
from seepage.linear.rows import batch_rows

SHAPE, NOISE = (1, 5, 5), 0.3
STATED = {"noise_scale": NOISE, "public_label": True, "public_preprocessing": ["encoder"]}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(27, 4), nn.Tanh()).double()


class Encoder(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.network_, self.rows_ = network().requires_grad_(False), []
        return self

    def transform(self, X):
        return self.network_(torch.tensor(np.asarray(X)).reshape(-1, *SHAPE)).numpy()

    def slopes(self, inputs):
        self.rows_.append(len(inputs))
        moved = torch.func.vmap(torch.func.jacrev(lambda x: self.network_(x.reshape(1, *SHAPE))[0]))
        return moved(torch.tensor(inputs)).reshape(len(inputs), -1).numpy()


@through.register
def _(step: Encoder, incoming: Features, path: str) -> Features:
    return incoming.bent(step.transform, path, step.slopes)


def people(count=30):
    random = np.random.default_rng(1)
    X = random.random((count, 25))
    return X, (X[:, :12].mean(axis=1) + 0.1 * random.standard_normal(count) > 0.5).astype(int)


# The objective of a head in torch, as a function of its parameters (weights, intercept), features and labels.
HEADS = {
    "logistic": (
        LogisticRegression(C=0.5, tol=1e-12, max_iter=10_000),
        lambda w, z, y: nn.functional.softplus((1 - 2 * y) * (z @ w[:-1] + w[-1])).sum() + (w[:-1] ** 2).sum(),
    ),
    "ridge": (
        Ridge(alpha=2.0),
        lambda w, z, y: 0.5 * ((z @ w[:-1] + w[-1] - y) ** 2).sum() + (w[:-1] ** 2).sum(),
    ),
}


def differentiated(module, objective, X, y, fitted):
    """Return each person's information matrix about all inputs, by the implicit function theorem and torch alone."""
    X, y = torch.from_numpy(X), torch.from_numpy(y.astype(float))
    w = torch.from_numpy(fitted)

    def slope(w, X):
        return torch.func.grad(lambda w: objective(w, module(X.reshape(-1, *SHAPE)), y))(w)

    for _ in range(20):
        w = w - torch.linalg.solve(torch.func.jacrev(slope)(w, X), slope(w, X))
    hessian, mixed = torch.func.jacrev(slope)(w, X), torch.func.jacrev(slope, argnums=1)(w, X)
    moved = -torch.linalg.solve(hessian, mixed.reshape(len(w), -1)).reshape(mixed.shape).detach().numpy()
    return np.einsum("wij,wik->ijk", moved, moved) / NOISE**2


@pytest.mark.parametrize("kind", HEADS)
def test_information_is_that_of_the_whole_map(kind):
    head, objective = HEADS[kind]
    X, y = people()
    model = make_pipeline(Encoder(), head).fit(X, y)
    leak = seepage.measure(model, X, y, **STATED)
    start = np.append(np.ravel(model[-1].coef_), model[-1].intercept_)
    expected = differentiated(network(), objective, X, y, start)
    pixels = np.sqrt(np.einsum("ijj->ij", expected))
    np.testing.assert_allclose(leak.attributes.to_numpy(), pixels, rtol=1e-8)
    np.testing.assert_allclose(leak.examples["eta"], np.sqrt(np.linalg.eigvalsh(expected)[:, -1]), rtol=1e-8)
    np.testing.assert_allclose(leak.examples["dfil"], np.sqrt((pixels**2).mean(axis=1)), rtol=1e-8)


def test_without_noise_slopes_are_asked_for_a_few_times():
    X, y = people(60)
    model = make_pipeline(Encoder(), LogisticRegression()).fit(X, y)
    seepage.measure(model, X, y, public_preprocessing=["encoder"])
    assert 0 < len(model[0].rows_) < 40


def test_many_slopes_make_small_batches():
    assert batch_rows(32) == 8192
    assert batch_rows(32, 32 * 784) == 2**22 // (32 * 784)
    assert batch_rows(512, 512 * 224 * 224 * 3) == 1
