"""What the package says about itself agrees wherever it is said."""

import re
import tomllib

import pytest
from pages import ROOT

import seepage

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_version_is_one():
    for file, pattern in (("CITATION.cff", r"^version: (\S+)$"), ("recipe/recipe.yaml", r'^  version: "([^"]+)"$')):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.findall(pattern, text, re.MULTILINE) == [seepage.__version__], file


def test_conda_asks_for_what_pip_asks_for():
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("  run_constraints:")[0]
    listed = {line.strip("- ").replace(" ", "") for line in run.splitlines() if line.strip()}
    assert listed - {"python>=${{python_min}}"} == set(PROJECT["project"]["dependencies"])
    assert f'python_min: "{PROJECT["project"]["requires-python"].removeprefix(">=")}"' in recipe


def test_the_versions_of_python_are_those_that_are_tried():
    tried = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/everywhere.yml").read_text(encoding="utf-8"))[1]
    versions = re.findall(r"[\d.]+", tried)
    said = [each.rpartition(" ")[2] for each in PROJECT["project"]["classifiers"] if " 3." in each]
    assert versions == said
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_they_name_and_may_do_little(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), f"{action} is not pinned by its commit"
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action} does not say its version"
    assert re.search(r"^permissions:( \{\}|\n  contents: read)$", text, re.MULTILINE)
    assert text.count("timeout-minutes:") == text.count("runs-on:")
    assert "secrets." not in text


def test_the_tests_that_run_everywhere_exist():
    text = (ROOT / ".github/workflows/everywhere.yml").read_text(encoding="utf-8")
    named = re.findall(r"tests/[\w/.]+", text.partition("TESTS:")[2].partition("MARKS:")[0])
    assert len(named) > 5
    assert all((ROOT / each).exists() for each in named)
