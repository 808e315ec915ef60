"""What a batch holds, however it is packed: tokenizers have mappings of their own, which PyTorch leaves shut."""

import copy
from collections import UserDict
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from torch.utils import _pytree as pytree

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
