"""What a folder of twins holds, read as its readers would."""

import html
import json
import re

import numpy as np
from PIL import Image


def said(folder, stem):
    """Return what each twin but the pictures says, as one line of text; refuse what its readers could not read."""
    page = (folder / f"{stem}.html").read_text()
    text = (folder / f"{stem}.txt").read_text()
    assert max(map(len, text.splitlines())) <= 80
    found = json.loads((folder / f"{stem}.json").read_text(), parse_constant=_refused)
    words = re.sub(r"<(svg|style).*?</\1>|<[^>]*>", " ", page.partition("<body>")[2], flags=re.DOTALL)
    return {
        "html": _line(html.unescape(words)),
        "txt": _line(text),
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
