"""What ties a certificate to the model that it is about: plain hashes of what is public anyway.

The exact model and the data are fingerprinted under a key, for a bare hash of them could be guessed. The noisy
parameters and the file that holds them are there for everybody to read, and so are their hashes.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from seepage._python import file_digest
from seepage._tables import Column, Model
from seepage.release._copy import last_step

ALGORITHM = "SHA-256"
PARAMETERS = ("coef_", "intercept_")
"""What carries the noise, by the names that scikit-learn gives it."""


def seal_of(estimator: Model) -> dict[str, str | None]:
    """Return the seal of a published estimator that is not in a file yet."""
    last = last_step(estimator)
    return {
        "algorithm": ALGORITHM,
        "parameters": hash_of_parameters({name: np.asarray(getattr(last, name)) for name in PARAMETERS}),
        "file": None,
    }


def hash_of_parameters(parameters: Mapping[str, Column]) -> str:
    """Return the SHA-256 of parameters: for each its name, its shape, and its numbers as 64-bit floats.

    Every length is written before what it measures, in eight bytes, the lowest first; the names are in order.
    """
    found = hashlib.sha256()
    for name in sorted(parameters):
        values = np.ascontiguousarray(parameters[name], dtype="<f8")
        word = name.encode()
        # A single number has become an array of one.
        shape = np.shape(parameters[name])
        found.update(len(word).to_bytes(8, "little") + word + len(shape).to_bytes(8, "little"))
        found.update(b"".join(length.to_bytes(8, "little") for length in shape) + values.tobytes())
    return found.hexdigest()


def hash_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
