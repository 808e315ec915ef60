"""Hugging Face's Trainer, made private: its optimizer and data loader become Opacus's, and its seed is forgotten.

Nothing of transformers is imported. A Trainer builds its data loader first and keeps an optimizer that it finds; Opacus
hooks into the layers of the network itself, so that the network stays the one that the Trainer holds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader

from seepage.errors import InputError, UnsupportedError
from seepage.network._records import Batch, Collate, Loader, leaves_of

Tensor = torch.Tensor
Trainer = Any
"""Of transformers, or one like it."""

# Of TrainingArguments: each with what it has to be, and why.
_NEEDED = {
    "gradient_accumulation_steps": (1, "a batch is drawn anew for every step"),
    "world_size": (1, "one process trains"),
    "fp16": (False, "gradients are compared in full precision"),
    "bf16": (False, "gradients are compared in full precision"),
    "label_smoothing_factor": (0.0, "the loss is the accountant's"),
    "neftune_noise_alpha": (None, "noise on embeddings is not accounted for"),
    "auto_find_batch_size": (False, "training that starts again is another training"),
    "full_determinism": (False, "noise that somebody can repeat protects nobody"),
    "torch_compile": (False, "Opacus's hooks are not compiled"),
    "gradient_checkpointing": (False, "Opacus's hooks would count a layer twice"),
}


def loader_of(trainer: Trainer) -> Loader:
    """Return the data loader of a Trainer, before anything is private; refuse what cannot be accounted for."""
    arguments = trainer.args
    for name, (needed, why) in _NEEDED.items():
        value = getattr(arguments, name, needed)
        if value != needed and not (needed is None and not value):
            raise UnsupportedError(f"The Trainer's {name} is {value!r}: it has to be {needed!r}, since {why}.")
    if getattr(trainer, "model_init", None) is not None:
        raise UnsupportedError(
            "The Trainer has a model_init: its train() would make another network and another optimizer, without noise "
            "or clipping. Give it the network itself, model=."
        )
    if not hasattr(trainer.train_dataset, "__len__"):
        raise InputError("The Trainer's train_dataset has no length: the accountant visits records by their number.")
    # As the Trainer's own data loader does, unless remove_unused_columns=False: what the network does not take is left.
    taken = getattr(trainer, "_get_collator_with_removed_columns", lambda collate, description: collate)
    return DataLoader(
        trainer.train_dataset,
        batch_size=arguments.train_batch_size,
        # As a Trainer does, where batches are not drawn by Poisson sampling.
        shuffle=True,
        collate_fn=taken(trainer.data_collator, "training"),
        num_workers=arguments.dataloader_num_workers,
        pin_memory=arguments.dataloader_pin_memory,
    )


def epochs_of(trainer: Trainer, loader: Loader) -> int:
    """Return how many epochs a Trainer will train for, the last one perhaps in part."""
    most = int(trainer.args.max_steps)
    return math.ceil(most / len(loader)) if most > 0 else math.ceil(trainer.args.num_train_epochs)


def take_over(
    trainer: Trainer,
    optimizer: Any,
    loader: Loader,
    lossed: Callable[[Any, Batch], Tensor],
    taken: Callable[[], int],
) -> None:
    """Let a Trainer train with these; `taken` says how many steps are accounted for."""
    loader.collate_fn = _OrNobody(loader.collate_fn)
    trainer.optimizer = optimizer
    step, compute = trainer.training_step, trainer.compute_loss

    def data_loader() -> Loader:
        # A Trainer seeds all random numbers with args.seed, 42 if nobody says otherwise: whoever knows it would take
        # the noise away.
        torch.seed()
        return loader

    def training_step(model: Any, inputs: Batch, *args: Any, **kwargs: Any) -> Tensor:
        if trainer.state.global_step != taken():
            raise UnsupportedError(
                f"The Trainer is at step {trainer.state.global_step} and the accountant at {taken()}: a run that is "
                "resumed, or trained a second time, is another one. Make a new Trainer, accountant and privacy engine; "
                "to go on where training ended, use a loop of your own with attach, state_dict and load_state_dict."
            )
        # A Trainer clears gradients by model.zero_grad, which leaves those of each example.
        optimizer.zero_grad()
        if _people(inputs):
            found: Tensor = step(model, inputs, *args, **kwargs)
            return found
        # Noise alone: that nobody was drawn must not show, and few networks know what to do with nobody.
        for parameter in optimizer.params:
            parameter.grad_sample = parameter.new_zeros((0, *parameter.shape))
        return torch.zeros((), device=trainer.args.device)

    def compute_loss(model: Any, inputs: Batch, *args: Any, **kwargs: Any) -> Any:
        # A mean over everybody's tokens would make one person's gradient depend on how long another's text is.
        return lossed(model, inputs) if model.training else compute(model, inputs, *args, **kwargs)

    trainer.get_train_dataloader, trainer.training_step = data_loader, training_step
    trainer.compute_loss = compute_loss
    # Checkpoints would hold the state of the random numbers, from which all noise can be drawn again, before and after.
    trainer._save_rng_state = lambda output_dir: None


@dataclass(frozen=True)
class _OrNobody:
    """Makes a batch of records, or of nobody; a class, since data loaders may send it to other processes."""

    collate: Collate

    def __call__(self, items: list[Any]) -> Batch:
        return self.collate(items) if items else {}


def _people(batch: Batch) -> int:
    """Return how many are in a batch."""
    return max((len(leaf) for leaf in leaves_of(batch) if isinstance(leaf, Tensor)), default=0)
