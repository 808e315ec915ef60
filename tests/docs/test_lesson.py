"""The notebook for a class runs, shows what it has stored, and what the page for teachers says that it shows."""

import json

import numpy as np
from lesson import NOTEBOOK, code_cells, run_all


def test_the_notebook_runs_and_its_attack_meets_the_floor():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names, shown = run_all(notebook)
    printed = "".join(each for each, *_ in shown)
    assert "The attacker says 66.0 and the truth is 66.0" in printed
    assert "442 of 442 outcomes are right" in printed
    floor = names["leak"].error_floor()["age"][names["patient"]]
    # The standard error of a standard deviation of 2,000 guesses is 1.6% of it.
    assert abs(np.std(names["guesses"]) / floor - 1) < 0.05
    assert len(names["publication"].certificate.targets) == 2
    stored = [output["text"] for cell in code_cells(notebook) for output in cell["outputs"] if "text" in output]
    assert "".join("".join(text) for text in stored) == printed
    pictures = [cell for cell in code_cells(notebook) if any("image/png" in o.get("data", {}) for o in cell["outputs"])]
    assert len(pictures) == sum(picture is not None for *_, picture in shown) == 4


def test_every_question_has_an_answer():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    asked = ["".join(cell["source"]) for cell in cells if "*Question" in "".join(cell["source"])]
    assert len(asked) == 7
    assert all("<details><summary>An answer</summary>" in each for each in asked)
