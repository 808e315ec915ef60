"""People are found in every notation that is read, and a notation that is not read is named."""

import base64
import datetime
import gzip
import io
import json
import pickle
import zipfile
from urllib.parse import quote

import cloudpickle
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inspected import PEOPLE, tarred, torch_file, zipped
from pyarrow import feather

import seepage
from seepage.inspection import Finder

TABLE = PEOPLE[["bmi", "pressure", "glucose", "lipids"]]
# Rows in another order, none of whose values tells whose it is.
MIXED = PEOPLE[["age", "bmi"]].sample(250, random_state=0).to_numpy()
LIPIDS = PEOPLE["lipids"].tolist()
BYTES = PEOPLE["lipids"].to_numpy().tobytes()
IDS = PEOPLE["id"].tolist()


@pytest.fixture(scope="module")
def finder():
    return Finder.of(PEOPLE.assign(name=PEOPLE["id"].str.replace("S", "S ")), ids="id")


def _closure():
    matrix = TABLE.to_numpy().copy()
    return lambda x: x @ matrix.T


def _default(x, table=LIPIDS):
    return min(table, key=lambda each: abs(each - x))


_default.__module__ = "__main__"


def _parquet(values):
    file = io.BytesIO()
    pq.write_table(pa.table({"a": values}), file)
    return file.getvalue()


def _described():
    field = pa.field("a", pa.float64(), metadata={"of": ",".join(IDS)})
    file = io.BytesIO()
    feather.write_feather(pa.table({"a": [1.0]}, schema=pa.schema([field])), file)
    return file.getvalue()


def _plotly(text):
    # Plotly writes slashes in pages as escapes.
    return json.dumps({"x": {"dtype": "f8", "bdata": text}}).replace("/", "\\u002f")


FAILS = {
    "lines.jsonl": PEOPLE.to_json(orient="records", lines=True, double_precision=15),
    "nested.json": json.dumps({"entry": [{"subject": {"reference": f"Patient/{each}"}} for each in IDS]}),
    "values.json": json.dumps([{"resource": {"quantity": {"value": each}}, "n": i} for i, each in enumerate(LIPIDS)]),
    "by person.json": json.dumps({f"k{i}": {f"v{i}": each} for i, each in enumerate(LIPIDS)}),
    "nested.pkl": pickle.dumps([{"of": {"value": each, "n": i}} for i, each in enumerate(LIPIDS)]),
    "pickles.pkl": b"".join(pickle.dumps({"value": each}) for each in LIPIDS),
    "commas.csv": TABLE.to_csv(index=False, sep=";", decimal=","),
    "thousands.txt": "\n".join(f"{each:,.1f}" for each in 10_000 * PEOPLE["pressure"]),
    "columns.csv": TABLE.T.to_csv(header=False),
    "wide.csv": pd.concat([TABLE.round(1)] * 6, axis=1).T.to_csv(index=False),
    "texts.parquet": _parquet(PEOPLE["lipids"].astype(str)),
    "texts.pkl": pickle.dumps(PEOPLE["lipids"].to_numpy().astype("U25")),
    "table.pkl": pickle.dumps({"csv": TABLE.to_csv(index=False)}),
    "table.parquet": _parquet([TABLE.to_csv(index=False)]),
    "structs.parquet": _parquet([{"a": {"b": each}, "c": [1.0, each]} for each in LIPIDS]),
    "bytes.parquet": _parquet([each.encode() for each in IDS]),
    "keys.pkl": pickle.dumps({(each, 1): 0 for each in LIPIDS}),
    "lower.txt": "\n".join(IDS).lower(),
    "wide.txt": "\n".join(IDS).encode("utf-32"),
    "files.txt": "\n".join(f"scan_{each}_t1.nii.gz" for each in IDS),
    "dput.R": "c(" + ", ".join(f"{each}L" for each in PEOPLE["age"]) + ")",
    "protocol 0.bin": pickle.dumps(LIPIDS, protocol=0),
    "closure.pkl": cloudpickle.dumps(_closure()),
    "default.pkl": cloudpickle.dumps(_default),
    "popped.pkl": b"\x80\x04" + pickle.dumps(LIPIDS, protocol=4)[2:-1] + b"0N.",
    "link.html": f"<a href='data:text/csv;base64,{base64.b64encode(TABLE.to_csv().encode()).decode()}'>x</a>",
    "wrapped.txt": base64.encodebytes(BYTES).decode(),
    "array.html": _plotly(base64.b64encode(BYTES).decode()),
    "array.txt": BYTES.hex(),
    "units.txt": "\n".join(f"{each:.4f}mmol" for each in LIPIDS),
    "minus.txt": "\n".join(f"{each:.4f}".replace("-", "\u2212") for each in PEOPLE["marker"]),
    "link.txt": f"<a href='data:text/csv,{quote(TABLE.to_csv())}'>x</a>",
    "script.js": f"let rows = {json.dumps(TABLE.to_csv(index=False))};",
    "ids.js": f"let rows = {json.dumps(chr(10).join(IDS))};",
    "names.zip": zipped(" ".join(IDS), b""),
    "names.tar.gz": tarred(" ".join(IDS), b""),
    "names.txt": "\n".join(IDS).replace("S", "S "),
    "metadata.feather": _described(),
    "view.pt": torch_file(TABLE, shown=1),
    "outside.pkl": pickle.dumps(LIPIDS, 2)[:-1] + b"Q.",
    "long.pkl": pickle.dumps(int.from_bytes(BYTES, "little")),
    "twice.json": "{" + ",".join(f'"a": {each}' for each in LIPIDS) + "}",
    "sheet.xml": "".join(f'<row r="{i}"><c r="A{i}"><v>{each:.2f}</v></c></row>' for i, each in enumerate(LIPIDS)),
    "letters.html": "<br>".join("".join(f"&#{ord(letter)};" for letter in each) for each in IDS),
    "single.pkl": pickle.dumps(MIXED.astype(np.float32)),
    "flat.pkl": pickle.dumps(MIXED.ravel()),
    "one line.svg": "<svg width='9'>" + "".join(f"<circle cx='{x}' cy='{y}' r='2'/>" for x, y in MIXED) + "</svg>",
    "one value a line.xml": "".join(f"<r>\n<b>{x}</b>\n<p>{y}</p>\n</r>\n" for x, y in MIXED),
    "uneven.jsonl": "\n".join(
        json.dumps({"b": x, "more": [*range(i % 7)], "p": y}) for i, (x, y) in enumerate(MIXED.tolist())
    ),
    "single.json": json.dumps({"split": [float(str(np.float32(each))) for each in LIPIDS], "leaf": [1e-3]}),
}


@pytest.mark.parametrize("name", FAILS)
def test_people_are_found_in_every_notation(finder, name):
    content = FAILS[name]
    found = finder.inspected_bytes(content if isinstance(content, bytes) else content.encode(), name)
    assert found.verdict == "fail"
    assert max(each.people for each in found.findings) >= 200


def test_dates_in_texts_are_compared():
    days = pd.to_datetime("1940-01-01") + pd.to_timedelta(np.random.default_rng(2).integers(0, 20_000, 300), "D")
    finder = Finder.of(PEOPLE.assign(born=days))
    records = [{"of": {"born": f"{each:%Y-%m-%d}", "n": i}} for i, each in enumerate(days)]
    assert "born" in finder.inspected_bytes(json.dumps(records).encode(), "days.json").findings[0].about
    assert finder.inspected_bytes("\n".join(f"{each:%Y-%m-%d}" for each in days[:100]).encode(), "x").verdict == "fail"


def _commented():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "hello")
        archive.comment = b"x" * 2000
    return file.getvalue()


def _with_gap():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "hello")
        file.write(gzip.compress(BYTES))
        archive.start_dir = file.tell()
    return file.getvalue()


def _saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


RANDOM = np.random.default_rng(0).bytes(400)
DAYS = [datetime.date(1950, 1, 1) + datetime.timedelta(1000 * i) for i in range(25)]
UNREAD = {
    "bytes.pkl": pickle.dumps({"coef": [1.0, 2.0], "more": RANDOM}),
    "encoded.json": json.dumps({"coef": [1.0, 2.0], "more": base64.b64encode(RANDOM).decode()}),
    "picture.ipynb": json.dumps({"image/png": base64.b64encode(b"\x89PNG\r\n\x1a\n" + RANDOM).decode()}),
    "dates.txt": "\n".join(f"{each:%d/%m/%Y}" for each in DAYS),
    "nested.json": json.dumps([{"of": {"day": f"{each:%d/%m/%Y}"}} for each in DAYS]),
    "hex.txt": "\n".join(each.hex() for each in LIPIDS[:60]),
    "dates.pkl": pickle.dumps(DAYS),
    "comment.zip": _commented(),
    "gap.zip": _with_gap(),
    "after.tar.gz": gzip.compress(gzip.decompress(tarred("a", b"")) + b"\x01" * 60),
    "mainframe.txt": "\n".join(IDS).encode("cp500"),
    "longer.npy": _saved(np.arange(3.0)) + RANDOM,
    "raw.npy": b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '|V8', 'fortran_order': False, 'shape': (30,)}".ljust(117)
    + b"\n"
    + RANDOM[:240],
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_notation_that_is_not_read_is_named(finder, name):
    content = UNREAD[name]
    found = finder.inspected_bytes(content if isinstance(content, bytes) else content.encode(), name)
    assert found.verdict == "review"
    assert {each.kind for each in found.findings} == {"unread"}
    assert found.findings[0].where.startswith(name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.csv", TABLE.to_csv()),
        ("people.parquet", _parquet(TABLE["bmi"].round())),
        ("people.json", json.dumps([{"a": {"b": each, "c": 1}} for each in LIPIDS])),
        ("names.csv", "\n".join(["name,town", *["Ann,York"] * 25])),
        ("ids.txt", "\n".join(IDS)),
    ],
)
def test_a_table_without_people_to_compare_it_with_needs_a_review(tmp_path, name, content):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    found = seepage.inspect(tmp_path / name)
    assert (found.verdict, {each.kind for each in found.findings}) == ("review", {"uncompared"})
    assert str(found).startswith(f"REVIEW: {name} was compared with nobody")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.md", "# Results\n\nThe mean was 27.3 (26.9, 27.8), n = 1,204 at 12:30.\n" + "-" * 200 + "\n"),
        ("fit.toml", "\n".join(f"hash{i} = '{'0123456789abcdef' * 4}'" for i in range(30))),
        ("certificate.json", json.dumps({f"hash{i}": "0123456789abcdef" * 4 for i in range(30)})),
        ("lock.txt", "\n".join(f"package{i}==1.{i}.2" for i in range(40))),
        ("names.pkl", pickle.dumps([np.str_(f"feature number {i}") for i in range(40)])),
    ],
)
def test_text_that_holds_no_table_of_people_passes(finder, name, content):
    content = content if isinstance(content, bytes) else content.encode()
    assert finder.inspected_bytes(content, name).verdict == "pass"
