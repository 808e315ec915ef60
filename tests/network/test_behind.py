"""A head on a frozen network, trained with private SGD: every step exact from cached features."""

import numpy as np
import pytest
import torch
from torch import nn

from seepage.errors import InputError, UnansweredError
from seepage.network import Mechanism, StepInformation, step_information

SHAPE, PEOPLE = (1, 5, 5), 12
MECHANISM = Mechanism(noise_multiplier=1.5, max_grad_norm=0.4)
LOSS = nn.CrossEntropyLoss()


def body():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(27, 4), nn.Tanh()).double()


def features(X):
    """Return the features of images, and their derivatives by pixel."""
    network, inputs = body(), torch.from_numpy(X)
    moved = torch.func.vmap(torch.func.jacrev(lambda image: network(image.reshape(1, *SHAPE))[0]))(inputs)
    return network(inputs.reshape(-1, *SHAPE)).detach(), moved.detach().numpy()


def images():
    random = np.random.default_rng(1)
    return random.random((PEOPLE, 25)), torch.from_numpy(random.integers(0, 2, PEOPLE))


def run():
    """Return the heads of three steps and who is in each."""
    torch.manual_seed(3)
    heads = [nn.Linear(4, 2).double() for _ in range(3)]
    return heads, [range(12), range(0, 12, 2), range(5)]


def published(network, head, image, label):
    """Return the clipped gradient of the head, as a function of the image."""
    z = network(image.reshape(1, *SHAPE))[0]
    odds = torch.softmax(head.weight.detach() @ z + head.bias.detach(), 0) - nn.functional.one_hot(label, 2)
    gradient = torch.cat([torch.outer(odds, z).flatten(), odds])
    return gradient * (MECHANISM.max_grad_norm / (gradient.norm() + 1e-6)).clamp(max=1)


def test_three_steps_tell_of_every_pixel_what_the_whole_map_does():
    X, y = images()
    (z, slopes), (heads, batches) = features(X), run()
    told = [
        step_information(head, LOSS, (z[who], y[who]), mechanism=MECHANISM, label="public", ids=who)
        for head, who in zip(heads, batches, strict=True)
    ]
    found = (told[0] + told[1] + told[2]).through(slopes, ids=range(PEOPLE))
    expected, network = np.zeros((PEOPLE, 25, 25)), body().eval()
    for head, who in zip(heads, batches, strict=True):
        for i in who:
            image = torch.from_numpy(X[i])
            moved = torch.autograd.functional.jacobian(lambda x, i=i, h=head: published(network, h, x, y[i]), image)
            expected[i] += (moved.T @ moved).numpy() / MECHANISM.noise_scale**2
    np.testing.assert_allclose(found.each**2, np.einsum("nvv->nv", expected), rtol=1e-8)
    np.testing.assert_allclose(found.dfil**2, np.einsum("nvv->n", expected) / 25, rtol=1e-8)
    np.testing.assert_allclose(found.eta**2, np.linalg.eigvalsh(expected)[:, -1], rtol=1e-8)
    pair = np.linalg.inv(expected[:, [6, 18]][:, :, [6, 18]])
    np.testing.assert_allclose(found.error_floor([6, 18]), np.sqrt(np.einsum("nvv->nv", pair)), rtol=1e-6)
    np.testing.assert_allclose(found.error_floor(), 1 / found.each)


def test_secret_batches_are_credited_as_in_one_step_of_the_whole_network():
    X, y = images()
    (z, slopes), secret = features(X), Mechanism(noise_multiplier=1.0, max_grad_norm=0.3, sample_rate=0.2)
    head = nn.Linear(4, 2).double()
    step = step_information(head, LOSS, (z, y), mechanism=secret, label="public")
    found = step.through(slopes, ids=range(PEOPLE))
    whole = nn.Sequential(body().requires_grad_(False), head)
    batch = torch.from_numpy(X).reshape(-1, *SHAPE), y
    expected = step_information(whole, LOSS, batch, mechanism=secret, label="public")
    np.testing.assert_allclose(found.each**2, np.einsum("nvv->nv", expected.matrices), rtol=1e-9)
    np.testing.assert_allclose(found.eta, expected.eta, rtol=1e-9)


@pytest.mark.parametrize(
    "called",
    [lambda i: f"p{i}", lambda i: PEOPLE - i, lambda i: i // 2 if i % 2 else str(i // 2)],
    ids=["words", "backward", "mixed"],
)
def test_slopes_go_to_whose_they_are(called):
    X, y = images()
    (z, slopes), (heads, _) = features(X), run()
    shuffled = np.random.default_rng(5).permutation(PEOPLE)
    asked = {"mechanism": MECHANISM, "label": "public"}
    first, second = (
        step_information(head, LOSS, (z[who], y[who]), ids=[called(i) for i in who.tolist()], **asked)
        for head, who in zip(heads, [shuffled, shuffled[:5][::-1].copy()], strict=False)
    )
    # Somebody who is in no step, and whose slopes are known, takes nobody's place.
    with_nobody = np.concatenate([np.full((1, 4, 25), 9.0), slopes])
    found = (second + first).through(with_nobody, ids=["nobody", *(called(i) for i in range(PEOPLE))])
    expected, network = {}, body().eval()
    for i in range(PEOPLE):
        expected[called(i)] = np.zeros((25, 25))
        for head in heads[: 2 if i in shuffled[:5] else 1]:
            published_of = lambda x, i=i, head=head: published(network, head, x, y[i])  # noqa: E731
            moved = torch.autograd.functional.jacobian(published_of, torch.from_numpy(X[i]))
            expected[called(i)] += (moved.T @ moved).numpy() / MECHANISM.noise_scale**2
    assert set(found.ids.tolist()) == set(expected)
    for who, each in zip(found.ids.tolist(), found.each, strict=True):
        np.testing.assert_allclose(each**2, np.diagonal(expected[who]), rtol=1e-8)


def test_slopes_of_another_shape_are_refused():
    ids, four, five = np.arange(2), np.zeros((2, 4, 4)), np.zeros((2, 5, 5))
    step = StepInformation(ids, np.zeros(2), np.zeros(2), np.full(2, 4.0), four)
    other = StepInformation(ids, np.zeros(2), np.zeros(2), np.full(2, 5.0), five)
    with pytest.raises(InputError, match="4 values of a person and the other about 5"):
        step + other
    with pytest.raises(InputError, match="give the derivatives of the features"):
        step.through(np.zeros((2, 5, 9)), ids=range(2))
    with pytest.raises(InputError, match="nobody called 1"):
        step.through(np.zeros((1, 4, 9)), ids=[0])
    with pytest.raises(InputError, match="names 0 2 times"):
        step.through(np.zeros((3, 4, 9)), ids=[0, 0, 1])
    estimated = StepInformation(ids, np.ones(2), np.ones(2), np.full(2, 99.0), None)
    with pytest.raises(UnansweredError, match="one by one"):
        estimated.through(np.zeros((2, 99, 3)), ids=range(2))


def test_one_person_in_single_precision():
    X, y = images()
    (z, slopes), head = features(X), nn.Linear(4, 2)
    asked = {"mechanism": MECHANISM, "label": "public"}
    single = step_information(head, LOSS, (z[7:8].float(), y[7:8]), ids=["g"], **asked)
    double = step_information(head.double(), LOSS, (z, y), **asked)
    found = (single + single).through(slopes[7:8], ids=["g"])
    expected = double.through(slopes, ids=range(PEOPLE)).each[7] * np.sqrt(2)
    np.testing.assert_allclose(found.each[0], expected, rtol=1e-5)


def test_a_private_label_is_no_feature():
    X, y = images()
    (z, slopes), head = features(X), nn.Linear(4, 2).double()
    told = nn.functional.one_hot(y, 2).double()
    step = step_information(head, LOSS, (z, told), mechanism=MECHANISM, label="private")
    with pytest.raises(InputError, match="label='public'"):
        step.through(slopes, ids=range(PEOPLE))
