from collections.abc import Iterator

import pytest
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

from cli.terminal import Terminal

POLICY = "[error_floor]\nage = 5\nbmi = 2\n"


@pytest.fixture(scope="session")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A folder with a model, its rows in every format, and a policy."""
    folder = tmp_path_factory.mktemp("terminal")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    people = X.assign(progression=y, patient=[f"P{i:04d}" for i in range(len(X))])
    people.to_csv(folder / "people.csv", index=False)
    people.to_parquet(folder / "people.parquet")
    people.to_feather(folder / "people.feather")
    (folder / "parts").mkdir()
    for i in range(3):
        people.iloc[i::3].to_parquet(folder / "parts" / f"part-{i}.parquet")
    skops.io.dump(Ridge(alpha=1.0).fit(X, y), folder / "model.skops")
    (folder / "policy.toml").write_text(POLICY)
    found = Terminal(folder)
    yield found
    found.close()
