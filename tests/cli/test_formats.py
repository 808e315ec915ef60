"""A pipeline can read the verdict: JSON, SARIF 2.1.0."""

import json
from pathlib import Path

import jsonschema
import pytest

from cli.terminal import Terminal
from seepage._facts import given
from seepage.cli.commands._formats import as_sarif
from seepage.cli.input import PolicyFile
from seepage.meaning import Target, Untargeted
from seepage.release import Policy
from seepage.report import Judgment, PolicyVerdict

CHECK = "seepage check model.skops people.csv --target progression --policy policy.toml"

SARIF = json.loads(Path(__file__).with_name("sarif.json").read_text(encoding="utf-8"))


def test_json(terminal: Terminal) -> None:
    answer = terminal.run(f"{CHECK} -n 2 --format json")
    assert answer.code == 1
    found = json.loads(answer.out)
    assert found["schema"] == "urn:seepage:check:2"
    assert not found["passed"]
    assert found["enough_noise_scale"] == 5
    met, missed = found["targets"]
    assert (met["attribute"], met["limit"], met["met"], met["noise_factor"]) == ("age", 5.0, True, None)
    assert (missed["attribute"], missed["met"], missed["noise_factor"]) == ("bmi", False, 2.0)
    assert "Does not meet the policy" in answer.err
    left = found["untargeted"]
    assert left["attributes"] == ["sex", "bp", "s1", "s2", "s3", "s4", "s5", "s6", "progression"]
    assert (left["outcome"], left["public"]) == (["progression"], False)


def test_sarif_names_the_line_of_the_policy(terminal: Terminal) -> None:
    answer = terminal.run(f"{CHECK} -n 2 --format sarif --output check.sarif --quiet")
    assert (answer.code, answer.out, answer.err) == (1, "", "")
    log = json.loads((terminal.folder / "check.sarif").read_text())
    jsonschema.validate(log, SARIF)
    run = log["runs"][0]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "seepage/error_floor"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "policy.toml"
    line = (terminal.folder / "policy.toml").read_text().splitlines()[place["region"]["startLine"] - 1]
    assert line == "bmi = 2"


@pytest.mark.parametrize("name", ["text", "json", "sarif"])
def test_what_is_for_everybody_tells_verdicts_alone(terminal: Terminal, name: str) -> None:
    answer = terminal.run(f"{CHECK} -n 2 --edition publishable --format {name}")
    assert answer.code == 1
    said = answer.out + answer.err
    assert "Everyone's bmi" in said
    assert "times the noise" not in said
    assert "A noise scale of" not in said
    if name == "json":
        found = json.loads(answer.out)
        assert found["enough_noise_scale"] is None
        assert [each["noise_factor"] for each in found["targets"]] == [None, None]
        assert [each["met"] for each in found["targets"]] == [True, False]


def test_a_policy_that_is_met_has_no_results(terminal: Terminal) -> None:
    answer = terminal.run(f"{CHECK} -n 3 --format sarif")
    assert (answer.code, json.loads(answer.out)["runs"][0]["results"]) == (0, [])
    refused = terminal.run(f"{CHECK} -n 3 --format junit")
    assert (refused.code, "'sarif'" in refused.text) == (2, True), refused.text


@pytest.mark.parametrize(("other_attributes", "level"), [("", "warning"), ('other_attributes = "public"\n', "note")])
def test_a_policy_that_is_met_tells_what_it_leaves_open(terminal: Terminal, other_attributes: str, level: str) -> None:
    (terminal.folder / "left.toml").write_text(f"{other_attributes}[error_floor]\nage = 5\nbmi = 2\n")
    words = "progression (what the model predicts)"
    command = CHECK.replace("policy.toml", "left.toml")
    screen = terminal.run(f"{command} -n 5")
    assert screen.code == 0
    assert ("Meets the policy for what it names" in screen.text) == (not other_attributes)
    assert ("- No target for: sex, bp," in screen.text) == (not other_attributes)
    assert ("- The policy declares public what it does not name: sex, bp," in screen.text) == bool(other_attributes)
    log = json.loads(terminal.run(f"{command} -n 5 --format sarif --quiet").out)
    jsonschema.validate(log, SARIF)
    (notice,) = log["runs"][0]["invocations"][0]["toolConfigurationNotifications"]
    assert notice["level"] == level
    assert words in notice["message"]["text"]
    found = json.loads(terminal.run(f"{command} -n 5 --format json --quiet").out)
    assert (found["passed"], found["untargeted"]["public"]) == (True, bool(other_attributes))


@pytest.mark.parametrize("name", ["<b>&amp;", 'quo"te', "naïve Größe", "a\x00b\x1b[31m", "x" * 10_000, "]]>", "a\nb"])
def test_any_name_of_a_column_survives(name: str) -> None:
    judged = Judgment(Target("error_floor", name, given(5.0), given(1.0)), False, 1.3)
    left = Untargeted((f"{name} too",), (), False)
    verdict = PolicyVerdict("missed", (judged,), untargeted=left)
    file = PolicyFile(Path("my policy.toml"), Policy(), "", None)
    log = json.loads(as_sarif(verdict, file, Path("a model.skops")))
    jsonschema.validate(log, SARIF)
    assert name in log["runs"][0]["results"][0]["message"]["text"]
    assert f"{name} too" in log["runs"][0]["invocations"][0]["toolConfigurationNotifications"][0]["message"]["text"]
