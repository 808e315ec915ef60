"""Reports on what private training gives away."""

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

    traces = np.random.default_rng(0).gamma(2.0, 1e-3, (COUNT, 2))
    traces[3] = 0.0
    information = NetworkInformation(
        attribute_names=("input", "label"),
        sizes=np.array([64.0, 1.0]),
        steps=np.full(COUNT, 20.0),
        traces=traces,
        unamplified=traces * 3,
        uncertainty=(0.05 * traces.sum(1)) ** 2,
        doubt=(0.05 * traces.sum(1)) ** 2,
        mechanisms=((1.0, 0.01, 20),),
        assumptions=(Assumption("release", "Noise of standard deviation {scale}.", {"scale": given(0.123456, "g")}),),
    )
    return Leakage(information)


def test_a_private_label_of_a_network_is_what_it_predicts(leak):
    left = seepage.Policy(error_floor={"input": 1.0}).attributes_without_target(leak)
    assert left == Untargeted(("label",), ("label",), False)


@pytest.mark.parametrize("edition", ["internal", "publishable"])
def test_estimates_say_that_they_are(leak, edition):
    report = seepage.Report.of(leak, edition, policy={"error_floor": {"input": 1.0}})
    text = " ".join(report.text().split())
    assert "Numbers are: estimated" in text
    # Another noise would have led training another way.
    assert all(judgment.factor is None for judgment in report.verdict.judgments)
    assert ("0.123456" in report.html()) == (edition == "internal")
    if edition == "internal":
        error = np.nanmedian(leak.examples["dfil_standard_error"] / leak.examples["dfil"])
        assert f"The standard error of dfil is {100 * error:.2g}% of it for half the people" in text
        assert "an estimate of a bound on what is known of it, and no mean over the values" in text
        row = next(row for row in report.document.sections[2].tables[0].rows if row[0].text == "input")
        assert row[3].value == pytest.approx(1 / leak.attributes["input"].max(), rel=0.011)
