"""Every engine gives the numbers of memory; what becomes of those that are killed is tried at night."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from people import People, write_people
from sklearn.linear_model import LogisticRegression

import seepage
from engines.clusters import ENGINES, started
from engines.jobs import check, measured
from seepage.engines import Engine


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


def test_rows_in_memory_travel(people: People, model: LogisticRegression, engine: Engine) -> None:
    labels = people.frame["class"]
    here = seepage.measure(model, people.X, labels, noise_scale=0.1)
    there = seepage.measure(model, people.X, labels, noise_scale=0.1, job=seepage.engines.Job(engine))
    np.testing.assert_allclose(there.examples, here.examples, rtol=1e-10, atol=0)


def test_filters_of_one_table_say_together_what_they_do_in_memory(people: People, engine: Engine) -> None:
    frame, columns = people.frame.set_index("person"), people.features[:4]
    memory, files = {}, {}
    for name, where in {"everybody": None, "not in the east": "region != 'east'", "low": "x0 < 0.5"}.items():
        rows = frame if where is None else frame.query(where)
        fitted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1_000).fit(rows[columns], rows["class"])
        memory[name] = seepage.measure(fitted, rows[columns], rows["class"])
        job = seepage.engines.Job(engine, progress=False)
        files[name] = seepage.measure(fitted, people.pattern, target="class", ids="person", where=where, job=job)
    here, there = seepage.compose(memory), seepage.compose(files)
    for expected, found in ((here.attributes, there.attributes), (here.examples, there.examples)):
        listed = found.to_pandas().set_index("person")
        assert np.isfinite(listed).all(axis=None)
        np.testing.assert_allclose(listed, expected.loc[listed.index, listed.columns], rtol=1e-9, atol=0)
