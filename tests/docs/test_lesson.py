"""The notebook for a class runs, and shows what the page for teachers says that it shows."""

import contextlib
import io
import json

import numpy as np
from pages import ROOT

NOTEBOOK = ROOT / "docs" / "readers" / "lesson.ipynb"


def test_the_notebook_runs_and_its_attack_meets_the_floor():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in cells:
            if cell["cell_type"] == "code":
                assert not cell["outputs"], "outputs of a notebook are about people, and stay out"
                exec("".join(cell["source"]), names)
    assert "The attacker says 66.0 and the truth is 66.0" in printed.getvalue()
    floor = names["leak"].error_floor()["age"][names["patient"]]
    # The standard error of a standard deviation of 2,000 guesses is 1.6% of it.
    assert abs(np.std(names["guesses"]) / floor - 1) < 0.05
    assert len(names["publication"].certificate.targets) == 2
