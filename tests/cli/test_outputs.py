"""What a command writes is never what it reads, nor one file twice; and all of it is written, or nothing."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cli.terminal import Answer, Terminal, _environment

POLICY = """\
[error_floor]
age = 5

[decision]
policy = "Release of models"
version = "3.1"
approver = "Data access committee"
date = 2026-11-12
note = "Second reading."
"""
ASK = "--target progression --noise 5 --policy decided.toml"


@pytest.fixture
def desk(terminal: Terminal, tmp_path: Path) -> Terminal:
    """A folder of its own with a model, rows and a policy."""
    for name in ("model.skops", "people.csv", "people.parquet"):
        shutil.copy(terminal.folder / name, tmp_path / name)
    shutil.copytree(terminal.folder / "parts", tmp_path / "parts")
    (tmp_path / "decided.toml").write_text(POLICY)
    return Here(terminal, tmp_path)


class Here:
    """The session's terminal, in another folder."""

    def __init__(self, terminal: Terminal, folder: Path) -> None:
        self._terminal, self.folder = terminal, folder

    def run(self, command: str) -> Answer:
        home, self._terminal.folder = self._terminal.folder, self.folder
        try:
            return self._terminal.run(command)
        finally:
            self._terminal.folder = home

    def state(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


def _plain(answer: Answer) -> str:
    return " ".join(answer.text.replace("│", " ").split())


CLASHES = {
    "key over model": "publish model.skops people.csv {ask} --out t.skops --key t.skops",
    "certificate over model": "publish model.skops people.csv {ask} --out t.skops --certificate t.skops",
    "another way to say it": "publish model.skops people.csv {ask} --out t.skops --key ./parts/../t.skops",
    "onto the exact model": "publish model.skops people.csv {ask} --out model.skops --force",
    "onto the rows": "publish model.skops people.csv {ask} --out people.csv --force",
    "onto the policy": "publish model.skops people.csv {ask} --out t.skops --certificate decided.toml --force",
    "a link to the model": "publish model.skops people.csv {ask} --out link.skops --force",
    "a second name of the model": "publish model.skops people.csv {ask} --out second.skops --force",
    "among the rows": "publish model.skops parts {ask} --out parts/part-9.parquet",
    "onto one of the rows": "measure model.skops 'parts/*.parquet' -t progression -n 2 --json parts/part-1.parquet",
    "what a pattern would find": "measure model.skops 'parts/*.parquet' -t progression -n 2 --json parts/new.parquet",
    "report onto report": "measure model.skops people.csv -t progression -n 2 --report r --json r",
    "people onto report": "measure model.skops people.csv -t progression -n 2 --report r --people r",
    "report onto the model": "measure model.skops people.csv -t progression -n 2 --report model.skops --force",
    "verdict onto the rows": "check model.skops people.csv {ask} --format json --output people.csv --force",
    "verdict onto report": "check model.skops people.csv {ask} --format json --output r --report r",
    "a device": "check model.skops people.csv {ask} --format json --output /dev/null --force",
}


@pytest.mark.parametrize("what", CLASHES)
def test_nothing_is_destroyed(desk: Here, what: str) -> None:
    (desk.folder / "link.skops").symlink_to("model.skops")
    os.link(desk.folder / "model.skops", desk.folder / "second.skops")
    before = desk.state()
    answer = desk.run("seepage " + CLASHES[what].format(ask=ASK))
    assert answer.code == 2
    assert re.search("which is read here|are the same file|would be replaced", _plain(answer))
    assert desk.state() == before
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize(
    "command",
    [
        "publish model.skops people.csv {ask} --out there.skops",
        "measure model.skops people.csv -t progression -n 2 --report there.skops",
        "measure model.skops people.csv -t progression -n 2 --json there.skops",
        "measure model.skops people.csv -t progression -n 2 --people there.skops",
        "check model.skops people.csv {ask} --report there.skops",
        "check model.skops people.csv {ask} --format sarif --output there.skops",
    ],
)
def test_what_exists_is_replaced_only_if_asked(desk: Here, command: str) -> None:
    (desk.folder / "there.skops").write_text("before")
    answer = desk.run("seepage " + command.format(ask=ASK))
    assert answer.code == 2
    assert "there.skops exists" in _plain(answer)
    assert (desk.folder / "there.skops").read_text() == "before"
    answer = desk.run(f"seepage {command.format(ask=ASK)} --force")
    assert answer.code == 0, answer.text
    assert (desk.folder / "there.skops").read_bytes() != b"before"


def test_a_replaced_publication_is_a_second_draw_and_says_so(desk: Here) -> None:
    command = f"seepage publish model.skops people.csv {ASK} --out t.skops"
    assert "replaced" not in desk.run(command).text
    assert "t.skops was replaced. An attacker with both draws" in _plain(desk.run(f"{command} --force"))


# From a model to a release, and back.


def test_a_release_with_only_the_command_line(desk: Here) -> None:
    answer = desk.run(f"seepage publish model.skops people.csv {ASK} --out t.skops --key owner.key")
    assert answer.code == 0
    assert "t.certificate.json" in answer.out
    assert "Approved by Data access committee on 2026-11-12, under Release of models, version 3.1." in _plain(answer)
    assert sorted(path.name for path in desk.folder.iterdir() if path.name.startswith("t.")) == [
        "t.certificate.json",
        "t.skops",
    ]
    certified = desk.run("seepage certify t.skops t.certificate.json")
    assert certified.code == 0
    assert "This is the certified file, byte for byte." in _plain(certified)
    assert "only a signature shows: ssh-keygen -Y verify." in _plain(certified)
    for words in ("Everyone's age", "leaning on it", "Gaussian noise of scale 5", "Approved by", "Second reading."):
        assert words in _plain(certified)
    assert max(map(len, certified.text.splitlines())) <= 80
    assert desk.run("seepage certify t.skops t.certificate.json --quiet").text == ""
    text = (desk.folder / "t.certificate.json").read_text()
    (desk.folder / "edited.json").write_text(text.replace('"scale": 5.0', '"scale":5.0'))
    edited = desk.run("seepage certify t.skops edited.json")
    assert edited.code == 3
    assert "It was edited" in _plain(edited)
    assert "promises" not in edited.text
    other = desk.run("seepage certify model.skops t.certificate.json")
    assert other.code == 3
    assert "This is not the certified file." in _plain(other)


# All or nothing, and no second draw in silence.

_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
sys.argv = ["seepage", *sys.argv[1:]]
from seepage.cli import main
main()
"""


def _with_little_space(folder: Path, command: str) -> subprocess.CompletedProcess:
    """Run a command that can write only 1,500 bytes into any file."""
    arguments = [sys.executable, "-c", _LIMITED, *command.split()]
    return subprocess.run(arguments, capture_output=True, text=True, cwd=folder, env=_environment(), check=False)


def test_a_draw_that_could_not_be_written_is_not_drawn_again_in_silence(desk: Here) -> None:
    command = f"publish model.skops people.csv {ASK} --out t.skops --key owner.key"
    before = desk.state()
    failed = _with_little_space(desk.folder, command)
    assert failed.returncode == 4
    assert "Not finished" in failed.stderr
    assert "Traceback" not in failed.stderr
    left = {path: content for path, content in desk.state().items() if path not in before}
    assert [Path(path).name for path in left] == ["t.skops.publishing"]
    assert stat.S_IMODE((desk.folder / "t.skops.publishing").stat().st_mode) == 0o600
    again = desk.run(f"seepage {command}")
    assert again.code == 2
    assert "was about to draw noise, and has not finished: it left t.skops.publishing" in _plain(again)
    assert "--again" in _plain(again)
    done = desk.run(f"seepage {command} --again")
    assert done.code == 0
    assert not (desk.folder / "t.skops.publishing").exists()
    certificate = json.loads((desk.folder / "t.certificate.json").read_text())
    assert "may have drawn noise as well" in certificate["assumptions"][-1]
    assert desk.run("seepage certify t.skops t.certificate.json").code == 0


def test_a_report_that_could_not_be_written_leaves_nothing(desk: Here) -> None:
    (desk.folder / "r.html").write_text("before")
    before = desk.state()
    failed = _with_little_space(
        desk.folder, "measure model.skops people.csv -t progression -n 2 --report r.html --force"
    )
    assert failed.returncode == 4
    assert desk.state() == before


# Decisions in policies.


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('approver = "Data access committee"', "approver = 7", "approver of a decision is text"),
        ("date = 2026-11-12", 'date = "soon"', "YEAR-MONTH-DAY"),
        ("version", "vision", "A decision has policy"),
        ("[decision]", "[decison]", "Did you mean 'decision'?"),
    ],
)
def test_a_decision_that_cannot_be_used_is_refused(desk: Here, old: str, new: str, words: str) -> None:
    (desk.folder / "decided.toml").write_text(POLICY.replace(old, new))
    answer = desk.run(f"seepage check model.skops people.csv {ASK}")
    assert answer.code == 2
    assert words in _plain(answer)
