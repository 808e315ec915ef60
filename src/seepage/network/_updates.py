"""What a client of federated learning sends about a batch, as a function of the batch."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from seepage.errors import InputError
from seepage.network._checks import undisturbed
from seepage.network._clipping import clipping_of
from seepage.network._composites import Composites
from seepage.network._ghost import in_rows
from seepage.network._losses import Loss, check_shares, per_example
from seepage.network._twin import silenced

Tensor = torch.Tensor
# Gradients of this many numbers exist at once where each example's own is clipped.
_SCRATCH = 2**24


@dataclass(frozen=True)
class Update:
    """What a client sends about a batch: by default its mean gradient.

    Parameters
    ----------
    local_steps : int, default=1
        Steps of gradient descent on the batch before anything is sent. What is sent is then how far the parameters
        have moved, divided by the learning rate: the sum of the gradients along the way.
    learning_rate : float, optional
        Of the local steps; needed when there are several.
    max_grad_norm : float, optional
        Clip each example's gradient to this norm, as Opacus does; None clips nothing.
    noise_multiplier : float, default=0
        The noise on each step's sum of clipped gradients has standard deviation
        ``noise_multiplier * max_grad_norm``.

    Examples
    --------
    >>> import seepage.network
    >>> import torch
    >>> model, loss = torch.nn.Linear(3, 2), torch.nn.CrossEntropyLoss()
    >>> x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    >>> sent = seepage.network.Update().of(model, loss, x, y)
    >>> sent["weight"].shape
    torch.Size([2, 3])
    """

    local_steps: int = 1
    learning_rate: float | None = None
    max_grad_norm: float | None = None
    noise_multiplier: float = 0.0

    def __post_init__(self) -> None:
        if self.local_steps < 1:
            raise InputError(f"local_steps must be at least 1, not {self.local_steps!r}.")
        if self.local_steps > 1 and not (self.learning_rate and self.learning_rate > 0):
            raise InputError(f"{self.local_steps} local steps need a learning_rate, not {self.learning_rate!r}.")
        if self.max_grad_norm is not None:
            clipping_of("hard", self.max_grad_norm)
        if self.noise_multiplier < 0 or (self.noise_multiplier > 0 and self.max_grad_norm is None):
            raise InputError(
                f"noise_multiplier is {self.noise_multiplier!r} with max_grad_norm={self.max_grad_norm!r}: noise is in "
                "units of the norm that gradients are clipped to. Give both."
            )

    def of(
        self,
        model: nn.Module,
        loss: Loss,
        x: Tensor,
        y: Tensor,
        *,
        generator: torch.Generator | None = None,
    ) -> dict[str, Tensor]:
        """Return what is sent about a batch, by the name of the parameter.

        Parameters
        ----------
        model, loss
            The network as it was received, and the loss of training. The network is left as it is.
        x, y : tensors
            The batch.
        generator : torch.Generator, optional
            Of the noise.
        """
        start = values = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
        sent = {name: torch.zeros_like(p) for name, p in values.items()}
        x = x.detach()
        with silenced(model), undisturbed(), torch.no_grad():
            counts = {name: b.clone() for name, b in model.named_buffers()}
            check_shares(loss, functional_call(model, counts, (x,)), y, len(x))
        with silenced(model), Composites(), torch.enable_grad():
            for _ in range(self.local_steps):
                step = self._step(model, loss, values, x, y)
                if self.noise_multiplier:
                    step = {name: g + self._noise(g, len(x), generator) for name, g in step.items()}
                sent = {name: sent[name] + g for name, g in step.items()}
                if self.local_steps > 1:
                    rate = float(self.learning_rate or 0.0)
                    values = {name: start[name] - rate * sent[name] for name in start}
        return sent

    def _step(self, model: nn.Module, loss: Loss, values: dict[str, Tensor], x: Tensor, y: Tensor) -> dict[str, Tensor]:
        """Return the mean over the batch of the gradients, clipped if they are."""
        if self.max_grad_norm is not None:
            return self._clipped(model, loss, values, x, y)

        def mean(theta: dict[str, Tensor]) -> Tensor:
            # Layers that keep count of what they see do so in copies: the network is left as it is.
            counts = {name: b.clone() for name, b in model.named_buffers()}
            return per_example(loss, functional_call(model, {**counts, **theta}, (x,)), y, len(x)).mean()

        found: dict[str, Tensor] = grad(mean)(values)
        return found

    def _clipped(
        self, model: nn.Module, loss: Loss, values: dict[str, Tensor], x: Tensor, y: Tensor
    ) -> dict[str, Tensor]:
        assert self.max_grad_norm is not None
        rule = clipping_of("hard", self.max_grad_norm)

        def one(theta: dict[str, Tensor], example: Tensor, label: Tensor) -> Tensor:
            output = functional_call(model, theta, (example.unsqueeze(0),))
            return per_example(loss, output, label.unsqueeze(0), 1).sum()

        total = {name: torch.zeros_like(value) for name, value in values.items()}
        step = max(1, _SCRATCH // sum(p.numel() for p in values.values()))
        for i in range(0, len(x), step):
            found = vmap(grad(one), in_dims=(None, 0, 0))(values, x[i : i + step], y[i : i + step])
            squares = torch.stack([in_rows(g).square().sum(1) for g in found.values()]).sum(0)
            # Away from zero, where the root has no slope.
            factor = rule.factor(squares.clamp(min=torch.finfo(squares.dtype).tiny).sqrt())
            for name, g in found.items():
                total[name] = total[name] + torch.tensordot(factor, g, dims=1)
        return {name: value / len(x) for name, value in total.items()}

    def _noise(self, like: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
        assert self.max_grad_norm is not None
        scale = self.noise_multiplier * self.max_grad_norm / count
        return scale * torch.randn(like.shape, generator=generator, dtype=like.dtype).to(like.device)
