"""What the exit code says, in processes as a shell starts them."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import Ridge

from cli.terminal import Terminal, _environment

MEASURE = ["measure", "model.skops", "people.csv", "-t", "progression", "-n", "2"]
CHECK = ["check", "model.skops", "people.csv", "-t", "progression", "--policy", "policy.toml", "-n"]


def _started(folder: Path, arguments: list[str], **options: object) -> subprocess.Popen:
    command = [sys.executable, "-m", "seepage", *arguments]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=_environment(), **options)


@pytest.mark.parametrize("arguments", [[*CHECK, "0.01"], ["explain", "eta"], ["--help"]])
def test_a_closed_pipe_is_no_missed_policy(terminal: Terminal, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = _started(terminal.folder, arguments, stdout=writing)
    os.close(writing)
    _, err = process.communicate(timeout=120)
    # A slow machine says every ten seconds that it goes on.
    said = [line for line in err.splitlines() if not line.endswith(" passed")]
    assert (process.returncode, said) == (4, [])


@pytest.mark.parametrize("arguments", [[*CHECK, "0.01"], ["--help"]])
def test_a_full_disk_is_no_missed_policy(terminal: Terminal, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        process = _started(terminal.folder, arguments, stdout=full)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 4
    assert "space left" in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def test_a_traceback_is_no_missed_policy(terminal: Terminal) -> None:
    code = "import sys, seepage.linear\nsys.argv = ['seepage', *sys.argv[1:]]\n"
    code += "seepage.linear.measure = lambda *_, **__: 1 / 0\nfrom seepage.cli import main\nmain()"
    for debug, words in (("", "Unforeseen error"), ("1", "Traceback")):
        done = subprocess.run(
            [sys.executable, "-c", code, *MEASURE],
            capture_output=True,
            text=True,
            cwd=terminal.folder,
            env={**_environment(), "SEEPAGE_DEBUG": debug},
            check=False,
        )
        assert done.returncode == 4
        assert words in done.stderr
        assert "ZeroDivisionError" in done.stderr


def test_an_interrupt_at_any_moment_is_one_line(terminal: Terminal) -> None:
    lines = (terminal.folder / "people.csv").read_text().splitlines(keepends=True)
    with (terminal.folder / "long.csv").open("w") as file:
        file.write(lines[0])
        for _ in range(300):
            file.writelines(lines[1:])
    draw = random.Random(2)
    for turn in range(6):
        reading, writing = os.pipe()
        # Python itself takes a moment until it can be asked politely.
        code = f"import os, seepage.cli; os.close({writing}); seepage.cli.main()"
        process = subprocess.Popen(
            [sys.executable, "-c", code, "measure", "model.skops", "long.csv", "-t", "progression", "-n", "2"],
            cwd=terminal.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(),
            start_new_session=True,
            pass_fds=[writing],
        )
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        time.sleep(0.2 + 0.4 * turn + 0.4 * draw.random())
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=240)
        if process.returncode == 2 and "not the minimizer" in " ".join(err.split()):
            # It was done before: the model was fitted on fewer rows.
            continue
        assert (process.returncode, out, err.splitlines()[-1]) == (130, "", "Stopped.")


@pytest.mark.parametrize("becomes", ["raise ImportError('initialization failed')", "raise SystemExit(1)"])
def test_an_interrupt_that_a_library_made_an_error_of_is_one_line(terminal: Terminal, becomes: str) -> None:
    code = f"""
import os, signal, sys, time, seepage.linear
sys.argv = ['seepage', *sys.argv[1:]]
# Whatever is started in the background ignores interrupts, and so would this.
signal.signal(signal.SIGINT, signal.default_int_handler)

def measure(*_, **__):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:
        pass
    {becomes}

seepage.linear.measure = measure
from seepage.cli import main
main()
"""
    assert _stopped(terminal.folder, code) == (130, "", "Stopped.")


@pytest.mark.parametrize("then", ["time.sleep(600)", "lock = threading.Lock(); lock.acquire(); lock.acquire()"])
def test_an_interrupt_that_came_while_python_cleared_up_is_raised_later(terminal: Terminal, then: str) -> None:
    code = f"""
import os, signal, sys, threading, time, seepage.linear
sys.argv = ['seepage', *sys.argv[1:]]
signal.signal(signal.SIGINT, signal.default_int_handler)

class Cleared:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

def measure(*_, **__):
    Cleared()
    {then}

seepage.linear.measure = measure
from seepage.cli import main
main()
"""
    assert _stopped(terminal.folder, code) == (130, "", "Stopped.")


def _stopped(folder: Path, code: str) -> tuple[int, str, str]:
    """Return how it ended, with the last line of what was said: on a slow machine one says before that it goes on."""
    done = subprocess.run(
        [sys.executable, "-c", code, *MEASURE],
        capture_output=True,
        text=True,
        cwd=folder,
        env=_environment(),
        timeout=240,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()[-1]


# Files that would take all memory.


def _peak(folder: Path, arguments: list[str]) -> tuple[int, str, int]:
    """Return the exit code, what was said, and the most memory that was taken."""
    process = _started(folder, arguments, stdout=subprocess.DEVNULL)
    err = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    return process.returncode, " ".join(err.replace("│", " ").split()), 1024 * usage.ru_maxrss


def _ridge(folder: Path) -> tuple[dict, dict[str, bytes]]:
    with zipfile.ZipFile(folder / "model.skops") as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(content.pop("schema.json")), content


def _write(path: Path, description: object, content: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
        archive.writestr("schema.json", description if isinstance(description, str) else json.dumps(description))


def _zeros(path: Path, folder: Path) -> None:
    """A model of 600 MB in 0.6 MB."""
    description, content = _ridge(folder)
    name = description["content"]["content"]["coef_"]["file"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, data in content.items():
            if other != name:
                archive.writestr(other, data)
        with archive.open(name, "w", force_zip64=True) as entry:
            np.lib.format.write_array_header_1_0(
                entry, {"descr": "<f8", "fortran_order": False, "shape": (75_000_000,)}
            )
            for _ in range(600):
                entry.write(bytes(1_000_000))
        archive.writestr("schema.json", json.dumps(description))


def _often(path: Path, folder: Path) -> None:
    """One array of 8 MB, named a thousand times."""
    description, content = _ridge(folder)
    node = description["content"]["content"]["coef_"]
    name = "many.npy"
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(1_000_000))
    copies = [{**node, "file": name, "__id__": i} for i in range(1000)]
    more = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": copies, "__id__": 7}
    description["content"]["content"]["more"] = more
    _write(path, description, {**content, name: buffer.getvalue()})


def _boast(path: Path, folder: Path) -> None:
    """An array whose head promises far more than there is."""
    description, content = _ridge(folder)
    name = description["content"]["content"]["coef_"]["file"]
    buffer = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(buffer, head)
    _write(path, description, {**content, name: buffer.getvalue() + bytes(80)})


def _words(path: Path, folder: Path) -> None:
    """A description of 60 MB."""
    description, content = _ridge(folder)
    _write(path, json.dumps(description) + " " * 60_000_000, content)


def _inner(path: Path, folder: Path) -> None:
    """A sparse matrix of 600 MB, packed twice."""
    description, content = _ridge(folder)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("data.npy", "w") as entry:
        for _ in range(600):
            entry.write(bytes(1_000_000))
    node = {"__class__": "csr_matrix", "__module__": "scipy.sparse", "__loader__": "SparseMatrixNode", "type": "scipy"}
    description["content"]["content"]["more"] = {**node, "file": "more.npz", "__id__": 7}
    _write(path, description, {**content, "more.npz": buffer.getvalue()})


BOMBS = {
    "zeros": (_zeros, "would take too much memory"),
    "often": (_often, "would take too much memory"),
    "boast": (_boast, "is damaged"),
    "words": (_words, "would take too much memory"),
    "inner": (_inner, "would take too much memory"),
}


@pytest.fixture(scope="module")
def usual(terminal: Terminal) -> int:
    """The memory that a command takes which finds no model."""
    return _peak(terminal.folder, ["measure", "nowhere.skops", *MEASURE[2:]])[2]


@pytest.mark.parametrize("what", BOMBS)
def test_a_file_that_would_fill_memory_is_refused_with_little_of_it(terminal: Terminal, what: str, usual: int) -> None:
    make, words = BOMBS[what]
    path = terminal.folder / f"{what}.skops"
    make(path, terminal.folder)
    assert path.stat().st_size < 3_000_000
    code, said, peak = _peak(terminal.folder, ["measure", path.name, *MEASURE[2:]])
    path.unlink()
    assert code == 2
    assert words in said
    assert peak < usual + 150_000_000


def test_a_large_model_is_still_read(terminal: Terminal, tmp_path: Path) -> None:
    model = Ridge()
    model.coef_, model.intercept_, model.n_features_in_ = np.zeros(2_000_000), 0.0, 2_000_000
    skops.io.dump(model, tmp_path / "wide.skops")
    from seepage.cli.input._models import read_model

    assert read_model(tmp_path / "wide.skops").coef_.shape == (2_000_000,)
