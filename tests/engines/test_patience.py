"""Stores that fail are asked again, workers that hang are replaced, and whoever waits is told for whom."""

import errno
import logging
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.fs
import pytest
from fsspec.implementations.local import LocalFileSystem

import seepage
from seepage.engines import Local
from seepage.execution.storage import naming
from seepage.execution.storage._patience import Patience, asked, patient


class Store:
    """Answers as the list says, the last for ever: an error is raised."""

    def __init__(self, *answers: Exception | None) -> None:
        self.answers = list(answers)
        self.requests = 0

    def __call__(self) -> str:
        self.requests += 1
        answer = self.answers[min(self.requests, len(self.answers)) - 1]
        if answer is not None:
            raise answer
        return f"answer {self.requests}"


FAILURES = [
    OSError("AWS Error INTERNAL_FAILURE during GetObject operation: (HTTP status 500)"),
    OSError("AWS Error SLOW_DOWN during GetObject operation (HTTP status 503)"),
    OSError("AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 28, Timeout was reached"),
    OSError("it sent 17 of 512 bytes"),
    OSError("Too many requests (HTTP status 429)"),
    ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
    OSError(errno.EIO, "Input/output error"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_what_may_pass_is_asked_again(failure: Exception) -> None:
    store = Store(failure, failure, failure, None)
    assert asked("x", store) == "answer 4"


@pytest.mark.parametrize(
    "failure",
    [
        FileNotFoundError("x"),
        OSError(errno.ENOSPC, "No space left on device"),
        pa.ArrowInvalid("x"),
    ],
    ids=str,
)
def test_what_will_not_pass_is_not_asked_again(failure: Exception) -> None:
    store = Store(failure, None)
    with pytest.raises(type(failure)):
        asked("x", store)
    assert store.requests == 1


@pytest.mark.parametrize(
    "failure",
    [
        PermissionError("x"),
        OSError("AWS Error ACCESS_DENIED during HeadObject operation"),
        OSError("No response body. (HTTP status 403)"),
    ],
    ids=str,
)
def test_what_is_refused_is_not_asked_again_and_says_so(failure: Exception) -> None:
    store = Store(failure, None)
    with pytest.raises(seepage.errors.InputError, match=r"gives no permission for people/x\.parquet .*right to it"):
        asked("people/x.parquet", store)
    assert store.requests == 1


def test_a_file_of_this_machine_that_may_not_be_read_is_not_called_damaged() -> None:
    with (
        pytest.raises(seepage.errors.InputError, match=r"gives no permission for people/x\.parquet") as caught,
        naming("people/x.parquet"),
    ):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    assert type(caught.value) is seepage.errors.InputError


def test_patience_ends_with_what_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seepage.execution.storage._patience._LONGEST_PAUSE", 0.02)
    with pytest.raises(
        seepage.errors.StorageError, match=r"store of people/x\.parquet was asked 32 times.*We failed"
    ) as caught:
        asked("people/x.parquet", Store(OSError("We failed (HTTP status 500)")))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.path, again.attempts, str(again)) == ("people/x.parquet", 32, str(caught.value))
    assert "write it again" not in str(again)


def test_a_patient_file_system_reads_and_writes_what_the_other_does(tmp_path: Path) -> None:
    strange = patient(pa.fs.PyFileSystem(pa.fs.FSSpecHandler(LocalFileSystem())))
    assert patient(strange) is strange
    assert patient(pa.fs.LocalFileSystem()) == pa.fs.LocalFileSystem()
    same = pickle.loads(pickle.dumps(strange))
    assert isinstance(same.handler, Patience)
    content = os.urandom(100_000)
    with same.open_output_stream(f"{tmp_path}/x") as sink:
        sink.write(content)
    assert (tmp_path / "x").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    with strange.open_input_file(f"{tmp_path}/x") as source:
        assert source.size() == len(content)
        assert source.read_at(100, 5_000) == content[5_000:5_100]
        source.seek(-10, 2)
        assert source.read() == content[-10:]
    strange.move(f"{tmp_path}/x", f"{tmp_path}/y")
    strange.delete_file(f"{tmp_path}/y")
    assert not list(tmp_path.iterdir())


def test_s3_keeps_its_settings() -> None:
    given = pa.fs.S3FileSystem(
        access_key="a", secret_key="b", region="eu-north-1", scheme="http", endpoint_override="127.0.0.1:1"
    )
    inner = patient(given).handler.inner
    assert inner.region == "eu-north-1"
    mine, theirs = (each.__reduce__()[1][0] for each in (inner, given))
    assert {name for name in mine if mine[name] != theirs[name]} == {"allow_delayed_open"}


def pausing(unit: int) -> int:
    time.sleep(0.2)
    return unit


def computing(unit: int) -> int:
    end = time.monotonic() + 4.0
    while time.monotonic() < end:
        sum(range(1000))
    return unit


def workers() -> list[psutil.Process]:
    return [each for each in psutil.Process().children(recursive=True) if each.parent().pid != os.getpid()]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    with caplog.at_level(logging.WARNING, logger="seepage"):
        yield lambda: " ".join(record.getMessage() for record in caplog.records)


def test_the_unit_of_a_worker_that_hangs_is_given_to_another(told: Callable[[], str]) -> None:
    stopped: list[int] = []

    def stop() -> None:
        while not stopped:
            found = workers()
            if len(found) >= 2:
                time.sleep(0.3)
                found[0].send_signal(signal.SIGSTOP)
                stopped.append(found[0].pid)
            time.sleep(0.01)

    threading.Thread(target=stop, daemon=True).start()
    found = dict(Local(workers=2, stall=2.0).map(pausing, range(12)))
    assert found == {unit: unit for unit in range(12)}
    assert f"process {stopped[0]} has done nothing for 2 s at" in told()
    assert not psutil.pid_exists(stopped[0])


def test_whoever_works_long_is_only_waited_for(told: Callable[[], str]) -> None:
    # Long enough that a busy machine gives it a moment in between.
    found = dict(Local(workers=1, stall=1.5).map(computing, range(2)))
    assert found == {0: 0, 1: 1}
    assert "nothing was finished for 1.5 s. Waited for longest: process" in told()
    assert "Another process" not in told()
