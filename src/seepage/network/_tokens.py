"""Private integers of a batch and their real positions, as the caller declares them.

Integers cannot move a little; what an embedding looks up for them can. Padding is nobody's, and neither are positions,
token types and masks: whether a lookup is private may not depend on who else is in the batch.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from seepage.errors import InputError
from seepage.network._records import Batch, mapped

Tensor = torch.Tensor
Private = Mapping[Any, Any] | Sequence[Any]
"""Entries of a batch that hold private integers, each with the entry that masks their real positions, or None; or their
names alone, where the attention mask of the batch says which positions are real."""
Masks = dict[int, Tensor | None]
"""By where private integers are stored, which of them are real; None for all."""


def paired(batch: Batch, private: Private | None) -> dict[Any, Any]:
    """Return the entries that hold private integers, each with the entry that masks it, or None."""
    if private is None or isinstance(private, Mapping):
        return dict(private or {})
    return {name: _attention(batch, name) for name in private}


def _attention(batch: Batch, name: Any) -> str | None:
    """Return the attention mask of an entry, under the names that tokenizers give it, if the batch has one."""
    if not isinstance(batch, Mapping):
        return None
    mask = str(name).replace("input_ids", "attention_mask") if "input_ids" in str(name) else "attention_mask"
    same = mask in batch and getattr(batch[mask], "shape", None) == getattr(batch.get(name), "shape", None)
    return mask if same else None


def masks_of(batch: Batch, private: Private) -> Masks:
    """Return where a batch holds private integers, and which of them are real."""
    found: Masks = {}
    for name, mask in paired(batch, private).items():
        tokens, real = _entry(batch, name), None if mask is None else _entry(batch, mask)
        if tokens.is_floating_point():
            raise InputError(f"private= names {name!r}, which are not integers: such inputs are private without it.")
        place = tokens.untyped_storage().data_ptr()
        if place in found:
            raise InputError(f"private= names {name!r}, which shares its memory with another: give each its own.")
        found[place] = None if real is None else _real(name, tokens, mask, real)
    return found


def _real(name: object, tokens: Tensor, mask: object, real: Tensor) -> Tensor:
    if real.is_floating_point() or real.shape != tokens.shape:
        raise InputError(
            f"The mask {mask!r} of {name!r} must hold an integer or bool for each of its tokens, nonzero where the "
            f"token is real: it is {tuple(real.shape)} of {real.dtype}, and the tokens are {tuple(tokens.shape)}."
        )
    real = real != 0
    if not real.reshape(len(real), -1).any(1).all():
        raise InputError(f"Somebody has no real token of {name!r}: the mask {mask!r} is zero at all their positions.")
    padding = tokens[~real].unique().tolist()
    if len(padding) > 1:
        raise InputError(
            f"Where the mask {mask!r} says that there is padding, {name!r} holds {padding[:3]}: a mask is nonzero "
            "where a token is real (the opposite of PyTorch's key_padding_mask), and all padding is one token."
        )
    return real


def exchanged(batch: Batch, name: object, mask: object) -> Batch:
    """Return a batch in which each person has the private integers of another, wherever both have real ones."""
    tokens = _entry(batch, name)
    real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else _entry(batch, mask) != 0
    # One person alone: each token moves on to the next place.
    axis = 0 if len(tokens) > 1 else -1
    shifted, both = tokens.roll(1, axis), real & real.roll(1, axis)
    theirs = torch.where(both, shifted, tokens)
    return mapped(lambda leaf: theirs if leaf is tokens else leaf, batch)


def _entry(batch: Batch, name: Any) -> Tensor:
    try:
        found = batch[name]
    except (KeyError, IndexError, TypeError):
        found = None
    if not isinstance(found, torch.Tensor) or isinstance(batch, torch.Tensor):
        held = list(batch) if isinstance(batch, Mapping) else f"0 to {len(batch) - 1}"
        raise InputError(f"private= names {name!r}, but the entries of a batch that hold tensors are {held}.") from None
    return found
