"""The files of the data sets: their folder, public addresses and checksums."""

import gzip
import hashlib
import io
import os
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np


def _pictures_of_two_classes(archive: bytes) -> bytes:
    """Return airplanes and automobiles of CIFAR-10's records: a label, then three planes of 32 x 32."""
    parts = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
    arrays = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for part, names in parts.items():
            members = [opened.extractfile(f"cifar-10-batches-bin/{name}.bin") for name in names]
            records = np.frombuffer(b"".join(member.read() for member in members if member), np.uint8)
            records = records.reshape(-1, 1 + 3 * 32 * 32)
            records = records[records[:, 0] < 2]
            arrays[f"x_{part}"] = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            arrays[f"y_{part}"] = records[:, 0]
    written = io.BytesIO()
    np.savez_compressed(written, **arrays)
    return written.getvalue()


def _unchanged(received: bytes) -> bytes:
    return received


@dataclass(frozen=True)
class Source:
    """Address of a file, and the checksum of its contents (unzipped); `convert` writes what is read here."""

    url: str
    sha256: str
    convert: Callable[[bytes], bytes] = _unchanged


_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_ADULT = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"
FILES: dict[str, Source | str] = {
    "mnist/train-images-idx3-ubyte.gz": Source(
        f"{_MNIST}/train-images-idx3-ubyte.gz", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
    ),
    "mnist/train-labels-idx1-ubyte.gz": Source(
        f"{_MNIST}/train-labels-idx1-ubyte.gz", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
    ),
    "mnist/t10k-images-idx3-ubyte.gz": Source(
        f"{_MNIST}/t10k-images-idx3-ubyte.gz", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
    ),
    "mnist/t10k-labels-idx1-ubyte.gz": Source(
        f"{_MNIST}/t10k-labels-idx1-ubyte.gz", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
    ),
    "adult.data.gz": Source(
        f"{_ADULT}/adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", gzip.compress
    ),
    "adult.test.gz": Source(
        f"{_ADULT}/adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", gzip.compress
    ),
    "cifar10_airplane_automobile.npz": Source(
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        _pictures_of_two_classes,
    ),
    "pneumoniamnist_28.npz": Source(
        "https://zenodo.org/records/10519652/files/pneumoniamnist.npz",
        "e1792d3f03751cb101e99f19a63b3c1941436c988665f47853417b05be250cd8",
    ),
    "iwpc-scaled.csv": (
        "It has no stable public address. It is data/iwpc-scaled.csv of the repository ml-privacy-csf18 by Samuel Yeom "
        "on GitHub, made from the data of the International Warfarin Pharmacogenetics Consortium."
    ),
    "lfw_funneled_62x47_gray.npz": (
        "It is made from sklearn.datasets.fetch_lfw_people (funneled, gray, half size): `images` of shape "
        "(13233, 62, 47) in uint8, `male` (1, 0, or -1 if unknown) and `person_id`."
    ),
}
"""Name -> source, or a sentence if there is no public address."""


def folder() -> Path:
    """Return the folder that SEEPAGE_DATA names, by default ~/seepage_data."""
    return Path(os.environ.get("SEEPAGE_DATA") or "~/seepage_data").expanduser()


def missing() -> list[str]:
    """Return the names of the files that are not in the folder."""
    return [name for name in FILES if not (folder() / name).is_file()]


def located(name: str) -> Path:
    """Return the path of a file."""
    if not (folder() / name).is_file():
        raise FileNotFoundError(
            f"There is no {name} in {folder()}. `python -m experiments.datasets` fetches it if it has a public "
            "address; SEEPAGE_DATA names another folder."
        )
    return folder() / name


def fetch(name: str) -> None:
    """Download a file into the folder if its checksum is the published one."""
    source = FILES[name]
    if isinstance(source, str):
        raise FileNotFoundError(source)
    # A server that does not answer for a minute is given up.
    with urllib.request.urlopen(source.url, timeout=60.0) as answer:
        received = answer.read()
    digest = hashlib.sha256(gzip.decompress(received) if name.startswith("mnist/") else received).hexdigest()
    if digest != source.sha256:
        raise OSError(f"{source.url} has the checksum {digest}, not {source.sha256}. Nothing was written.")
    path = folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        part = Path(temporary) / "part"
        part.write_bytes(source.convert(received))
        part.replace(path)
