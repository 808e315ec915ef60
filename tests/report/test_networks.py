"""Reports on what private training gives away."""

from dataclasses import replace

import numpy as np
import pytest

import seepage
from seepage import Leakage
from seepage._facts import Assumption, given
from seepage.meaning import Untargeted

pytest.importorskip("opacus")
COUNT = 120


@pytest.fixture(scope="module")
def leak():
    from seepage.network._information import NetworkInformation

    random = np.random.default_rng(0)
    traces = random.gamma(2.0, 1e-3, (COUNT, 2))
    traces[3] = 0.0
    information = NetworkInformation(
        attribute_names=("input", "label"),
        sizes=np.array([64.0, 1.0]),
        steps=np.full(COUNT, 20.0),
        traces=traces,
        unamplified=traces * 3,
        uncertainty=(0.05 * traces.sum(1)) ** 2,
        doubt=(0.05 * traces.sum(1)) ** 2,
        spectrum=None,
        mechanisms=((1.0, 0.01, 20),),
        assumptions=(
            Assumption(
                "release",
                "Each step publishes the sum of gradients plus Gaussian noise of standard deviation {scale}.",
                {"scale": given(0.123456, "g")},
            ),
        ),
    )
    return Leakage(information)


def test_a_private_label_of_a_network_is_what_it_predicts(leak):
    left = seepage.Policy(error_floor={"input": 1.0}).attributes_without_target(leak)
    assert left == Untargeted(("label",), ("label",), False)


def test_a_group_of_no_values_needs_no_target(leak):
    found = leak.information
    empty = replace(
        found,
        attribute_names=("input", "other values"),
        sizes=np.array([64.0, 0.0]),
        traces=found.traces * np.array([1.0, 0.0]),
    )
    assert seepage.Policy(error_floor={"input": 1.0}).attributes_without_target(Leakage(empty)) == Untargeted(
        (), (), False
    )


@pytest.mark.parametrize("edition", ["internal", "publishable"])
def test_estimates_say_that_they_are(leak, edition):
    report = seepage.Report.of(leak, edition, policy=seepage.Policy(error_floor={"input": 1.0}))
    assert report.document.assurance == "estimated"
    error = leak.examples["dfil_standard_error"] / leak.examples["dfil"]
    if edition == "internal":
        assert report.document.standard_error.value == pytest.approx(np.nanmedian(error), rel=0.06)
        assert "estimated, not exact" in report.markdown()
        assert "an estimate of a bound on what is known of it, and no mean over the values" in report.markdown()
    else:
        assert report.document.standard_error is None
    assert "estimated" in report.markdown()
    assert report.document.noise.scale is None
    # Another noise would have led training another way.
    assert all(judgment.factor is None for judgment in report.document.verdict.judgments)
    assert ("0.123456" in report.html()) == (edition == "internal")
    report.json()


def test_a_floor_of_several_values_is_that_of_all_their_information(leak):
    np.testing.assert_allclose(leak.attributes["input"] ** 2, leak.information.traces[:, 0])


def test_values_are_those_of_the_frames(leak):
    entry = next(e for e in seepage.Report.of(leak, "internal").document.numbers if e.name == "input")
    assert entry.floors[-1].floor.value == pytest.approx(1 / leak.attributes["input"].max(), rel=0.011)
