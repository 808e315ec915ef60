"""One step as a pure function, against explicit Jacobians, the best test."""

import explicit
import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import TensorDataset
from zoo import ZOO, build

from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.network import (
    FisherAccountant,
    Mechanism,
    step_information,
    step_success_rate,
)

# Every kind of layer once, and each way of clipping and sampling with two of them.
WAYS = [(bound, clipping, rate) for bound in (0.3, 30.0) for clipping in ("hard", "smooth") for rate in (None, 0.2)]
CASES = [(name, *way) for name in ("linear", "attention") for way in WAYS]
CASES += [(name, *WAYS[i % len(WAYS)]) for i, name in enumerate(ZOO) if name not in ("linear", "attention")]


@pytest.mark.parametrize(("name", "bound", "clipping", "rate"), CASES)
def test_matrices_are_those_of_the_explicit_jacobian(name, bound, clipping, rate):
    model, x, y = build(name)
    mechanism = Mechanism(noise_multiplier=1.3, max_grad_norm=bound, sample_rate=rate, clipping=clipping)
    step = step_information(model, nn.CrossEntropyLoss(), (x, y), mechanism=mechanism, label="public")
    expected = explicit.matrices(model, F.cross_entropy, x, y, mechanism).numpy()
    assert step.exact == (x[0].numel() <= 64)
    if not step.exact:
        assert np.abs((step.trace - np.einsum("nvv->n", expected)) / step.standard_error).max() < 6
        return
    np.testing.assert_allclose(step.matrices, expected, rtol=1e-6, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(step.eta, np.sqrt(np.linalg.eigvalsh(expected)[:, -1]), rtol=1e-6)
    np.testing.assert_allclose(step.dfil, np.sqrt(np.einsum("nvv->n", expected) / x[0].numel()), rtol=1e-6)


def test_a_private_label_of_one_number_counts_among_the_values():
    """A regression whose labels are a vector, and whose outputs are one."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1), nn.Flatten(0)).double()
    x, y = torch.randn(4, 2).double(), torch.randn(4).double()
    mechanism = Mechanism(noise_multiplier=1.3, max_grad_norm=0.8)
    step = step_information(model, nn.MSELoss(), (x, y), mechanism=mechanism, label="private")

    class Joint(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, both):
            return self.inner(both[:, :2]) - both[:, 2]

    joint = torch.cat([x, y[:, None]], 1)
    expected = explicit.matrices(Joint(), lambda out, _: out.square().mean(), joint, y, mechanism).numpy()
    np.testing.assert_allclose(step.matrices, expected, rtol=1e-9, atol=1e-12 * expected.max())


def test_random_directions_estimate_the_trace_with_the_error_that_they_say():
    model, x, y = build("linear")
    mechanism = Mechanism(noise_multiplier=1.3, max_grad_norm=0.3)
    exact = step_information(model, nn.CrossEntropyLoss(), (x, y), mechanism=mechanism, label="public")
    loose = step_information(model, nn.CrossEntropyLoss(), (x, y), mechanism=mechanism, label="public", directions=400)
    assert not loose.exact
    assert np.abs((loose.trace - exact.trace) / loose.standard_error).max() < 4
    with pytest.raises(UnansweredError, match="random directions"):
        _ = loose.eta


def test_nothing_of_the_network_or_of_random_numbers_changes():
    model, x, y = build("linear")
    before, state = [p.clone() for p in model.parameters()], torch.get_rng_state()
    step_information(
        model, nn.CrossEntropyLoss(), (x, y), mechanism=Mechanism(noise_multiplier=1, max_grad_norm=1), label="public"
    )
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(state, torch.get_rng_state())


def test_unknown_together_floors_are_above_those_of_one_value_by_itself():
    model, x, y = build("linear")
    step = step_information(
        model,
        nn.CrossEntropyLoss(),
        (x, y),
        mechanism=Mechanism(noise_multiplier=1.0, max_grad_norm=0.3),
        label="public",
    )
    alone, together = step.error_floor(), step.error_floor([0, 2])
    expected = np.sqrt(np.linalg.inv(step.matrices[:, [0, 2]][:, :, [0, 2]])[:, [0, 1], [0, 1]])
    np.testing.assert_allclose(together, expected, rtol=1e-6)
    assert (together >= alone[:, [0, 2]] * (1 - 1e-9)).all()


def test_labels_are_told_as_often_as_by_the_likelihood_ratio():
    model, x, y = build("linear")
    mechanism = Mechanism(noise_multiplier=0.8, max_grad_norm=0.5)
    rates = step_success_rate(model, nn.CrossEntropyLoss(), (x, y), mechanism=mechanism, entry=1, values=[0, 1])
    own = explicit.published(model, F.cross_entropy, x, y, "hard", 0.5)
    generator = torch.Generator().manual_seed(0)
    for i, truth in enumerate(y.tolist()):
        other = 1 - truth if truth < 2 else 0
        (there,) = explicit.published(model, F.cross_entropy, x[i : i + 1], torch.tensor([other]), "hard", 0.5)
        gap = (there.gradient - own[i].gradient).double()
        seen = mechanism.noise_scale * torch.randn(40_000, generator=generator, dtype=torch.float64)
        # Along the gap alone noise counts: the nearer of the two is guessed.
        right = float((seen < gap.norm() / 2).double().mean())
        assert rates[i, other] == pytest.approx(right, abs=4 * np.sqrt(0.25 / 40_000))
        assert rates[i, other] == pytest.approx(norm.cdf(float(gap.norm()) / mechanism.noise_scale / 2), rel=1e-9)
        if truth < 2:
            assert np.isnan(rates[i, truth])


def test_labels_in_one_column_are_labels():
    model, x, y = build("linear")
    asked = {"mechanism": Mechanism(noise_multiplier=0.8, max_grad_norm=0.5), "entry": 1, "values": [0, 1]}
    plain = step_success_rate(model, nn.CrossEntropyLoss(), (x, y), **asked)

    def in_column(output, label):
        return F.cross_entropy(output, label.squeeze(1))

    np.testing.assert_array_equal(step_success_rate(model, in_column, (x, y[:, None]), **asked), plain)


def test_wrong_questions_are_refused():
    model, x, y = build("linear")
    mechanism = Mechanism(noise_multiplier=1.0, max_grad_norm=1.0)
    with pytest.raises(InputError, match="'secret'"):
        step_information(model, nn.CrossEntropyLoss(), (x, y), mechanism=mechanism, label="secret")
    with pytest.raises(InputError, match="directions"):
        step_information(model, nn.CrossEntropyLoss(), (x, y), mechanism=mechanism, label="public", directions=0)
    with pytest.raises(InputError, match="position"):
        step_success_rate(model, nn.CrossEntropyLoss(), (x, y), mechanism=mechanism, entry=1, values=[0], position=2)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_a_loss_that_has_no_second_derivative_is_refused():
    model, x, y = build("linear")
    signs = 2 * F.one_hot(y, 3).double() - 1
    mechanism = Mechanism(noise_multiplier=1.0, max_grad_norm=1.0)
    with pytest.raises(UnsupportedError, match="cannot differentiate"):
        step_information(model, nn.SoftMarginLoss(), (x, signs), mechanism=mechanism, label="public")


WEIGHT = torch.tensor([0.2, 1.0, 4.0]).double()


@pytest.mark.parametrize(
    "loss",
    [
        nn.CrossEntropyLoss(weight=WEIGHT),
        nn.CrossEntropyLoss(ignore_index=2),
        lambda output, target: F.cross_entropy(output, target, weight=WEIGHT),
    ],
    ids=["weights", "ignored", "of one's own making"],
)
def test_a_mean_in_which_people_have_no_share_of_their_own_is_refused(loss):
    model, x, _ = build("linear")
    y = torch.tensor([0, 1, 2, 2, 1, 0])
    asked = {"mechanism": Mechanism(noise_multiplier=1.0, max_grad_norm=1.0)}
    with pytest.raises(InputError, match="depends on the others"):
        step_information(model, loss, (x, y), label="public", **asked)
    with pytest.raises(InputError, match="depends on the others"):
        step_information(model, loss, (x, y), label="public", directions=4, **asked)
    with pytest.raises(InputError, match="depends on the others"):
        step_success_rate(model, loss, (x, y), entry=1, values=[0, 1], **asked)
    accountant = FisherAccountant(model, loss, ids=range(6), label="public")
    with pytest.raises(InputError, match="depends on the others"):
        accountant.watch(TensorDataset(x, y), steps=2)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_weights_of_classes_count_in_a_sum_and_ignored_tokens_do_not(reduction):
    """A mean is everybody's own where nobody is ignored and weights are even."""
    model, x, _ = build("linear")
    y = torch.tensor([0, 1, 0, 1, 1, 0])
    weight = WEIGHT if reduction == "sum" else torch.tensor([1.0, 1.0, 4.0]).double()
    mechanism = Mechanism(noise_multiplier=1.3, max_grad_norm=0.3)
    loss = nn.CrossEntropyLoss(weight=weight, ignore_index=2, reduction=reduction)
    step = step_information(model, loss, (x, y), mechanism=mechanism, label="public")
    expected = explicit.matrices(model, nn.CrossEntropyLoss(weight, reduction="sum"), x, y, mechanism).numpy()
    np.testing.assert_allclose(step.matrices, expected, rtol=1e-6, atol=1e-12 * np.abs(expected).max())


def test_some_values_are_those_rows_and_columns_of_all():
    model, x, y = build("linear")
    asked = {"mechanism": Mechanism(noise_multiplier=1.3, max_grad_norm=0.3), "label": "public"}
    whole = step_information(model, nn.CrossEntropyLoss(), (x, y), **asked)
    some = step_information(model, nn.CrossEntropyLoss(), (x, y), values=[3, 1], **asked)
    np.testing.assert_allclose(some.matrices, whole.matrices[:, [3, 1]][:, :, [3, 1]], rtol=1e-9)
    assert (some.sizes == 2).all()
    for wrong in ([0, 0], [-1], [x[0].numel()], []):
        with pytest.raises(InputError, match="each once"):
            step_information(model, nn.CrossEntropyLoss(), (x, y), values=wrong, **asked)
    with pytest.raises(InputError, match="one by one"):
        step_information(model, nn.CrossEntropyLoss(), (x, y), values=[0], directions=3, **asked)


class Gated(nn.Module):
    """A gate through which the input moves the output, and that hides it from derivatives."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(5, 6), nn.Linear(6, 2)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)) * nn.Parameter(x.mean(1, keepdim=True)))


# Noise of size 1, and nobody is clipped.
UNCLIPPED = Mechanism(noise_multiplier=1 / 50, max_grad_norm=50.0)


@pytest.mark.parametrize("mixed", [lambda x: x - x.mean(0), lambda x: x.softmax(0)])
def test_a_network_that_mixes_the_records_of_a_batch_is_refused(mixed):
    torch.manual_seed(0)
    batch = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    asked = {"mechanism": UNCLIPPED, "label": "public", "forward": lambda net, pair: (net(mixed(pair[0])), pair[1])}
    with pytest.raises(UnsupportedError, match="changes with the other examples"):
        step_information(nn.Linear(3, 2), nn.CrossEntropyLoss(), batch, **asked)


def test_derivatives_that_differ_from_finite_differences_are_refused():
    torch.manual_seed(0)
    model, x, y = Gated().double(), torch.randn(6, 5).double(), torch.tensor([0, 1, 0, 1, 1, 0])
    for directions in (None, 4):
        with pytest.raises(UnsupportedError, match="hides the input"):
            step_information(
                model, nn.CrossEntropyLoss(), (x, y), mechanism=UNCLIPPED, label="public", directions=directions
            )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_kinks_units_and_float32_are_no_reason_to_refuse(scale):
    torch.manual_seed(0)
    layers = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(), nn.Flatten(), nn.Linear(36, 3)
    x, y = scale * torch.randn(6, 1, 8, 8), torch.randint(0, 3, (6,))
    asked = {"mechanism": Mechanism(noise_multiplier=1.0, max_grad_norm=1.0), "label": "public"}
    assert step_information(nn.Sequential(*layers), nn.CrossEntropyLoss(), (x, y), **asked).exact
