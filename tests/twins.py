"""What a folder of twins holds, read as its readers would."""

import csv
import html
import io
import json
import re

import numpy as np
from PIL import Image


def said(folder, stem):
    """Return what each twin but the pictures says, as one line of text; refuse what its readers could not read."""
    page = (folder / f"{stem}.html").read_text()
    text = (folder / f"{stem}.txt").read_text()
    assert max(map(len, text.splitlines())) <= 80
    rows = list(csv.reader(io.StringIO((folder / f"{stem}.csv").read_text())))
    assert len({len(row) for row in rows}) == 1
    found = json.loads((folder / f"{stem}.json").read_text(), parse_constant=_refused)
    return {
        "html": _line(html.unescape(re.sub(r"<[^>]*>", " ", page.partition("<body>")[2]))),
        "txt": _line(text),
        "csv": _line(" ".join(" ".join(row) for row in rows)),
        "json": _line(" ".join(_strings(found))),
    }


def looked_at(path):
    """Return a picture that is not blank and touches no edge, as an array of grays."""
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        seen = np.asarray(picture.convert("L")).astype(int)
    assert 0.005 < (seen < 128).mean() < 0.5
    assert (np.concatenate([seen[0], seen[-1], seen[:, -1]]) > 200).all()
    return seen


def _refused(constant):
    raise AssertionError(f"{constant} is no JSON")


def _line(text):
    return " ".join(text.replace("\u00a0", " ").split())


def _strings(found):
    if isinstance(found, dict):
        for key, value in found.items():
            yield key
            yield from _strings(value)
    elif isinstance(found, list):
        for each in found:
            yield from _strings(each)
    else:
        yield str(found)
