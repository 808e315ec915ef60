"""Every public name is in the reference."""

import inspect
import re
import sys

from pages import ROOT

import seepage

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import terms
from public_names import packages, pages


def test_every_public_package_has_a_page():
    found = pages()
    assert "seepage.rst" in found
    for name in ("attacks", "datasets", "engines", "linear", "meaning", "network", "release"):
        assert f"seepage.{name}.rst" in found


def _described(name, text):
    return set(re.findall(rf"^\.\. auto\w+:: {re.escape(name)}\.(\w+)$", text, re.MULTILINE))


def test_every_public_name_is_described_once():
    found = pages()
    first = _described("seepage", found["seepage.rst"])
    assert {"measure", "Leakage", "publish", "InputError"} <= first
    for name, package in packages().items():
        own = _described(name, found[f"{name}.rst"])
        public = set(dir(package)) if package is seepage else {n for n in vars(package) if not n.startswith("_")}
        public = {n for n in public if not inspect.ismodule(getattr(package, n))}
        for missing in public - own:
            # What the first page describes is listed with a link to it.
            listed = f"   seepage.{missing}\n" in found[f"{name}.rst"] and missing in first
            assert listed, f"{name}.{missing} is not in the reference."


def test_every_picture_shows_how_it_is_plotted():
    page = pages()["seepage.display.rst"]
    entries = page.split(".. autoclass:: ")[1:]
    assert len(entries) > 10
    assert all(":inherited-members:" in entry for entry in entries)


def test_the_glossary_is_a_page():
    found = terms.page()
    for name, term in seepage.meaning.glossary().items():
        assert f"\n   {name}\n" in found
        assert " ".join(term.sentences) in found


def test_every_public_name_says_what_it_is():
    for name, package in packages().items():
        for member in _described(name, pages()[f"{name}.rst"]):
            assert getattr(package, member).__doc__, f"{name}.{member} has no docstring."
