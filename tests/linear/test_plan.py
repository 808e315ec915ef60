"""What a job will take is known before it starts."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from people import People, write_people
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from seepage.engines import Local


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> People:
    return write_people(tmp_path_factory.mktemp("people") / "data", rows=20_000, features=20)


def test_a_plan_counts_passes_and_bytes(people: People) -> None:
    ridge = Ridge().fit(people.X, people.frame["outcome"])
    plan = seepage.engines.plan(ridge, people.pattern, target="outcome", job=seepage.engines.Job(Local(workers=2)))
    assert (plan.rows, plan.features, plan.workers, plan.passes) == (20_000, 20, 2, 2)
    # Two passes over the features and the outcome, eight bytes each, within the overhead of pages and row groups.
    assert plan.bytes_read == pytest.approx(2 * 20_000 * 21 * 8, rel=0.3)
    logistic = LogisticRegression().fit(people.X, people.frame["class"])
    assert seepage.engines.plan(logistic, people.pattern, target="class").passes > 2


def test_a_plan_is_of_the_right_size(people: People) -> None:
    ridge = Ridge().fit(people.X, people.frame["outcome"])
    plan = seepage.engines.plan(ridge, people.pattern, target="outcome")
    assert 1e-8 < plan.core_hours < 1e-2
    assert 2e8 < plan.memory_per_worker < 1e9
    for words in ("20,000 rows", "passes over the rows", "core-hours", "memory of each worker"):
        assert words in str(plan)


def test_rows_in_memory_need_no_plan(people: People) -> None:
    ridge = Ridge().fit(people.X, people.frame["outcome"])
    with pytest.raises(seepage.errors.InputError, match="Parquet"):
        seepage.engines.plan(ridge, people.X, target="outcome")


def test_wider_data_is_refused_with_the_memory_it_would_need() -> None:
    model = Ridge(fit_intercept=False)
    model.coef_, model.intercept_, model.n_features_in_ = np.zeros(30_000), 0.0, 30_000
    X = sparse.csr_array((10, 30_000))
    with pytest.raises(seepage.errors.InputError, match=r"30,000 parameters.* 29 GB"):
        seepage.measure(model, X, np.zeros(10), noise_scale=1.0)


def test_progress_says_how_much_is_left(people: People, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ridge = Ridge().fit(people.X, people.frame["outcome"])
    arguments = {"target": "outcome", "noise_scale": 0.1}
    seepage.measure(ridge, people.pattern, job=seepage.engines.Job(Local(workers=2), progress=True), **arguments)
    told = capsys.readouterr().err
    assert "adding up, 5 of 5 units, 0:00 left" in told
    assert "scoring examples, 5 units in" in told
    # The pass that is measured says how long the next will take.
    assert re.search(r"adding up, 5 of 5 units, 0:00 left, then about \d+:\d\d", told)
    assert not sys.stderr.isatty()
    seepage.measure(ridge, people.pattern, job=seepage.engines.Job(Local(workers=2)), **arguments)
    assert capsys.readouterr().err == ""
