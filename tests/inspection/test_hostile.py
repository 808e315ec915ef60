"""Files that mean harm: no code is run, nothing crashes, and each gets an answer."""

import json
import os
import pickle
import subprocess
import sys
import time

import hostile_files
import pytest
from hostile_files import CANARY, Runs, archives, damaged, opcodes, programs
from inspected import PEOPLE

import seepage
from seepage.inspection import Finder


@pytest.fixture(scope="module")
def files():
    return dict([*((f"{name}.pkl", data) for name, data in (*programs(), *opcodes(), *damaged())), *archives()])


@pytest.fixture(scope="module")
def finder():
    return Finder.of(PEOPLE, ids="id")


@pytest.fixture
def watched(monkeypatch):
    """Fail whenever something is run or imported because a file names it."""
    happened = []

    def heard(event, arguments):
        if watching and (event in ("os.system", "subprocess.Popen", "exec", "os.exec", "os.posix_spawn")):
            happened.append((event, arguments))
        if watching and event == "import" and arguments[0] == CANARY:
            happened.append((event, arguments))

    watching = True
    sys.addaudithook(heard)
    yield happened
    watching = False


def test_no_code_is_run_and_each_gets_an_answer(finder, files, watched, tmp_path):
    finder.inspected_bytes(pickle.dumps({"warm": PEOPLE}), "warm.pkl")
    watched.clear()
    for name, data in files.items():
        start = time.process_time()
        found = finder.inspected_bytes(data, name)
        assert found.verdict in ("pass", "review", "fail"), name
        assert time.process_time() - start < 10, name
        ran = [each for each in watched if each[0] != "exec" or CANARY in str(each[1])]
        assert not ran, name
    assert not os.path.exists("/tmp/seepage_was_here")
    assert CANARY not in sys.modules


def test_what_was_not_read_is_named(finder, files):
    large = [name for name in files if "bomb" in name or "lying" in name or "huge" in name]
    assert len(large) >= 6
    for name in large:
        found = finder.inspected_bytes(files[name], name)
        assert "unread" in {each.kind for each in found.findings}, name
        assert found.verdict == "review", name


def test_what_was_read_before_the_damage_counts(finder):
    whole = pickle.dumps({"rows": PEOPLE["marker"].tolist(), "rest": "x" * 1000})
    assert finder.inspected_bytes(whole[:-200], "cut.pkl").verdict == "fail"


def test_a_file_that_runs_code_is_still_looked_into(tmp_path):
    (tmp_path / "both.pkl").write_bytes(pickle.dumps([Runs(), PEOPLE["marker"].to_numpy()]))
    assert seepage.inspect(tmp_path / "both.pkl", PEOPLE).verdict == "fail"


_RUN = """
import json, sys, time
sys.path[:0] = [{tests!r}]
from hostile_files import bombs
from inspected import PEOPLE
from seepage.inspection import Finder

def peak(*, renewed):
    if renewed:
        open("/proc/self/clear_refs", "w").write("5")
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

finder = Finder.of(PEOPLE, ids="id")
finder.inspected_bytes(b"a,b,c\\n" * 30, "warm.csv")
for name, content in bombs().items():
    before, start = peak(renewed=True), time.thread_time()
    verdict = finder.inspected_bytes(content, name).verdict
    print(json.dumps([name, verdict, time.thread_time() - start, peak(renewed=False) - before]), flush=True)
"""


def test_bombs_end_within_seconds_and_a_third_of_a_gigabyte():
    pytest.importorskip("h5py", reason="h5py is not installed")
    run = _RUN.format(tests=hostile_files.__file__.rpartition("/")[0])
    ran = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) >= 40
    for name, verdict, seconds, kilobytes in answers:
        assert seconds < 20, name
        assert kilobytes < 350_000, name
        assert verdict in ("pass", "review"), name
