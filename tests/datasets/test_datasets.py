"""The data sets are the published ones, and have as many rows and features as the papers say."""

import gzip
import hashlib
import io
import tarfile

import numpy as np
import pytest
from sklearn.decomposition import PCA

from experiments import datasets
from experiments.datasets import _files


@pytest.mark.usefixtures("data_home")
def test_images_have_the_published_shapes_and_classes():
    assert np.bincount(datasets.load_mnist().target)[:2].tolist() == [5923, 6742]
    pair = datasets.load_mnist(digits=(0, 1), subset="test")
    assert pair.images.shape == (2_115, 28, 28)
    assert (pair.data.min(), pair.data.max(), set(pair.target)) == (0.0, 1.0, {0, 1})
    assert np.bincount(datasets.load_cifar10(subset="test").target).tolist() == [1_000, 1_000]
    assert datasets.load_pneumonia().images.shape == (4_708, 28, 28)
    assert np.unique(datasets.load_lfw().target, return_counts=True)[1].tolist() == [4, 2_962, 10_267]


@pytest.mark.usefixtures("data_home")
def test_the_papers_count_86_features_of_adult():
    raw, other = datasets.load_adult(), datasets.load_adult(subset="test")
    assert (raw.target.sum(), other.target.sum()) == (7_841, 3_846)
    assert (raw.data["occupation"] == "?").sum() == 1_843
    train, income = datasets.complete_adult(raw.data, raw.target)
    test, _ = datasets.complete_adult(other.data, other.target)
    assert (len(train), len(test), income.sum()) == (30_162, 15_060, 7_508)
    assert train["married"].value_counts().to_dict() == {"no": 15_706, "yes": 14_456}
    for dropped in ("first", "last"):
        encoder = datasets.adult_features(train, dropped=dropped).fit(train)
        assert encoder.transform(test).shape == (15_060, 86)
        assert ("levels__married_no" in encoder.get_feature_names_out()) == (dropped == "last")


@pytest.mark.usefixtures("data_home")
def test_the_papers_count_14_features_of_iwpc():
    train, test, everyone = (datasets.load_iwpc(subset=subset) for subset in ("train", "test", "all"))
    assert [len(part.data) for part in (train, test, everyone)] == [3_855, 964, 4_819]
    assert everyone.data["vkorc1"].value_counts().to_dict() == {"CT": 1756, "TT": 1628, "CC": 1435}
    assert sorted([*train.target, *test.target]) == sorted(everyone.target)
    encoder = datasets.iwpc_features(everyone.data, dropped="first").fit(everyone.data)
    assert encoder.transform(train.data).shape == (3_855, 14)


def test_components_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    train, test = random.normal(size=(200, 30)) * np.arange(1, 31), random.normal(size=(50, 30))
    largest = np.linalg.norm(train, axis=1).max()
    theirs = PCA(20).fit(train / largest)
    for ours, rows in zip(datasets.unit_ball_components(train, test), (train, test), strict=True):
        np.testing.assert_allclose(np.abs(ours[:, ::-1]), np.abs(theirs.transform(rows / largest)), atol=1e-12)


def test_a_file_is_fetched_if_its_checksum_is_the_published_one(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEPAGE_DATA", str(tmp_path / "data"))
    people = b"39, Private\n" * 100
    (tmp_path / "adult.data").write_bytes(people)
    digest = hashlib.sha256(people).hexdigest()
    name, url = "adult.data.gz", (tmp_path / "adult.data").as_uri()
    with pytest.raises(FileNotFoundError, match="`python -m experiments"):
        _files.located(name)
    monkeypatch.setitem(_files.FILES, name, _files.Source(url, "0" * 64, gzip.compress))
    with pytest.raises(OSError, match=f"checksum {digest}, not 0{{64}}"):
        _files.fetch(name)
    assert not (tmp_path / "data").exists()
    monkeypatch.setitem(_files.FILES, name, _files.Source(url, digest, gzip.compress))
    _files.fetch(name)
    assert gzip.decompress(_files.located(name).read_bytes()) == people
    assert [path.name for path in (tmp_path / "data").iterdir()] == [name]
    with pytest.raises(FileNotFoundError, match="ml-privacy-csf18"):
        _files.fetch("iwpc-scaled.csv")
    assert "iwpc-scaled.csv" in datasets.missing()
    assert name not in datasets.missing()


def test_airplanes_and_automobiles_are_read_from_the_official_records():
    records = np.random.default_rng(0).integers(0, 256, (6, 3073), dtype=np.uint8)
    records[:, 0] = [9, 0, 1, 2, 1, 0]
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as opened:
        for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            member.size = records.nbytes
            opened.addfile(member, io.BytesIO(records.tobytes()))
    with np.load(io.BytesIO(_files._pictures_of_two_classes(archive.getvalue()))) as stored:
        assert (stored["x_train"].shape, stored["y_test"].tolist()) == ((20, 32, 32, 3), [0, 1, 1, 0])
        assert stored["x_test"][1, 2, 3].tolist() == records[2, 1:].reshape(3, 32, 32)[:, 2, 3].tolist()
