"""PneumoniaMNIST: chest X-rays of children, small (Yang et al. 2023; Kermany et al. 2018)."""

from typing import Literal

import numpy as np
from sklearn.utils import Bunch

from seepage.datasets._fetch import Download, Folder, fetch
from seepage.datasets._images import images
from seepage.errors import DatasetError, InputError

SOURCE = Download(
    "pneumoniamnist_28.npz",
    ("https://zenodo.org/records/10519652/files/pneumoniamnist.npz",),
    "e1792d3f03751cb101e99f19a63b3c1941436c988665f47853417b05be250cd8",
)
_SIZES = {"train": 4_708, "val": 524, "test": 624}
_DESCRIPTION = "PneumoniaMNIST: 4,708 training, 524 validation and 624 test X-rays of the chest, 28 x 28, gray."
_TERMS = "CC BY 4.0; cite Yang et al. (2023), MedMNIST v2, and Kermany et al. (2018)."


def load_pneumonia(
    *,
    data_home: Folder | None = None,
    download: bool = True,
    subset: Literal["train", "val", "test"] = "train",
) -> Bunch:
    """Load PneumoniaMNIST.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds or gets the file; by default the one that SEEPAGE_DATA names, then ~/seepage_data.
    download : bool, default=True
        Whether to download it if it is not there.
    subset : {"train", "val", "test"}, default="train"
        Which part to load. The order of rows may differ from the official one.

    Returns
    -------
    Bunch
        `data`: flat images in [0, 1]; `target`: 1 for pneumonia; `images`: as stored; `feature_names`,
        `target_names`, `DESCR`, `terms`.

    Examples
    --------
    >>> from seepage.datasets import load_pneumonia
    >>> load_pneumonia().data.shape  # doctest: +SKIP
    (4708, 784)
    """
    if subset not in _SIZES:
        raise InputError(f'subset must be "train", "val" or "test", not {subset!r}.')
    path = fetch(SOURCE, data_home, download)
    with np.load(path) as stored:
        pictures, labels = stored[f"{subset}_images"], stored[f"{subset}_labels"]
    if pictures.shape != (_SIZES[subset], 28, 28):
        raise DatasetError(f"{path} is not PneumoniaMNIST at 28 x 28: it holds an array of shape {pictures.shape}.")
    return images(pictures, labels.ravel(), ["normal", "pneumonia"], _DESCRIPTION, _TERMS)
