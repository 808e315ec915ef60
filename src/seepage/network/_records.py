"""Records taken from the data set by index, and the leaves of a batch."""

import copy
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader, default_collate

Rows = NDArray[np.int64]
Batch = Any
"""A batch of a data loader: tensors, alone or in lists and mappings."""
Collate = Callable[[list[Any]], Batch]
Items = Any
"""Records by index, and how many they are."""
Loader = Any
"""A DataLoader, whose own types do not say that its data set and sampler have a length."""


@dataclass(frozen=True, eq=False)
class BatchRecords:
    """A data set, and how its items become a batch."""

    items: Items
    collate: Collate | None
    device: Callable[[], torch.device]

    def fetch(self, rows: Iterable[int]) -> Batch:
        """Return these people as one batch, where the network is."""
        return self._collated([self.items[int(row)] for row in rows])

    def alike(self, rows: Rows) -> Iterator[tuple[Rows, Batch]]:
        """Yield people whose records have the same shape together: nobody's is padded to another's."""
        items = [self.items[int(row)] for row in rows]
        groups: dict[tuple[object, ...], list[int]] = {}
        for place, item in enumerate(items):
            shapes = tuple(getattr(leaf, "shape", None) for leaf in leaves_of(item))
            groups.setdefault(shapes, []).append(place)
        for places in groups.values():
            yield rows[places], self._collated([items[place] for place in places])

    def _collated(self, items: list[Any]) -> Batch:
        batch, device = (self.collate or default_collate)(items), self.device()
        return mapped(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, batch)


def records(batch: Batch, count: int, some: slice | torch.Tensor) -> Batch:
    """Return some of the records of a batch that holds so many."""

    def part(leaf: Any) -> Any:
        return leaf[some] if isinstance(leaf, torch.Tensor) and leaf.dim() > 0 and len(leaf) == count else leaf

    return mapped(part, batch)


class Noted:
    """A batch sampler, overheard: whoever asks takes it for the sampler itself."""

    def __init__(self, sampler: Any, begin: Callable[[], None], note: Callable[[list[int]], None]) -> None:
        self._sampler, self._begin, self._note = sampler, begin, note

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # Opacus treats the samplers it knows in ways of their own.
        return type(self._sampler)

    def __iter__(self) -> Iterator[list[int]]:
        self._begin()
        for batch in self._sampler:
            self._note([int(index) for index in batch])
            yield batch

    def __len__(self) -> int:
        return len(self._sampler)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or name in ("_sampler", "_begin", "_note"):
            raise AttributeError(name)
        return getattr(self._sampler, name)


def overheard(loader: Loader, collate: Collate, begin: Callable[[], None], note: Callable[[list[int]], None]) -> Loader:
    """Return a data loader with the same batches; tell when it is begun, and who is in each batch when it is drawn."""
    return DataLoader(
        dataset=loader.dataset,
        batch_sampler=Noted(loader.batch_sampler, begin, note),
        num_workers=loader.num_workers,
        collate_fn=collate,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        generator=loader.generator,
        prefetch_factor=loader.prefetch_factor,
        persistent_workers=loader.persistent_workers,
    )


Path = tuple[pytree.KeyEntry, ...]
Packed = Callable[[list[Any]], Any]
"""Packs others into the place of leaves."""


def unpacked(tree: Any) -> tuple[list[tuple[Path, Any]], Packed]:
    """Return the leaves with where they are, and a function that packs others in the same way."""
    found, layout = pytree.tree_flatten_with_path(tree)
    leaves: list[tuple[Path, Any]] = []
    parts: list[tuple[int, Packed]] = []
    for path, leaf in found:
        inner, pack = _opened(leaf)
        leaves += [((*path, *further), each) for further, each in inner]
        parts.append((len(inner), pack))

    def packed(others: list[Any]) -> Any:
        rest = iter(others)
        return pytree.tree_unflatten([pack([next(rest) for _ in range(count)]) for count, pack in parts], layout)

    return leaves, packed


def leaves_of(tree: Any) -> list[Any]:
    """Return the leaves alone."""
    return [leaf for _, leaf in unpacked(tree)[0]]


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return the same with each leaf replaced."""
    leaves, packed = unpacked(tree)
    return packed([function(leaf) for _, leaf in leaves])


def _opened(leaf: Any) -> tuple[list[tuple[Path, Any]], Packed]:
    if not isinstance(leaf, Mapping):
        return [((), leaf)], lambda others: others[0]
    held, packed = unpacked({key: leaf[key] for key in leaf})

    def repacked(others: list[Any]) -> Any:
        values = packed(others)
        if not isinstance(leaf, MutableMapping):
            return values
        # Of its own kind: a network may be run with its attributes. What holds the leaves is copied, they are not.
        known = isinstance(leaf, dict | UserDict)
        found = copy.copy(leaf) if known else copy.deepcopy(leaf, {id(each): each for each in leaf.values()})
        found.update(values)
        return found

    return held, repacked
