"""What a policy sets no target for is told with every verdict: to meet it is no all-clear for the rest."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage.meaning import Untargeted

NOISE, LEVELS = 0.1, ["current", "former", "never"]
TARGETS = {"error_floor": {"age": 1.0}}
LEFT = "No target for: smoking, event (what the model predicts)."
DECLARED = "The policy declares public what it does not name: smoking, event (what the model predicts)."


def _people(count=150):
    random = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "age": random.integers(30, 80, count).astype(float),
            "smoking": random.choice(LEVELS, count),
        }
    )
    margin = 0.04 * (people["age"] - 55) + 0.5 * (people["smoking"] == "current")
    return people, pd.Series((random.uniform(size=count) < 1 / (1 + np.exp(-margin))).astype(int), name="event")


X, Y = _people()
ENCODER = make_column_transformer(
    (OneHotEncoder(categories=[LEVELS], drop="first"), ["smoking"]), remainder="passthrough"
)
MODEL = make_pipeline(ENCODER, LogisticRegression(tol=1e-12, max_iter=10_000)).fit(X, Y)
LEAK = seepage.measure(MODEL, X, Y, noise_scale=NOISE)


def test_a_policy_that_is_met_is_no_all_clear_for_an_outcome_that_is_told():
    assert LEAK.success_rate("event")["success_rate"].max() > 0.9
    report = seepage.Report.of(LEAK, "internal", policy=TARGETS)
    assert report.verdict.status == "met"
    assert "Meets the policy for what it names" in repr(report)


@pytest.mark.parametrize("edition", ["internal", "publishable"])
@pytest.mark.parametrize(("other_attributes", "words"), [(None, LEFT), ("public", DECLARED)])
def test_box_markdown_and_json_say_what_has_no_target(tmp_path, edition, other_attributes, words):
    report = seepage.Report.of(LEAK, edition, policy={**TARGETS, "other_attributes": other_attributes})
    box = report.html().partition('<section class="verdict')[2].partition("</section>")[0]
    assert words in box
    assert words in " ".join(report.markdown().replace("\\", "").split())
    assert report.verdict.untargeted == Untargeted(("smoking", "event"), ("event",), other_attributes == "public")
    is_clear = other_attributes == "public"
    # A check mark in green is for what is wholly limited or public.
    assert ("✓</span> Meets the policy<" in box) == is_clear
    assert box.startswith(' met"' if is_clear else ' open"')
    assert ("Meets the policy\n---" in report.markdown()) == is_clear
    report.write_json(tmp_path / "report.json")
    assert seepage.Report.read(tmp_path / "report.json").text() == report.text()


@pytest.mark.parametrize(("other_attributes", "words"), [(None, LEFT), ("public", DECLARED)])
def test_a_certificate_says_what_has_no_target(tmp_path, other_attributes, words):
    accept = seepage.Policy(**TARGETS, other_attributes=other_attributes)
    publication = seepage.publish(MODEL, X, Y, noise_scale=NOISE, accept=accept, classes=[0, 1])
    publication.write(tmp_path / "model.skops")
    found = seepage.certify(tmp_path / "model.skops", tmp_path / "model.certificate.json")
    assert found.holds
    assert found.certificate.untargeted == {
        "attributes": ["smoking", "event"],
        "outcome": ["event"],
        "public": other_attributes == "public",
    }
    assert found.certificate.left_open() == words
    assert words in found.certificate._repr_html_()


def test_a_certificate_without_any_target_says_that_alone():
    certificate = seepage.publish(MODEL, X, Y, noise_scale=NOISE, accept=None, classes=[0, 1]).certificate
    assert (certificate.untargeted, certificate.left_open()) == (None, "")


def test_everything_named_is_an_all_clear():
    policy = {**TARGETS, "success_rate": {"smoking": 0.999999, "event": 0.999999}}
    report = seepage.Report.of(LEAK, "internal", policy=policy)
    assert report.verdict.untargeted == Untargeted((), (), False)
    assert repr(report).endswith("Meets the policy)")
    assert "No target for" not in report.html()


def test_most_of_the_people_and_some_of_the_attributes_are_both_said():
    report = seepage.Report.of(LEAK, "internal", policy={**TARGETS, "quantile": 0.9})
    assert repr(report).endswith("Meets the policy for what it names, for 90% of people)")


def test_what_the_attacker_knows_needs_no_target():
    known = seepage.measure(MODEL, X, Y, noise_scale=NOISE, public_label=True)
    assert seepage.Policy(**TARGETS).attributes_without_target(known) == Untargeted(("smoking",), (), False)
    alone = seepage.measure(MODEL, X, Y, noise_scale=NOISE, public_label=True, attributes=["age"])
    assert seepage.Policy(**TARGETS).attributes_without_target(alone) == Untargeted((), (), False)


def test_eta_is_a_target_for_numbers_and_not_for_categories():
    assert seepage.Policy(eta=3.0).attributes_without_target(LEAK) == Untargeted(
        ("smoking", "event"), ("event",), False
    )
    score = X["age"] + np.random.default_rng(2).normal(size=len(X))
    numbers = seepage.measure(Ridge().fit(X[["age"]], score), X[["age"]], score, noise_scale=1.0)
    assert seepage.Policy(eta=3.0).attributes_without_target(numbers) == Untargeted((), (), False)


def test_times_and_status_are_what_a_survival_model_predicts():
    random = np.random.default_rng(1)
    rows = pd.DataFrame({"age": random.normal(60, 10, 80), "dose": random.normal(size=80)})
    outcome = np.array(
        list(zip(random.uniform(size=80) < 0.7, random.exponential(10, 80), strict=True)),
        dtype=[("died", bool), ("week", float)],
    )
    leak = seepage.measure(seepage.models.Cox().fit(rows, outcome), rows, outcome, noise_scale=0.1)
    left = seepage.Policy(error_floor={"age": 1.0}).attributes_without_target(leak)
    assert left == Untargeted(("dose", "died", "week"), ("died", "week"), False)
    assert left.sentence() == "No target for: dose, died and week (what the model predicts)."


def test_composed_releases_leave_the_same_open():
    twice = seepage.compose([LEAK, LEAK])
    assert seepage.Policy(**TARGETS).attributes_without_target(twice) == seepage.Policy(
        **TARGETS
    ).attributes_without_target(LEAK)


def test_of_many_columns_the_outcome_is_always_named():
    names = tuple(f"x{i}" for i in range(500))
    said = Untargeted((*names, "event"), ("event",), False).sentence()
    assert said == ("No target for: x0, x1, x2, x3, x4, x5, x6, x7, 492 more, event (what the model predicts).")


def test_a_policy_declares_the_rest_public_or_nothing():
    policy = seepage.Policy(**TARGETS, other_attributes="public")
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert "What has no target is public." in policy._repr_html_()
    with pytest.raises(seepage.errors.InputError, match="'private'"):
        seepage.Policy(**TARGETS, other_attributes="private")
