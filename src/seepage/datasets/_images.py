"""What a loader of images returns."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch


def images(
    pictures: NDArray[np.uint8], labels: NDArray[np.uint8], names: Sequence[str], description: str, terms: str
) -> Bunch:
    """Return images, flat and in [0, 1], beside the images as they are stored."""
    flat = pictures.reshape(len(pictures), -1)
    return Bunch(
        data=flat / 255.0,
        target=labels.astype(np.int64),
        images=pictures,
        feature_names=[f"pixel {i}" for i in range(flat.shape[1])],
        target_names=list(names),
        DESCR=f"{description}\nTerms of use: {terms}",
        terms=terms,
    )
