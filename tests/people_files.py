"""Files that hold people or others, in every pair of a format and a way to write them, drawn from one list."""

import base64
import bz2
import gzip
import io
import itertools
import json
import lzma
import pickle
import sqlite3
import zipfile

import joblib
import numpy as np
import pyarrow as pa
from inspected import PEOPLE, drawn_people, tarred, torch_file, written_rds, written_safetensors, zipped
from pyarrow import feather, orc, parquet

OTHERS = drawn_people(np.random.default_rng(77), 270)
"""Other people of the same population."""


def _numbers(frame):
    return frame.select_dtypes("number").astype(float)


def _standardized(frame):
    return (_numbers(frame) - _numbers(frame).mean()) / _numbers(frame).std()


NUMERIC_WAYS = {
    "numbers": _numbers,
    "rounded": lambda frame: _numbers(frame).round(3).sample(100, random_state=1),
    "single precision": lambda frame: _numbers(frame).astype(np.float32),
    "standardized": lambda frame: _standardized(frame).sample(frac=1, random_state=2),
    "hundredfold": lambda frame: 100 * frame[["bmi", "pressure", "lipids"]].sample(frac=1, random_state=3),
    "sorted": lambda frame: _numbers(frame).apply(np.sort),
    "one column": lambda frame: frame[["lipids"]].sample(frac=1, random_state=4),
    "few digits": lambda frame: frame[["age", "bmi", "sex"]].sample(frac=0.8, random_state=5),
    "twenty": lambda frame: _numbers(frame).sample(20, random_state=6),
}
WAYS = NUMERIC_WAYS | {
    "whole": lambda frame: frame,
    "shuffled": lambda frame: frame.sample(frac=1, random_state=7),
    "texts": lambda frame: _numbers(frame).astype(str),
    "people as columns": lambda frame: _numbers(frame).T.set_axis([f"c{i}" for i in range(len(frame))], axis=1),
    "ids": lambda frame: frame[["id"]].sample(30, random_state=8),
    "lower ids": lambda frame: frame[["id"]].sample(30, random_state=9).apply(lambda column: column.str.lower()),
    "names of files": lambda frame: "scan_" + frame[["id"]].sample(40, random_state=10) + "_t1.nii.gz",
}


def _buffered(write):
    def written(frame):
        file = io.BytesIO()
        write(frame, file)
        return file.getvalue()

    return written


def _text(write):
    return lambda frame: write(frame.reset_index(drop=True)).encode()


def _arrow(frame):
    return pa.Table.from_pandas(frame.reset_index(drop=True), preserve_index=False)


def _stream(frame, file):
    with pa.ipc.new_stream(file, _arrow(frame).schema) as writer:
        writer.write_table(_arrow(frame))


def _zstandard(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


def _sqlite(frame):
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("rows", base, index=False)
        return base.serialize()


def _hdf5(frame, file):
    import h5py

    with h5py.File(file, "w") as store:
        for name in frame:
            values = frame[name].to_numpy()
            values = values.astype(bytes) if values.dtype.kind not in "biuf" else values
            store.create_dataset(str(name), data=values, compression="gzip", shuffle=True)


def _bdata(column):
    return {"dtype": "f8", "bdata": base64.b64encode(column.to_numpy(np.float64).tobytes()).decode()}


def _plotly(frame):
    return json.dumps({"data": [{"type": "scatter", "y": _bdata(frame[name])} for name in frame], "layout": {}})


def _notebook(kind, content):
    output = {"output_type": "execute_result", "data": {kind: content}}
    cell = {"cell_type": "code", "source": ["frame"], "outputs": [output], "metadata": {}}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _svg(frame):
    y = frame.iloc[:, -1].to_numpy()
    x = frame.iloc[:, -2].to_numpy() if frame.shape[1] > 1 else np.arange(len(frame))
    return "<svg><path d='M" + "L".join(f"{a},{b}" for a, b in zip(x, y, strict=True)) + "'/></svg>"


def _closure(frame):
    import cloudpickle

    rows = frame.to_numpy().tolist()
    return cloudpickle.dumps(lambda x: [x, rows])


def _rows(frame):
    return frame.to_dict("records")


def _nested(frame):
    return [
        {"resource": {"of": {str(key): value}, "n": i}}
        for i, row in enumerate(_rows(frame))
        for key, value in row.items()
    ]


def _sql(frame):
    return "".join(f"INSERT INTO rows VALUES ({', '.join(map(repr, row))});\n" for row in frame.to_numpy().tolist())


def _dput(frame):
    return "list(" + ", ".join(f"`{name}` = c({', '.join(map(repr, frame[name].tolist()))})" for name in frame) + ")"


def _xml(frame):
    rows = ("".join(f"<v n='{name}'>{value}</v>" for name, value in row.items()) for row in _rows(frame))
    return "<rows>" + "".join(f"<row>{row}</row>" for row in rows) + "</rows>"


def _columns(frame):
    return {str(name): frame[name].tolist() for name in frame}


def _bytes(frame):
    return frame.to_numpy(np.float64).tobytes()


def _uuencoded(frame):
    import binascii

    content = _bytes(frame)
    lines = [binascii.b2a_uu(content[i : i + 45]).decode() for i in range(0, len(content), 45)]
    return "begin 644 rows.bin\n" + "".join(lines) + "`\nend\n"


def _hexadecimal(frame):
    return "\n".join(np.float64(value).tobytes().hex() for value in frame.to_numpy().ravel())


NUMERIC_FORMATS = {
    "pt": torch_file,
    "safetensors": written_safetensors,
    "npy": _buffered(lambda frame, file: np.save(file, frame.to_numpy())),
    "npz": _buffered(lambda frame, file: np.savez_compressed(file, X=frame.to_numpy())),
    "plotly.json": _text(_plotly),
    "plotly.html": _text(
        lambda frame: f"<script>Plotly.newPlot('a', {_plotly(frame).replace('/', chr(92) + 'u002f')})</script>"
    ),
    "plotly.ipynb": _text(lambda frame: _notebook("application/vnd.plotly.v1+json", json.loads(_plotly(frame)))),
    "svg": _text(_svg),
    "uu": _text(_uuencoded),
    "b85": _text(lambda frame: base64.b85encode(_bytes(frame)).decode()),
    "a85": _text(lambda frame: base64.a85encode(_bytes(frame), wrapcol=80).decode()),
    "b64": _text(lambda frame: base64.encodebytes(_bytes(frame)).decode()),
    "hex": _text(_hexadecimal),
}
FORMATS = NUMERIC_FORMATS | {
    "csv": _text(lambda frame: frame.to_csv(index=False)),
    "tsv": _text(lambda frame: frame.to_csv(sep="\t")),
    "commas.csv": _text(lambda frame: frame.to_csv(index=False, sep=";", decimal=",")),
    "utf-16.csv": lambda frame: frame.to_csv(index=False).encode("utf-16"),
    "csv.gz": lambda frame: gzip.compress(frame.to_csv().encode()),
    "csv.bz2": lambda frame: bz2.compress(frame.to_csv().encode()),
    "csv.xz": lambda frame: lzma.compress(frame.to_csv().encode()),
    "csv.zst": lambda frame: _zstandard(frame.to_csv().encode()),
    "txt": _text(lambda frame: frame.to_string(max_rows=None)),
    "html": _text(lambda frame: frame.to_html()),
    "md": _text(lambda frame: "\n".join("| " + " | ".join(map(str, row)) + " |" for row in frame.to_numpy().tolist())),
    "tex": _text(lambda frame: "\n".join(" & ".join(map(str, row)) + r" \\" for row in frame.to_numpy().tolist())),
    "xml": _text(_xml),
    "yaml": _text(
        lambda frame: "".join("- " + "  ".join(f"{k}: {v}\n" for k, v in row.items()) for row in _rows(frame))
    ),
    "sql": _text(_sql),
    "R": _text(_dput),
    "records.json": _text(lambda frame: json.dumps(_rows(frame))),
    "columns.json": _text(lambda frame: json.dumps(_columns(frame))),
    "split.json": _text(lambda frame: json.dumps({"data": frame.to_numpy().tolist()})),
    "nested.json": _text(lambda frame: json.dumps({"entry": _nested(frame)})),
    "jsonl": _text(lambda frame: "\n".join(map(json.dumps, _rows(frame)))),
    "html.ipynb": _text(lambda frame: _notebook("text/html", frame.to_html().splitlines(keepends=True))),
    "parquet": lambda frame: frame.to_parquet(),
    "cell.parquet": _buffered(lambda frame, file: parquet.write_table(pa.table({"a": [frame.to_csv()]}), file)),
    "feather": _buffered(lambda frame, file: feather.write_feather(_arrow(frame), file)),
    "arrows": _buffered(_stream),
    "orc": _buffered(lambda frame, file: orc.write_table(_arrow(frame), file, compression="zlib")),
    "dta": _buffered(lambda frame, file: frame.rename(columns=str).to_stata(file, write_index=False)),
    "xlsx": _buffered(lambda frame, file: frame.to_excel(file, index=False)),
    "rds": written_rds,
    "sqlite": _sqlite,
    "h5": _buffered(_hdf5),
    "frame.pkl": pickle.dumps,
    "lists.pkl": lambda frame: pickle.dumps(_columns(frame), 0),
    "rows.pkl": lambda frame: pickle.dumps(_rows(frame), 2),
    "cell.pkl": lambda frame: pickle.dumps({"csv": frame.to_csv(index=False)}),
    "joblib": _buffered(lambda frame, file: joblib.dump({"X": frame.to_numpy()}, file, compress=3)),
    "cloudpickle": _closure,
    "zip": lambda frame: zipped("rows.csv", frame.to_csv()),
    "lzma.zip": lambda frame: zipped("rows.pkl", pickle.dumps(frame), zipfile.ZIP_LZMA),
    "tar.gz": lambda frame: tarred("rows.json", json.dumps(_rows(frame)).encode()),
    "msgpack": lambda frame: __import__("msgpack").packb(_columns(frame)),
}
PAIRS = [
    (form, way) for form, way in itertools.product(FORMATS, WAYS) if form not in NUMERIC_FORMATS or way in NUMERIC_WAYS
]


def drawn(count, seed=0):
    """Draw pairs without repetition, so that every format and every way is among them."""
    rng = np.random.default_rng(seed)
    order = [PAIRS[i] for i in rng.permutation(len(PAIRS))]
    first = {form: (form, way) for form, way in reversed(order)}
    return list(dict.fromkeys([*first.values(), *order]))[:count]


def content(form, way, people=PEOPLE):
    """Return the bytes of a file."""
    return FORMATS[form](WAYS[way](people).reset_index(drop=True))
