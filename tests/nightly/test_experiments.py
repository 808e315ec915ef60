"""Every experiment in its quick mode, and what it must show."""

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


def test_every_experiment_writes_its_numbers_and_figures(output):
    names = {path.stem for path in (ROOT / "experiments").glob("[a-z]*.py")}
    assert {path.stem for path in output.glob("*.json")} == names | {"verdicts"}
    assert "**not run**" in (output / "papers.md").read_text()
    for name in names:
        assert list(output.glob(f"{name}*.png"))


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
