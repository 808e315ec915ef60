"""A node that goes down in the midst of a job takes nothing with it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from engines.clusters import spark_session
from engines.jobs import FILES, contents, measured
from people import People
from sklearn.linear_model import LogisticRegression

from seepage.engines import Engine, Ray, Spark

Cluster = tuple[Engine, Callable[[], None]]


@contextmanager
def ray_nodes(_: Path) -> Iterator[Cluster]:
    """Yield an engine on two nodes, and a way to lose the second."""
    import ray
    from ray.cluster_utils import Cluster

    options = {"num_cpus": 1, "object_store_memory": 2**27, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=options)
    try:
        second = cluster.add_node(num_cpus=1, object_store_memory=2**27)
        ray.init(address=cluster.address, log_to_driver=False)
        cluster.wait_for_nodes()
        yield Ray(), lambda: cluster.remove_node(second, allow_graceful=False)
    finally:
        ray.shutdown()
        cluster.shutdown()


@contextmanager
def spark_nodes(folder: Path) -> Iterator[Cluster]:
    """Yield an engine on two workers of a standalone master, and a way to lose one with all that runs on it."""

    def lose() -> None:
        node = next(
            process
            for process in psutil.Process().children(recursive=True)
            if "org.apache.spark.deploy.worker.Worker" in process.cmdline()
        )
        for process in (*node.children(recursive=True), node):
            process.kill()

    with spark_session(folder) as session:
        yield Spark(session), lose


@pytest.mark.parametrize("nodes", [ray_nodes, pytest.param(spark_nodes, marks=pytest.mark.java)])
def test_a_lost_node_changes_nothing(
    nodes: Callable[[Path], "contextmanager[Cluster]"], people: People, model: LogisticRegression, tmp_path: Path
) -> None:
    lost: list[int] = []

    def wait_and_lose(lose: Callable[[], None], output: Path) -> None:
        while not lost:
            done = len(list((output / "examples").iterdir())) if (output / "examples").exists() else 0
            if 0 < done < FILES:
                lose()
                lost.append(done)
            time.sleep(0.002)

    with nodes(tmp_path / "cluster") as (engine, lose):
        measured(people, model, engine, tmp_path / "undisturbed")
        threading.Thread(target=wait_and_lose, args=(lose, tmp_path / "out"), daemon=True).start()
        measured(people, model, engine, tmp_path / "out")
    assert lost, "The pass was over before the node was lost."
    assert contents(tmp_path / "out") == contents(tmp_path / "undisturbed")
    assert not list((tmp_path / "out" / "_seepage").glob("*.unfinished"))
