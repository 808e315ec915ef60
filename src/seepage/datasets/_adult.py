"""UCI Adult: income and demography of the census of 1994 (Becker, Kohavi 1996)."""

import csv
import gzip
import io
from pathlib import Path
from typing import Literal

import numpy as np
from sklearn.utils import Bunch

from seepage._tables import default_library, frame
from seepage.datasets._fetch import Download, Folder, contents
from seepage.errors import InputError

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
)
_DESCRIPTION = "UCI Adult: 32,561 training and 16,281 test people of the US census of 1994; is the income above 50,000?"
_TERMS = "CC BY 4.0; cite Becker and Kohavi (1996), Adult, UCI Machine Learning Repository."
_HOME = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"


def _zipped(received: Path, path: Path) -> None:
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(received.read_bytes())


SOURCES = {
    "train": Download(
        "adult.data.gz",
        (f"{_HOME}/adult.data",),
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        convert=_zipped,
    ),
    "test": Download(
        "adult.test.gz",
        (f"{_HOME}/adult.test",),
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        convert=_zipped,
    ),
}


def load_adult(
    *,
    data_home: Folder | None = None,
    download: bool = True,
    subset: Literal["train", "test"] = "train",
) -> Bunch:
    """Load UCI Adult as it is published.

    Parameters
    ----------
    data_home : path, optional
        The folder that holds or gets the files; by default the one that SEEPAGE_DATA names, then ~/seepage_data.
    download : bool, default=True
        Whether to download what is not there.
    subset : {"train", "test"}, default="train"
        Which part to load.

    Returns
    -------
    Bunch
        `data`: a frame (pandas if installed, else Arrow) with missing values as "?"; `target`: 1 for an income above
        50,000; `feature_names`, `target_names`, `DESCR`, `terms`.

    Examples
    --------
    >>> from seepage.datasets import load_adult
    >>> load_adult().data.shape  # doctest: +SKIP
    (32561, 14)
    """
    if subset not in SOURCES:
        raise InputError(f'subset must be "train" or "test", not {subset!r}.')
    text = contents(SOURCES[subset], data_home, download).decode("ascii")
    # The test file starts with a line about its making, and its labels end in a full stop.
    rows = [row for row in csv.reader(io.StringIO(text), skipinitialspace=True) if len(row) == len(COLUMNS) + 1]
    listed = dict(zip((*COLUMNS, "income"), zip(*rows, strict=True), strict=True))
    target = np.array([label.rstrip(".") == ">50K" for label in listed["income"]]).astype(np.int64)
    columns = {
        name: np.array(listed[name], dtype=np.int64) if name in NUMBERS else np.array(listed[name]) for name in COLUMNS
    }
    return Bunch(
        data=frame(columns, default_library()),
        target=target,
        feature_names=list(COLUMNS),
        target_names=["<=50K", ">50K"],
        DESCR=f"{_DESCRIPTION}\nTerms of use: {_TERMS}",
        terms=_TERMS,
    )
