"""Data loaders that tell the accountant who is in each batch, and give the user the same batches as before."""

import uuid
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from torch.utils.data import DataLoader, Dataset, get_worker_info

from seepage._errors import InputError, UnsupportedError


class Listener:
    """Hears who is in the batch that the training loop has just taken."""

    def __init__(self) -> None:
        self.token = uuid.uuid4().hex
        _LISTENERS[self.token] = self

    def announce(self, indices: list[int], batch: Any) -> None:
        """Take note of a batch."""
        raise NotImplementedError


_LISTENERS: WeakValueDictionary[str, Listener] = WeakValueDictionary()
"""By token: batches made in worker processes come back by pickling, and find their listener here."""


class _Numbered(Dataset[Any]):
    """A data set whose items carry their index."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __getitem__(self, index: Any) -> tuple[int, Any]:
        return int(index), self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __getattr__(self, name: str) -> Any:
        # What users ask of their own data set (its classes, its targets) is still there.
        if name.startswith("__") or name == "items":
            raise AttributeError(name)
        return getattr(self.items, name)


class _Announced:
    """Mixed into a container: whoever opens it in the main process tells the listener whose batch it is."""

    _seepage: tuple[str, list[int]] | None = None

    def _announce(self) -> None:
        if self._seepage is not None and get_worker_info() is None:
            token, indices = self._seepage
            listener = _LISTENERS.get(token)
            if listener is not None:
                self._seepage = None
                listener.announce(indices, self)


class _AnnouncedList(_Announced, list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        self._announce()
        return super().__iter__()

    def __getitem__(self, index: Any) -> Any:
        self._announce()
        return super().__getitem__(index)


class _AnnouncedDict(_Announced, dict):  # type: ignore[type-arg]
    def __getitem__(self, key: Any) -> Any:
        self._announce()
        return super().__getitem__(key)

    def items(self) -> Any:
        self._announce()
        return super().items()

    def values(self) -> Any:
        self._announce()
        return super().values()


class _Collate:
    """Collate the items as before, and pass their indices on."""

    def __init__(self, collate: Callable[[list[Any]], Any], token: str) -> None:
        self.collate = collate
        self.token = token

    def __call__(self, numbered: list[tuple[int, Any]]) -> Any:
        indices = [index for index, _ in numbered]
        batch = self.collate([item for _, item in numbered])
        if get_worker_info() is None:
            listener = _LISTENERS.get(self.token)
            if listener is not None:
                listener.announce(indices, batch)
            return batch
        announced: Any
        if isinstance(batch, list | tuple):
            announced = _AnnouncedList(batch)
        elif isinstance(batch, dict):
            announced = _AnnouncedDict(batch)
        else:
            raise UnsupportedError(
                f"The collate function returns a {type(batch).__name__}, which cannot carry along who is in the batch "
                "from a worker process. Return a list, a tuple or a dict, or use num_workers=0."
            )
        announced._seepage = (self.token, indices)
        return announced


def announcing(loader: Any, collate: Callable[[list[Any]], Any], listener: Listener) -> DataLoader[Any]:
    """Return a data loader with the same batches that tells `listener` who is in each."""
    if loader.batch_sampler is None:
        raise InputError("The data loader has no batches (batch_size=None): give it a batch size or a batch sampler.")
    return DataLoader(
        dataset=_Numbered(loader.dataset),
        batch_sampler=loader.batch_sampler,
        num_workers=loader.num_workers,
        collate_fn=_Collate(collate, listener.token),
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        generator=loader.generator,
        prefetch_factor=loader.prefetch_factor,
        persistent_workers=loader.persistent_workers,
    )
