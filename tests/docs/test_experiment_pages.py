"""The pages about the papers: verdicts that they define, tables that the results say, and one of them anew."""

import json
import os
import subprocess
import sys

import pytest
from pages import ROOT

from experiments._table import RESULTS, TABLES, written


def test_every_verdict_is_one_of_those_that_the_page_defines():
    page = (RESULTS / "papers.md").read_text()
    defined = [line.split("**")[1] for line in page.splitlines() if line.startswith("- **")]
    rows = [line for line in page.splitlines() if line.startswith("| ") and "`python -m" in line]
    assert len(rows) > 30
    for row in rows:
        verdict = row.split("**")[1]
        assert verdict in defined, row


@pytest.mark.parametrize("name", list(TABLES))
def test_the_tables_of_the_pages_are_what_the_results_say(name):
    text = (RESULTS / name).read_text()
    assert written(name, text) == text


def test_an_experiment_in_its_quick_mode_finds_table_1_of_the_paper(tmp_path, data_home):
    command = [sys.executable, "-W", "error", "-m", "experiments", "h21_table_1", "--quick", "--output", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "SEEPAGE_DATA": str(data_home)})
    assert list(tmp_path.glob("h21_table_1*.png"))
    found = json.loads((tmp_path / "h21_table_1.json").read_text())["rows"]
    for row, mean, spread, accuracy in (
        ("mnist linear", 0.0405, 0.0138, 99.95),
        ("mnist linear, equalized", 0.0470, 0.0000, 99.72),
        ("mnist logistic", 0.0267, 0.0124, 99.76),
    ):
        assert found[row]["mean"] == pytest.approx(mean, abs=1e-3)
        assert found[row]["sd"] == pytest.approx(spread, abs=1e-3)
        assert found[row]["accuracy"] == pytest.approx(accuracy, abs=0.1)
