"""Every engine gives the numbers of memory; what becomes of those that are killed is tried at night."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from people import People, write_people
from sklearn.linear_model import LogisticRegression

import seepage
from engines.clusters import ENGINES, started
from engines.jobs import bits, check, check_filters, measured
from seepage.engines import Engine, Local
from seepage.errors import EngineError


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(request.param, tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> People:
    return write_people(tmp_path_factory.mktemp("people") / "data", rows=6_000, features=12, files=6)


@pytest.fixture(scope="module")
def model(people: People) -> LogisticRegression:
    return LogisticRegression(tol=1e-8).fit(people.X, people.frame["class"])


def test_the_numbers_are_those_of_memory(
    people: People, model: LogisticRegression, engine: Engine, tmp_path: Path
) -> None:
    check(measured(people, model, engine, tmp_path / "out"), people, model)


def test_every_engine_finds_the_same_to_the_last_bit(engine: Engine, tmp_path: Path) -> None:
    many = write_people(tmp_path / "data", rows=4_300, features=5, files=43)
    assert bits(many, engine, tmp_path / "there") == bits(many, Local(workers=3), tmp_path / "here")


def test_what_cannot_travel_back_or_be_added_is_an_error_of_the_engine(engine: Engine) -> None:
    # A function that every worker has.
    with pytest.raises(EngineError):
        engine.total(eval, ["(i for i in ())"] * 3)
    if not isinstance(engine, Local):
        with pytest.raises(EngineError, match="TypeError: unsupported operand"):
            engine.total(eval, ["1", "'a'"] * 9)


def test_units_are_asked_for_some_at_a_time(engine: Engine, tmp_path: Path) -> None:
    some = 4 * engine.workers
    units = [f"open({str(tmp_path / str(i))!r}, 'w').write('done')" for i in range(3 * some)]
    results = engine.map(eval, units)
    next(results)
    assert len([*tmp_path.iterdir()]) <= some + engine.workers
    assert len([*results]) == len(units) - 1


def test_collections_in_spark_pass_over_what_is_imported_and_free_what_was_garbage_by_then() -> None:
    code = """
import gc
from seepage.execution._spark import _pass_over_imports
type("Garbage", (), {})
_pass_over_imports()
print(gc.get_freeze_count() > 1000, "Garbage" in [each.__name__ for each in object.__subclasses__()])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["True", "False"]


def test_rows_in_memory_travel(people: People, model: LogisticRegression, engine: Engine) -> None:
    labels = people.frame["class"]
    here = seepage.measure(model, people.X, labels, noise_scale=0.1)
    there = seepage.measure(model, people.X, labels, noise_scale=0.1, job=seepage.engines.Job(engine))
    np.testing.assert_allclose(there.examples, here.examples, rtol=1e-10, atol=0)


def test_filters_of_one_table_say_together_what_they_do_in_memory(people: People) -> None:
    """On a pool of processes; the clusters are asked at night."""
    check_filters(people, Local(workers=2))
