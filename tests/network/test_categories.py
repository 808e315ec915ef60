"""Labels and tokens over a run: how often they are told, against explicit gradients and tests on what was published."""

import explicit
import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import TensorDataset
from zoo import build

import seepage
from seepage.errors import InputError, UnansweredError
from seepage.network import FisherAccountant, Mechanism, step_success_rate

LOSS, BOUND, NOISE, STEPS = nn.CrossEntropyLoss(), 0.5, 2.0, 6
TOKENS = torch.tensor([[1, 2, 3], [2, 2, 4], [4, 1, 0], [3, 0, 0], [2, 3, 1]])
TEXTS = [
    {"input_ids": t, "attention_mask": (t > 0).long(), "labels": torch.tensor(i % 2)} for i, t in enumerate(TOKENS)
]


def perceptron():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.head = nn.Embedding(6, 4), nn.Linear(4, 2)

    def forward(self, input_ids, attention_mask):
        real = attention_mask.unsqueeze(-1).to(self.head.weight.dtype)
        return self.head(torch.tanh((self.word(input_ids) * real).sum(1) / real.sum(1)))


def people(count=7):
    torch.manual_seed(0)
    return torch.randn(count, 4).double(), torch.arange(count) % 3


def published(model, x, y):
    gradient = torch.autograd.grad(F.cross_entropy(model(x[None]), y[None]), list(model.parameters()))
    return explicit.hard(torch.cat([g.flatten() for g in gradient]), BOUND)


def trained(x, y, *, rate=None, batches=None, ids=None, sweeps=STEPS, **settings):
    """Train a loop of one's own; return the accountant, and all squared distances of each step."""
    model = perceptron()
    accountant = FisherAccountant(
        model, LOSS, ids=range(len(x)) if ids is None else ids, label="public", sweeps=sweeps, seed=0,
        categories={"label": range(3)}, **settings,
    )  # fmt: skip
    accountant.watch(TensorDataset(x, y), steps=STEPS)
    squared = np.zeros((STEPS, len(x), 3))
    for step in range(STEPS):
        for i in range(len(x)):
            own = published(model, x[i], y[i])
            for k in range(3):
                gap = published(model, x[i], torch.tensor(k)) - own
                squared[step, i, k] = float((gap / (NOISE * BOUND)).square().sum())
        with torch.no_grad():
            for p in model.parameters():
                p.add_(0.1 * torch.randn_like(p))
        drawn = {} if batches is None else {"records": batches[step]}
        accountant.step(noise_multiplier=NOISE, max_grad_norm=BOUND, sample_rate=rate, **drawn)
    return accountant, squared


def test_squared_distances_add_up_over_the_steps_that_a_person_is_in():
    x, y = people()
    batches = [[0, 1, 2], [3, 4, 5], [6, 0, 1], [2, 3, 4], [5, 6, 0], [1, 2, 3]]
    accountant, squared = trained(x, y, batches=batches)
    took = np.array([[i in batch for i in range(len(x))] for batch in batches])
    leak = accountant.leakage()
    found = leak.information.distances("label", None)
    np.testing.assert_array_equal(found.truth, y)
    # Everybody is visited at every step: nothing of the sum is left to chance.
    np.testing.assert_allclose(found.distance**2, (squared * took[:, :, None]).sum(0), rtol=1e-9, atol=1e-12)
    frame = leak.success_rate("label")
    np.testing.assert_allclose(frame["success_rate"], norm.cdf(frame["distance"] / 2), rtol=1e-9)
    assert len(frame) == 2 * len(x)


def test_with_secret_sampling_each_step_counts_as_often_as_one_is_drawn():
    x, y = people()
    accountant, squared = trained(x, y, rate=0.3)
    found = accountant.leakage().information.distances("label", None)
    np.testing.assert_allclose(found.distance**2, 0.3 * squared.sum(0), rtol=1e-9, atol=1e-12)


def test_few_visits_estimate_the_same():
    x, y = people(60)
    accountant, squared = trained(x, y, rate=0.3, sweeps=2)
    found = accountant.leakage().information.distances("label", None).distance ** 2
    exact = 0.3 * squared.sum(0)
    other = exact > 0
    assert found[~other].max() == 0
    assert np.median(np.abs(found[other] / exact[other] - 1)) < 0.1


def test_a_policy_judges_labels_and_names_them_where_it_has_no_target():
    x, y = people()
    leak = trained(x, y, rate=0.3)[0].leakage()
    most = float(leak.success_rate("label")["success_rate"].max())
    assert 0.51 < most < 0.99
    assert not seepage.Policy(success_rate={"label": most + 1e-3}, eta=1e9).violations(leak)
    strict = seepage.Policy(success_rate={"label": 0.5 + (most - 0.5) / 2})
    ((target, factor),) = strict.violations(leak).items()
    assert target.attribute == "label"
    assert factor > 1
    assert "label" in seepage.Policy(eta=1e9).attributes_without_target(leak).attributes
    said = " ".join(leak.assumptions)
    assert "The label is a category" in said
    assert "How often label can be told" in said


def test_hidden_draws_tell_less_than_the_rate_that_is_reported():
    """The best test between what is published with the one label and with the other, by simulation of its ratio."""
    x, y = people(3)
    _, squared = trained(x, y, rate=0.3)
    random, distance = np.random.default_rng(0), np.sqrt(squared[:, 0, 1])
    own = np.linalg.norm(published(perceptron(), x[0], y[0])) / (NOISE * BOUND)
    # Published is 0 with the true label, gap with the other one, and -own by whoever is not drawn.
    trials, right = 200_000, []
    for other in (False, True):
        log_ratio = 0.0
        for gap in distance:
            center = np.where(random.random(trials) < 0.3, gap * other, -own)
            seen = random.standard_normal(trials) + center
            nobody = 0.7 * np.exp(-((seen + own) ** 2) / 2)
            likely = [np.log(nobody + 0.3 * np.exp(-((seen - mean) ** 2) / 2)) for mean in (0.0, gap)]
            log_ratio = log_ratio + likely[1] - likely[0]
        right.append(float(((log_ratio > 0) == other).mean()))
    error = 4 * np.sqrt(0.25 / trials)
    assert 0.5 + error < np.mean(right) < norm.cdf(np.sqrt(0.3 * (distance**2).sum()) / 2) + error


def test_some_values_are_asked_and_others_were_not_compared():
    x, y = people()
    leak = trained(x, y, rate=0.3)[0].leakage()
    whole, two = (leak.information.distances("label", values) for values in (None, [2, 0]))
    np.testing.assert_array_equal(two.distance, whole.distance[:, [2, 0]])
    np.testing.assert_array_equal(two.truth, np.array([1, -1, 0])[y])
    with pytest.raises(UnansweredError, match="not with 7"):
        leak.success_rate("label", values=[0, 7])


def test_somebody_with_several_records_has_a_label_in_each():
    x, y = people()
    ids = ["a", "b", "a", "c", "d", "e", "f"]
    whole, alone = (trained(x, y, rate=0.3, ids=names)[0].leakage() for names in (ids, None))
    found, each = whole.information.distances("label", None), alone.information.distances("label", None)
    np.testing.assert_allclose(found.distance, each.distance)
    assert found.farthest()[0] == max(each.farthest()[[0, 2]])
    assert whole.success_rate("label").index.tolist().count("a") == 4


def test_tokens_are_told_at_a_position_and_padding_is_none():
    torch.manual_seed(0)
    model = Reader().double()
    with pytest.warns(UserWarning, match="looks up tokens"):
        accountant = FisherAccountant(
            model, LOSS, ids=list("abcde"), label="public", private=["input_ids"], sweeps=2, seed=0,
            categories={("input_ids", 1): [1, 2, 3, 4], "labels": [0, 1]},
        )  # fmt: skip
    accountant.watch(TEXTS, steps=2)
    for _ in range(2):
        accountant.step(noise_multiplier=NOISE, max_grad_norm=BOUND, sample_rate=0.5)
    leak = accountant.leakage()
    mechanism = Mechanism(noise_multiplier=NOISE, max_grad_norm=BOUND)
    batch = torch.utils.data.default_collate(TEXTS)
    asked = {"mechanism": mechanism, "entry": "input_ids", "position": 1, "values": [1, 2, 3, 4]}
    once = step_success_rate(model, LOSS, batch, **asked)
    found = leak.information.distances("input_ids 1", None)
    # The weights rest: two steps, each drawn into with one half.
    np.testing.assert_allclose(found.distance[[0, 1, 2, 4]], 2 * norm.ppf(np.nan_to_num(once[[0, 1, 2, 4]], nan=0.5)))
    assert np.isnan(found.distance[3]).all()
    assert found.truth.tolist() == [1, 1, 0, -1, 2]
    assert "d" not in leak.success_rate("input_ids 1").index
    assert set(leak.success_rate("labels").index) == set("abcde")


def test_saved_and_resumed_categories_are_the_same():
    x, y = people()

    def made():
        accountant = FisherAccountant(
            perceptron(), LOSS, ids=range(7), label="public", seed=0, categories={1: [0, 1, 2]}
        )
        accountant.watch(TensorDataset(x, y), steps=8)
        return accountant

    def observe(accountant, steps):
        for _ in range(steps):
            accountant.step(noise_multiplier=1.0, max_grad_norm=0.5, sample_rate=0.25)
        return accountant

    whole, killed, resumed = observe(made(), 8), observe(made(), 5), made()
    resumed.load_state_dict(killed.state_dict())
    observe(resumed, 3)
    first, second = (each.leakage().information.distances("entry 1", None) for each in (whole, resumed))
    np.testing.assert_array_equal(first.distance, second.distance)


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ({"label": [1]}, "two or more different values"),
        ({"label": [1, 1]}, "two or more different values"),
        ({("label", -1): [0, 1]}, "a position is a whole number"),
        ({"all values": [0, 1]}, "among the private numbers"),
        ({"diagnosis": [0, 1]}, "There is no entry 'diagnosis'"),
        ({("label", 0): [0, 1]}, "leave position= out"),
    ],
)
def test_entries_without_a_category_are_refused(categories, message):
    x, y = people()
    with pytest.raises(InputError, match=message):
        FisherAccountant(perceptron(), LOSS, ids=range(7), label="public", categories=categories).watch(
            TensorDataset(x, y), steps=2
        )


def test_nothing_was_asked():
    x, y = people()
    accountant = FisherAccountant(perceptron(), LOSS, ids=range(7), label="public", seed=0, groups={"a": [0]})
    accountant.watch(TensorDataset(x, y), steps=1)
    accountant.step(noise_multiplier=1.0, max_grad_norm=0.5, sample_rate=0.25)
    with pytest.raises(UnansweredError, match="categories="):
        accountant.leakage().success_rate("a", values=[0, 1])


def test_the_label_is_the_last_entry_of_a_batch():
    model, x, y = build("linear")
    asked = {"mechanism": Mechanism(noise_multiplier=0.8, max_grad_norm=0.5), "values": [0, 1]}
    named = step_success_rate(model, LOSS, (x, y), entry="label", **asked)
    np.testing.assert_array_equal(named, step_success_rate(model, LOSS, (x, y), entry=1, **asked))
