"""One answer: what is asked of people in memory and of people in files is answered alike, or refused alike."""

import numpy as np
import pyarrow as pa
import pytest
from people import write_people
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from seepage.engines import Local
from seepage.leakage import PeopleInMemory

EXACT = {"rtol": 1e-10, "atol": 0}
SKETCHED = 2.1e-3


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "data", rows=2000)


def in_memory(people, model, target, noise_scale=0.1):
    return seepage.measure(
        model, people.frame, people.frame[target], noise_scale=noise_scale, ids=people.frame["person"]
    )


def in_files(people, model, target, folder, noise_scale=0.1):
    job = seepage.engines.Job(Local(2), folder)
    return seepage.measure(model, people.pattern, target=target, noise_scale=noise_scale, ids="person", job=job)


@pytest.fixture(scope="module", params=["one release", "two releases"])
def both(request, people, tmp_path_factory):
    """The same measurement twice: from memory, and from files."""
    model = Ridge().fit(people.X, people.frame["outcome"])
    folder = tmp_path_factory.mktemp("leakage")
    memory, files = in_memory(people, model, "outcome"), in_files(people, model, "outcome", folder / "first")
    if request.param == "one release":
        return memory, files
    other = Ridge(30.0).fit(people.X, people.frame["outcome"])
    # Of releases in memory alone eta and joint are those of the sum; beside one in files they are bounds, as in files.
    second = in_files(people, other, "outcome", folder / "second", 0.3)
    return seepage.compose([memory, second]), seepage.compose([files, second])


def test_what_files_bound_memory_knows(people, tmp_path):
    model, other = (Ridge(alpha).fit(people.X, people.frame["outcome"]) for alpha in (1.0, 30.0))
    memory = seepage.compose([in_memory(people, model, "outcome"), in_memory(people, other, "outcome", 0.3)])
    files = seepage.compose(
        [
            in_files(people, model, "outcome", tmp_path / "first"),
            in_files(people, other, "outcome", tmp_path / "second", 0.3),
        ]
    )
    np.testing.assert_allclose(column(files.examples, "dfil"), memory.examples["dfil"], rtol=1e-9)
    eta, bound, low = memory.examples["eta"], column(files.examples, "eta"), column(files.examples, "eta_low")
    assert (eta <= bound * (1 + 1e-9)).all()
    assert (eta >= low * (1 - 1e-9)).all()
    assert memory.joint_information_loss() <= files.joint_information_loss() * (1 + 1e-9)


def column(frame, name):
    found = frame.to_table() if isinstance(frame, pa.dataset.Dataset) else frame
    return np.asarray(found[name])


def test_each_person(both):
    memory, files = both
    for name in ("eta", "dfil"):
        np.testing.assert_allclose(column(files.examples, name), memory.examples[name], **EXACT)
    for name in memory.information.attribute_names:
        np.testing.assert_allclose(column(files.attributes, name), memory.attributes[name], **EXACT)
        np.testing.assert_allclose(column(files.error_floor(), name), memory.error_floor()[name], **EXACT)
    assert list(files.people.ids) == list(memory.people.ids)


@pytest.mark.parametrize("by", ["region", "kind", "class"])
def test_groups_by_a_column(both, by):
    ours, theirs = (leak.by_group(by).frame for leak in both)
    assert column(theirs, "group").tolist() == column(ours, "group").tolist()
    assert column(theirs, "count").tolist() == column(ours, "count").tolist()
    for name in ("mean", "max"):
        np.testing.assert_allclose(column(theirs, name), column(ours, name), **EXACT)
    for name in ("median", "mean_low", "mean_high", "median_low", "median_high", "max_low", "max_high"):
        np.testing.assert_allclose(column(theirs, name), column(ours, name), rtol=SKETCHED)


@pytest.mark.parametrize(
    "who", [None, {"region": "north"}, {"region": ["north", "east"], "kind": "a"}, {"class": True}], ids=str
)
@pytest.mark.parametrize("attribute", [None, "x1", "outcome"])
def test_joint_information_of_those_who_share_values(both, people, who, attribute):
    memory, files = both
    found = memory.joint_information_loss(who, attribute=attribute)
    assert files.joint_information_loss(who, attribute=attribute) == pytest.approx(found, rel=1e-10)
    mask = np.ones(len(people.frame), dtype=bool)
    for name, wanted in (who or {}).items():
        mask &= people.frame[name].isin(wanted if isinstance(wanted, list) else [wanted]).to_numpy()
    if len(memory.information.releases) == 1:
        assert memory.joint_information_loss(mask, attribute=attribute) == pytest.approx(found, rel=1e-12)


def test_the_most_exposed(both):
    memory, files = both
    ours, theirs = memory.information.top(20), files.information.top(20)
    assert theirs.rows.tolist() == ours.rows.tolist()
    assert list(theirs.people.ids) == list(ours.people.ids) == memory.most_exposed(20).index.tolist()
    assert column(files.most_exposed(20), "person").tolist() == list(ours.people.ids)
    np.testing.assert_allclose(column(files.most_exposed(20), "eta"), memory.most_exposed(20)["eta"], **EXACT)


def test_the_summary(both):
    ours, theirs = (leak.summary().splitlines() for leak in both)
    told = [line for line in theirs if not line.startswith("Medians and percentiles")]
    assert len(told) == len(ours)
    for one, other in zip(ours, told, strict=True):
        # How near the solver came is rounding here; medians are those of a sketch.
        if not any(word in one for word in ("eta", "dfil", "±", "model was", "standard errors")):
            assert one == other
    assert next(line for line in ours if line.startswith("Most exposed")) in told


@pytest.mark.parametrize("share", [0.5, 0.95, 1.0])
def test_distributions(both, share):
    for kind in ("examples", "attributes"):
        ours, theirs = (leak.information.distributions(kind) for leak in both)
        assert set(ours) == set(theirs)
        for name, known in ours.items():
            rank = np.array(round(share * (known.count - 1)))
            assert theirs[name].ranked(rank) == pytest.approx(known.ranked(rank), rel=SKETCHED)
            assert theirs[name].mean == pytest.approx(known.mean, rel=1e-10)


@pytest.mark.parametrize("targets", [{"eta": 0.5}, {"error_floor": {"x1": 2.0}}, {"eta": 0.5, "quantile": 0.9}])
def test_calibrated_noise(both, targets):
    found = []
    for leak in both:
        try:
            found.append(seepage.calibrate(leak, **targets, exact=True, shape="isotropic").scale)
        except seepage.errors.UnansweredError as reason:
            found.append(str(reason))
    if isinstance(found[0], str):
        assert found[0] == found[1]
        assert "cannot be chosen afterwards" in found[0]
    else:
        assert found[0] <= found[1] * (1 + 1e-10) <= found[0] * (1 + SKETCHED)


def test_assumptions(both):
    ours, theirs = (leak.information.assumptions for leak in both)
    assert [one.kind for one in theirs] == [one.kind for one in ours]


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda leak: leak.by_group(), seepage.errors.InputError, "Which groups"),
        (lambda leak: leak.by_group("height"), seepage.errors.InputError, "no column"),
        (lambda leak: leak.joint_information_loss({"height": 3}), seepage.errors.InputError, "no column"),
        (
            lambda leak: leak.joint_information_loss({"region": "west"}),
            seepage.errors.InputError,
            "Nobody has {'region': 'west'}",
        ),
        (
            lambda leak: leak.joint_information_loss(attribute="height"),
            seepage.errors.InputError,
            "no private attribute 'height'",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused_alike(both, ask, error, message):
    for leak in both:
        with pytest.raises(error, match=message):
            ask(leak)


def test_arrays_about_people_in_files_name_the_way_out(both, people):
    _, files = both
    with pytest.raises(seepage.errors.UnansweredError, match=r'by_group\("column"\)'):
        files.by_group(people.frame["region"])
    with pytest.raises(seepage.errors.UnansweredError, match=r'joint_information_loss\({"column": value}\)'):
        files.joint_information_loss((people.frame["region"] == "north").to_numpy())


def test_refits_are_for_people_in_memory(people, tmp_path):
    model = LogisticRegression(tol=1e-8).fit(people.X, people.frame["class"])
    files = in_files(people, model, "class", tmp_path / "leakage")
    for leak in (files, seepage.compose([files, files])):
        with pytest.raises(seepage.errors.UnansweredError, match="in memory"):
            leak.success_rate("class")


def test_measurements_in_memory_and_in_files_compose(both, people):
    memory, files = both
    mixed = seepage.compose([memory, files])
    np.testing.assert_allclose(mixed.examples["dfil"], np.sqrt(2) * memory.examples["dfil"], rtol=1e-9)
    assert mixed.joint_information_loss({"region": "north"}) == pytest.approx(
        np.sqrt(2) * memory.joint_information_loss({"region": "north"}), rel=1e-9
    )


def test_a_number_is_not_the_text_of_it(people):
    frame = people.frame.assign(
        code=np.arange(len(people.frame)) % 3, text=(np.arange(len(people.frame)) % 3).astype(str)
    )
    model = Ridge().fit(people.X, people.frame["outcome"])
    leak = seepage.measure(model, frame, frame["outcome"], noise_scale=0.1)
    assert leak.joint_information_loss({"code": 1}) == pytest.approx(leak.joint_information_loss({"text": "1"}))
    with pytest.raises(seepage.errors.InputError, match="Nobody"):
        leak.joint_information_loss({"text": 1})


def test_people_of_whom_no_row_is_known_are_grouped_by_labels():
    with pytest.raises(seepage.errors.UnansweredError, match="Give a label for each person"):
        PeopleInMemory().labels("region")


def test_a_refit_is_made_once(people, monkeypatch):
    from seepage.linear.information._refit import Refit

    refitted, moves = [], Refit.moves

    def counted(self, exchange, *others):
        refitted.append(len(exchange))
        return moves(self, exchange, *others)

    monkeypatch.setattr(Refit, "moves", counted)
    model = LogisticRegression(tol=1e-8).fit(people.X, people.frame["class"])
    leak = seepage.measure(model, people.X, people.frame["class"], noise_scale=1.0)
    first = leak.success_rate("class")
    assert sum(refitted) == first["exact"].sum() == 200
    again = leak.success_rate("class", values=[False, True], prior="data")
    assert first["distance"].tolist() == again["distance"].tolist()
    assert sum(refitted) == 200
    seepage.calibrate(leak, success_rate={"class": 0.9}, shape="isotropic")
    assert sum(refitted) == leak.success_rate("class")["exact"].sum()
    seepage.Report.of(leak, "internal", policy={"success_rate": {"class": 0.9}}, categories=["class"])
    seepage.compose([leak, leak]).success_rate("class")
    assert sum(refitted) == leak.success_rate("class")["exact"].sum()
