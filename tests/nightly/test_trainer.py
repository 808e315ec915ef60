"""Hugging Face's Trainer with LoRA, from configuration: it trains privately, and everybody is accounted for."""

import numpy as np
import pytest
import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer
from torch import nn

from seepage.errors import InputError, UnsupportedError
from seepage.network import FisherAccountant, Mechanism, step_information

transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

pytestmark = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning", "ignore:The model looks up tokens"
)
PEOPLE, LOSS = 24, nn.CrossEntropyLoss()


def forward(model, batch):
    return model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits, batch["labels"]


def trainer_of(path, *, epochs=3, batch_size=8, data_collator=None, **settings):
    torch.manual_seed(0)
    length = torch.randint(3, 9, (PEOPLE,))
    real = (torch.arange(8) < length[:, None]).long()
    words = torch.randint(1, 50, (PEOPLE, 8)) * real
    notes = [{"input_ids": w, "attention_mask": r, "labels": w[0] % 2} for w, r in zip(words, real, strict=True)]
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=16, num_labels=2,
    )  # fmt: skip
    lora = peft.LoraConfig(r=2, target_modules=["query", "value"])
    model = peft.get_peft_model(transformers.BertForSequenceClassification(config), lora)
    arguments = transformers.TrainingArguments(
        output_dir=str(path), num_train_epochs=epochs, per_device_train_batch_size=batch_size, use_cpu=True,
        report_to=[], disable_tqdm=True, learning_rate=1e-2, **{"save_strategy": "no", **settings},
    )  # fmt: skip
    return transformers.Trainer(model=model, args=arguments, train_dataset=notes, data_collator=data_collator)


def accountant_of(trainer, **settings):
    return FisherAccountant(
        trainer.model,
        LOSS,
        ids=range(PEOPLE),
        label="public",
        forward=forward,
        private=["input_ids"],
        seed=0,
        **settings,
    )


def adapters(model):
    return torch.cat([p.detach().flatten() for p in model.parameters() if p.requires_grad])


def trained(path, **settings):
    trainer = trainer_of(path)
    accountant, engine = accountant_of(trainer), PrivacyEngine()
    accountant.attach_trainer(engine, trainer, **{"noise_multiplier": 1.0, "max_grad_norm": 0.05, **settings})
    trainer.train()
    return trainer, accountant, engine


def test_a_trainer_trains_privately_and_everybody_is_told_of(tmp_path):
    trainer, accountant, engine = trained(tmp_path)
    steps = 3 * PEOPLE // 8
    assert accountant.steps == steps == trainer.state.global_step
    assert engine.accountant.history == [(1.0, pytest.approx(8 / PEOPLE), steps)]
    leak = accountant.leakage()
    assert len(leak.examples) == PEOPLE
    assert (leak.examples["dfil"] > 0).all()
    assert any("Poisson" in sentence for sentence in leak.assumptions)
    with pytest.raises(UnsupportedError, match="at step 0 and the accountant at 9"):
        trainer.train()


def test_steps_are_sums_of_clipped_gradients_and_noise(tmp_path):
    """With next to no noise, plain SGD and everybody in every batch, weights go where a loop by hand takes them."""
    rate, norm, count = 1000.0, 1e-4, 2
    trainer = trainer_of(tmp_path, epochs=count, batch_size=PEOPLE, lr_scheduler_type="constant")
    model = trainer.model
    trainer.optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=rate)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    batch = torch.utils.data.default_collate(trainer.train_dataset)
    before = adapters(model)
    accountant_of(trainer).attach_trainer(
        PrivacyEngine(), trainer, noise_multiplier=1e-9, max_grad_norm=norm, poisson_sampling=False
    )
    trainer.train()
    after = adapters(model)
    # By hand, one person at a time, with the network's own layers and no hook that counts.
    free = trainer_of(tmp_path).model.eval()
    parameters = [p for p in free.parameters() if p.requires_grad]
    nn.utils.vector_to_parameters(before, parameters)
    for _ in range(count):
        total = 0.0
        for i in range(PEOPLE):
            one = {name: values[i : i + 1] for name, values in batch.items()}
            gradient = torch.cat([g.flatten() for g in torch.autograd.grad(LOSS(*forward(free, one)), parameters)])
            total = total + gradient * min(1.0, norm / (float(gradient.norm()) + 1e-6))
        nn.utils.vector_to_parameters(adapters(free) - rate * total / PEOPLE, parameters)
    assert (after - before).norm() > 1e-2
    np.testing.assert_allclose(after, adapters(free), atol=1e-5)


def test_noise_and_batches_are_not_those_of_the_seed_of_the_trainer(tmp_path):
    first, second = (adapters(trained(tmp_path)[0].model) for _ in range(2))
    assert (first - second).abs().max() > 1e-3


@pytest.mark.parametrize("workers", [0, 2])
def test_without_poisson_sampling_everybody_is_in_one_batch_of_an_epoch_in_an_order_that_is_drawn(tmp_path, workers):
    trainer = trainer_of(tmp_path, epochs=2, dataloader_num_workers=workers)
    accountant = accountant_of(trainer)
    accountant.attach_trainer(PrivacyEngine(), trainer, noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=False)
    trainer.train()
    assert sum(accountant.state_dict()["drawn"]).tolist() == [2.0] * PEOPLE
    order = [row for batch in trainer.get_train_dataloader().batch_sampler for row in batch]
    assert sorted(order) == list(range(PEOPLE)) != order


def test_a_batch_of_nobody_is_a_step_too(tmp_path):
    trainer = trainer_of(tmp_path, batch_size=1, epochs=1)
    accountant = accountant_of(trainer)
    accountant.attach_trainer(PrivacyEngine(), trainer, noise_multiplier=1.0, max_grad_norm=0.05)
    trainer.train()
    # Of 24 batches with one person expected a third is empty.
    assert accountant.steps == PEOPLE
    assert isinstance(trainer.optimizer.optimizer, DPOptimizer)


def test_checkpoints_do_not_hold_what_noise_is_drawn_from(tmp_path):
    trainer = trainer_of(tmp_path, epochs=1, save_strategy="steps", save_steps=1)
    accountant_of(trainer).attach_trainer(PrivacyEngine(), trainer, noise_multiplier=1.0, max_grad_norm=0.05)
    trainer.train()
    saved = {path.name for path in tmp_path.glob("checkpoint-*/*")}
    assert "optimizer.pt" in saved
    assert "rng_state.pth" not in saved


def test_columns_that_the_network_does_not_take_are_left_out(tmp_path):
    def strict(notes):
        return torch.utils.data.default_collate(
            [{name: torch.as_tensor(note[name]) for name in note} for note in notes]
        )

    trainer = trainer_of(tmp_path, epochs=1, data_collator=strict)
    for note in trainer.train_dataset:
        note["text"] = "somebody"
    accountant = accountant_of(trainer)
    accountant.attach_trainer(PrivacyEngine(), trainer, noise_multiplier=1.0, max_grad_norm=0.05)
    trainer.train()
    assert accountant.steps == PEOPLE // 8


def test_what_a_tokenizer_packs_is_opened(tmp_path):
    """With a tokenizer, a Trainer pads records itself, into a mapping that PyTorch does not know."""
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0}, unk_token="[PAD]"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]")
    trainer = trainer_of(tmp_path, epochs=1, data_collator=transformers.DataCollatorWithPadding(tokenizer))
    sizes = []
    for note in trainer.train_dataset:
        real = int(note["attention_mask"].sum())
        sizes.append(16 * real)
        note.update({name: note[name][:real].tolist() for name in ("input_ids", "attention_mask")})
    batch = trainer.data_collator(trainer.train_dataset[:3])
    assert isinstance(batch, transformers.BatchEncoding)
    step = step_information(
        trainer.model.eval(), LOSS, batch, mechanism=Mechanism(noise_multiplier=1.0, max_grad_norm=0.05),
        label="public", private=["input_ids"], forward=forward, directions=2,
    )  # fmt: skip
    assert step.sizes.tolist() == sizes[:3]
    trainer.model.train()
    accountant = accountant_of(trainer)
    accountant.attach_trainer(PrivacyEngine(), trainer, noise_multiplier=1.0, max_grad_norm=0.05)
    before = adapters(trainer.model)
    trainer.train()
    assert (adapters(trainer.model) - before).abs().max() > 1e-3
    assert accountant.information().sizes[:, 0].tolist() == sizes
    assert (accountant.leakage().examples["dfil"] > 0).all()


def test_a_network_that_training_would_make_anew_is_refused(tmp_path):
    trainer = trainer_of(tmp_path)
    trainer.model_init = lambda: trainer.model
    with pytest.raises(UnsupportedError, match="model_init"):
        accountant_of(trainer).attach_trainer(PrivacyEngine(), trainer, noise_multiplier=1.0, max_grad_norm=0.05)


@pytest.mark.parametrize(
    ("name", "value"), [("gradient_accumulation_steps", 2), ("label_smoothing_factor", 0.1), ("bf16", True)]
)
def test_what_cannot_be_accounted_for_is_refused(tmp_path, name, value):
    trainer = trainer_of(tmp_path, **{name: value})
    with pytest.raises(UnsupportedError, match=f"{name} is {value}"):
        accountant_of(trainer).attach_trainer(PrivacyEngine(), trainer, noise_multiplier=1.0, max_grad_norm=0.05)


def test_ghost_mode_and_missing_noise_are_refused(tmp_path):
    trainer = trainer_of(tmp_path)
    with pytest.raises(UnsupportedError, match="ghost"):
        accountant_of(trainer).attach_trainer(
            PrivacyEngine(), trainer, noise_multiplier=1.0, max_grad_norm=0.05, grad_sample_mode="ghost"
        )
    with pytest.raises(InputError, match="noise_multiplier"):
        accountant_of(trainer).attach_trainer(PrivacyEngine(), trainer, max_grad_norm=0.05)
