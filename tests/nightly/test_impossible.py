"""What a cluster cannot give is said within seconds, with the way out."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from engines.clusters import ray_instance, spark_session
from engines.tables import FEATURES, people
from sklearn.linear_model import Ridge

import seepage
from seepage.engines import Ray, Spark


def fitted(folder: Path, engine: object) -> None:
    people(50).to_parquet(folder / "people.parquet")
    seepage.engines.fit(
        Ridge(), folder / "people.parquet", target="cost", features=FEATURES, job=seepage.engines.Job(engine)
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")
def test_memory_that_no_node_has(tmp_path: Path) -> None:
    with ray_instance(tmp_path):
        start = time.monotonic()
        with pytest.raises(
            seepage.errors.EngineError, match=r"asks for 10 TB for each unit, and no node of the cluster has more"
        ):
            fitted(tmp_path, Ray(memory=10**13))
        assert time.monotonic() - start < 10
        with pytest.raises(seepage.errors.EngineError, match=r"^Ray gave up on a unit of work: \w+: The worker died"):
            Ray(retries=0).total(os._exit, [9, 9])
        import ray

        frame = ray.data.from_pandas(people(5))
        with pytest.raises(seepage.errors.InputError, match="write_parquet"):
            seepage.engines.fit(Ridge(), frame, target="cost")


@pytest.mark.java
def test_a_session_that_was_stopped_and_a_frame_of_spark(tmp_path: Path) -> None:
    with spark_session(tmp_path / "cluster") as session:
        engine = Spark(session)
        fitted(tmp_path, engine)
        with pytest.raises(seepage.errors.InputError, match=r"DataFrame of pyspark: .* df\.write\.parquet"):
            seepage.engines.fit(Ridge(), session.range(3), target="cost")
        session.stop()
        start = time.monotonic()
        with pytest.raises(seepage.errors.EngineError, match="The Spark session is stopped"):
            fitted(tmp_path, engine)
        assert time.monotonic() - start < 10


CONNECT = """
import warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import seepage
session = SparkSession.builder.remote("local[1]").getOrCreate()
assert session.range(3).count() == 3
try:
    seepage.engines.Spark(session)
except seepage.errors.InputError as error:
    print(error)
session.stop()
"""


@pytest.mark.java
def test_spark_connect_is_refused_with_the_reason() -> None:
    told = subprocess.run([sys.executable, "-c", CONNECT], capture_output=True, text=True, timeout=240, check=False)
    assert "through Spark Connect there are no RDDs" in told.stdout, told.stderr
