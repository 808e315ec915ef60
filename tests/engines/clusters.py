"""Real engines on loopback, started and stopped by the tests themselves."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seepage.engines import Engine, Local, Ray, Spark

ENGINES = ("local", "ray", pytest.param("spark", marks=pytest.mark.java))

# One core on each worker, so that two applications fit; compilers that start fast rather than run fast.
SPARK = {
    "spark.cores.max": "2",
    "spark.default.parallelism": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def started(name: str, folder: Path) -> Iterator[Engine]:
    """Start one engine with two workers."""
    if name == "local":
        yield Local(workers=2)
    elif name == "ray":
        with ray_instance(folder):
            yield Ray()
    else:
        with spark_session(folder) as session:
            yield Spark(session)


@contextmanager
def ray_instance(folder: Path) -> Iterator[None]:
    import ray

    # A session folder near the root: socket names have a length limit.
    # Its workers do not stand back for whatever else runs, as they would by default: somebody waits for them.
    ray.init(
        # One of its own, whatever else runs on this machine.
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=2**28,
        _system_config={"worker_niceness": 0},
    )
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def spark_session(folder: Path) -> Iterator[Any]:
    """Yield a session on a standalone master with two workers."""
    import pyspark
    from pyspark.sql import SparkSession

    folder.mkdir(parents=True, exist_ok=True)
    home = Path(pyspark.__file__).parent
    assert shutil.which("java"), "Spark needs Java 17."
    port = free_port()
    processes = []
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_SCALA_VERSION": "2.13",
        "PYSPARK_PYTHON": sys.executable,
        # What this process can import, its workers can.
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    launch = [f"{home}/bin/spark-class"]
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "2", "--memory", "2g"]
    worker += ["--work-dir", str(folder / "work"), "--webui-port", "0", f"spark://127.0.0.1:{port}"]
    session = None
    try:
        for command in (master, worker, worker):
            with (folder / f"spark-{len(processes)}.log").open("w") as log:
                processes.append(subprocess.Popen([*launch, *command], env=environment, stdout=log, stderr=log))
            if command is master:
                wait_for_port(port)
        os.environ.update({name: environment[name] for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON")})
        session = SparkSession.builder.master(f"spark://127.0.0.1:{port}").config(map=SPARK).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        deadline = time.monotonic() + 60
        # Both executors, not just the first to come.
        while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
            assert time.monotonic() < deadline, "The Spark workers did not come up."
            time.sleep(0.2)
        yield session
    finally:
        if session is not None:
            stop(session)
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(30)


def stop(session: Any) -> None:
    """Stop a session and the Java process behind it."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    session.stop()
    if gateway is not None:
        gateway.shutdown()
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.stdin.close()
            process.wait(30)
    SparkContext._gateway = SparkContext._jvm = None


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"Nothing listens on port {port}.")
