"""IWPC: warfarin doses of 4,819 patients, as Yeom et al. (2018) prepared them."""

import csv
import io
from typing import Literal

import numpy as np
from sklearn.utils import Bunch

from seepage._tables import default_library, frame
from seepage.datasets._fetch import Download, Folder, contents
from seepage.errors import InputError

SOURCE = Download(
    "iwpc-scaled.csv",
    (),
    "fc81402548298d703a92c63d84c8d2e2da266af7ccda35025d35f431934977f3",
    otherwise=(
        "This file has no stable public home. It is data/iwpc-scaled.csv of the repository ml-privacy-csf18 by Samuel "
        "Yeom on GitHub, made from the data set of the International Warfarin Pharmacogenetics Consortium, which "
        "PharmGKB gives to researchers (https://www.pharmgkb.org/downloads)."
    ),
)
COLUMNS = ("race", "age", "height", "weight", "amiodarone", "decr", "cyp2c9", "vkorc1")
NOMINAL = ("race", "cyp2c9", "vkorc1")
_DESCRIPTION = (
    "IWPC: stable warfarin doses of 4,819 patients. `vkorc1` and `cyp2c9` are genotypes; age, height, weight and dose "
    "are standardized. The papers train on a random 80% and attack `vkorc1`."
)
_TERMS = (
    "For research, under the terms of PharmGKB; cite the International Warfarin Pharmacogenetics Consortium (2009)."
)


def load_iwpc(
    *,
    data_home: Folder | None = None,
    download: bool = True,
    subset: Literal["train", "test", "all"] = "train",
    seed: int = 0,
) -> Bunch:
    """Load the warfarin data, split at random as the papers do.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds the file; by default the one that SEEPAGE_DATA names, then ~/seepage_data.
    download : bool, default=True
        There is no stable address to download from: if the file is not there, the error says how to get it.
    subset : {"train", "test", "all"}, default="train"
        80%, 20% or everyone.
    seed : int, default=0
        Of the split.

    Returns
    -------
    Bunch
        `data`: a frame (pandas if installed, else Arrow); `target`: the standardized dose; `feature_names`, `DESCR`,
        `terms`.

    Examples
    --------
    >>> from seepage.datasets import load_iwpc
    >>> load_iwpc().data.shape  # doctest: +SKIP
    (3855, 8)
    """
    if subset not in ("train", "test", "all"):
        raise InputError(f'subset must be "train", "test" or "all", not {subset!r}.')
    text = contents(SOURCE, data_home, download).decode("ascii")
    rows = list(csv.DictReader(io.StringIO(text)))
    kept = np.arange(len(rows))
    if subset != "all":
        shuffled, cut = np.random.default_rng(seed).permutation(len(rows)), int(0.8 * len(rows))
        kept = shuffled[:cut] if subset == "train" else shuffled[cut:]
    columns = {
        name: np.array([rows[i][name] for i in kept], dtype=None if name in NOMINAL else np.float64) for name in COLUMNS
    }
    return Bunch(
        data=frame(columns, default_library()),
        target=np.array([float(rows[i]["dose"]) for i in kept]),
        feature_names=list(COLUMNS),
        DESCR=f"{_DESCRIPTION}\nTerms of use: {_TERMS}",
        terms=_TERMS,
    )
