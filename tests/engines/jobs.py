"""The job that engines are tested with."""

from pathlib import Path

import numpy as np
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
        job=seepage.engines.Job(engine, output, resume=bool(options.pop("resume", False))),
        **options,
    )


def bits(people: People, engine: Engine, output: Path, **options: object) -> dict[str, object]:
    """Return what a fit and a measurement over files find, to the last bit."""
    named = {"target": "class", "sample_weight": "weight"}
    start = LogisticRegression(class_weight="balanced")
    model = seepage.engines.fit(
        start, people.pattern, features=people.features, job=seepage.engines.Job(engine), **named
    )
    job = seepage.engines.Job(engine, output, **options)
    leak = seepage.measure(model, people.pattern, noise_scale=0.1, ids="person", groups="region", job=job, **named)
    attributes = leak.information.distributions("attributes")
    groups = leak.by_group().frame.to_pandas()
    return {
        "coefficients": (*model.coef_.ravel().tolist(), *model.intercept_.tolist()),
        "people": contents(output),
        "joint": (leak.joint_information_loss(), leak.joint_information_loss({"region": "east"})),
        "attributes": {name: (each.mean, each.squares) for name, each in attributes.items()},
        "groups": groups.to_csv(float_format="%.17g"),
        "variances": dict(leak.information.variances()),
        "most exposed": leak.most_exposed(5).to_pandas().to_csv(float_format="%.17g"),
    }


def contents(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((output / "examples").iterdir())}


def check(leak: seepage.Leakage, people: People, model: LogisticRegression) -> None:
    """Hold what an engine measured against the same in memory."""
    expected = seepage.measure(model, people.X, people.frame["class"], noise_scale=0.1)
    examples = leak.examples.to_table().to_pandas()
    assert examples["person"].tolist() == people.frame["person"].tolist()
    assert examples["region"].tolist() == people.frame["region"].tolist()
    np.testing.assert_allclose(examples[["eta", "dfil"]], expected.examples, rtol=1e-10, atol=0)
    np.testing.assert_allclose(leak.joint_information_loss(), expected.joint_information_loss(), rtol=1e-10)
    ours = leak.by_group().frame.to_pandas()
    theirs = expected.by_group(people.frame["region"]).frame
    np.testing.assert_allclose(ours[["count", "mean", "max"]], theirs[["count", "mean", "max"]], rtol=1e-10)


def check_filters(people: People, engine: Engine) -> None:
    """Hold filters of one table, composed over files, against memory."""
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
