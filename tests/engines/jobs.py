"""The job that engines are tested with."""

from pathlib import Path

from people import People
from sklearn.linear_model import LogisticRegression

import seepage
from seepage.engines import Engine

FILES = 24


def measured(
    people: People, model: LogisticRegression, engine: Engine, output: Path, **options: object
) -> seepage.Leakage:
    return seepage.measure(
        model,
        options.pop("X", people.pattern),
        target="class",
        noise_scale=0.1,
        ids="person",
        groups="region",
        job=seepage.Job(engine, output, resume=bool(options.pop("resume", False))),
        **options,
    )


def contents(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((output / "examples").iterdir())}
