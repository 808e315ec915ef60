"""A pipeline can read the verdict: JSON, SARIF 2.1.0, JUnit."""

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from cli.terminal import Terminal
from seepage._facts import given
from seepage.cli.terminal._formats import as_junit, as_sarif
from seepage.cli.terminal._verdict import Judged, VerdictPanel
from seepage.meaning import Target, Untargeted

CHECK = "seepage check model.skops people.csv --target progression --policy policy.toml"

# The parts of the standard's schema (OASIS SARIF 2.1.0, appendix C.2) that a log with results uses.
_MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
_LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": "^[^ ]+$"}},
                },
                "region": {"type": "object", "properties": {"startLine": {"type": "integer", "minimum": 1}}},
            },
        }
    },
}
SARIF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "rules"],
                                "properties": {
                                    "name": {"const": "seepage"},
                                    "semanticVersion": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {"id": {"type": "string"}, "shortDescription": _MESSAGE},
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolConfigurationNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["message"],
                                        "properties": {
                                            "level": {"enum": ["none", "note", "warning", "error"]},
                                            "message": _MESSAGE,
                                        },
                                    },
                                },
                            },
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": _MESSAGE,
                                "locations": {"type": "array", "items": _LOCATION},
                                "relatedLocations": {"type": "array", "items": _LOCATION},
                                "partialFingerprints": {
                                    "type": "object",
                                    "additionalProperties": {"type": "string"},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


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
    assert "misses its policy" in answer.err
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


def test_junit_has_a_case_for_each_target(terminal: Terminal) -> None:
    answer = terminal.run(f"{CHECK} -n 2 --format junit")
    assert answer.code == 1
    root = ElementTree.fromstring(answer.out.encode())
    _check_junit(root)
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert cases["error_floor of age"].find("failure") is None
    assert "2 times the noise" in cases["error_floor of bmi"].find("failure").text


@pytest.mark.parametrize("name", ["text", "json", "sarif", "junit"])
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
    for name, count in (("sarif", 0), ("junit", 0)):
        answer = terminal.run(f"{CHECK} -n 3 --format {name}")
        assert answer.code == 0
        found = (
            len(json.loads(answer.out)["runs"][0]["results"])
            if name == "sarif"
            else len(list(ElementTree.fromstring(answer.out.encode()).iter("failure")))
        )
        assert found == count


@pytest.mark.parametrize(("unnamed", "level"), [("", "warning"), ('unnamed = "public"\n', "note")])
def test_a_policy_that_is_met_tells_what_it_leaves_open(terminal: Terminal, unnamed: str, level: str) -> None:
    (terminal.folder / "left.toml").write_text(f"{unnamed}[error_floor]\nage = 5\nbmi = 2\n")
    words = "progression (what the model predicts)"
    command = CHECK.replace("policy.toml", "left.toml")
    screen = terminal.run(f"{command} -n 5")
    assert screen.code == 0
    assert ("meets its policy for what it names (2 of 2 targets)" in screen.text) == (not unnamed)
    assert ("OPEN   No target for: sex, bp," in screen.text) == (not unnamed)
    assert ("public The policy declares public what it does not name: sex, bp," in screen.text) == bool(unnamed)
    log = json.loads(terminal.run(f"{command} -n 5 --format sarif --quiet").out)
    jsonschema.validate(log, SARIF)
    (notice,) = log["runs"][0]["invocations"][0]["toolConfigurationNotifications"]
    assert notice["level"] == level
    assert words in notice["message"]["text"]
    root = ElementTree.fromstring(terminal.run(f"{command} -n 5 --format junit --quiet").out.encode())
    _check_junit(root)
    assert words in next(root.iter("system-out")).text
    found = json.loads(terminal.run(f"{command} -n 5 --format json --quiet").out)
    assert (found["passed"], found["untargeted"]["public"]) == (True, bool(unnamed))


def _check_junit(root: ElementTree.Element) -> None:
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        cases = suite.findall("testcase")
        # The suite may end with remarks.
        assert [each.tag for each in suite] in ([*["testcase"] * len(cases), *more] for more in ([], ["system-out"]))
        assert int(suite.get("tests")) == int(root.get("tests")) == len(cases)
        assert int(suite.get("failures")) == sum(case.find("failure") is not None for case in cases)
        assert all(case.tag == "testcase" and case.get("name") and case.get("classname") for case in cases)


@pytest.mark.parametrize("name", ["<b>&amp;", 'quo"te', "naïve Größe", "a\x00b\x1b[31m", "x" * 10_000, "]]>", "a\nb"])
def test_any_name_of_a_column_survives(name: str) -> None:
    judged = Judged(Target("error_floor", name, given(5.0), given(1.0)), 1.3, 7)
    left = Untargeted((f"{name} too",), (), False)
    verdict = VerdictPanel((judged,), 1.0, 1.3, Path("a model.skops"), Path("my policy.toml"), 10, left)
    log = json.loads(as_sarif(verdict))
    jsonschema.validate(log, SARIF)
    assert name in log["runs"][0]["results"][0]["message"]["text"]
    assert f"{name} too" in log["runs"][0]["invocations"][0]["toolConfigurationNotifications"][0]["message"]["text"]
    root = ElementTree.fromstring(as_junit(verdict).encode())
    _check_junit(root)
    plain = name.replace("\x00", "?").replace("\x1b", "?")
    assert plain in next(root.iter("failure")).text
    assert f"{plain} too" in next(root.iter("system-out")).text
