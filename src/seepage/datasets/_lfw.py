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
ATTRIBUTES = Download(
    "lfw_attributes.txt",
    (),
    "",
    otherwise=(
        "It is the file of attributes of Kumar et al. (2009), which the page of LFW links to: a line of names that "
        'begins with "person" and "imagenum", then one line a photograph, tabs between.'
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


def load_lfw_attributes(*, data_home: Folder | None = None) -> Bunch:
    """Load the attributes of the photographs of LFW: how sure classifiers are of each (Kumar et al. 2009).

    Parameters
    ----------
    data_home : path, optional
        The folder that holds the file; by default the one that SEEPAGE_DATA names, then ~/seepage_data. There is no
        address that is known to stay: if it is not there, the error says what it is.

    Returns
    -------
    Bunch
        `data`: one row a photograph, above 0 where the attribute is more likely than not; `feature_names`: the
        attributes; `person`: a number for each person, in the order of their names, which are left out; `photograph`:
        the number of the photograph of this person; `DESCR`, `terms`.

    Examples
    --------
    >>> from seepage.datasets import load_lfw_attributes
    >>> load_lfw_attributes().feature_names[:2]  # doctest: +SKIP
    ['Male', 'Asian']
    """
    path = fetch(ATTRIBUTES, data_home, download=False)
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    # The line of names may begin with a mark of a comment, and so may lines before it.
    head = next((i for i, line in enumerate(lines) if {"person", "imagenum"} <= set(line)), None)
    if head is None:
        raise DatasetError(f'{path} is not the attributes of LFW: no line names "person" and "imagenum".')
    names = lines[head][lines[head].index("person") :]
    rows = [line for line in lines[head + 1 :] if not line[0].startswith("#")]
    ragged = next((row for row in rows if len(row) != len(names)), None)
    if ragged is not None or not rows:
        found = "no photograph" if ragged is None else f"a line of {len(ragged)} values for {len(names)} names"
        raise DatasetError(f"{path} is not the attributes of LFW: it holds {found}.")
    return Bunch(
        data=np.array([row[2:] for row in rows], dtype=np.float64),
        feature_names=names[2:],
        person=np.unique([row[0] for row in rows], return_inverse=True)[1].astype(np.int64),
        photograph=np.array([row[1] for row in rows], dtype=np.int64),
        DESCR=f"{len(names) - 2} attributes of {len(rows)} photographs of LFW; names left out.\nTerms of use: {_TERMS}",
        terms=_TERMS,
    )
