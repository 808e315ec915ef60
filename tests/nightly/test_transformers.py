"""Transformers, with and without LoRA, against finite differences at what their embeddings look up."""

import numpy as np
import pytest
import torch
from torch import nn

from seepage.network import FisherAccountant, Mechanism, step_information, step_success_rate

transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
MECHANISM = Mechanism(noise_multiplier=1.3, max_grad_norm=0.4)
HIDDEN, WORDS, LENGTH = 8, 11, 4
STEP = 1e-5


def bert():
    config = transformers.BertConfig(
        vocab_size=WORDS, hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
        max_position_embeddings=16, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return transformers.BertForSequenceClassification(config), ["query", "value"]


class Judged(nn.Module):
    """A decoder, and a head on the mean of what it makes of real words."""

    # Peft takes a network that does not say so for one that keeps checkpoints.
    is_gradient_checkpointing = False

    def __init__(self, config):
        super().__init__()
        self.decoder, self.head = transformers.GPT2Model(config), nn.Linear(HIDDEN, 2)

    def get_input_embeddings(self):
        return self.decoder.get_input_embeddings()

    def forward(self, attention_mask, input_ids=None, inputs_embeds=None):
        found = self.decoder(input_ids=input_ids, inputs_embeds=inputs_embeds, attention_mask=attention_mask)
        real = attention_mask.unsqueeze(-1).to(found.last_hidden_state.dtype)
        return self.head((found.last_hidden_state * real).sum(1) / real.sum(1))


def decoder():
    # Others, such as Llama, take norms in float32, which finite differences do not bear.
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_embd=HIDDEN, n_layer=2, n_head=2, n_inner=12, n_positions=16, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    return Judged(config), ["c_attn"]


def made(build, lora):
    torch.manual_seed(0)
    model, targets = build()
    if lora:
        # Of LoRA's two factors one starts at zero, where nothing moves: both are drawn.
        model = peft.get_peft_model(
            model,
            peft.LoraConfig(r=2, target_modules=targets, init_lora_weights=False, fan_in_fan_out="c_attn" in targets),
        )
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("lora" in name)
    else:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("embed" not in name and "wte" not in name)
    return model.double().eval()


def sentences(side):
    generator = torch.Generator().manual_seed(3)
    words = torch.randint(1, WORDS, (3, LENGTH), generator=generator)
    real = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]])
    real = real.flip(1) if side == "left" else real
    return {"input_ids": words * real, "attention_mask": real, "labels": torch.tensor([0, 1, 1])}


def forward(model, batch):
    output = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    return getattr(output, "logits", output), batch["labels"]


def published(model, batch, person, looked_up):
    """The clipped gradient of one person, from what their words are looked up as."""
    real, label = batch["attention_mask"][person : person + 1], batch["labels"][person : person + 1]
    output = model(inputs_embeds=looked_up, attention_mask=real)
    output = getattr(output, "logits", output)
    trained = [p for p in model.parameters() if p.requires_grad]
    found = torch.autograd.grad(nn.functional.cross_entropy(output, label), trained)
    gradient = torch.cat([part.flatten() for part in found])
    return gradient * (MECHANISM.max_grad_norm / (gradient.norm() + 1e-6)).clamp(max=1.0)


def _inside(model):
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def by_differences(model, batch, person):
    table = _inside(model).get_input_embeddings()
    looked_up = table(batch["input_ids"][person : person + 1]).detach()
    jacobian = jacobian_of(lambda moved: published(model, batch, person, moved), looked_up)
    jacobian *= batch["attention_mask"][person].repeat_interleave(HIDDEN)[:, None]
    return (jacobian @ jacobian.T / MECHANISM.noise_scale**2).numpy()


def jacobian_of(gradient, values):
    """How a gradient moves with each value, by finite differences."""
    steps = STEP * torch.eye(values.numel(), dtype=torch.float64).view(-1, *values.shape)
    return torch.stack([(gradient(values + step) - gradient(values - step)) / (2 * STEP) for step in steps])


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("lora", [True, False])
@pytest.mark.parametrize("build", [bert, decoder])
def test_words_are_told_as_finite_differences_say(build, lora, side):
    model, batch = made(build, lora), sentences(side)
    step = step_information(
        model, nn.CrossEntropyLoss(), batch, mechanism=MECHANISM, label="public", forward=forward,
        private={"input_ids": "attention_mask"},
    )  # fmt: skip
    assert step.exact
    assert step.sizes.tolist() == (HIDDEN * batch["attention_mask"].sum(1)).tolist()
    for person in range(3):
        expected = by_differences(model, batch, person)
        np.testing.assert_allclose(step.matrices[person], expected, rtol=1e-5, atol=1e-6 * expected.max())
        assert step.trace[person] == pytest.approx(expected.trace(), rel=1e-6)


@pytest.mark.parametrize("lora", [True, False])
def test_pixels_of_a_vision_transformer_are_told_as_finite_differences_say(lora):
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, image_size=4,
        patch_size=2, num_channels=1, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = transformers.ViTForImageClassification(config)
    if lora:
        targets = sorted(
            {n.split(".")[-1] for n, m in model.named_modules() if isinstance(m, nn.Linear)} - {"classifier"}
        )
        model = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=targets, init_lora_weights=False))
    model = model.double().eval()
    images, labels = torch.rand(3, 1, 4, 4, dtype=torch.float64), torch.tensor([0, 1, 1])
    step = step_information(
        model, nn.CrossEntropyLoss(), (images, labels), mechanism=MECHANISM, label="public",
        forward=lambda network, batch: (network(pixel_values=batch[0]).logits, batch[1]),
    )  # fmt: skip
    trained = [p for p in model.parameters() if p.requires_grad]

    def published(image, label):
        loss = nn.functional.cross_entropy(model(pixel_values=image).logits, label)
        gradient = torch.cat([part.flatten() for part in torch.autograd.grad(loss, trained)])
        return gradient * (MECHANISM.max_grad_norm / (gradient.norm() + 1e-6)).clamp(max=1.0)

    for i in range(3):
        jacobian = jacobian_of(lambda moved, i=i: published(moved, labels[i : i + 1]), images[i : i + 1])
        expected = (jacobian @ jacobian.T / MECHANISM.noise_scale**2).numpy()
        np.testing.assert_allclose(step.matrices[i], expected, rtol=1e-5, atol=1e-6 * expected.max())


def test_random_directions_and_other_words():
    model, batch = made(bert, True), sentences("right")
    asked = {"mechanism": MECHANISM, "forward": forward}
    whole = {"label": "public", "private": {"input_ids": "attention_mask"}, **asked}
    exact = step_information(model, nn.CrossEntropyLoss(), batch, **whole)
    loose = step_information(model, nn.CrossEntropyLoss(), batch, directions=100, **whole)
    assert np.abs((loose.trace - exact.trace) / loose.standard_error).max() < 4.5
    assert loose.sizes.tolist() == exact.sizes.tolist()
    rates = step_success_rate(
        model, nn.CrossEntropyLoss(), batch, entry="input_ids", position=1, values=range(1, WORDS), **asked
    )
    truth = batch["input_ids"][:, 1]
    assert np.isnan(rates[np.arange(3), truth - 1]).all()
    assert (rates[~np.isnan(rates)] > 0.5).all()


def test_words_are_private_by_name_and_the_attention_mask_says_which_are_real():
    model, batch = made(bert, True), sentences("right")
    asked = {"mechanism": MECHANISM, "forward": forward, "label": "public"}
    named = step_information(model, nn.CrossEntropyLoss(), batch, private=["input_ids"], **asked)
    masked = {"input_ids": "attention_mask"}
    both = step_information(model, nn.CrossEntropyLoss(), batch, private=masked, **asked)
    np.testing.assert_array_equal(named.matrices, both.matrices)
    # Padding tells nothing either way; who counts as having it must not either.
    assert named.sizes.tolist() == both.sizes.tolist() == (HIDDEN * batch["attention_mask"].sum(1)).tolist()
    # Beside nobody, and without padding: the same person.
    alone = {name: values[2:, :2] if values.dim() == 2 else values[2:] for name, values in batch.items()}
    step = step_information(model, nn.CrossEntropyLoss(), alone, private=["input_ids"], **asked)
    np.testing.assert_allclose(step.matrices[0], named.matrices[2][: 2 * HIDDEN, : 2 * HIDDEN], rtol=1e-9, atol=1e-15)
    assert not named.matrices[2][2 * HIDDEN :].any()
    without = {name: values for name, values in batch.items() if name != "attention_mask"}
    every = step_information(
        model, nn.CrossEntropyLoss(), without, mechanism=MECHANISM, label="public", private=["input_ids"],
        forward=lambda network, held: (network(input_ids=held["input_ids"]).logits, held["labels"]),
    )  # fmt: skip
    assert every.sizes.tolist() == [LENGTH * HIDDEN] * 3


@pytest.mark.filterwarnings("ignore:The model looks up tokens")
def test_a_run_takes_the_same_names():
    def trained(private):
        model, batch = made(bert, True), sentences("left")
        notes = [{name: values[i] for name, values in batch.items()} for i in range(3)]
        accountant = FisherAccountant(
            model, nn.CrossEntropyLoss(), ids=["a", "b", "c"], label="public", private=private, forward=forward, seed=0
        )
        accountant.watch(notes, steps=2)
        for _ in range(2):
            accountant.step(noise_multiplier=1.3, max_grad_norm=0.4, sample_rate=0.5)
        return accountant.leakage()

    named, masked = trained(["input_ids"]), trained({"input_ids": "attention_mask"})
    np.testing.assert_array_equal(named.examples, masked.examples)
