"""People and a model for all engines."""

import pytest
from engines.jobs import FILES
from people import People, write_people
from sklearn.linear_model import LogisticRegression


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> People:
    return write_people(tmp_path_factory.mktemp("people") / "data", rows=120_000, features=12, files=FILES)


@pytest.fixture(scope="module")
def model(people: People) -> LogisticRegression:
    return LogisticRegression(tol=1e-8).fit(people.X, people.frame["class"])
