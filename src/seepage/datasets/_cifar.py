"""CIFAR-10: the airplanes and automobiles of it, which the papers use (Krizhevsky 2009)."""

import tarfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from seepage.datasets._fetch import Download, Folder, fetch
from seepage.datasets._images import images
from seepage.errors import DatasetError, InputError

_DESCRIPTION = "CIFAR-10, classes airplane (0) and automobile (1): 10,000 training and 2,000 test images, 32 x 32 x 3."
_TERMS = "For research; cite Krizhevsky (2009), Learning multiple layers of features from tiny images."
_RECORD = 1 + 3 * 32 * 32


def load_cifar10(
    *,
    data_home: Folder | None = None,
    download: bool = True,
    subset: Literal["train", "test"] = "train",
) -> Bunch:
    """Load the airplanes and automobiles of CIFAR-10.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds or gets the file; by default the one that SEEPAGE_DATA names, then ~/seepage_data.
    download : bool, default=True
        Whether to download the official archive (170 MB) and keep the two classes, if they are not there.
    subset : {"train", "test"}, default="train"
        Which part to load.

    Returns
    -------
    Bunch
        `data`: flat images in [0, 1]; `target`: 0 for airplanes, 1 for automobiles; `images`: as stored;
        `feature_names`, `target_names`, `DESCR`, `terms`.

    Examples
    --------
    >>> from seepage.datasets import load_cifar10
    >>> load_cifar10(subset="test").data.shape  # doctest: +SKIP
    (2000, 3072)
    """
    if subset not in ("train", "test"):
        raise InputError(f'subset must be "train" or "test", not {subset!r}.')
    path = fetch(SOURCE, data_home, download)
    with np.load(path) as stored:
        pictures, labels = stored[f"x_{subset}"], stored[f"y_{subset}"]
    if len(pictures) != (10_000 if subset == "train" else 2_000) or pictures.shape[1:] != (32, 32, 3):
        raise DatasetError(f"{path} is not the two classes of CIFAR-10: it holds an array of shape {pictures.shape}.")
    return images(pictures, labels, ["airplane", "automobile"], _DESCRIPTION, _TERMS)


def _two_classes(archive: Path, path: Path) -> None:
    """Write the first two classes of the official archive of binary records: a label, then three planes of 32 x 32."""
    parts = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
    arrays: dict[str, Any] = {}
    with tarfile.open(archive) as opened:
        for part, files in parts.items():
            raw = b"".join(_member(opened, f"cifar-10-batches-bin/{file}") for file in files)
            records = np.frombuffer(raw, np.uint8).reshape(-1, _RECORD)
            index = np.flatnonzero(records[:, 0] < 2)
            planes = records[index, 1:].reshape(-1, 3, 32, 32)
            arrays[f"x_{part}"] = planes.transpose(0, 2, 3, 1)
            arrays[f"y_{part}"] = records[index, 0]
            arrays[f"idx_{part}"] = index.astype(np.uint16)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file is not None
    return file.read()


SOURCE = Download(
    "cifar10_airplane_automobile.npz",
    ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    convert=_two_classes,
)
