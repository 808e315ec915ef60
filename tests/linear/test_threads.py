"""Passes in threads."""

import warnings

import numba
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import seepage
from seepage.datasets import adult_features, complete_adult, load_adult


@pytest.mark.usefixtures("data_home")
def test_preprocessing_in_threads_neither_warns_nor_changes_the_filters_of_warnings():
    raw = load_adult()
    X, y = complete_adult(raw.data, raw.target)
    X, y = pd.concat([X] * 2, ignore_index=True), [*y, *y]
    model = make_pipeline(adult_features(X, dropped="first"), Ridge()).fit(X, y)
    threads = numba.get_num_threads()
    numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            before = list(warnings.filters)
            seepage.measure(model, X, y, noise_scale=1.0).information.examples()
            assert list(warnings.filters) == before
    finally:
        numba.set_num_threads(threads)
