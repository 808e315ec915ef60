"""What the package says about itself agrees wherever it is said."""

import os
import re
import shlex
import subprocess
import tomllib

import pytest
from pages import ROOT

import seepage

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DEPENDENCIES = PROJECT["project"]["dependencies"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_version_is_one():
    for file, pattern in (("CITATION.cff", r"^version: (\S+)$"), ("recipe/recipe.yaml", r'^  version: "([^"]+)"$')):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.findall(pattern, text, re.MULTILINE) == [seepage.__version__], file


def test_conda_asks_for_what_pip_asks_for_with_the_command_line():
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("  run_constraints:")[0]
    listed = {line.strip("- ").replace(" ", "") for line in run.splitlines() if line.strip()}
    # There are no extras and no conditions in conda, and the package brings the command.
    asked = {each.partition(";")[0] for each in (*DEPENDENCIES, *PROJECT["project"]["optional-dependencies"]["cli"])}
    assert listed - {"python>=${{python_min}}"} == asked
    assert f'python_min: "{PROJECT["project"]["requires-python"].removeprefix(">=")}"' in recipe


def test_the_lowest_versions_are_those_that_are_tested():
    pinned = (ROOT / ".ci/lowest.txt").read_text(encoding="utf-8").split("\n")
    lowest = {each.replace(">=", "==") for each in DEPENDENCIES if "python_version" not in each}
    assert lowest <= {re.sub(r"(\.0)+$", suffix, each) for each in pinned for suffix in ("", ".0")} | {*pinned}


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
    named = re.findall(r"tests/[\w/.]+", text.partition("TESTS:")[2].partition("#")[0])
    assert len(named) > 5
    assert all((ROOT / each).exists() for each in named)


def commands():
    """Return the commands that bring a contributor from a clone to green, line by line."""
    block = re.search(
        r"^```sh\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [re.sub(r"\s+# .*", "", line).split(" && ") for line in block[1].splitlines()]


def test_what_decides_runs_the_commands_of_contributing(tmp_path):
    made, installed, checked = commands()
    log = tmp_path / "log"
    for tool in ("mypy", "pytest", "ruff"):
        (tmp_path / tool).write_text(f'#!/bin/sh\necho "{tool} $*" | sed "s/ $//" >> {log}\n')
        (tmp_path / tool).chmod(0o755)
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (function,) = re.findall(r"^contributing\(\) \{.*?^\}$", script, re.DOTALL | re.MULTILINE)
    assert re.search(r"^contributing$", script, re.MULTILINE)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    text = "\n".join(["set -euo pipefail", 'step() { echo "$1"; }', function, "contributing"])
    subprocess.run(["bash", "-c", text], cwd=ROOT, env={**os.environ, "PATH": path}, check=True)
    *checked, tests = checked
    assert log.read_text().splitlines() == checked
    # A part that fails is the end.
    (tmp_path / "mypy").write_text("#!/bin/sh\nexit 1\n")
    assert subprocess.run(["bash", "-c", text], cwd=ROOT, env={**os.environ, "PATH": path}, check=False).returncode == 1
    assert log.read_text().splitlines()[len(checked) :] == checked[:2]
    # The tests in a step of their own, with what makes them faster, and those of the command line in another.
    (step,) = re.findall(r"^pytest .*$", script, re.MULTILINE)
    assert step.endswith(tests.removeprefix("pytest"))
    # Whatever runs meanwhile is waited for, and fails what began it.
    begun, ended = (
        re.findall(rf"^{word} (?:\".*\" )?(\w+)$", script, re.MULTILINE) for word in ("meanwhile", "joined")
    )
    assert "typed" in begun
    assert sorted(begun) == sorted(ended)
    # What is installed, though not as it stands in a clone.
    script = (ROOT / ".ci" / "environment").read_text(encoding="utf-8").replace("\\\n    ", "")
    torch, package = (each.removeprefix("pip install ") for each in installed)
    assert f'pip install --quiet --no-compile "{torch}"' in script
    assert package.replace("--editable ", "") in script
    assert any(made[-1].rpartition(" ")[2] in line for line in script.splitlines() if "pip install" in line)


def selections(script):
    """Return the arguments of every call of pytest in a script."""
    text = (ROOT / ".ci" / script).read_text(encoding="utf-8").replace("\\\n", " ")
    return [shlex.split(line) for line in re.findall(r"^ *(?:\S+ -m )?pytest (.*)$", text, re.MULTILINE)]


def selected(arguments, files):
    """Return the files that such a call runs: those below what it names, but for folders that only run by name."""
    ignored = [arguments[place + 1] for place, each in enumerate(arguments) if each == "--ignore"]
    named = [each for each in arguments if each.startswith("tests") and each not in ignored]
    found = {file: [file.relative_to(each).parts for each in named if file.is_relative_to(each)] for file in files}
    return {
        file
        for file, below in found.items()
        if any("nightly" not in parts for parts in below) and not any(file.is_relative_to(each) for each in ignored)
    }


def test_every_test_is_run_before_a_change_lands_or_at_night():
    settings = PROJECT["tool"]["pytest"]["ini_options"]
    assert settings["testpaths"] == ["tests"]
    assert "nightly" in settings["norecursedirs"]
    files = {path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")}
    calls = [*selections("run"), *selections("nightly")]
    # Whole files: what is chosen by its name or its marks might be chosen by nobody.
    assert not any({"-m", "-k", "--deselect"} & set(arguments) for arguments in calls)
    parts = [selected(arguments, files) for arguments in calls]
    assert [bool(part) for part in parts] == [True] * 4
    assert set.union(*parts) == files
    assert sum(map(len, parts)) == len(files)
