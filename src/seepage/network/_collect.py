"""Collect what clients send about batches, layer by layer, on disk."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from seepage._gradients import Gradients, GradientWriter
from seepage.errors import InputError
from seepage.network import _layers
from seepage.network._layer_moves import layers_of
from seepage.network._losses import Loss
from seepage.network._updates import Update

Tensor = torch.Tensor


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
