"""A measurement of a plain model runs functions of few files."""

import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge

import seepage

# May only be lowered.
FILES = 35


def test_one_measurement_runs_functions_of_few_files():
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 3))
    y = X[:, 0] + random.normal(size=50)
    model, package, files = Ridge().fit(X, y), Path(seepage.__file__).parent, set()

    def note(frame, event, argument):
        file = Path(frame.f_code.co_filename)
        if event == "call" and package in file.parents:
            files.add(str(file.relative_to(package)))

    seepage.measure(model, X, y, noise_scale=1.0)
    sys.setprofile(note)
    try:
        eta = seepage.measure(model, X, y, noise_scale=1.0).examples["eta"]
    finally:
        sys.setprofile(None)
    assert len(eta) == 50
    assert len(files) <= FILES, sorted(files)
