"""Every engine gives the same numbers whatever dies under it, and finishes or says why not."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from engines.clusters import ENGINES, SPARK, started
from engines.jobs import FILES, check, contents, measured
from people import People
from sklearn.linear_model import LogisticRegression

import seepage
from seepage.engines import Engine, Local, Ray, Spark


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(request.param, tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(
    people: People, model: LogisticRegression, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    output = tmp_path_factory.mktemp("undisturbed") / "out"
    measured(people, model, engine, output)
    return output


def test_what_a_finished_job_left_holds_the_numbers_of_memory(
    people: People, model: LogisticRegression, engine: Engine, undisturbed: Path
) -> None:
    check(measured(people, model, engine, undisturbed, resume=True), people, model)


def workers_of(engine: Engine) -> list[psutil.Process]:
    """Return the processes that run units right now."""
    found = []
    for process in (
        psutil.Process().children(recursive=True) if not isinstance(engine, Spark) else psutil.process_iter()
    ):
        try:
            line = " ".join(process.cmdline())
            parent = process.parent()
            if isinstance(engine, Local):
                ours = parent is not None and "forkserver" in " ".join(parent.cmdline())
            elif isinstance(engine, Ray):
                ours = line.startswith("ray::_work")
            else:
                ours = (
                    "pyspark.daemon" in line and parent is not None and "pyspark.daemon" in " ".join(parent.cmdline())
                )
            if ours:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def test_a_worker_killed_by_its_id_changes_nothing(
    people: People, model: LogisticRegression, engine: Engine, undisturbed: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    killed: list[int] = []

    def kill() -> None:
        """Wait until the second pass is under way, then kill one worker."""
        while not killed:
            done = len(list((output / "examples").iterdir())) if (output / "examples").exists() else 0
            victims = workers_of(engine) if done else []
            if victims and done < FILES:
                victims[0].send_signal(signal.SIGKILL)
                killed.append(done)
            time.sleep(0.002)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    measured(people, model, engine, output)
    assert killed, "The pass was over before a worker could be killed."
    assert contents(output) == contents(undisturbed)
    assert not list((output / "_seepage").glob("*.unfinished"))


DRIVER = """
import pickle, sys
from pathlib import Path
import seepage
from seepage.engines import Local, Ray, Spark
if __name__ == "__main__":
    kind, address, pattern, output, model, settings = sys.argv[1:]
    if kind == "Local":
        engine = Local(workers=2)
    elif kind == "Ray":
        import ray
        ray.init(address=address, log_to_driver=False)
        engine = Ray()
    else:
        from pyspark.sql import SparkSession
        engine = Spark(SparkSession.builder.master(address).config(map=eval(settings)).getOrCreate())
    seepage.measure(pickle.loads(bytes.fromhex(model)), pattern, target="class", noise_scale=0.1, ids="person",
                    groups="region", job=seepage.engines.Job(engine, output))
"""


def address_of(engine: Engine) -> str:
    if isinstance(engine, Ray):
        import ray

        return ray.get_runtime_context().gcs_address
    return engine.session.sparkContext.master if isinstance(engine, Spark) else ""


def test_a_killed_driver_is_resumed(
    people: People, model: LogisticRegression, engine: Engine, undisturbed: Path, tmp_path: Path
) -> None:
    output, script = tmp_path / "out", tmp_path / "driver.py"
    script.write_text(DRIVER)
    arguments = [
        type(engine).__name__,
        address_of(engine),
        people.pattern,
        str(output),
        pickle.dumps(model).hex(),
        repr(SPARK),
    ]
    kill_when_under_way([sys.executable, str(script), *arguments], output, tmp_path)
    finished = contents(output)
    assert 0 < len(finished) < FILES
    times = {name: (output / "examples" / name).stat().st_mtime_ns for name in finished}
    measured(people, model, engine, output, resume=True)
    assert contents(output) == contents(undisturbed)
    assert times == {name: (output / "examples" / name).stat().st_mtime_ns for name in finished}


def kill_when_under_way(command: list[str], output: Path, folder: Path) -> None:
    with (folder / "driver.log").open("w") as log:
        driver = subprocess.Popen(command, stdout=log, stderr=log)
    while not (output / "examples").exists() or len(list((output / "examples").iterdir())) < 2:
        assert driver.poll() is None, (folder / "driver.log").read_text()
        time.sleep(0.002)
    orphans = psutil.Process(driver.pid).children(recursive=True)
    driver.kill()
    driver.wait()
    # Nobody goes on working for a dead driver.
    _, alive = psutil.wait_procs(orphans, timeout=20)
    assert not alive


def test_a_file_damaged_inside_is_named_by_the_worker(
    people: People, model: LogisticRegression, engine: Engine, tmp_path: Path
) -> None:
    shutil.copytree(people.folder, tmp_path / "data")
    broken = tmp_path / "data" / "part-005.parquet"
    content = bytearray(broken.read_bytes())
    content[4:50_000] = os.urandom(50_000 - 4)
    broken.write_bytes(content)
    with pytest.raises(seepage.errors.InputError, match=r"part-005\.parquet cannot be read"):
        measured(people, model, engine, tmp_path / "out", X=f"{tmp_path}/data/*.parquet")
