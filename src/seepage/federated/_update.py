"""The update that is about to leave the client: read from its reply, checked, and changed where it must be."""

import math
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, Message
from numpy.typing import NDArray
from scipy.stats import chi2

from seepage.errors import InputError
from seepage.federated._training import LocalTraining

State = dict[str, NDArray[np.generic]]


def received(message: Message) -> State:
    """Return the weights that the server sent: copies, whatever training does with its own."""
    return _state(_only_record(message, "The server's message")[1])


@dataclass(frozen=True, eq=False)
class ReplyUpdate:
    """What a reply would tell the server: weights, of which it knows where they started."""

    reply: Message
    key: str
    before: State
    after: State
    layers: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, reply: Message, before: State, layers: Mapping[str, tuple[str, ...]]) -> "ReplyUpdate":
        """Read a reply, and refuse what would leave unmeasured."""
        key, record = _only_record(reply, "The reply")
        after = _state(record)
        measured = {name for names in layers.values() for name in names}
        for name, value in after.items():
            if name not in before or before[name].shape != value.shape:
                raise InputError(f"The reply holds an array {name!r} that the server's message does not have.")
            if name not in measured and not np.array_equal(before[name], value, equal_nan=True):
                raise InputError(
                    f"The reply changes {name!r}, which is no trained parameter of the model: what it gives away "
                    "cannot be measured."
                )
        return cls(reply, key, before, after, layers)

    @property
    def sent(self) -> tuple[str, ...]:
        """The layers that the reply holds."""
        return tuple(layer for layer, names in self.layers.items() if any(name in self.after for name in names))

    def check(self, training: LocalTraining, expected: Mapping[str, NDArray[np.floating]]) -> None:
        """Refuse an update that the stated training could not have produced.

        `expected` is how far the same steps without noise move each weight. What is left of the update then is noise,
        of known size, what batches differ from each other by, and how far noise leads training astray. Less than the
        noise means that there was less of it; much more, that there were more steps, longer gradients or other people.
        """
        if training.stride is None or training.noise_scale == 0:
            return
        names = [name for layer in self.sent for name in self.layers[layer] if name in self.after]
        unit = training.stride * training.noise_scale
        moved = {n: self.before[n].astype(float) - self.after[n].astype(float) for n in names}
        size = sum(value.size for value in moved.values())
        left = sum(float(np.sum((moved[n] - expected[n]) ** 2)) for n in names) / unit**2
        signal = sum(float(np.sum(expected[n] ** 2)) for n in names) / unit**2
        # Curvature shrinks early noise a little; missing noise shrinks it a lot.
        if not left >= 0.8 * float(chi2.ppf(1e-9, size)):
            raise InputError(
                "The update carries less noise than it is said to: training does not add what it was told."
            )
        batches = training.batch_size / max(training.noise_multiplier, 1e-9) ** 2
        if not left <= 1.5 * float(chi2.isf(1e-9, size)) + 4 * batches + 0.1 * signal:
            raise InputError(
                "The update is farther from the weights than the stated training can lead: it took more steps, did not "
                "clip, or trained on other people than the mod was given."
            )

    def drop(self, layers: Iterable[str]) -> None:
        """Put the server's own weights in place of those of these layers: keys stay, as strategies need them."""
        for name in self._names(layers):
            self.after[name] = self.before[name]

    def add_noise(self, scales: Mapping[str, float]) -> None:
        """Add Gaussian noise of the given size to the weights of these layers."""
        generator = torch.Generator().manual_seed(secrets.randbits(63))
        for layer, scale in scales.items():
            if not 0 < scale < math.inf:
                raise InputError(f"The layer {layer!r} would need noise of size {scale!r}.")
            for name in self._names([layer]):
                value = self.after[name]
                noise = torch.randn(value.shape, generator=generator, dtype=torch.float64).numpy()
                self.after[name] = (value.astype(float) + scale * noise).astype(value.dtype)

    def write(self) -> None:
        """Put the changed weights into the reply."""
        self.reply.content[self.key] = ArrayRecord(
            {name: FlowerArray(np.ascontiguousarray(v)) for name, v in self.after.items()}
        )

    def _names(self, layers: Iterable[str]) -> list[str]:
        return [name for layer in layers for name in self.layers[layer] if name in self.after]


def _only_record(message: Message, what: str) -> tuple[str, ArrayRecord]:
    records = message.content.array_records
    if len(records) != 1:
        raise InputError(f"{what} holds {len(records)} records of arrays ({list(records)}); one is expected.")
    return next(iter(records.items()))


def _state(record: ArrayRecord) -> State:
    return {name: np.array(array.numpy()) for name, array in record.items()}
