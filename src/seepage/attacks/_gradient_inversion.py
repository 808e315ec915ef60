"""Reconstruct inputs from what a client sent about them (eq. 11.4; Geiping et al. 2020)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.optimize import linear_sum_assignment

from seepage._tables import Array, Frame, default_library, frame
from seepage.attacks._similarity import (
    haar_similarity,
    mean_squared_error,
    peak_signal_to_noise,
    structural_similarity,
)
from seepage.errors import InputError, UnsupportedError
from seepage.execution.storage import Progress

if TYPE_CHECKING:
    import torch

    from seepage.network import Update

# Updates of this many numbers exist at once.
_SCRATCH = 2**24


@dataclass(frozen=True, eq=False, repr=False)
class Inversion:
    """What gradient inversion made of what was sent.

    Attributes
    ----------
    guesses : array
        The reconstructed inputs, of the shape of the true ones and in their order.
    frame : data frame
        One row an input: `mse`, `psnr` in decibels, `ssim` and `haarpsi` (images only; 1 for the same image), and
        `similarity`, the cosine between what was sent and what the guess would have sent.
    """

    guesses: Array
    frame: Frame

    def __repr__(self) -> str:
        return f"Inversion({len(self.guesses)} inputs of shape {self.guesses.shape[1:]})"


@dataclass(eq=False)
class GradientInversion:
    """Look for inputs that would have sent what was sent.

    Minimizes 1 - cosine similarity of the updates + total variation of the guess, by Adam on the signs of the slope,
    from several random starts. The attacker knows the network, the labels, and how the update is made; clipping and
    several local steps are followed, noise is not.

    Parameters
    ----------
    steps : int, default=400
        Of the search. Its steps become ten times shorter after three, five and seven eighths of them.
    restarts : int, default=1
        Random starts; the one that fits best is the guess.
    learning_rate : float, default=0.1
        Of the search, in units of the inputs.
    total_variation : float, default=0.01
        The weight of the mean difference between neighboring pixels; images only.
    bounds : (float, float), default=(0, 1)
        The smallest and the largest value that an input can have.
    seed : int, default=0
        Of the starts, and of the noise of what is sent in `evaluate`. The starts of each update there are its own.
    progress : bool, optional
        Whether to show how far it is; by default only in a terminal.

    Examples
    --------
    >>> import seepage, torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    >>> attack = seepage.attacks.GradientInversion(steps=100).fit(model, torch.nn.CrossEntropyLoss())
    >>> found = attack.evaluate(torch.rand(1, 1, 4, 4), torch.tensor([1]))
    >>> bool(found.frame["mse"][0] < 0.02)
    True
    """

    steps: int = 400
    restarts: int = 1
    learning_rate: float = 0.1
    total_variation: float = 0.01
    bounds: tuple[float, float] = (0.0, 1.0)
    seed: int = 0
    progress: bool | None = None
    model_: "torch.nn.Module" = field(init=False, repr=False)
    loss_: "torch.nn.Module" = field(init=False, repr=False)
    update_: "Update" = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.steps < 1 or self.restarts < 1:
            raise InputError(f"steps and restarts must be positive numbers, not {self.steps!r} and {self.restarts!r}.")
        if not self.bounds[0] < self.bounds[1]:
            raise InputError(f"bounds must be the smallest and the largest value of an input, not {self.bounds!r}.")

    def fit(self, model: "torch.nn.Module", loss: "torch.nn.Module", *, update: "Update | None" = None) -> Self:
        """Learn what the attacker knows.

        Parameters
        ----------
        model, loss
            The network that clients received, and the loss of training.
        update : seepage.network.Update, optional
            What clients send; the mean gradient of their batch by default.
        """
        from seepage.network import Update

        self.model_, self.loss_ = model, loss
        self.update_ = Update() if update is None else update
        return self

    def guess(self, sent: "dict[str, torch.Tensor]", labels: "torch.Tensor", *, shape: tuple[int, ...]) -> Array:
        """Return the inputs that fit best to what was sent.

        Parameters
        ----------
        sent : dict of str to tensor
            What was sent, by the name of the parameter.
        labels : tensor
            Of the inputs of the batch.
        shape : tuple of int
            Of one input.
        """
        self._check_fitted()
        alone = {name: value.unsqueeze(0) for name, value in sent.items()}
        return self._search(alone, labels.unsqueeze(0), shape, [self.seed])[0][0]

    def evaluate(self, x: "torch.Tensor", y: "torch.Tensor", *, together: bool = False) -> Inversion:
        """Send updates about inputs, attack them, and compare.

        Parameters
        ----------
        x, y : tensors
            Inputs and their labels.
        together : bool, default=False
            Whether they are one batch. By default each is sent, and attacked, alone. The guesses of a batch are put
            in the order that fits the inputs best: a sum of gradients does not tell whose is whose.
        """
        import torch

        self._check_fitted()
        generator = torch.Generator().manual_seed(self.seed)
        inputs, labels = (part.unsqueeze(0 if together else 1) for part in (x, y))
        guesses: list[Array] = []
        similarities: list[float] = []
        with Progress(self.progress).of("inverting", len(inputs), called="updates") as watch:
            for some in self._at_once(len(inputs)):
                each = [
                    self.update_.of(self.model_, self.loss_, *pair, generator=generator)
                    for pair in zip(inputs[some], labels[some], strict=True)
                ]
                sent = {name: torch.stack([update[name] for update in each]) for name in each[0]}
                seeds = range(self.seed + some.start, self.seed + some.stop)
                found, similarity = self._search(sent, labels[some], tuple(x.shape[1:]), seeds)
                truths = np.asarray(inputs[some], dtype=np.float64)
                guesses += [_in_order(truth, guess) for truth, guess in zip(truths, found, strict=True)]
                similarities += np.repeat(similarity, inputs.shape[1]).tolist()
                watch(len(each))
        whole = np.concatenate(guesses)
        return Inversion(whole, self._compared(np.asarray(x, dtype=np.float64), whole, similarities))

    def _at_once(self, updates: int) -> Iterator[slice]:
        """Yield which updates are attacked at the same time: as many as there is room for what they would send."""
        size = self.restarts * sum(p.numel() for p in self.model_.parameters() if p.requires_grad)
        step = max(1, _SCRATCH // max(1, size))
        yield from (slice(i, min(i + step, updates)) for i in range(0, updates, step))

    def _search(
        self, sent: "dict[str, torch.Tensor]", labels: "torch.Tensor", shape: tuple[int, ...], seeds: Sequence[int]
    ) -> tuple[Array, Array]:
        """Return the best guess of all starts about each update, and its cosine similarity.

        All starts of all updates go side by side: signed Adam treats each value by itself.
        """
        import torch

        low, high = self.bounds
        like = next(iter(sent.values()))
        starts = []
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            # Around the middle, a quarter of the range to either side.
            starts += [torch.randn(*labels.shape[1:2], *shape, generator=generator) for _ in range(self.restarts)]
        start = (low + high) / 2 + (high - low) / 4 * torch.stack(starts).to(like)
        x = start.clamp(low, high).requires_grad_()
        sent = {name: value.repeat_interleave(self.restarts, 0) for name, value in sent.items()}
        labels = labels.repeat_interleave(self.restarts, 0)
        optimizer = torch.optim.Adam([x], lr=self.learning_rate)
        drops = [self.steps * eighths // 8 for eighths in (3, 5, 7)]
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, gamma=0.1)
        for _ in range(self.steps):
            objective = -self._similarity(sent, x, labels).sum()
            if len(shape) == 3:
                objective = objective + self.total_variation * _total_variation(x)
            (slope,) = torch.autograd.grad(objective, x)
            x.grad = slope.sign()
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                x.clamp_(low, high)
        similarity = self._similarity(sent, x, labels).detach().reshape(len(seeds), self.restarts)
        most, best = similarity.max(1)
        guesses = x.detach().reshape(len(seeds), self.restarts, *x.shape[1:])[torch.arange(len(seeds)), best]
        return guesses.double().cpu().numpy(), most.double().cpu().numpy()

    def _similarity(self, sent: "dict[str, torch.Tensor]", x: "torch.Tensor", labels: "torch.Tensor") -> "torch.Tensor":
        """Return the cosine between each update that was sent and what `x` would send, over all parameters."""
        import torch

        def one(inputs: "torch.Tensor", labels: "torch.Tensor") -> "dict[str, torch.Tensor]":
            return self.update_.of(self.model_, self.loss_, inputs, labels, differentiable=True)

        if any(True for _ in self.model_.buffers()):
            # Layers with a state, such as batch norm, have no exact second derivative of several batches at a time.
            each = [one(*pair) for pair in zip(x, labels, strict=True)]
            would = {name: torch.stack([update[name] for update in each]) for name in each[0]}
        else:
            would = torch.func.vmap(one, randomness="different")(x, labels)
        if would.keys() != sent.keys():
            raise UnsupportedError(f"What was sent is about {sorted(sent)}, the network trains {sorted(would)}.")
        inner = torch.stack([(would[name] * sent[name]).flatten(1).sum(1) for name in sent]).sum(0)
        size, norm = (
            torch.stack([part[name].flatten(1).square().sum(1) for name in sent]).sum(0).clamp(min=1e-30).sqrt()
            for part in (would, sent)
        )
        return inner / (size * norm)

    def _compared(self, truth: Array, guesses: Array, similarities: list[float]) -> Frame:
        reach = self.bounds[1] - self.bounds[0]
        pairs = list(zip(truth, guesses, strict=True))
        columns = {
            "mse": [mean_squared_error(a, b) for a, b in pairs],
            "psnr": [peak_signal_to_noise(a, b, reach) for a, b in pairs],
            "ssim": [structural_similarity(a, b, reach) if a.ndim == 3 else float("nan") for a, b in pairs],
            "haarpsi": [haar_similarity(a, b, reach) if a.ndim == 3 else float("nan") for a, b in pairs],
            "similarity": similarities,
        }
        return frame(columns, default_library())

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise InputError("Fit the attack first: GradientInversion(...).fit(model, loss).")


def _total_variation(x: "torch.Tensor") -> "torch.Tensor":
    """Return the mean difference between neighboring pixels of the inputs of each update, added up over updates."""
    down, right = (x[..., 1:, :] - x[..., :-1, :]).abs(), (x[..., :, 1:] - x[..., :, :-1]).abs()
    return (down.flatten(1).mean(1) + right.flatten(1).mean(1)).sum()


def _in_order(truth: Array, guesses: Array) -> Array:
    """Put the guesses of a batch in the order of the true inputs that they fit best."""
    if len(truth) == 1:
        return guesses
    errors = ((truth[:, None] - guesses[None]) ** 2).reshape(len(truth), len(guesses), -1).mean(axis=2)
    return guesses[linear_sum_assignment(errors)[1]]
