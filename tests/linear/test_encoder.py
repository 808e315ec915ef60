"""Linear heads on a frozen network: information about what enters the network, against its whole map differentiated."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from torch import nn

import seepage
from seepage.attacks import AttributeInversion
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns._encoder import EncoderCurve
from seepage.linear.information import fingerprint
from seepage.linear.rows import batch_rows
from seepage.models import FrozenEncoder
from seepage.network import Mechanism, PrivateSteps, step_information

SHAPE, NOISE = (1, 5, 5), 0.3


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Tanh(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(27, 4), nn.Tanh()
    )


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
    module = module.double().eval()
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
    model = make_pipeline(FrozenEncoder(network(), SHAPE), head).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=NOISE, public_label=True, public_preprocessing=["frozenencoder"])
    start = np.append(np.ravel(model[-1].coef_), model[-1].intercept_)
    expected = differentiated(network(), objective, X, y, start)
    pixels = np.sqrt(np.einsum("ijj->ij", expected))
    np.testing.assert_allclose(leak.attributes.to_numpy(), pixels, rtol=1e-8)
    np.testing.assert_allclose(leak.examples["eta"], np.sqrt(np.linalg.eigvalsh(expected)[:, -1]), rtol=1e-8)
    np.testing.assert_allclose(leak.examples["dfil"], np.sqrt((pixels**2).mean(axis=1)), rtol=1e-8)


def test_the_network_is_used_as_in_evaluation_and_left_as_it_was():
    X, _ = people()
    module = network()
    encoder = FrozenEncoder(module, SHAPE).fit(X)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    features = encoder.transform(X)
    np.testing.assert_array_equal(features, encoder.transform(X))
    np.testing.assert_allclose(encoder.transform(X[:1]), features[:1], rtol=1e-12)
    assert module.training
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


def test_guesses_of_a_pixel_from_the_noisy_head_are_at_or_above_the_floor():
    X, y = people()
    model = make_pipeline(FrozenEncoder(network(), SHAPE), Ridge(alpha=2.0)).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=1e-4, public_label=True, public_preprocessing=["frozenencoder"])
    found = seepage.verify(leak, AttributeInversion(leak.attributes.columns[12]), trials=200)
    assert found.holds, found.verdict


def test_a_step_of_private_training_of_the_head_alone_is_that_of_its_explicit_gradient():
    X, y = people(5)
    encoder, head = nn.Sequential(network()[0], nn.Tanh()).requires_grad_(False), nn.Linear(27, 2)
    model = nn.Sequential(encoder, nn.Flatten(), head).double()
    x, y = torch.from_numpy(X).reshape(-1, *SHAPE), torch.from_numpy(y)
    mechanism = Mechanism(noise_multiplier=1.5, max_grad_norm=0.2)
    step = step_information(model, nn.CrossEntropyLoss(), (x, y), mechanism=mechanism, label="public", values=[3, 12])

    def published(values, i):
        one = x[i].flatten().index_put((torch.tensor([3, 12]),), values).reshape(1, *SHAPE)
        z = model[:2](one)[0]
        odds = torch.softmax(head.weight.detach() @ z + head.bias.detach(), 0) - nn.functional.one_hot(y[i], 2)
        gradient = torch.cat([torch.outer(odds, z).flatten(), odds])
        return gradient * (0.2 / (gradient.norm() + 1e-6)).clamp(max=1)

    for i in range(5):
        moved = torch.autograd.functional.jacobian(lambda v, i=i: published(v, i), x[i].flatten()[[3, 12]])
        np.testing.assert_allclose(step.matrices[i], (moved.T @ moved).numpy() / 0.3**2, rtol=1e-8)
    training = PrivateSteps(model=model, loss=nn.CrossEntropyLoss(), batch=(x, y), mechanism=mechanism)
    np.testing.assert_allclose(training.information(model, [3, 12]).matrices, step.matrices, rtol=1e-12)


def test_files_have_other_columns_too_and_a_filter_may_leave_a_whole_file_empty(tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(120, 4)), columns=list("abcd"))
    table = X.assign(
        y=X["a"] + random.normal(size=120), year=np.repeat([1, 2, 3], 40), id=[f"p{i}" for i in range(120)]
    )
    files, kept_at = tmp_path / "files", tmp_path / "found"
    files.mkdir()
    table[:80].to_parquet(files / "one.parquet", row_group_size=20)
    table[80:].to_parquet(files / "two.parquet", row_group_size=20)
    kept = table[table["year"] == 2]
    model = make_pipeline(FrozenEncoder(nn.Sequential(nn.Linear(4, 3), nn.Tanh()), (4,)), Ridge())
    model.fit(kept[X.columns], kept["y"])
    stated = {"noise_scale": NOISE, "public_preprocessing": ["frozenencoder"]}
    job = seepage.engines.Job(output=kept_at)
    there = seepage.measure(model, files, target="y", ids="id", where="year == 2", job=job, **stated)
    here = seepage.measure(model, kept[X.columns], kept["y"], ids=kept["id"], **stated)
    found = there.examples.to_table().to_pandas().set_index("id")["eta"]
    np.testing.assert_allclose(found, here.examples["eta"].loc[found.index], rtol=1e-12)


def test_without_noise_slopes_are_asked_for_a_few_times(monkeypatch):
    asked, slopes = [], EncoderCurve.slopes
    monkeypatch.setattr(EncoderCurve, "slopes", lambda self, inputs: asked.append(len(inputs)) or slopes(self, inputs))
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Flatten())
    X = np.random.default_rng(0).random((60, 16))
    y = (X[:, :8].mean(axis=1) > X[:, 8:].mean(axis=1)).astype(int)
    model = make_pipeline(FrozenEncoder(module, (1, 4, 4)), LogisticRegression()).fit(X, y)
    leak = seepage.measure(model, X, y, public_preprocessing=["frozenencoder"])
    assert "60 people" in str(leak)
    assert len(asked) < 40


def test_no_rows_have_no_features():
    X, _ = people()
    assert FrozenEncoder(network(), SHAPE).fit(X).transform(X[:0]).shape == (0, 4)


def test_what_does_not_fit_is_said():
    X, _ = people()
    with pytest.raises(InputError, match="X has 24 columns"):
        FrozenEncoder(network(), SHAPE).fit(X[:, :24])
    with pytest.raises(InputError, match="Flatten"):
        FrozenEncoder(network()[:3], SHAPE).fit(X).transform(X)
    with pytest.raises(InputError, match="X has 50 columns"):
        FrozenEncoder(network(), SHAPE).fit(X).transform(np.hstack([X, X]))


def test_networks_that_are_no_function_of_each_row_are_refused():
    class Masked(nn.Module):
        def forward(self, x):
            return nn.functional.dropout(x.flatten(1), 0.3, training=True)

    mixed = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, track_running_stats=False), nn.Flatten())
    single = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(25, track_running_stats=False))
    X, y = people()
    for module in (mixed, single, Masked()):
        model = make_pipeline(FrozenEncoder(module, SHAPE), Ridge()).fit(X, y)
        with pytest.raises(UnsupportedError, match="not a function of each row"):
            seepage.measure(model, X, y, noise_scale=NOISE, public_preprocessing=["frozenencoder"])


def test_layers_with_kinks_that_work_in_place_are_measured_as_they_are():
    """At the image as it is the derivative of max(x, 0) is 0 or 1, and the measurement says that this is all."""
    module = nn.Sequential(nn.ReLU(inplace=True), nn.Flatten())
    X, y = people()
    X = X - 0.5
    given = X.copy()
    model = make_pipeline(FrozenEncoder(module, SHAPE), Ridge()).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=NOISE, public_preprocessing=["frozenencoder"])
    np.testing.assert_array_equal(X, given)
    np.testing.assert_array_equal(leak.attributes.to_numpy()[:, :25] == 0.0, X < 0)
    assert any("kinks" in sentence for sentence in leak.assumptions)


def test_a_network_is_known_by_its_numbers_in_every_process():
    module = network()
    one, same = (EncoderCurve(each, SHAPE) for each in (module, copy.deepcopy(module)))
    assert fingerprint((one,)) == fingerprint((same,))
    with torch.no_grad():
        module[0].weight[0, 0, 0, 0] += 1e-9
    assert fingerprint((one,)) != fingerprint((EncoderCurve(module, SHAPE),))


def test_files_say_what_memory_says(tmp_path):
    X, y = people()
    names = [f"pixel {i}" for i in range(25)]
    model = make_pipeline(FrozenEncoder(network(), SHAPE), Ridge(alpha=2.0)).fit(pd.DataFrame(X, columns=names), y)
    frame = pd.DataFrame(X, columns=names)
    given = {"noise_scale": NOISE, "public_label": True, "public_preprocessing": ["frozenencoder"]}
    expected = seepage.measure(model, frame, y, **given)
    (tmp_path / "rows").mkdir()
    frame.assign(label=y)[:13].to_parquet(tmp_path / "rows" / "a.parquet")
    frame.assign(label=y)[13:].to_parquet(tmp_path / "rows" / "b.parquet")
    job = seepage.engines.Job(seepage.engines.Local(workers=2), tmp_path / "out")
    found = seepage.measure(model, tmp_path / "rows", target="label", job=job, **given)
    for name in names:
        stored = found.information.attributes()[name]
        np.testing.assert_allclose(np.asarray(stored), expected.attributes[name], rtol=1e-8)


def test_many_slopes_make_small_batches():
    assert batch_rows(32) == 8192
    assert batch_rows(32, 32 * 784) == 2**22 // (32 * 784)
    assert batch_rows(512, 512 * 224 * 224 * 3) == 1


def test_slopes_are_asked_about_the_columns_that_were_fitted():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 4)), columns=list("abcd"))
    encoder = FrozenEncoder(nn.Sequential(nn.Linear(4, 3), nn.Tanh()), (4,)).fit(X)
    with pytest.raises(ValueError, match="must be in the same order"):
        encoder.slopes(X[["b", "a", "c", "d"]])


def test_the_head_is_published_by_itself_and_the_whole_is_not():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 9))
    y = X[:, 0] + random.normal(size=60)
    model = make_pipeline(FrozenEncoder(nn.Sequential(nn.Linear(9, 3), nn.Tanh()), (9,)), Ridge()).fit(X, y)
    stated = {"public_preprocessing": ["frozenencoder"]}
    noise = seepage.calibrate(seepage.measure(model, X, y, noise_scale=1.0, **stated), error_floor={"x0": 2.0})
    with pytest.raises(UnsupportedError, match="publish the head by itself"):
        seepage.publish(model, X, y, noise_scale=noise, accept={"error_floor": {"x0": 2.0}}, **stated)
    features = model[0].transform(X)
    head = seepage.publish(model[-1], features, y, noise_scale=noise, accept=None, noise_chosen_without_data=True)
    # What leaves is the head that was measured, with the noise that was.
    moved = np.append(head.estimator.coef_ - model[-1].coef_, head.estimator.intercept_ - model[-1].intercept_)
    assert 0 < np.abs(moved).max() < 6 * noise.scale
