"""Distances between a step with a person's true category and with another one, without derivatives.

With g the clipped gradient of a record, and g' that with another label or token in it, a step publishes one of two
Gaussians that are |g - g'| / (sigma C) standard deviations apart. Squares add up over the steps that a record is in.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seepage.errors import InputError
from seepage.network._clipping import Mechanism
from seepage.network._probe import LABEL, LABELS, Probe, size_of
from seepage.network._records import Batch, mapped, records
from seepage.network._tokens import paired

Array = NDArray[np.float64]
Tensor = torch.Tensor
Categories = Mapping[Any, Sequence[Hashable]]
"""Possible values of entries of a batch: labels, or tokens at (entry, position)."""
# Gradients of this many numbers exist at once.
_SCRATCH = 2**24


@dataclass(frozen=True)
class Category:
    """An entry of a batch that holds a category, or one of its positions, and what it could be."""

    entry: Any
    position: int | None
    values: tuple[Hashable, ...]

    @property
    def name(self) -> str:
        """The name in results."""
        called = self.entry if isinstance(self.entry, str) else f"entry {self.entry}"
        return called if self.position is None else f"{called} {self.position}"

    def held(self, batch: Batch) -> tuple[Tensor, int | None]:
        """Return the entry that it is in, and where in it; labels in one column are labels."""
        entry = self.entry
        if entry == LABEL and isinstance(batch, Mapping):
            entry = next((name for name in LABELS if name in batch), LABEL)
        elif entry == LABEL:
            entry = len(batch) - 1
        try:
            found = batch[entry]
        except (KeyError, IndexError, TypeError):
            entries = list(batch) if isinstance(batch, Mapping) else f"0 to {len(batch) - 1}"
            raise InputError(f"There is no entry {self.entry!r} in a batch; there are {entries}.") from None
        if not isinstance(found, Tensor):
            raise InputError(f"entry={self.entry!r} is a {type(found).__name__}; categories are tensors.")
        place = 0 if self.position is None and found.dim() == 2 and found.shape[1] == 1 else self.position
        if (place is None) != (found.dim() == 1):
            way = (
                "leave position= out." if self.position is not None else "give position=, which of its tokens is asked."
            )
            raise InputError(f"entry={self.entry!r} has shape {tuple(found.shape)}: {way}")
        return found, place


def categories_of(categories: Categories | None) -> tuple[Category, ...]:
    """Read what a user says could be: labels by their entry, tokens by (entry, position); the label last."""
    found = []
    for key, values in (categories or {}).items():
        entry, position = key if isinstance(key, tuple) else (key, None)
        if position is not None and not (isinstance(position, int) and position >= 0):
            raise InputError(f"categories names {key!r}: a position is a whole number from 0 on.")
        listed = tuple(values)
        if len(set(listed)) < max(len(listed), 2):
            raise InputError(f"categories[{key!r}] must list two or more different values, not {list(listed)!r}.")
        found.append(Category(entry, position, listed))
    return tuple(sorted(found, key=lambda category: category.name == LABEL))


@dataclass(frozen=True, eq=False)
class GradientGaps:
    """Norms and inner products of gradients with the true category and with others, whatever the step will be."""

    own: Tensor
    """|grad|^2, shape (records,)."""
    others: Tensor
    """|grad'|^2, shape (records, values)."""
    inner: Tensor
    """grad . grad'."""
    truth: NDArray[np.intp]
    """Index of each record's value; -1 for none of them, -2 where there is nothing or padding."""

    def squared(self, mechanism: Mechanism) -> Array:
        """Return squared distances in units of the noise, for whoever takes part, shape (records, values)."""
        rule = mechanism.rule
        mine, theirs = rule.factor(self.own.sqrt())[:, None], rule.factor(self.others.sqrt())
        gap = mine**2 * self.own[:, None] + theirs**2 * self.others - 2 * mine * theirs * self.inner
        found = gap.clamp(min=0.0).numpy() / mechanism.noise_scale**2
        found[self.truth[:, None] == np.arange(found.shape[1])] = 0.0
        return np.where(self.truth[:, None] == -2, 0.0, found)


def apart(probe: Probe, batch: Batch, category: Category, seed: int) -> GradientGaps:
    """Compare each record's gradient with those of the same record with other values of a category."""
    (held, place), count = category.held(batch), size_of(batch)
    values = torch.as_tensor(list(category.values), dtype=held.dtype, device=held.device)
    if place is not None and place >= held.shape[1]:
        none = torch.zeros(count, len(values), dtype=torch.float64)
        return GradientGaps(none[:, 0], none, none, np.full(count, -2, dtype=np.intp))
    mask = paired(batch, probe.private).get(category.entry)
    real = torch.ones(count, dtype=torch.bool) if place is None or mask is None else (batch[mask][:, place] != 0).cpu()

    def gradients(some: slice, value: Tensor | None) -> Tensor:
        """Return the gradients of some records, with a value in the place of the true one."""
        there = held[some].clone()
        if value is not None:
            there[real[some] if place is None else (real[some], place)] = value
        # One network: dropout must draw the same each time.
        torch.manual_seed(seed)
        return probe.rows(records(mapped(lambda leaf: there if leaf is held else leaf, batch), count, some))[0].double()

    chunk = max(1, _SCRATCH // (2 * sum(p.numel() for p in probe.carrier.trained.values())))
    own, others, inner = [], [], []
    for start in range(0, count, chunk):
        some = slice(start, start + chunk)
        true = gradients(some, None)
        own.append(true.square().sum(1))
        pairs = [(other.square().sum(1), (other * true).sum(1)) for other in (gradients(some, v) for v in values)]
        others.append(torch.stack([pair[0] for pair in pairs], 1))
        inner.append(torch.stack([pair[1] for pair in pairs], 1))
    mine = held if place is None else held[:, place]
    same = (mine[:, None] == values).cpu().numpy()
    truth = np.where(same.any(1), same.argmax(1), -1).astype(np.intp)
    truth[~real.numpy()] = -2
    mine, theirs, both = (torch.cat(parts).detach().cpu() for parts in (own, others, inner))
    return GradientGaps(mine, theirs, both, truth)
