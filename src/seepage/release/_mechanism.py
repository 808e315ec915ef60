"""The noise of a publication: OpenDP's Gaussian mechanism.

Noise that is added in floating point betrays the number beneath it through its low bits. OpenDP draws on a grid, with
exact arithmetic and the randomness of the operating system, and rounds only afterward.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np
from scipy.linalg import cholesky

from seepage._noise import GaussianNoise
from seepage._tables import Array
from seepage.errors import MissingExtraError


def drawn(exact: Array, noise: GaussianNoise) -> Array:
    """Return `exact` after OpenDP's Gaussian mechanism."""
    if noise.scale is not None:
        return np.array(mechanism(noise.scale)(exact.ravel().tolist())).reshape(exact.shape)
    # In units of its noise the release has unit noise; mapping back afterward is post-processing.
    whitened = noise.whiten(exact.reshape(-1, 1)).ravel()
    root = cholesky(np.asarray(noise.covariance), lower=True)
    return np.asarray(root @ np.array(mechanism(1.0)(whitened.tolist()))).reshape(exact.shape)


@cache
def mechanism(scale: float) -> Callable[[list[float]], list[float]]:
    """Return OpenDP's Gaussian mechanism on vectors."""
    try:
        domains, measurements, metrics, settings = (
            import_module(f"opendp.{part}") for part in ("domains", "measurements", "metrics", "mod")
        )
    except ImportError:
        raise MissingExtraError(
            "Publishing draws its noise with OpenDP, which is not installed. Install it with: "
            'pip install "seepage[publish]"'
        ) from None
    had = "contrib" in settings.GLOBAL_FEATURES
    settings.enable_features("contrib")
    try:
        space = domains.vector_domain(domains.atom_domain(T=float, nan=False)), metrics.l2_distance(T=float)
        made: Callable[[list[float]], list[float]] = measurements.make_gaussian(*space, scale=scale)
        return made
    finally:
        if not had:
            settings.disable_features("contrib")
