"""Labeled Faces in the Wild, small and gray, without names (Huang et al. 2007)."""

import numpy as np
from sklearn.utils import Bunch

from seepage.datasets._fetch import Download, Folder, fetch
from seepage.datasets._images import images
from seepage.errors import DatasetError

SOURCE = Download(
    "lfw_funneled_62x47_gray.npz",
    (),
    "7aba10e66635a7441f94e361bddf37cb58e0cb274cd558778de3968e6d536b89",
    otherwise=(
        "It is made from sklearn.datasets.fetch_lfw_people (funneled, gray, half size): `images` of shape "
        "(13233, 62, 47) in uint8, `male` (1, 0, or -1 where unknown) and `person_id`."
    ),
)
_SHAPE = (13_233, 62, 47)
_DESCRIPTION = "Labeled Faces in the Wild: 13,233 photographs, funneled, 62 x 47, gray; names left out."
_TERMS = "Research; cite Huang et al. (2007); photo rights stay with their owners. Do not try to identify anyone."


def load_lfw(*, data_home: Folder | None = None, download: bool = True) -> Bunch:
    """Load Labeled Faces in the Wild, small and gray.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds the file; by default the one that SEEPAGE_DATA names, then ~/seepage_data.
    download : bool, default=True
        There is no address to download this form from: if the file is not there, the error says how to make it.

    Returns
    -------
    Bunch
        `data`: flat images in [0, 1]; `target`: 1 for men, 0 for women, -1 where that is not known; `images`: as
        stored; `person`: a number for each person; `feature_names`, `target_names`, `DESCR`, `terms`.

    Examples
    --------
    >>> from seepage.datasets import load_lfw
    >>> load_lfw().images.shape  # doctest: +SKIP
    (13233, 62, 47)
    """
    path = fetch(SOURCE, data_home, download)
    with np.load(path) as stored:
        pictures, male, person = stored["images"], stored["male"], stored["person_id"]
    if pictures.shape != _SHAPE:
        raise DatasetError(f"{path} is not LFW at 62 x 47: it holds an array of shape {pictures.shape}.")
    found = images(pictures, male, ["woman", "man"], _DESCRIPTION, _TERMS)
    found.person = person.astype(np.int64)
    return found
