"""How close a reconstructed image is to the true one."""

import numpy as np
from scipy.ndimage import gaussian_filter

from seepage._tables import Array

# Wang et al. (2004): a Gaussian window of 11 x 11 with standard deviation 1.5, and two constants against empty windows.
_DEVIATION, _REACH, _K1, _K2 = 1.5, 5, 0.01, 0.03


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
