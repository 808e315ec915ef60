"""Questions about people in files have the answers that the same people have in memory, or say why not."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from here import Here
from sklearn.compose import make_column_transformer
from sklearn.linear_model import GammaRegressor, PoissonRegressor, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage

HERE = seepage.engines.Job(Here())


def people(rows: int = 240) -> pd.DataFrame:
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"weight_kg": random.normal(70, 9, rows), "age": random.integers(20, 60, rows)})
    frame["kind"] = random.choice(["x", "y", "z"], rows)
    frame["cost"] = 0.1 * frame["weight_kg"] - 0.2 * frame["age"] + (frame["kind"] == "x") + random.normal(size=rows)
    frame["class"] = np.where(frame["cost"] > frame["cost"].median(), "high", "low")
    frame["person"] = [f"person {i}" for i in range(rows)]
    frame["floor"] = random.uniform(0.5, 2.0, rows)
    return frame


def written(frame: pd.DataFrame, folder: Path, parts: int = 3) -> Path:
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        table = pa.Table.from_pandas(frame.iloc[rows], preserve_index=False)
        pq.write_table(table, folder / f"{i}.parquet", row_group_size=31)
    return folder


def mixed(model: Any) -> Pipeline:
    columns = (StandardScaler(), ["weight_kg", "age"]), (OneHotEncoder(), ["kind"])
    return make_pipeline(make_column_transformer(*columns), model)


FEATURES = ["weight_kg", "age", "kind"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return people()


@pytest.fixture(scope="module")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(frame, tmp_path_factory.mktemp("people") / "data")


@pytest.fixture(scope="module")
def both(frame: pd.DataFrame, folder: Path) -> tuple[seepage.Leakage, seepage.Leakage]:
    model = mixed(Ridge()).fit(frame[FEATURES], frame["cost"])
    given = frame[[*FEATURES, "person"]]
    memory = seepage.measure(model, given, frame["cost"], noise_scale=0.5, ids=frame["person"])
    return seepage.measure(model, folder, target="cost", noise_scale=0.5, ids="person", job=HERE), memory


@pytest.mark.parametrize(
    "who", [{"person": "person 3"}, {"age": 33}, {"age": [33.0, 40, 52.9]}, {"kind": "y", "age": [21, 33, 47]}]
)
def test_joint_of_few_people_is_that_of_memory(both: tuple[Any, Any], who: dict[str, Any]) -> None:
    files, memory = both
    assert files.joint_information_loss(who) == pytest.approx(memory.joint_information_loss(who), rel=1e-9)
    assert files.joint_information_loss(who, attribute="age") == pytest.approx(
        memory.joint_information_loss(who, attribute="age"), rel=1e-9
    )


@pytest.mark.parametrize("who", [{"age": 52.9}, {"age": [19.5]}, {"age": 10**30}, {"person": "nobody"}])
def test_nobody_has_what_a_column_cannot_hold(both: tuple[Any, Any], who: dict[str, Any]) -> None:
    for leak in both:
        with pytest.raises(seepage.errors.InputError, match="Nobody has"):
            leak.joint_information_loss(who)


def test_a_group_that_is_missing_is_refused_like_in_memory(frame: pd.DataFrame, tmp_path: Path) -> None:
    holes = frame.assign(group=np.where(frame["age"] < 30, np.nan, 1.0))
    path = written(holes, tmp_path / "data")
    model = Ridge().fit(frame[["weight_kg", "age"]], frame["cost"])
    with pytest.raises(seepage.errors.InputError, match="lacks a group for somebody"):
        seepage.measure(model, path, target="cost", groups="group", noise_scale=0.5, job=HERE)


@pytest.mark.parametrize("name", ["row", "file", "weight", "index"])
def test_ids_may_be_called_like_places(frame: pd.DataFrame, name: str, tmp_path: Path) -> None:
    path = written(frame.rename(columns={"person": name}), tmp_path / "data")
    model = Ridge().fit(frame[["weight_kg", "age"]], frame["cost"])
    memory = seepage.measure(model, frame[["weight_kg", "age"]], frame["cost"], noise_scale=0.5, ids=frame["person"])
    leak = seepage.measure(model, path, target="cost", ids=name, noise_scale=0.5, job=HERE)
    assert leak.most_exposed(5)[name].to_pylist() == memory.most_exposed(5).index.tolist()


def test_groups_may_be_a_feature(frame: pd.DataFrame, folder: Path, both: tuple[Any, Any], tmp_path: Path) -> None:
    model = mixed(Ridge()).fit(frame[FEATURES], frame["cost"])
    job = seepage.engines.Job(Here(), tmp_path / "out")
    leak = seepage.measure(model, folder, target="cost", noise_scale=0.5, ids="person", groups="kind", job=job)
    expected = both[1].by_group(frame["kind"].to_numpy()).frame
    np.testing.assert_allclose(leak.by_group().frame["mean"], expected["mean"], rtol=1e-9)
    np.testing.assert_allclose(leak.attributes.to_table().column("kind"), both[1].attributes["kind"], rtol=1e-9)
    assert leak.examples.schema.names == ["person", "kind", "eta", "dfil"]


def test_a_group_has_everybody_in_it_whatever_the_sign_of_zero(frame: pd.DataFrame, tmp_path: Path) -> None:
    zeros = frame.assign(group=np.resize([0.0, -0.0, 1.0], len(frame)))
    model = Ridge().fit(frame[["weight_kg", "age"]], frame["cost"])
    memory = seepage.measure(model, frame[["weight_kg", "age"]], frame["cost"], noise_scale=0.5)
    path = written(zeros, tmp_path / "data")
    leak = seepage.measure(model, path, target="cost", groups="group", noise_scale=0.5, job=HERE)
    found, expected = leak.by_group().frame.to_pandas(), memory.by_group(zeros["group"]).frame
    assert found["count"].tolist() == expected["count"].tolist() == [160, 80]
    np.testing.assert_allclose(found[["mean", "max"]], expected[["mean", "max"]], rtol=1e-9)


def test_ids_may_be_the_groups(frame: pd.DataFrame, tmp_path: Path) -> None:
    few = written(frame.iloc[:12], tmp_path / "data")
    model = Ridge().fit(frame[["weight_kg"]].iloc[:12], frame["cost"].iloc[:12])
    job = seepage.engines.Job(Here(), tmp_path / "out")
    leak = seepage.measure(model, few, target="cost", ids="person", groups="person", noise_scale=0.5, job=job)
    assert leak.examples.schema.names == ["person", "eta", "dfil"]
    one = leak.most_exposed(1).to_pylist()[0]
    assert leak.by_group().frame.to_pandas().set_index("group").loc[one["person"], "max"] == one["eta"]


@pytest.mark.parametrize(
    ("model", "value", "way_out"), [(PoissonRegressor(), -1.0, "at least 0"), (GammaRegressor(), 0.0, "more than 0")]
)
def test_labels_outside_the_domain_of_a_loss_are_named(
    frame: pd.DataFrame, model: Any, value: float, way_out: str, tmp_path: Path
) -> None:
    frame = frame.assign(visits=frame["floor"].round() + 1.0)
    path = written(frame, tmp_path / "fine")
    seepage.engines.fit(model, path, target="visits", features=["age"], job=HERE)
    frame.loc[170, "visits"] = value
    path = written(frame, tmp_path / "data")
    with pytest.raises(seepage.errors.InputError, match=rf"2\.parquet: y is {value:g} in row 10.*{way_out}"):
        seepage.engines.fit(model, path, target="visits", features=["age"], job=HERE)
    with pytest.raises(seepage.errors.InputError, match=f"in row 170.*{way_out}"):
        seepage.engines.fit(model, frame[["age"]], frame["visits"])


def test_files_may_differ_in_what_nobody_uses(frame: pd.DataFrame, folder: Path, both: Any, tmp_path: Path) -> None:
    """An empty first file, extra columns, other orders and other types of a column: the same people."""
    path = tmp_path / "data"
    path.mkdir()
    parts = [pq.read_table(folder / f"{i}.parquet") for i in range(3)]
    empty = pa.table({name: pa.nulls(0) for name in parts[0].column_names})
    narrow = parts[1].set_column(1, "age", parts[1]["age"].cast(pa.int8())).append_column("notes", [["?"] * 80])
    decimals = pa.array([Decimal(int(age)) for age in parts[2]["age"].to_pylist()], pa.decimal128(9, 2))
    coded = parts[2].set_column(2, "kind", parts[2]["kind"].dictionary_encode())
    exact = coded.set_column(1, "age", decimals).select(sorted(coded.column_names))
    for i, table in enumerate([empty, parts[0], narrow.append_column("odd", [list(range(80))]), exact]):
        pq.write_table(table.append_column("odd", [["text"] * len(table)]) if i == 1 else table, path / f"{i}.parquet")
    model = mixed(Ridge()).fit(frame[FEATURES], frame["cost"])
    leak = seepage.measure(model, path, target="cost", ids="person", noise_scale=0.5, job=HERE)
    assert leak.joint_information_loss() == pytest.approx(both[1].joint_information_loss(), rel=1e-9)
    for column, why in (("notes", "has 'notes', .* has not"), ("odd", "'odd', .* has not")):
        with pytest.raises(seepage.errors.InputError, match=why):
            leak.by_group(column)
    with pytest.raises(seepage.errors.InputError, match="differ in their columns"):
        seepage.engines.fit(Ridge(), path, target="cost", job=HERE)


@pytest.mark.parametrize("short", [pa.float16(), pa.float32()])
def test_decimals_keep_their_digits_beside_short_floats(
    frame: pd.DataFrame, short: pa.DataType, tmp_path: Path
) -> None:
    amounts = [Decimal(int(age)) / 100 + 70_000 for age in frame["age"]]
    frame = frame.assign(amount=np.array([0.5] * 80 + [float(amount) for amount in amounts[80:]]))
    path = written(frame, tmp_path / "data")
    for i, column in enumerate([pa.array([0.5] * 80, short), *(pa.array(amounts[at : at + 80]) for at in (80, 160))]):
        table = pq.read_table(path / f"{i}.parquet")
        pq.write_table(table.set_column(table.column_names.index("amount"), "amount", column), path / f"{i}.parquet")
    model = Ridge().fit(frame[["amount", "age"]], frame["cost"])
    memory = seepage.measure(model, frame[["amount", "age"]], frame["cost"], noise_scale=0.5)
    leak = seepage.measure(model, path, target="cost", noise_scale=0.5, job=HERE)
    assert leak.joint_information_loss() == pytest.approx(memory.joint_information_loss(), rel=1e-10)


def test_text_may_be_held_in_any_way(frame: pd.DataFrame, both: Any, tmp_path: Path) -> None:
    path = written(frame, tmp_path / "data")
    coded = pa.dictionary(pa.int32(), pa.string())
    for i, kind in enumerate([pa.string_view(), coded, pa.large_string()]):
        table = pq.read_table(path / f"{i}.parquet")
        for name in ("kind", "person"):
            column = table[name].dictionary_encode().cast(kind) if kind is coded else table[name].cast(kind)
            table = table.set_column(table.column_names.index(name), name, column)
        pq.write_table(table, path / f"{i}.parquet")
        assert pq.read_schema(path / f"{i}.parquet").field("kind").type == kind
    model = mixed(Ridge()).fit(frame[FEATURES], frame["cost"])
    leak = seepage.measure(model, path, target="cost", ids="person", groups="kind", noise_scale=0.5, job=HERE)
    assert leak.joint_information_loss({"person": ["person 3", "person 100"]}) == pytest.approx(
        both[1].joint_information_loss({"person": ["person 3", "person 100"]}), rel=1e-9
    )
    assert leak.by_group().frame.to_pandas()["group"].tolist() == ["x", "y", "z"]


def test_columns_of_other_types_are_named(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = written(frame, tmp_path / "data")
    frame.assign(age=frame["age"].astype(str)).to_parquet(path / "3.parquet")
    with pytest.raises(
        seepage.errors.InputError, match=r"'age' holds int64 in .*0\.parquet and .*string in .*3\.parquet"
    ):
        seepage.engines.fit(Ridge(), path, target="cost", features=["age"], job=HERE)
    nested = frame.assign(person=[[i] for i in range(len(frame))])
    nested.to_parquet(tmp_path / "nested.parquet")
    model = Ridge().fit(frame[["age"]], frame["cost"])
    with pytest.raises(seepage.errors.InputError, match="several values a row"):
        seepage.measure(model, tmp_path / "nested.parquet", target="cost", ids="person", noise_scale=1.0, job=HERE)


def test_success_rates_over_files_are_refused_with_the_way_out(frame: pd.DataFrame, folder: Path) -> None:
    model = mixed(Ridge()).fit(frame[FEATURES], frame["cost"])
    leak = seepage.measure(model, folder, target="cost", noise_scale=0.5, ids="person", job=HERE)
    with pytest.raises(seepage.errors.UnansweredError, match=r"made in memory: measure a frame.*error_floor"):
        leak.success_rate("kind")
    assert "kind" in str(leak.summary())
