"""Every experiment in its quick mode, and what it must show."""

import json
import os
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from pages import ROOT

import seepage.network
from experiments import g22_figure_3_4, g22_private_sgd
from experiments._private import PrivateSGD
from experiments._work import Work
from experiments.g22_private_sgd import Setting, train


@pytest.fixture(scope="module")
def output(tmp_path_factory, data_home):
    folder = tmp_path_factory.mktemp("results")
    command = [sys.executable, "-W", "error", "-m", "experiments", "all", "--quick", "--output", str(folder)]
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "SEEPAGE_DATA": str(data_home)})
    spent = os.times()
    print(f"all experiments, quick: {time.perf_counter() - start:.0f} s, {spent.children_user:.0f} s of a processor")
    return folder


@pytest.fixture
def numbers(output):
    return lambda name: json.loads((output / f"{name}.json").read_text())


def test_every_experiment_writes_its_numbers_and_figures(output):
    names = {path.stem for path in (ROOT / "experiments").glob("[a-z]*.py")}
    assert {path.stem for path in output.glob("*.json")} == names | {"verdicts"}
    assert "**not run**" in (output / "papers.md").read_text()
    for name in names:
        assert list(output.glob(f"{name}*.png"))


def test_zeros_leak_more_than_ones(numbers):
    for kind in ("linear", "logistic"):
        by_class = numbers("h21_figure_2_3")[f"mnist {kind}"]["mean_by_class"]
        assert by_class["0"] > by_class["1"]


def test_eta_is_neither_the_loss_nor_the_gradient_norm(numbers):
    for name in ("loss", "gradient norm"):
        assert 0.1 < numbers("h21_figure_4")[name]["spearman"] < 0.7


def test_the_white_box_attack_follows_eta_more_closely_than_the_black_box_attack(numbers):
    found = numbers("h21_figure_6")
    ranks = found["rank_correlation_with_mean_eta"]
    assert ranks["white-box"] > ranks["black-box"]
    by_eta = sorted(found["settings"], key=lambda each: each["mean_eta"])
    assert by_eta[-1]["white-box"] > 0.99
    assert by_eta[0]["white-box"] == pytest.approx(1 / 3, abs=0.05)
    assert by_eta[0]["white-box with prior"] == pytest.approx(found["prior"], abs=0.02)


def test_equalizing_flattens_the_attack(numbers):
    found = {row: values["range_over_deciles"] for row, values in numbers("h21_figure_7").items() if "," in row}
    first = found["iwpc, linearized, first level dropped"]
    assert first["0"] == pytest.approx(0.45, abs=0.05)
    assert first["10"] == pytest.approx(0.08, abs=0.03)
    last = found["iwpc, linearized, last level dropped"]
    assert last["10"] > 0.6 * last["0"]
    for name in ("iwpc", "adult"):
        for dropped in ("first", "last"):
            exact = found[f"{name}, exact, {dropped} level dropped"]
            assert exact["10"] < 0.25 * exact["0"]
    assert found["iwpc, exact, last level dropped"]["10"] < 0.06


def test_no_image_of_figure_2_can_be_told_better_than_by_the_mean_image(numbers):
    found = numbers("g22_figure_2")
    assert found["floor_quantiles"]["0"] > found["blind_guess"]
    assert found["renyi_epsilon_unit_inputs"] == pytest.approx(2.49, abs=0.01)
    assert found["renyi_epsilon_in_the_paper"] == pytest.approx(1.58, abs=0.01)


def test_reconstruction_stays_above_the_floor_and_follows_it(numbers):
    found = numbers("g22_figure_3_4")["without intercept"]
    # No allowance for bias or for chance: the attack itself, where the floor says something.
    assert found["floor_below_prior"] > 5
    assert found["smallest_error_over_floor_below_prior"] > 1
    assert found["spearman"] > 0.9
    assert found["error_without_noise"] < 1e-15


def test_every_layer_of_every_client_is_measured_in_three_ways(numbers):
    found = numbers("m21")
    assert {name: len(found[name]["layers"]) for name in ("lfw AlexNet", "adult FCNet")} == {
        "lfw AlexNet": 5, "adult FCNet": 9,
    }  # fmt: skip
    for name in ("lfw AlexNet", "adult FCNet"):
        for kind in ("maxima", "entries", "sketch"):
            assert all(0 <= auc <= 1 for auc in found[name]["auc"][kind]["mean"])
            assert 0 <= found[name]["auc_all_layers"][kind][0] <= 1
        for key, values in found[name].items():
            if key.startswith("information"):
                assert max(values["mean"]) <= np.log(2) + 0.01
            elif key.startswith("sensitivity"):
                assert min(values["mean"]) > 0


def test_noise_keeps_x_rays_from_being_reconstructed(numbers):
    found = numbers("plis_inversion")
    best = {key: found[key]["ssim"]["mean"] for key in ("bare", "private")}
    assert best["private"] < 0.5 * best["bare"]


def test_only_the_column_that_tells_the_target_is_susceptible(numbers):
    assert min(numbers("plis")["regression"]["informative_over_largest_other"]) > 5


def test_floors_of_private_training_are_ordered_as_the_ways_of_counting_are(numbers):
    for run in numbers("g22_private_sgd")["runs"].values():
        for reading in run["readings"]:
            # Whoever is drawn in secret gives less away; kappa promises a part of that.
            assert 0 < reading["kappa"] <= 1
            assert reading["exact_largest"] < reading["plain_largest"]
            assert reading["exact_median"] < reading["plain_median"]
            low, high = reading["plain_median_interval"]
            assert low <= reading["plain_median"] <= high


def test_errors_of_everybody_at_once_are_those_of_the_attack(data_home, monkeypatch):
    monkeypatch.setenv("SEEPAGE_DATA", str(data_home))
    X, y = g22_figure_3_4._digits(400)
    people = np.arange(0, 400, 40)
    for kind in g22_figure_3_4._KINDS:
        leak = g22_figure_3_4._leak(400, kind)
        attack = seepage.attacks.Reconstruction(people).fit(leak)
        start = leak.information.geometry.parameters[:, 0]
        for guesses, noise in attack.draws(trials=50, seed=1):
            found = g22_figure_3_4.errors_of_everybody(start + noise, X, y, g22_figure_3_4._PENALTY * len(X))
            expected = ((guesses - X[people]) ** 2).mean(axis=2)
            assert found[:, people] == pytest.approx(expected, rel=1e-6)


def test_a_run_that_was_stopped_goes_on_to_the_same_digits(tmp_path, data_home, monkeypatch):
    monkeypatch.setenv("SEEPAGE_DATA", str(data_home))
    whole = Setting(1.0, 0.1, 32.0, readings=(4, 8), people=300, stretch=4, most=3, probes=1)
    expected = Work("g22_private_sgd").pieces({whole.key: partial(train, whole, Work("g22_private_sgd"))})
    work = Work("g22_private_sgd", tmp_path)
    monkeypatch.setattr(g22_private_sgd, "CHECKPOINT", 3)
    stopped = PrivateSGD.advance

    def stop(self):
        if self.step == 7:
            raise KeyboardInterrupt
        stopped(self)

    monkeypatch.setattr(PrivateSGD, "advance", stop)
    with pytest.raises(KeyboardInterrupt):
        work.pieces({whole.key: partial(train, whole, work)})
    monkeypatch.setattr(PrivateSGD, "advance", stopped)
    found = work.pieces({whole.key: partial(train, whole, work)})
    assert found == expected
    assert work.pieces({whole.key: partial(pytest.fail, "It was done already.")}) == expected
