"""Passes in threads."""

import os
import subprocess
import sys
import textwrap
import warnings

import numba
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import seepage
from experiments.datasets import adult_features, complete_adult, load_adult
from seepage.linear.rows import one_thread, threads_allowed


@pytest.mark.usefixtures("data_home")
def test_preprocessing_in_threads_neither_warns_nor_changes_the_filters_of_warnings(monkeypatch):
    raw = load_adult()
    X, y = complete_adult(raw.data, raw.target)
    X, y = pd.concat([X] * 2, ignore_index=True), [*y, *y]
    model = make_pipeline(adult_features(X, dropped="first"), Ridge()).fit(X, y)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        seepage.measure(model, X, y, noise_scale=1.0).information.examples()
        assert list(warnings.filters) == before


def test_measuring_leaves_the_threads_of_pytorch_as_they_are():
    # A process of its own: whatever ran before may have set them.
    told = """
        import numpy as np, seepage, torch
        from sklearn.linear_model import Ridge
        X, y = np.random.default_rng(0).normal(size=(100_000, 3)), np.arange(100_000.0)
        seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0).information.examples()
        print(torch.get_num_threads())
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(told)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["1"]


def test_a_worker_has_one_thread():
    with one_thread():
        assert threads_allowed() == 1
        with one_thread():
            pass
        assert threads_allowed() == 1
    assert threads_allowed() == numba.config.NUMBA_NUM_THREADS
