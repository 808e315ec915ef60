"""What is known before training: how private values are spread over people, beside every floor."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from seepage.errors import UnansweredError
from seepage.meaning import EmpiricalPrior
from seepage.network import FisherAccountant

torch.manual_seed(0)
X = torch.randn(40, 3).double() * torch.tensor([1.0, 5.0, 0.0]).double() + 2
Y = torch.arange(40) % 2


def accounted(inputs=X, labels=Y, loss=None, model=None, **settings):
    torch.manual_seed(0)
    model = model or nn.Linear(inputs[0].numel(), 2).double()
    settings = {"label": "public", **settings}
    accountant = FisherAccountant(model, loss or nn.CrossEntropyLoss(), ids=range(len(inputs)), seed=0, **settings)
    accountant.watch(TensorDataset(inputs, labels), steps=4)
    for _ in range(4):
        accountant.step(noise_multiplier=1.0, max_grad_norm=0.5, sample_rate=0.25)
    return accountant.leakage()


def test_every_floor_has_the_spread_of_the_data_beside_it():
    leak = accounted(groups={"a": [0], "b": [1]})
    for name, column in (("a", 0), ("b", 1)):
        (prior,) = leak.information.spreads(name)
        own = EmpiricalPrior.of(X[:, column].numpy())
        assert leak.information.variances()[name] == pytest.approx(float(X[:, column].var(correction=0)), rel=1e-3)
        np.testing.assert_array_equal(prior.values, own.values)
        np.testing.assert_array_equal(prior.counts, own.counts)


def test_the_share_of_variance_that_is_left_has_a_column_for_each_group():
    leak = accounted(inputs=X[:, :2], groups={"a": [0], "b": [1]})
    left = leak.remaining_variance()
    assert list(left) == ["a", "b"]
    assert ((left > 0) & (left <= 1)).all(axis=None)
    floor = leak.error_floor(prior="data")
    for i, name in enumerate("ab"):
        np.testing.assert_allclose(floor[name] ** 2, left[name] * float(X[:, i].var(correction=0)), rtol=1e-2)
    assert "baseline" in str(leak.summary())


def test_of_several_values_each_counts_and_constants_do_not():
    leak = accounted(groups={"all three": [0, 1, 2]})
    assert len(leak.information.spreads("all three")) == 2
    assert len(leak.information.variances()["all three"]) == 2
    assert list(leak.remaining_variance()) == ["all three"]


def test_a_private_label_that_is_a_number_has_a_spread_too():
    x, y = X[:, :2], X[:, :1].sin()
    leak = accounted(
        inputs=x,
        labels=y,
        loss=nn.MSELoss(),
        model=nn.Linear(2, 1).double(),
        groups={"a": [0], "b": [1]},
        label="private",
    )
    assert list(leak.remaining_variance()) == ["a", "b", "label"]
    assert leak.information.variances()["label"] == pytest.approx(float(y.var(correction=0)), rel=1e-2)


def test_people_and_labels_of_one_number_are_vectors_or_columns():
    """The same network and the same numbers, whichever way they are given."""
    x, y = X[:, 0], X[:, 0].sin()

    class Vector(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(1, 1).double()

        def forward(self, x):
            return self.inner(x.unsqueeze(1)).squeeze(1)

    settings = {"loss": nn.MSELoss(), "groups": {"age": [0]}, "label": "private"}
    vector = accounted(inputs=x, labels=y, model=Vector(), **settings)
    column = accounted(inputs=x[:, None], labels=y[:, None], model=nn.Linear(1, 1).double(), **settings)
    assert list(vector.remaining_variance()) == ["age", "label"]
    np.testing.assert_allclose(vector.attributes[["age", "label"]], column.attributes[["age", "label"]], rtol=1e-9)
    np.testing.assert_allclose(vector.remaining_variance(), column.remaining_variance(), rtol=1e-9)


def test_many_values_at_once_have_none():
    leak = accounted(inputs=torch.randn(40, 65).double())
    assert leak.information.variances() == {}
    with pytest.raises(UnansweredError, match="too many at once"):
        leak.remaining_variance()
