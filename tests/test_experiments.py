"""Every experiment in its quick mode, and what it must show."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def output(tmp_path_factory, data_home):
    folder = tmp_path_factory.mktemp("results")
    command = [sys.executable, "-W", "error", "-m", "experiments", "all", "--quick", "--output", str(folder)]
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "SEEPAGE_DATA": str(data_home)})
    print(f"all experiments, quick: {time.perf_counter() - start:.0f} s")
    return folder


@pytest.fixture
def numbers(output):
    return lambda name: json.loads((output / f"{name}.json").read_text())


def test_every_experiment_writes_its_numbers_and_figures(output):
    names = {path.stem for path in (ROOT / "experiments").glob("[a-z]*.py")}
    assert {path.stem for path in output.glob("*.json")} == names
    for name in names:
        assert list(output.glob(f"{name}*.png"))


def test_table_1_is_that_of_the_paper(numbers):
    found = numbers("h21_table_1")["rows"]
    for row, mean, spread, accuracy in (
        ("mnist linear", 0.0405, 0.0138, 99.95),
        ("mnist linear, equalized", 0.0470, 0.0000, 99.72),
        ("mnist logistic", 0.0267, 0.0124, 99.76),
    ):
        assert found[row]["mean"] == pytest.approx(mean, abs=1e-3)
        assert found[row]["sd"] == pytest.approx(spread, abs=1e-3)
        assert found[row]["accuracy"] == pytest.approx(accuracy, abs=0.1)


def test_zeros_leak_more_than_ones(numbers):
    for kind in ("linear", "logistic"):
        by_class = numbers("h21_figure_2_3")[f"mnist {kind}"]["mean_by_class"]
        assert by_class["0"] > by_class["1"]


def test_eta_is_neither_the_loss_nor_the_gradient_norm(numbers):
    for name in ("loss", "gradient norm"):
        assert 0.1 < numbers("h21_figure_4")[name]["spearman"] < 0.7


def test_the_white_box_attack_follows_eta_more_closely_than_the_black_box_attack(numbers):
    found = numbers("h21_figure_5_6")
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
    assert {name: len(found[name]["layers"]) for name in ("lfw", "mnist", "adult")} == {
        "lfw": 8, "mnist": 8, "adult": 9,
    }  # fmt: skip
    for name in ("lfw", "mnist", "adult"):
        assert 0 <= found[name]["auc_of_all_layers"] <= 1
        for layer in found[name]["layers"].values():
            assert layer["auc_interval"][0] <= layer["auc"] <= layer["auc_interval"][1]
            assert layer["usable_information"] <= 1.01
            assert layer["sensitivity"] > 0


def test_noise_keeps_x_rays_from_being_reconstructed(numbers):
    found = numbers("plis_inversion")
    best = {key: max(each["ssim_mean"] for each in found[key].values()) for key in ("bare", "private")}
    assert best["private"] < 0.5 * best["bare"]
