from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

from cli.terminal import Terminal

POLICY = "[error_floor]\nage = 5\nbmi = 2\n"


@pytest.fixture(scope="session", autouse=True)
def _warm_workers() -> None:
    """Warm nothing: commands are processes of their own, and so are their workers."""


@pytest.fixture(scope="session")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A folder with a model, its rows in every format, and a policy."""
    folder = tmp_path_factory.mktemp("terminal")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    people = X.assign(progression=y, patient=[f"P{i:04d}" for i in range(len(X))])
    people.to_csv(folder / "people.csv", index=False)
    people.to_parquet(folder / "people.parquet")
    (folder / "parts").mkdir()
    for i in range(3):
        people.iloc[i::3].to_parquet(folder / "parts" / f"part-{i}.parquet")
    skops.io.dump(Ridge(alpha=1.0).fit(X, y), folder / "model.skops")
    (folder / "policy.toml").write_text(POLICY)
    found = Terminal(folder)
    yield found
    found.close()


@pytest.fixture(scope="session")
def wards(terminal: Terminal) -> Terminal:
    """The same folder with a logistic regression as R prints it, and its rows."""
    random = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "age": random.uniform(20, 80, 300).round(),
            "dose": random.gamma(3.0, 1.0, 300),
            "ward": random.choice(["east", "north", "south"], 300),
            "patient": [f"W{i}" for i in range(300)],
        }
    )
    margin = 0.03 * (people["age"] - 50) + people["dose"] + 0.3 * (people["ward"] == "north") - 1
    people["ill"] = (random.uniform(size=300) < 1 / (1 + np.exp(-margin))).astype(int)
    people.to_parquet(terminal.folder / "wards.parquet")
    design = np.column_stack(
        [
            np.ones(300),
            people["age"],
            people["dose"],
            people["ward"] == "north",
            people["ward"] == "south",
        ]
    ).astype(float)
    beta = np.zeros(5)
    for _ in range(30):
        mean = 1 / (1 + np.exp(-design @ beta))
        beta += np.linalg.solve(
            design.T @ (design * (mean * (1 - mean))[:, None]), design.T @ (people["ill"].to_numpy() - mean)
        )
    names = ["(Intercept)", "age", "dose", "wardnorth", "wardsouth"]
    lines = [f'"{name}",{value:.5f}' for name, value in zip(names, beta.tolist(), strict=True)]
    (terminal.folder / "ill.csv").write_text("\n".join(['"","Estimate"', *lines]) + "\n")
    (terminal.folder / "ill.toml").write_text(
        'formula = "ill ~ age + dose + ward"\nfamily = "binomial"\nnumbers = "ill.csv"\n'
    )
    return terminal
