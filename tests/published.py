"""The papers' data as the papers prepared it."""

import gzip
from pathlib import Path

import numpy as np


def _idx(path: Path) -> np.ndarray:
    raw = gzip.decompress(path.read_bytes())
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def mnist(home: Path, part: str, digits: tuple[int, ...] = (0, 1)) -> tuple[np.ndarray, np.ndarray]:
    """Return flat images in [0, 1] and labels of some digits."""
    images, labels = (
        _idx(home / f"mnist/{part}-images-idx3-ubyte.gz"),
        _idx(home / f"mnist/{part}-labels-idx1-ubyte.gz"),
    )
    kept = np.isin(labels, digits)
    return images[kept].reshape(kept.sum(), -1) / 255.0, labels[kept].astype(np.int64)


def cifar(home: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Return flat images in [0, 1] and labels of airplanes and automobiles."""
    with np.load(home / "cifar10_airplane_automobile.npz") as stored:
        images, labels = stored[f"x_{part}"], stored[f"y_{part}"]
    return images.reshape(len(images), -1) / 255.0, labels.astype(np.int64)


def hannun(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale inputs into the unit ball, then project them on the 20 principal components of the training set."""
    largest = np.linalg.norm(train, axis=1).max()
    train, test = train / largest, test / largest
    center = train.mean(axis=0)
    _, vectors = np.linalg.eigh(np.cov(train.T))
    components = vectors[:, -20:]
    return (train - center) @ components, (test - center) @ components
