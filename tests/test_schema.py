"""Documents are held against their schemas as the reference implementation of JSON Schema holds them."""

import copy
import json
import random

import jsonschema
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage
from seepage._schema import faults, read_document
from seepage.release._certificate import SCHEMA_FILE as CERTIFICATE

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)


@pytest.fixture(scope="module")
def documents():
    model = Ridge().fit(X, Y)
    accept = {"error_floor": {"age": 1e-6}}
    decision = seepage.release.Decision(policy="Release", version="1", approver="A", date="2026-11-12")
    return seepage.publish(model, X, Y, noise_scale=2.0, accept=accept, decision=decision).certificate.json()


ODD = [
    None,
    True,
    False,
    0,
    -1,
    2.5,
    1.0,
    10**30,
    "",
    "a\n",
    "2026-11-12",
    "0" * 64,
    "0" * 64 + "\n",
    [],
    [1],
    {},
    {"a": 1},
]


def _places(document, path=()):
    yield path
    if isinstance(document, dict | list):
        names = document if isinstance(document, dict) else range(len(document))
        for name in names:
            yield from _places(document[name], (*path, name))


def _shortened(document):
    """Return a document whose lists have two entries at most: the others hold nothing of another kind."""
    if isinstance(document, dict):
        return {name: _shortened(value) for name, value in document.items()}
    return [_shortened(value) for value in document[:2]] if isinstance(document, list) else document


def _mutated(document, draw):
    document = copy.deepcopy(document)
    path = draw.choice([place for place in _places(document) if place])
    inside = document
    for name in path[:-1]:
        inside = inside[name]
    how = draw.randrange(4)
    if how == 0:
        del inside[path[-1]]
    elif how == 1 and isinstance(inside, dict):
        inside["more"] = draw.choice(ODD)
    elif how == 1:
        inside.append(draw.choice(ODD))
    else:
        inside[path[-1]] = draw.choice(ODD)
    return document


def test_two_ways_of_holding_a_document_against_its_schema_agree(documents):
    schema = json.loads(CERTIFICATE.read_text())
    reference = jsonschema.Draft202012Validator(schema)
    document, draw, refused = _shortened(json.loads(documents)), random.Random(3), 0
    assert list(faults(document, schema)) == []
    for _ in range(500):
        mutated = _mutated(document, draw)
        found = list(faults(mutated, schema))
        # The reference lets a line break pass at the end of a pattern.
        text = json.dumps(mutated)
        if '\\n"' in text:
            continue
        assert bool(found) != reference.is_valid(mutated), (found, mutated)
        refused += bool(found)
    assert refused > 100


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{", "not JSON"),
        (b'{"schema": NaN}', "not JSON"),
        (b"7", "schema None"),
        (b'{"schema": "urn:seepage:certificate:5"}', "'created' is missing"),
        (b'{"schema": "urn:seepage:certificate:5", "schema": 1}', "two entries 'schema'"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(tmp_path, content, words):
    (tmp_path / "odd.json").write_bytes(content)
    with pytest.raises(seepage.errors.InputError, match=words):
        read_document(tmp_path / "odd.json", CERTIFICATE, "certificate")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(seepage.errors.InputError, match=r"no file.*nowhere\.json"):
        read_document(tmp_path / "nowhere.json", CERTIFICATE, "certificate")
    with pytest.raises(seepage.errors.InputError, match="cannot be read"):
        read_document(tmp_path, CERTIFICATE, "certificate")
