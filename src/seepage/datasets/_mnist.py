"""MNIST: handwritten digits (LeCun, Cortes, Burges)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from seepage.datasets._fetch import Download, Folder, contents
from seepage.datasets._images import images
from seepage.errors import InputError

_MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")
_CONTENTS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
SOURCES = {
    name: Download(f"mnist/{name}.gz", tuple(f"{mirror}/{name}.gz" for mirror in _MIRRORS), sha256, compressed=True)
    for name, sha256 in _CONTENTS.items()
}
_DESCRIPTION = "MNIST: 60,000 training and 10,000 test images of handwritten digits, 28 x 28, gray."
_TERMS = "CC BY-SA 3.0; cite LeCun, Bottou, Bengio, Haffner (1998)."


def load_mnist(
    *,
    data_home: Folder | None = None,
    download: bool = True,
    subset: Literal["train", "test"] = "train",
    digits: Sequence[int] | None = None,
) -> Bunch:
    """Load MNIST.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds or gets the files; by default the one that SEEPAGE_DATA names, then ~/seepage_data.
    download : bool, default=True
        Whether to download what is not there.
    subset : {"train", "test"}, default="train"
        Which part to load.
    digits : sequence of int, optional
        Only these digits.

    Returns
    -------
    Bunch
        `data`: flat images in [0, 1]; `target`: digits; `images`: as stored; `feature_names`, `target_names`,
        `DESCR`, `terms`.

    Examples
    --------
    >>> from seepage.datasets import load_mnist
    >>> zeros_and_ones = load_mnist(digits=(0, 1))  # doctest: +SKIP
    >>> zeros_and_ones.data.shape  # doctest: +SKIP
    (12665, 784)
    """
    if subset not in ("train", "test"):
        raise InputError(f'subset must be "train" or "test", not {subset!r}.')
    part = "train" if subset == "train" else "t10k"
    pictures = _idx(contents(SOURCES[f"{part}-images-idx3-ubyte"], data_home, download))
    labels = _idx(contents(SOURCES[f"{part}-labels-idx1-ubyte"], data_home, download))
    if digits is not None:
        kept = np.isin(labels, list(digits))
        pictures, labels = pictures[kept], labels[kept]
    names = [str(digit) for digit in range(10)]
    return images(pictures, labels, names, _DESCRIPTION, _TERMS)


def _idx(raw: bytes) -> NDArray[np.uint8]:
    """Return the array in an idx file: two zeros, the type (8: bytes), the number of dimensions, the dimensions."""
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)
