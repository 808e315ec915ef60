"""Images from their gradients (eq. 11.4; Geiping et al. 2020), and their similarity to the true ones."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.signal import convolve2d
from scipy.special import expit, logit
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F  # noqa: N812

Array = NDArray[np.float64]
Tensor = torch.Tensor


@dataclass(frozen=True)
class GradientInversion:
    """Minimize 1 - cosine similarity of the gradients + total variation of the guess, by Adam on signs of the slope.

    The attacker knows the network, the label, and whether gradients are clipped; noise is not followed. Of several
    random starts the one that fits best is the guess. Pixels are between 0 and 1.
    """

    steps: int
    restarts: int
    total_variation: float
    learning_rate: float = 0.1

    def evaluate(
        self, model: nn.Module, x: Tensor, y: Tensor, *, norm: float | None, noise: float, seed: int
    ) -> tuple[Array, dict[str, Array]]:
        """Attack the gradient of each image by itself; return guesses and their similarity to the images.

        Gradients are clipped to `norm`, and noise of standard deviation `noise` is added to each; with `norm=None`
        they are sent as they are.
        """

        def sent(image: Tensor, label: Tensor) -> dict[str, Tensor]:
            def loss(values: dict[str, Tensor]) -> Tensor:
                return F.cross_entropy(functional_call(model, values, (image.unsqueeze(0),)), label.unsqueeze(0))

            found = grad(loss)({name: p.detach() for name, p in model.named_parameters()})
            if norm is None:
                return found
            own = torch.stack([g.square().sum() for g in found.values()]).sum().sqrt()
            # As Opacus clips.
            return {name: g * (norm / (own + 1e-6)).clamp(max=1.0) for name, g in found.items()}

        drawn = torch.Generator().manual_seed(seed)
        gradients = vmap(sent)(x, y)
        if norm is not None:
            for i in range(len(x)):
                for value in gradients.values():
                    value[i] += noise * torch.randn(value[i].shape, generator=drawn)
        starts = []
        for i in range(len(x)):
            random = torch.Generator().manual_seed(seed + i)
            # Around the middle, a quarter of the range to either side.
            starts += [0.5 + 0.25 * torch.randn(x[i].shape, generator=random) for _ in range(self.restarts)]
        gradients = {name: value.repeat_interleave(self.restarts, 0) for name, value in gradients.items()}
        guesses, fit = self._search(vmap(sent), gradients, torch.stack(starts), y.repeat_interleave(self.restarts))
        most, best = fit.reshape(len(x), self.restarts).max(1)
        chosen = guesses.reshape(len(x), self.restarts, *x.shape[1:])[torch.arange(len(x)), best].double().numpy()
        pairs = list(zip(x.double().numpy(), chosen, strict=True))
        return chosen, {
            "ssim": np.array([structural_similarity(a[0], b[0]) for a, b in pairs]),
            "haarpsi": np.array([haar_similarity(a[0], b[0]) for a, b in pairs]),
            "similarity": most.double().numpy(),
        }

    def _search(
        self, sent: Callable[..., dict[str, Tensor]], gradients: dict[str, Tensor], start: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return what all starts come to, side by side, and the cosine similarity of their gradients."""
        x = start.clamp(0.0, 1.0).requires_grad_()
        optimizer = torch.optim.Adam([x], lr=self.learning_rate)
        drops = [self.steps * eighths // 8 for eighths in (3, 5, 7)]
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, gamma=0.1)
        for _ in range(self.steps):
            objective = self.total_variation * _total_variation(x) - _cosine(gradients, sent(x, labels)).sum()
            (slope,) = torch.autograd.grad(objective, x)
            x.grad = slope.sign()
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                x.clamp_(0.0, 1.0)
        return x.detach(), _cosine(gradients, sent(x, labels)).detach()


def _cosine(gradients: dict[str, Tensor], others: dict[str, Tensor]) -> Tensor:
    """Return the cosine similarity over all parameters, row by row."""
    inner = torch.stack([(others[name] * gradients[name]).flatten(1).sum(1) for name in gradients]).sum(0)
    size, norm = (
        torch.stack([part[name].flatten(1).square().sum(1) for name in gradients]).sum(0).clamp(min=1e-30).sqrt()
        for part in (others, gradients)
    )
    return inner / (size * norm)


def _total_variation(x: Tensor) -> Tensor:
    """Return the mean difference between neighboring pixels of each image, added up over images."""
    down, right = (x[..., 1:, :] - x[..., :-1, :]).abs(), (x[..., :, 1:] - x[..., :, :-1]).abs()
    return (down.flatten(1).mean(1) + right.flatten(1).mean(1)).sum()


def structural_similarity(a: Array, b: Array) -> float:
    """Return the mean structural similarity of two images in [0, 1], 1 for the same image (Wang et al. 2004).

    The window is Gaussian, 11 x 11 with standard deviation 1.5; constants keep empty windows finite.
    """

    def smooth(image: Array) -> Array:
        return np.asarray(gaussian_filter(image, 1.5, radius=5, mode="reflect"))

    mean_a, mean_b = smooth(a), smooth(b)
    spread_a, spread_b = smooth(a * a) - mean_a**2, smooth(b * b) - mean_b**2
    together = smooth(a * b) - mean_a * mean_b
    c1, c2 = 0.01**2, 0.03**2
    luminance = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    structure = (2 * together + c2) / (spread_a + spread_b + c2)
    return float(np.mean(luminance * structure))


def haar_similarity(a: Array, b: Array) -> float:
    """Return the Haar wavelet-based perceptual similarity of two images in [0, 1] (Reisenhofer et al. 2018).

    1 for the same image. Similarity of edges of 2 and 4 pixels, horizontal and vertical, after halving their size,
    weighted by edges of 8 pixels:  logit( sum w sigmoid(alpha s) / sum w )^2 / alpha^2.
    """
    constant, alpha = 30.0, 4.2
    halves = [convolve2d(255 * image, np.full((2, 2), 0.25), mode="same")[::2, ::2] for image in (a, b)]
    alike, weight = 0.0, 0.0
    for turned in (False, True):
        edges = [[np.abs(_edges(image, scale, turned)) for scale in (1, 2, 3)] for image in halves]
        small = list(zip(*edges, strict=True))[:2]
        similar = np.mean([(2 * u * v + constant) / (u * u + v * v + constant) for u, v in small], 0)
        weights = np.maximum(edges[0][2], edges[1][2])
        alike += float((expit(alpha * similar) * weights).sum())
        weight += float(weights.sum())
    # Two images without edges differ in brightness alone, which is not compared.
    return float((logit(alike / weight) / alpha) ** 2) if weight > 0 else 1.0


def _edges(image: Array, scale: int, turned: bool) -> Array:
    """Return Haar's wavelet coefficients at one scale: below minus above, or right minus left."""
    size = 2**scale
    window = np.full((size, size), 1 / size)
    window[: size // 2] *= -1
    return np.asarray(convolve2d(image, window.T if turned else window, mode="same"))
