"""Where Java, a browser or data sets are missing, their tests are left out by name; in CI never."""

import os
import subprocess
import sys

import pytest
from pages import ROOT


@pytest.mark.parametrize("ci", [False, True])
def test_without_java_and_a_browser_their_tests_are_left_out_and_in_ci_never(tmp_path, ci):
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    environment = {**kept, "PATH": str(tmp_path), "SEEPAGE_DATA": str(tmp_path), **({"CI": "true"} if ci else {})}
    files = [f"tests/nightly/test_{name}.py" for name in ("impossible", "engines", "rendered")]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    for said in ("6 tests are left out: they start Spark", "tests are left out: they render pages"):
        assert (said in run.stdout) is not ci, run.stdout
    for name in ("test_spark_connect_is_refused_with_the_reason", "resumed[spark]", "test_both_editions_are_rendered"):
        assert (name in run.stdout) is ci
    assert "resumed[ray]" in run.stdout


@pytest.mark.parametrize(
    ("settings", "left_out"), [({}, True), ({"CI": "true"}, False), ({"CI": "true", "SEEPAGE_DATA": "none"}, True)]
)
def test_without_data_sets_their_tests_are_left_out_and_in_ci_only_if_it_says_so(tmp_path, settings, left_out):
    kept = {name: value for name, value in os.environ.items() if name not in ("SEEPAGE_DATA", "CI")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "tests/nightly/test_images.py",
    ]
    environment = {**kept, "HOME": str(tmp_path), **settings}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ("tests are left out: they read public data sets" in run.stdout) is left_out, run.stdout
    assert ("test_linear_regression_on_cifar" in run.stdout) is not left_out
