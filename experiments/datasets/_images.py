"""Images: flat in [0, 1] (`data`), as stored (`images`), and their classes (`target`)."""

import gzip
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from experiments.datasets._files import located

Subset = Literal["train", "test"]


def load_mnist(*, subset: Subset = "train", digits: Sequence[int] = range(10)) -> Bunch:
    """Load MNIST: handwritten digits, 28 x 28 (LeCun, Bottou, Bengio, Haffner 1998; CC BY-SA 3.0)."""
    part = "train" if subset == "train" else "t10k"
    pictures, labels = _idx(f"{part}-images-idx3-ubyte"), _idx(f"{part}-labels-idx1-ubyte")
    chosen = np.isin(labels, list(digits))
    return _images(pictures[chosen], labels[chosen])


def load_cifar10(*, subset: Subset = "train") -> Bunch:
    """Load CIFAR-10's airplanes (0) and automobiles (1), 32 x 32 x 3 (Krizhevsky 2009; for research)."""
    with np.load(located("cifar10_airplane_automobile.npz")) as stored:
        return _images(stored[f"x_{subset}"], stored[f"y_{subset}"])


def load_pneumonia(*, subset: Subset = "train") -> Bunch:
    """Load PneumoniaMNIST: chest X-rays of children, 28 x 28 (Yang et al. 2023, Kermany et al. 2018; CC BY 4.0)."""
    with np.load(located("pneumoniamnist_28.npz")) as stored:
        return _images(stored[f"{subset}_images"], stored[f"{subset}_labels"].ravel())


def load_lfw() -> Bunch:
    """Load Labeled Faces in the Wild, funneled, 62 x 47, gray, without names; 1 for men, 0 for women, -1 unknown.

    For research (Huang et al. 2007); rights of the photographs stay with their owners. Do not try to identify anyone.
    """
    with np.load(located("lfw_funneled_62x47_gray.npz")) as stored:
        return _images(stored["images"], stored["male"])


def _images(pictures: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Bunch:
    return Bunch(data=pictures.reshape(len(pictures), -1) / 255.0, target=labels.astype(np.int64), images=pictures)


def _idx(name: str) -> NDArray[np.uint8]:
    """Return the array in an idx file: two zeros, the type (8: bytes), the number of dimensions, the dimensions."""
    raw = gzip.decompress(located(f"mnist/{name}.gz").read_bytes())
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)
