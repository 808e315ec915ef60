"""The data sets are the published ones, and come out as the papers count them."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

import seepage
from seepage import datasets

pytestmark = pytest.mark.usefixtures("data_home")


def test_mnist():
    train, test = datasets.load_mnist(), datasets.load_mnist(subset="test")
    assert train.data.shape == (60_000, 784)
    assert test.data.shape == (10_000, 784)
    assert train.data.min() == 0
    assert train.data.max() == 1
    assert np.bincount(train.target)[:2].tolist() == [5923, 6742]
    pair = datasets.load_mnist(digits=(0, 1))
    assert pair.images.shape == (12_665, 28, 28)
    assert set(pair.target) == {0, 1}


def test_cifar():
    for subset, count in (("train", 10_000), ("test", 2_000)):
        found = datasets.load_cifar10(subset=subset)
        assert found.data.shape == (count, 3072)
        assert np.bincount(found.target).tolist() == [count // 2, count // 2]


def test_pneumonia():
    for subset, count in (("train", 4_708), ("val", 524), ("test", 624)):
        found = datasets.load_pneumonia(subset=subset)
        assert found.images.shape == (count, 28, 28)
        assert set(found.target) == {0, 1}


def test_lfw():
    found = datasets.load_lfw()
    assert found.images.shape == (13_233, 62, 47)
    assert [(found.target == value).sum() for value in (1, 0, -1)] == [10_267, 2_962, 4]
    assert len(found.person) == 13_233


def test_adult():
    train, test = datasets.load_adult(), datasets.load_adult(subset="test")
    assert train.data.shape == (32_561, 14)
    assert test.data.shape == (16_281, 14)
    assert train.target.sum() == 7_841
    assert test.target.sum() == 3_846
    assert train.data["age"].mean() == pytest.approx(38.58, abs=0.01)
    assert (train.data["occupation"] == "?").sum() == 1_843


def test_iwpc():
    train, test, everyone = (datasets.load_iwpc(subset=subset) for subset in ("train", "test", "all"))
    assert [len(part.data) for part in (train, test, everyone)] == [3_855, 964, 4_819]
    assert everyone.data["vkorc1"].value_counts().to_dict() == {"CT": 1756, "TT": 1628, "CC": 1435}
    assert np.sort(np.r_[train.target, test.target]).tolist() == np.sort(everyone.target).tolist()
    assert not datasets.load_iwpc(seed=1).data.equals(train.data)


@pytest.mark.parametrize("dropped", ["first", "last"])
def test_the_papers_count_14_features_of_iwpc(dropped):
    everyone = datasets.load_iwpc(subset="all").data
    encoder = datasets.iwpc_features(everyone, dropped=dropped).fit(everyone)
    assert encoder.transform(everyone).shape == (4_819, 14)
    names = set(encoder.get_feature_names_out())
    assert ("levels__vkorc1_CC" in names) == (dropped == "last")
    assert ("levels__vkorc1_TT" in names) == (dropped == "first")


@pytest.mark.parametrize("dropped", ["first", "last"])
def test_the_papers_count_86_features_of_adult(dropped):
    raw, other = datasets.load_adult(), datasets.load_adult(subset="test")
    train, income = datasets.complete_adult(raw.data, raw.target)
    test, _ = datasets.complete_adult(other.data, other.target)
    assert (len(train), len(test)) == (30_162, 15_060)
    assert income.sum() == 7_508
    assert list(train.index[:3]) == [0, 1, 2]
    assert "relationship" not in train
    assert train["married"].value_counts().to_dict() == {"no": 15_706, "yes": 14_456}
    encoder = datasets.adult_features(train, dropped=dropped).fit(train)
    assert encoder.transform(train).shape == (30_162, 86)
    assert encoder.transform(test).shape == (15_060, 86)
    assert ("levels__married_no" in encoder.get_feature_names_out()) == (dropped == "last")


def test_married_or_not_is_marital_status_in_two():
    raw = datasets.load_adult().data
    complete = ~(raw == "?").any(axis=1)
    expected = raw.loc[complete, "marital-status"].str.startswith("Married")
    found, _ = datasets.complete_adult(raw, np.zeros(len(raw)))
    assert ((found["married"] == "yes").to_numpy() == expected.to_numpy()).all()


def test_components_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    train, test = random.normal(size=(200, 30)) * np.arange(1, 31), random.normal(size=(50, 30))
    ours, others = datasets.unit_ball_components(train, test)
    largest = np.linalg.norm(train, axis=1).max()
    theirs = PCA(20).fit(train / largest)
    for found, expected in ((ours, theirs.transform(train / largest)), (others, theirs.transform(test / largest))):
        np.testing.assert_allclose(np.abs(found[:, ::-1]), np.abs(expected), atol=1e-12)
    assert np.linalg.norm(ours, axis=1).max() <= 1 + 1e-12


def test_every_data_set_says_what_it_is_and_its_terms():
    for load in (
        datasets.load_adult,
        datasets.load_cifar10,
        datasets.load_iwpc,
        datasets.load_mnist,
        datasets.load_pneumonia,
    ):
        found = load(download=False)
        assert found.terms in found.DESCR
        assert len(found.feature_names) == found.data.shape[1]
        with pytest.raises(seepage.errors.InputError, match="subset must be"):
            load(subset="tset")


def test_an_encoder_must_be_told_which_level_to_drop():
    with pytest.raises(seepage.errors.InputError, match='"first" or "last"'):
        datasets.iwpc_features(datasets.load_iwpc().data, dropped="middle")


def test_an_array_that_is_not_the_data_set_is_refused(tmp_path):
    np.savez(tmp_path / "cifar10_airplane_automobile.npz", x_train=np.zeros((3, 32, 32, 3)), y_train=np.zeros(3))
    np.savez(tmp_path / "pneumoniamnist_28.npz", train_images=np.zeros((3, 64, 64)), train_labels=np.zeros(3))
    np.savez(
        tmp_path / "lfw_funneled_62x47_gray.npz", images=np.zeros((3, 9, 9)), male=np.ones(3), person_id=np.ones(3)
    )
    for load in (datasets.load_cifar10, datasets.load_lfw, datasets.load_pneumonia):
        with pytest.raises(seepage.errors.DatasetError, match="is not"):
            load(data_home=tmp_path)


@pytest.mark.parametrize("start", ["# attributes\n#\t", ""])
def test_attributes_of_lfw_come_without_names(tmp_path, start):
    rows = "Zoe A\t1\t0.5\t-1.25\nAda B\t2\t-0.5\t2\nZoe A\t3\t1\t0\n"
    (tmp_path / "lfw_attributes.txt").write_text(f"{start}person\timagenum\tMale\tEyeglasses\n{rows}")
    found = datasets.load_lfw_attributes(data_home=tmp_path)
    assert found.feature_names == ["Male", "Eyeglasses"]
    assert found.data.tolist() == [[0.5, -1.25], [-0.5, 2.0], [1.0, 0.0]]
    assert found.person.tolist() == [1, 0, 1]
    assert found.photograph.tolist() == [1, 2, 3]
    assert "Zoe" not in str(found)


def test_a_file_that_is_not_the_attributes_of_lfw_is_refused(tmp_path):
    with pytest.raises(seepage.errors.DatasetError, match="Kumar et al"):
        datasets.load_lfw_attributes(data_home=tmp_path)
    for text, found in (
        ("a\tb\n", 'no line names "person"'),
        ("person\timagenum\tMale\n", "no photograph"),
        ("person\timagenum\tMale\nZoe\t1\n", "a line of 2 values for 3 names"),
    ):
        (tmp_path / "lfw_attributes.txt").write_text(text)
        with pytest.raises(seepage.errors.DatasetError, match=found):
            datasets.load_lfw_attributes(data_home=tmp_path)


def test_classes_of_cifar_are_two_or_ten(tmp_path):
    with pytest.raises(seepage.errors.InputError, match="or 10, not 3"):
        datasets.load_cifar10(classes=3)
    np.savez(tmp_path / "cifar10.npz", x_train=np.zeros((3, 32, 32, 3)), y_train=np.zeros(3))
    with pytest.raises(seepage.errors.DatasetError, match="is not all of CIFAR-10"):
        datasets.load_cifar10(data_home=tmp_path, classes=10)
