"""Attacks on shared gradients: they succeed where gradients are bare, and fail where noise is enough."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

import seepage
from seepage.attacks import GradientInversion, PropertyInference
from seepage.attacks._property import area_under_curve
from seepage.attacks._similarity import structural_similarity
from seepage.network import Update, collect_gradients

LOSS = nn.CrossEntropyLoss()


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def shifted_batches(count, shift=0.7, size=8):
    """Batches whose inputs are shifted in one column that the labels do not depend on, or are not."""
    random = torch.Generator().manual_seed(3)
    has = np.arange(count) % 2
    for each in has:
        x = torch.randn(size, 5, generator=random)
        y = (x[:, 0] > 0).long()
        x[:, 4] += shift * float(each)
        yield x, y


def client():
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))


@pytest.mark.parametrize("family", ["logistic", "forest", "network"])
def test_a_property_is_told_from_bare_gradients(tmp_path, family):
    has = np.arange(200) % 2
    stored = collect_gradients(client(), LOSS, shifted_batches(200, 1.5), output=tmp_path)
    found = PropertyInference(family).fit(stored, has).evaluate()
    assert found["name"].tolist() == ["0", "2", "all layers"]
    assert found["auc"][0] > 0.75
    assert found["auc"][2] > 0.75
    assert (found["low"] < found["auc"]).all()
    assert (found["auc"] < found["high"]).all()


@pytest.mark.parametrize(
    ("update", "size", "least", "most"),
    [
        (Update(), 1, 0.55, 1.0),
        (Update(local_steps=5, learning_rate=0.1), 8, 0.75, 1.0),
        (Update(max_grad_norm=0.5), 8, 0.7, 1.0),
        (Update(max_grad_norm=0.5, noise_multiplier=20.0), 8, 0.35, 0.65),
    ],
    ids=["single examples", "several local steps", "clipped", "clipped and noised"],
)
def test_what_is_sent_decides_how_well_the_attack_does(tmp_path, update, size, least, most):
    has = np.arange(240) % 2
    model = client()
    batches = list(shifted_batches(240, shift=1.5, size=size))
    own = collect_gradients(model, LOSS, batches[:120], output=tmp_path / "own", update=update, seed=0)
    sent = collect_gradients(model, LOSS, batches[120:], output=tmp_path / "sent", update=update, seed=1)
    attack = PropertyInference("logistic").fit(own, has[:120])
    found = attack.evaluate(sent, has[120:])
    assert least <= found["auc"].iloc[-1] <= most
    guesses = attack.guess(sent)
    assert roc_auc_score(has[120:], guesses) == pytest.approx(found["auc"].iloc[-1])


def test_the_interval_of_the_area_is_that_of_newcombe_and_covers_the_truth():
    perfect = area_under_curve(np.repeat([False, True], 20), np.repeat([0.0, 1.0], 20), 0.95)
    assert perfect[0] == 1.0
    assert 0.85 < perfect[1] < perfect[2] == 1.0
    random = np.random.default_rng(0)
    truth = 0.7602  # P(Z1 + 1 > Z0) = Phi(1 / sqrt 2)
    has = np.repeat([False, True], 40)
    covered = 0
    for _ in range(300):
        _, low, high = area_under_curve(has, random.normal(size=80) + has, 0.9)
        covered += low < truth < high
    assert 0.84 < covered / 300 < 0.96


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: PropertyInference("trees"), "'trees'"),
        (lambda: PropertyInference().evaluate(), "Fit the attack first"),
        (lambda: PropertyInference().fit({"a": np.ones((15, 2))}, [0, 1, 2] * 5), "two values"),
        (lambda: GradientInversion(steps=0), "positive"),
        (lambda: GradientInversion(bounds=(1.0, 0.0)), "bounds"),
        (lambda: GradientInversion().evaluate(torch.ones(1, 2), torch.ones(1)), "Fit the attack first"),
    ],
)
def test_misuse_is_explained(use, message):
    with pytest.raises(seepage.errors.InputError, match=message):
        use()


def picture(count=1):
    """Smooth images: a bright spot each, at a place of its own."""
    across = torch.linspace(-1, 1, 12)
    found = []
    for i in range(count):
        square = (across[:, None] - 0.4 * (-1) ** i) ** 2 + (across[None] + 0.3 * i - 0.2) ** 2
        found.append(torch.exp(-3 * square))
    return torch.stack(found).unsqueeze(1)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(6 * 144, 10), nn.Tanh(), nn.Linear(10, 2)
    )


def test_a_picture_comes_back_from_its_gradient():
    found = GradientInversion(steps=150).fit(network(), LOSS).evaluate(picture(), torch.tensor([1])).frame
    assert found["ssim"][0] > 0.85
    assert found["psnr"][0] == pytest.approx(10 * np.log10(1 / found["mse"][0]))
    assert found["similarity"][0] > 0.99


@pytest.mark.parametrize(
    "update",
    [Update(max_grad_norm=0.05), Update(local_steps=3, learning_rate=0.05)],
    ids=["clipped", "several local steps"],
)
def test_it_also_comes_back_from_clipped_gradients_and_from_several_steps(update):
    attack = GradientInversion(steps=120).fit(network(), LOSS, update=update)
    assert attack.evaluate(picture(), torch.tensor([1])).frame["ssim"][0] > 0.8


def test_noise_keeps_it_from_coming_back():
    update = Update(max_grad_norm=0.05, noise_multiplier=1.0)
    attack = GradientInversion(steps=120).fit(network(), LOSS, update=update)
    found = attack.evaluate(picture(), torch.tensor([1])).frame
    assert found["ssim"][0] < 0.3


def test_a_batch_comes_back_in_the_order_that_fits():
    attack = GradientInversion(steps=250, restarts=2).fit(network(), LOSS)
    found = attack.evaluate(picture(2), torch.tensor([0, 1]), together=True)
    assert found.guesses.shape == (2, 1, 12, 12)
    assert (found.frame["ssim"] > 0.5).all()


@pytest.mark.parametrize(
    "update", [Update(), Update(max_grad_norm=0.1), Update(local_steps=2, learning_rate=0.1)], ids=str
)
def test_images_inverted_side_by_side_are_inverted_as_if_each_were_alone(update, monkeypatch):
    x, y, model = picture(3).double(), torch.tensor([0, 1, 1]), network().double()
    attack = GradientInversion(steps=12, restarts=2, seed=5).fit(model, nn.CrossEntropyLoss(), update=update)
    found = attack.evaluate(x, y)
    for place in range(3):
        one = slice(place, place + 1)
        alone = replace(attack, seed=5 + place).fit(model, nn.CrossEntropyLoss(), update=update)
        sent = update.of(model, nn.CrossEntropyLoss(), x[one], y[one])
        np.testing.assert_allclose(alone.guess(sent, y[one], shape=x.shape[1:])[0], found.guesses[place], atol=1e-9)
    # However many there is room for.
    monkeypatch.setattr("seepage.attacks._gradient_inversion._SCRATCH", 0)
    np.testing.assert_allclose(attack.evaluate(x, y).guesses, found.guesses, atol=1e-9)


def test_the_guess_of_two_starts_is_that_which_fits_better():
    x, y, model = picture(), torch.tensor([1]), network()
    attacks = [GradientInversion(steps=20, seed=seed).fit(model, nn.CrossEntropyLoss()) for seed in (0, 1)]
    both = GradientInversion(steps=20, restarts=2).fit(model, nn.CrossEntropyLoss()).evaluate(x, y)
    assert both.frame["similarity"][0] >= attacks[0].evaluate(x, y).frame["similarity"][0]


def test_layers_that_keep_count_are_left_as_they_are():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(9, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2)).double()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    x, y = torch.rand(4, 1, 3, 3).double(), torch.arange(4) % 2
    sent = Update().of(model, nn.CrossEntropyLoss(), x, y)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    nn.CrossEntropyLoss()(model(x), y).backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(sent[name], parameter.grad)
    found = GradientInversion(steps=60).fit(model, nn.CrossEntropyLoss()).evaluate(x, y, together=True)
    assert found.frame["similarity"][0] > 0.9


def test_rows_of_a_table_have_no_similarity_of_structure():
    attack = GradientInversion(steps=150, bounds=(-3.0, 3.0), learning_rate=0.3).fit(client(), LOSS)
    found = attack.evaluate(torch.randn(1, 5), torch.tensor([1])).frame
    assert found["ssim"].isna().all()
    assert found["mse"][0] < 0.05


def test_structural_similarity_is_that_of_its_definition():
    random = np.random.default_rng(0)
    a = random.uniform(size=(1, 16, 16))
    b = np.clip(a + 0.2 * random.normal(size=a.shape), 0, 1)
    assert structural_similarity(a, a, 1.0) == pytest.approx(1.0)
    grid = np.arange(-5, 6)
    window = np.exp(-0.5 * (grid / 1.5) ** 2)
    window = np.outer(window, window) / window.sum() ** 2
    x, y = (np.pad(image[0], 5, mode="symmetric") for image in (a, b))
    values = []
    for i in range(16):
        for j in range(16):
            p, q = x[i : i + 11, j : j + 11], y[i : i + 11, j : j + 11]
            mp, mq = (window * p).sum(), (window * q).sum()
            vp, vq = (window * (p - mp) ** 2).sum(), (window * (q - mq) ** 2).sum()
            both = (window * (p - mp) * (q - mq)).sum()
            values.append((2 * mp * mq + 1e-4) * (2 * both + 9e-4) / ((mp**2 + mq**2 + 1e-4) * (vp + vq + 9e-4)))
    assert structural_similarity(a, b, 1.0) == pytest.approx(np.mean(values), rel=1e-9)


def test_importing_the_attacks_does_not_import_pytorch():
    code = "import sys, seepage.attacks; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
