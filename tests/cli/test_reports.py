"""Reports from the command line: written for the right eyes, and shown again."""

import json
import re
import stat
from pathlib import Path

import pandas as pd
import pyarrow.dataset
import pytest

from cli.terminal import Terminal

ASK = "--target progression --noise 2 --policy policy.toml --groups sex"
# What everybody may read must keep its promise.
SAFE = "--target progression --noise 50 --policy policy.toml"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("data", "how"), [("people.csv", "memory"), ("parts --stream", "stream")])
def test_an_internal_report_is_for_its_owner_alone(terminal: Terminal, data: str, how: str) -> None:
    files = f"--report {how}.html --json {how}.json --people {how}.people"
    answer = terminal.run(f"seepage measure model.skops {data} {ASK} {files}")
    assert (answer.code, answer.err) == (0, "")
    assert f"Written: {how}.html (internal edition: personal data, for you alone)" in answer.out
    page, document, people = (terminal.folder / f"{how}.{part}" for part in ("html", "json", "people"))
    assert _mode(page) == _mode(document) == 0o600
    assert _mode(people) == (0o700 if how == "stream" else 0o600)
    found = json.loads(document.read_text())
    sections = {each["head"]: each for each in found["sections"]}
    assert found["sections"][0]["mark"] == "missed"
    assert "Groups by sex" in sections
    assert "bmi" in page.read_text()
    rows = (
        pd.read_parquet(people)
        if how == "memory"
        else pyarrow.dataset.dataset(people / "examples", format="parquet").to_table().to_pandas()
    )
    assert len(rows) == 442
    largest = sections["Everyone"]["tables"][0]["rows"][0][-1]["value"]
    assert rows["eta"].max() == pytest.approx(largest, rel=5e-3)


def test_a_publishable_report_names_nobody_and_is_shown(terminal: Terminal) -> None:
    files = "--report public.html --json public.json --edition publishable"
    answer = terminal.run(f"seepage measure model.skops people.csv {SAFE} {files}")
    assert answer.code == 0
    found = json.loads((terminal.folder / "public.json").read_text())
    assert found["edition"] == "publishable"
    assert not any(each.get("is_personal") for each in found["sections"])
    shown = terminal.run("seepage show public.json")
    assert (shown.code, shown.err) == (0, "")
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "every number on this page was given or is public" in " ".join(shown.out.split())


def test_escape_sequences_in_a_report_do_not_reach_the_terminal(terminal: Terminal) -> None:
    assert terminal.run(f"seepage measure model.skops people.csv {ASK} --json tame.json -q").code == 0
    wild = (terminal.folder / "tame.json").read_text().replace("bmi", "\\u001b[31mbmi\\u0007")
    (terminal.folder / "wild.json").write_text(wild)
    shown = terminal.run("seepage show wild.json")
    assert shown.code == 0
    assert "\x1b" not in shown.out
    assert "\x07" not in shown.out


def test_what_everybody_may_read_is_all_that_the_screen_shows(terminal: Terminal) -> None:
    command = f"seepage measure model.skops people.csv {SAFE} --ids patient --edition publishable"
    answer = terminal.run(command)
    assert (answer.code, answer.err) == (0, "")
    people = pd.read_csv(terminal.folder / "people.csv")
    assert not any(name in answer.out for name in people["patient"])
    for words in ("Most exposed", "95th pct", "row "):
        assert words not in answer.out
    written = terminal.run(f"{command} --json everybody.json")
    shown = terminal.run("seepage show everybody.json")
    steady = [re.sub(r"\d\d:\d\d:\d\d", "", text) for text in (answer.out, shown.out)]
    assert steady[0] == steady[1]
    assert "Written: everybody.json (publishable edition)" in written.out
    assert terminal.run(f"{command} --quiet").text == ""


def test_a_check_says_what_it_wrote_and_agrees_with_the_page(terminal: Terminal) -> None:
    ask = "model.skops people.csv --target progression --noise 0.1 --policy policy.toml"
    answer = terminal.run(f"seepage check {ask} --report checked.html")
    assert answer.code == 1
    assert "Written: checked.html (internal edition: personal data, for you alone)" in answer.out
    assert _mode(terminal.folder / "checked.html") == 0o600
    page = re.sub(r"<[^>]+>", " ", (terminal.folder / "checked.html").read_text())
    (enough,) = re.findall(r"A noise scale of (\S+) meets all of them", answer.out)
    assert f"A noise scale of {enough} meets all of them." in page
    factors = re.findall(r"noise needed: (\S+) times", answer.out)
    assert len(factors) == 2
    assert re.findall(r"missed\s+(\S+) times", page) == factors


def test_a_missed_publishable_report_speaks_the_words_of_the_command_line(terminal: Terminal) -> None:
    ask = "model.skops people.csv --target progression --noise 0.1 --policy policy.toml"
    answer = terminal.run(f"seepage check {ask} --report never.html --edition publishable")
    assert answer.code == 1
    assert "internal edition says by how much" in " ".join(answer.text.replace("│", " ").split())
    assert "Report.of" not in answer.text
    assert not (terminal.folder / "never.html").exists()


def test_a_certificate_without_policy_lists_no_target_as_met(terminal: Terminal) -> None:
    ask = "model.skops people.csv --target progression --noise 5 --without-policy --out bare.skops"
    assert terminal.run(f"seepage publish {ask}").code == 0
    shown = terminal.run("seepage show bare.certificate.json").text
    assert "No target was set" in shown
    assert "are met" not in shown
