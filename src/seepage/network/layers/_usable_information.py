"""Usable information: how many bits about a property predictors of a family find in the gradients of a layer.

I_V = H_V(property) - H_V(property | gradient), both the mean surprise in bits of predictors that were fitted on other
batches (eq. 11.3; Xu et al. 2020; Mo, Borovykh et al. 2021). The gradients are those that clients of federated learning
send about their batches, collected layer by layer on disk.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from seepage._families import checked_property, held_out
from seepage._gradients import Features, Gradients, GradientWriter, check_features
from seepage._tables import Frame, default_library, frame
from seepage.errors import InputError
from seepage.network import _layers
from seepage.network._checks import undisturbed
from seepage.network._clipping import clipping_of
from seepage.network._composites import Composites
from seepage.network._ghost import in_rows
from seepage.network._losses import Loss, check_shares, per_example
from seepage.network._twin import silenced
from seepage.network.layers._sensitivity import layers_of

Tensor = torch.Tensor
# Gradients of this many numbers exist at once where each example's own is clipped.
_SCRATCH = 2**24


@dataclass(frozen=True)
class Update:
    """The message of a client about a batch: by default its mean gradient.

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


def collect_gradients(
    model: nn.Module,
    loss: Loss,
    batches: Iterable[tuple[Tensor, Tensor]],
    *,
    output: str | Path,
    update: Update | None = None,
    seed: int = 0,
) -> Gradients:
    """Write what a client would send about each batch to one Parquet file a layer.

    Memory holds one batch's gradient and a few megabytes a layer, however many batches there are.

    Parameters
    ----------
    model, loss
        The network as the client receives it, and the loss of training.
    batches : iterable of (x, y)
        Inputs and labels of each batch.
    output : path
        An empty or new folder. One file per layer, one row per batch: a column `gradient` of float32.
    update : Update, optional
        What is sent; the mean gradient of the batch by default.
    seed : int, default=0
        Of the noise, if the update has any.

    Returns
    -------
    gradients : Gradients
        For `usable_information`, which also takes the folder.

    Examples
    --------
    >>> import seepage.network, tempfile, torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    >>> batches = [(torch.randn(8, 3), torch.randint(0, 2, (8,))) for _ in range(10)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     seepage.network.collect_gradients(model, torch.nn.CrossEntropyLoss(), batches, output=folder)
    Gradients(10 batches of 2 layers, 26 parameters)
    """
    _layers.check(model)
    sent = Update() if update is None else update
    names = {parameter: name for name, parameter in model.named_parameters()}
    layers = layers_of(dict(_layers.units(model)), {n: p for p, n in names.items() if p.requires_grad})
    generator = torch.Generator().manual_seed(seed)
    shapes = [[tuple(parameter.shape) for parameter in layer.parameters] for layer in layers]
    writer = GradientWriter(Path(output), [layer.name for layer in layers], shapes)
    try:
        for batch in batches:
            x, y = _pair(batch)
            found = sent.of(model, loss, x, y, generator=generator)
            vectors = [torch.cat([found[names[p]].flatten() for p in layer.parameters]) for layer in layers]
            writer.write([vector.float().cpu().numpy().astype(np.float32, copy=False) for vector in vectors])
    except BaseException:
        writer.abandon()
        raise
    writer.close()
    if writer.count == 0:
        raise InputError("batches held no batch.")
    return Gradients.of(output)


def _pair(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    try:
        x, y = batch
    except (TypeError, ValueError):
        raise InputError(
            f"Each batch must be a pair (x, y) of inputs and labels, not {type(batch).__name__}."
        ) from None
    return x, y


def usable_information(
    gradients: Any,
    property: Any,  # noqa: A002
    *,
    family: Any = "logistic",
    features: Features = "maxima",
    folds: int = 5,
    width: int = 4096,
    seed: int = 0,
) -> Frame:
    """Return how many bits about a property a family of predictors finds in the gradients of each layer.

    Parameters
    ----------
    gradients : Gradients, path or mapping
        As `collect_gradients` returned them, the folder it wrote to, or arrays with one row per batch by layer.
    property : array-like
        What each batch has: two or more values.
    family : {"logistic", "forest", "network"} or classifier, default="logistic"
        The predictors: logistic regression (its penalty chosen by cross-validation), a random forest, a network with
        one hidden layer, or any classifier of scikit-learn with ``predict_proba``.
    features : {"maxima", "entries"}, default="maxima"
        What predictors are shown of a layer. Maxima are those of Melis et al. (2019): absolute values of the weights'
        gradients, the largest of each convolution's window, the largest of each input of a matrix with more than 5,000
        entries, scaled to norm 1 batch by batch. Entries are as they are, and so are arrays with a single row of
        numbers a batch.
    folds : int, default=5
        Parts of the batches. Each is predicted from the others.
    width : int, default=4096
        Of layers that would show more numbers so many are drawn. Information can get lost in it, never come in.
    seed : int, default=0
        Of the folds, of what is drawn, and of the predictors.

    Returns
    -------
    frame : data frame
        One row a layer: `name`, `parameters`, `usable_information` in bits and its `standard_error`, `entropy` (what
        there is to know), and `width` (of what the predictors saw). Information may be negative in finite samples: a
        predictor that has learnt nothing errs now and then.

    Examples
    --------
    >>> import numpy as np
    >>> import seepage.network
    >>> random = np.random.default_rng(0)
    >>> has = np.repeat([0, 1], 100)
    >>> gradients = {"first": random.normal(size=(200, 3)) + 5 * has[:, None], "last": random.normal(size=(200, 2))}
    >>> found = seepage.network.usable_information(gradients, has)
    >>> found["usable_information"].round(1).tolist()
    [1.0, -0.0]
    """
    stored = Gradients.of(gradients)
    if folds < 2:
        raise InputError(f"folds must be at least 2, not {folds!r}.")
    check_features(features, width)
    checked_property(property, stored.count, folds)
    rows: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for name, size in zip(stored.names, stored.sizes, strict=True):
        values = stored.features(name, features, width=width, seed=seed)
        held = held_out(values, property, family=family, folds=folds, seed=seed)
        known = held.information
        error = float(np.std(known, ddof=1)) / math.sqrt(len(known))
        entropy = float(held.surprise.mean())
        found = (name, size, float(known.mean()), error, entropy, values.shape[1])
        for column, value in zip(_COLUMNS, found, strict=True):
            rows[column].append(value)
    return frame(rows, default_library())


_COLUMNS = ("name", "parameters", "usable_information", "standard_error", "entropy", "width")
