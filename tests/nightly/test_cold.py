"""The first measurement on a machine, on which nothing is compiled yet."""

import os
import subprocess
import sys
import textwrap

import pytest


@pytest.mark.usefixtures("data_home")
def test_compiling_in_one_thread_and_preprocessing_in_another_leave_the_filters_of_warnings_alone(tmp_path):
    told = """
        import warnings, numba, pandas as pd, seepage
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from experiments.datasets import adult_features, complete_adult, load_adult

        raw = load_adult()
        X, y = complete_adult(raw.data, raw.target)
        X, y = pd.concat([X] * 2, ignore_index=True), [*y, *y]
        model = make_pipeline(adult_features(X, dropped="first"), Ridge()).fit(X, y)
        numba.config.NUMBA_NUM_THREADS = 2
        before = list(warnings.filters)
        seepage.measure(model, X, y, noise_scale=1.0).information.examples()
        print(list(warnings.filters) == before)
    """
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(told)], env=cold, capture_output=True, text=True)
    assert found.stdout.split() == ["True"], found.stderr
