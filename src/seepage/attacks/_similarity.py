"""How close a reconstructed image is to the true one."""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import convolve2d
from scipy.special import expit, logit

from seepage._tables import Array

# Wang et al. (2004): a Gaussian window of 11 x 11 with standard deviation 1.5, and two constants against empty windows.
_DEVIATION, _REACH, _K1, _K2 = 1.5, 5, 0.01, 0.03

# Reisenhofer et al. (2018): a constant against empty places, of a range of 255, and a slope.
_C, _ALPHA = 30.0, 4.2


def mean_squared_error(truth: Array, guess: Array) -> float:
    """Return the mean over all values of the squared error."""
    return float(np.mean((truth - guess) ** 2))


def peak_signal_to_noise(truth: Array, guess: Array, data_range: float) -> float:
    """Return 10 log10(range^2 / mean squared error), in decibels."""
    error = mean_squared_error(truth, guess)
    return float(10 * np.log10(data_range**2 / error)) if error > 0 else float("inf")


def structural_similarity(truth: Array, guess: Array, data_range: float) -> float:
    """Return the mean structural similarity of two images of shape (channels, height, width), 1 for the same image."""
    return float(np.mean([_channel(a, b, data_range) for a, b in zip(truth, guess, strict=True)]))


def _channel(a: Array, b: Array, data_range: float) -> float:
    def smooth(image: Array) -> Array:
        found = gaussian_filter(image, _DEVIATION, radius=_REACH, mode="reflect")
        return np.asarray(found)

    mean_a, mean_b = smooth(a), smooth(b)
    spread_a, spread_b = smooth(a * a) - mean_a**2, smooth(b * b) - mean_b**2
    together = smooth(a * b) - mean_a * mean_b
    c1, c2 = (_K1 * data_range) ** 2, (_K2 * data_range) ** 2
    luminance = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    structure = (2 * together + c2) / (spread_a + spread_b + c2)
    return float(np.mean(luminance * structure))


def haar_similarity(truth: Array, guess: Array, data_range: float) -> float:
    """Return the Haar wavelet-based perceptual similarity index of two images of shape (channels, height, width).

    1 for the same image; of several channels the mean. How alike two images are in edges of 2 and 4 pixels, horizontal
    and vertical, after halving their size, weighted by edges of 8 pixels:

        logit( sum w sigmoid(alpha s) / sum w )^2 / alpha^2.
    """
    scaled = (255 / data_range * np.asarray(image, dtype=np.float64) for image in (truth, guess))
    return float(np.mean([_haar(a, b) for a, b in zip(*scaled, strict=True)]))


def _haar(a: Array, b: Array) -> float:
    halves = [convolve2d(image, np.full((2, 2), 0.25), mode="same")[::2, ::2] for image in (a, b)]
    alike, weight = 0.0, 0.0
    for turned in (False, True):
        edges = [[np.abs(_edges(image, scale, turned)) for scale in (1, 2, 3)] for image in halves]
        similar = np.mean([(2 * u * v + _C) / (u * u + v * v + _C) for u, v in list(zip(*edges, strict=True))[:2]], 0)
        weights = np.maximum(edges[0][2], edges[1][2])
        alike += float((expit(_ALPHA * similar) * weights).sum())
        weight += float(weights.sum())
    # Two images without any edge are the same but for their brightness, which is not looked at.
    return float((logit(alike / weight) / _ALPHA) ** 2) if weight > 0 else 1.0


def _edges(image: Array, scale: int, turned: bool) -> Array:
    """Return Haar's wavelet coefficients at one scale: below minus above, or right minus left."""
    size = 2**scale
    window = np.full((size, size), 1 / size)
    window[: size // 2] *= -1
    return np.asarray(convolve2d(image, window.T if turned else window, mode="same"))
