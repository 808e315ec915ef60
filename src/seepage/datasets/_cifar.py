"""CIFAR-10: all of it, or its airplanes and automobiles, which one of the papers uses (Krizhevsky 2009)."""

import tarfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from seepage.datasets._fetch import Download, Folder, fetch
from seepage.datasets._images import images
from seepage.errors import DatasetError, InputError

_DESCRIPTION = "CIFAR-10, classes airplane (0) and automobile (1): 10,000 training and 2,000 test images, 32 x 32 x 3."
_WHOLE = "CIFAR-10: 50,000 training and 10,000 test images of ten classes, 32 x 32 x 3."
_NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
_TERMS = "For research; cite Krizhevsky (2009), Learning multiple layers of features from tiny images."
_RECORD = 1 + 3 * 32 * 32


def load_cifar10(
    *,
    data_home: Folder | None = None,
    download: bool = True,
    subset: Literal["train", "test"] = "train",
    classes: Literal[2, 10] = 2,
) -> Bunch:
    """Load CIFAR-10: its airplanes and automobiles, or all of it.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds or gets the file; by default the one that SEEPAGE_DATA names, then ~/seepage_data.
    download : bool, default=True
        Whether to download the official archive (170 MB) and keep the classes that are asked for, if they are not
        there.
    subset : {"train", "test"}, default="train"
        Which part to load.
    classes : {2, 10}, default=2
        Airplanes and automobiles, or all ten.

    Returns
    -------
    Bunch
        `data`: flat images in [0, 1]; `target`: 0 for airplanes, 1 for automobiles, and so on in the order of
        `target_names`; `images`: as stored; `feature_names`, `DESCR`, `terms`.

    Examples
    --------
    >>> from seepage.datasets import load_cifar10
    >>> load_cifar10(subset="test").data.shape  # doctest: +SKIP
    (2000, 3072)
    """
    if subset not in ("train", "test"):
        raise InputError(f'subset must be "train" or "test", not {subset!r}.')
    if classes not in (2, 10):
        raise InputError(f"classes must be 2 (airplanes and automobiles) or 10, not {classes!r}.")
    path = fetch(SOURCE if classes == 2 else WHOLE, data_home, download)
    with np.load(path) as stored:
        pictures, labels = stored[f"x_{subset}"], stored[f"y_{subset}"]
    if len(pictures) != classes * (5_000 if subset == "train" else 1_000) or pictures.shape[1:] != (32, 32, 3):
        kind = "the two classes of CIFAR-10" if classes == 2 else "all of CIFAR-10"
        raise DatasetError(f"{path} is not {kind}: it holds an array of shape {pictures.shape}.")
    return images(pictures, labels, _NAMES[:classes], _DESCRIPTION if classes == 2 else _WHOLE, _TERMS)


def _first(classes: int, archive: Path, path: Path) -> None:
    """Write the first classes of the official archive of binary records: a label, then three planes of 32 x 32."""
    parts = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
    arrays: dict[str, Any] = {}
    with tarfile.open(archive) as opened:
        for part, files in parts.items():
            raw = b"".join(_member(opened, f"cifar-10-batches-bin/{file}") for file in files)
            records = np.frombuffer(raw, np.uint8).reshape(-1, _RECORD)
            index = np.flatnonzero(records[:, 0] < classes)
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
    convert=partial(_first, 2),
)
WHOLE = replace(SOURCE, name="cifar10.npz", convert=partial(_first, 10))
"""Not among the files that everybody fetches: the tests do without it."""
