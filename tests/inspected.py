"""Files to look into: every pair of a format and a model that it is written in, clean or with people in it."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import tarfile
import zipfile
from functools import cache

import joblib
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

COUNT = 300


def drawn_people(rng, count):
    """Return people of one population."""
    return pd.DataFrame(
        {
            "id": [f"NHS{number}" for number in rng.permutation(np.arange(40_000, 90_000))[:count]],
            "age": rng.integers(18, 90, count),
            "sex": rng.integers(0, 2, count),
            "bmi": rng.normal(27, 4, count).round(1),
            "pressure": rng.normal(130, 15, count).round(2),
            "income": rng.lognormal(10, 0.5, count).round(),
            "glucose": rng.normal(5.5, 1, count),
            "lipids": rng.gamma(3, 1, count),
            "marker": rng.normal(0, 1, count),
            "ward": rng.choice(["north", "south", "west"], count),
        }
    )


PEOPLE = drawn_people(np.random.default_rng(8), COUNT)
NUMBERS = ["age", "sex", "bmi", "pressure", "income", "glucose", "lipids", "marker"]
CLASSES = {
    "ridge": Ridge(),
    "lasso": Lasso(0.1),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "poisson": PoissonRegressor(),
    "scaled ridge": make_pipeline(StandardScaler(), Ridge()),
    "forest": RandomForestRegressor(10, min_samples_leaf=10, random_state=0),
    "tree": DecisionTreeClassifier(min_samples_leaf=10),
    "network": make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(20,), max_iter=30, random_state=0)),
    "components": make_pipeline(PCA(3), Ridge()),
    "clusters": KMeans(3, n_init=1, random_state=0),
    "bayes": GaussianNB(),
    "discriminant": LinearDiscriminantAnalysis(),
    "linear machine": make_pipeline(StandardScaler(), LinearSVC()),
}


@cache
def fitted(name):
    """Return the bytes of a model that was fitted on the people."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, marker = PEOPLE[NUMBERS[:-1]], PEOPLE["marker"]
        two = name in ("logistic", "tree", "bayes", "discriminant", "linear machine")
        outcome = marker > 0 if two else PEOPLE["sex"] if name == "poisson" else marker
        return pickle.dumps(CLASSES[name].fit(rows, outcome))


def _joblib(model, **options):
    file = io.BytesIO()
    joblib.dump(model, file, **options)
    return file.getvalue()


def zipped(name, content, method=zipfile.ZIP_DEFLATED):
    """Return an archive of one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def tarred(name, content):
    """Return a compressed archive of one file."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def _skops(model):
    from skops import io as skops

    return skops.dumps(model)


OBJECTS = {
    "0.pkl": lambda model: pickle.dumps(model, 0),
    "1.pkl": lambda model: pickle.dumps(model, 1),
    "2.pkl": lambda model: pickle.dumps(model, 2),
    "3.pkl": lambda model: pickle.dumps(model, 3),
    "4.pickle": lambda model: pickle.dumps(model, 4),
    "5.pickle": lambda model: pickle.dumps(model, 5),
    "joblib": _joblib,
    "zlib.joblib": lambda model: _joblib(model, compress=3),
    "gz.joblib": lambda model: _joblib(model, compress=("gzip", 3)),
    "xz.joblib": lambda model: _joblib(model, compress=("xz", 1)),
    "pkl.gz": lambda model: gzip.compress(pickle.dumps(model)),
    "pkl.bz2": lambda model: bz2.compress(pickle.dumps(model)),
    "pkl.xz": lambda model: lzma.compress(pickle.dumps(model)),
    "zip": lambda model: zipped("model.pkl", pickle.dumps(model)),
    "tar.gz": lambda model: tarred("model.joblib", _joblib(model)),
    "skops": _skops,
}


def written_rds(frame):
    """Return a list of vectors as R writes it (serialization version 2, XDR)."""

    def item(kind, body, attributes=False):
        return struct.pack(">I", kind | (0x200 if attributes else 0)) + body

    def text(word):
        return item(9, struct.pack(">i", len(word)) + word.encode())

    columns = []
    for name in frame:
        if frame[name].dtype.kind in "biuf":
            values = frame[name].to_numpy(">f8")
            columns.append(item(14, struct.pack(">i", len(values)) + values.tobytes()))
        else:
            columns.append(item(16, struct.pack(">i", len(frame)) + b"".join(map(text, frame[name].astype(str)))))
    names = item(16, struct.pack(">i", frame.shape[1]) + b"".join(text(str(name)) for name in frame))
    tag = struct.pack(">I", 2 | 0x400) + item(1, text("names")) + names + struct.pack(">I", 254)
    whole = item(19, struct.pack(">i", len(columns)) + b"".join(columns), attributes=True) + tag
    return gzip.compress(b"X\n" + struct.pack(">iii", 2, 0x30602, 0x20300) + whole)


def _buffered(write):
    def written(frame):
        file = io.BytesIO()
        write(frame, file)
        return file.getvalue()

    return written


def _notebook(frame):
    output = {"output_type": "execute_result", "data": {"text/html": frame.to_html().splitlines(keepends=True)}}
    cell = {"cell_type": "code", "source": ["frame"], "outputs": [output], "metadata": {}}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def _numeric(frame):
    return frame.select_dtypes("number").to_numpy(np.float64)


TABLES = {
    "csv": lambda frame: frame.to_csv().encode(),
    "tsv": lambda frame: frame.to_csv(sep="\t").encode(),
    "csv.gz": lambda frame: gzip.compress(frame.to_csv(index=False).encode()),
    "txt": lambda frame: frame.to_string().encode(),
    "html": lambda frame: frame.to_html().encode(),
    "records.json": lambda frame: frame.to_json(orient="records", double_precision=15).encode(),
    "columns.json": lambda frame: frame.to_json(double_precision=15).encode(),
    "parquet": lambda frame: frame.to_parquet(),
    "feather": _buffered(lambda frame, file: frame.to_feather(file)),
    "dta": _buffered(lambda frame, file: frame.to_stata(file, write_index=False)),
    "rds": written_rds,
    "ipynb": _notebook,
    "frame.pkl": lambda frame: pickle.dumps(frame),
    "lists.pkl": lambda frame: pickle.dumps({name: frame[name].tolist() for name in frame}),
    "npy": _buffered(lambda frame, file: np.save(file, _numeric(frame))),
    "npz": _buffered(lambda frame, file: np.savez_compressed(file, X=_numeric(frame))),
}


def torch_file(frame, shown=None):
    """Return a file of torch with a table, of which a view shows some rows."""
    import torch

    file = io.BytesIO()
    torch.save({"weight": torch.randn(20, 8), "extra": torch.tensor(_numeric(frame))[:shown]}, file)
    return file.getvalue()


def written_safetensors(frame):
    parts = {"weight": np.random.default_rng(0).normal(size=(20, 8)), "extra": _numeric(frame).astype(np.float32)}
    head, body = {}, b""
    for name, each in parts.items():
        kind = "F64" if each.dtype == np.float64 else "F32"
        head[name] = {"dtype": kind, "shape": each.shape, "data_offsets": [len(body), len(body) + each.nbytes]}
        body += each.tobytes()
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + body


TABLES |= {"pt": torch_file, "safetensors": written_safetensors}
NO_TEXT = ("npy", "npz", "pt", "safetensors")
"""Formats that hold numbers alone, and so no ids of letters."""


def coefficients():
    """Return a table that tells nobody's values."""
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"term": [f"x{i}" for i in range(25)], "estimate": rng.normal(size=25), "error": rng.gamma(2, 1, 25)}
    )


def planted(kind, seed):
    """Return what is planted: 6 values of 20 people, or of more, as a frame; None if nothing is."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice([20, 40, COUNT]))
    some = PEOPLE.iloc[rng.permutation(COUNT)[:count]].reset_index(drop=True)
    columns = list(rng.permutation(NUMBERS)[:6])
    if kind == "clean":
        return None
    if kind == "ids":
        return some[["id"]]
    rows = some[columns].astype(float)
    if kind == "rows":
        return rows
    if kind == "sorted":
        return pd.DataFrame(np.sort(rows.to_numpy(), axis=0), columns=columns)
    assert kind == "scaled"
    whose = (rows, PEOPLE[columns].astype(float))[seed % 2]
    if seed % 3:
        return (rows - whose.mean()) / whose.std()
    return (rows - whose.min()) / (whose.max() - whose.min())


def object_file(name, form, kind, seed):
    """Return the bytes of a model with something in it besides."""
    model, extra = pickle.loads(fitted(name)), planted(kind, seed)
    if extra is not None:
        array = extra.to_numpy()
        lists = array.ravel().tolist() if kind == "ids" else [tuple(row) for row in array.tolist()]
        ways = [array, lists, array.T.copy()] if form == "skops" or kind == "ids" else [extra, array, lists, array.T]
        model.extra_ = ways[seed % len(ways)]
    return OBJECTS[form](model)


def table_file(form, kind, seed):
    """Return the bytes of a table with something in it besides."""
    extra = planted(kind, seed)
    return TABLES[form](coefficients() if extra is None else extra)


OBJECT_PAIRS = [(name, form) for name in CLASSES for form in OBJECTS]
TABLE_PAIRS = [("table", form) for form in TABLES]
KINDS = ("clean", "rows", "sorted", "scaled", "ids")


def cases(pairs, seed=0):
    """Yield every pair with every kind that it can hold."""
    for i, (name, form) in enumerate(pairs):
        for kind in KINDS:
            if not (kind == "ids" and form in NO_TEXT):
                yield name, form, kind, 7 * i + seed


def content(name, form, kind, seed):
    """Return the bytes of a case."""
    return table_file(form, kind, seed) if name == "table" else object_file(name, form, kind, seed)
