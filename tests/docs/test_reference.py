"""Every public name is in the reference."""

import inspect
import re
import sys

from pages import ROOT

import seepage

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import terms
from public_names import addresses, modules, pages


def test_every_public_package_has_a_page():
    found = pages()
    assert "seepage.rst" in found
    for name in ("attacks", "engines", "errors", "linear", "meaning", "models", "network", "release"):
        assert f"seepage.{name}.rst" in found


def _described(name, text):
    return set(re.findall(rf"^\.\. auto\w+:: {re.escape(name)}\.(\w+)$", text, re.MULTILINE))


def test_every_public_name_is_described_once_and_is_on_the_first_page():
    found, described = pages(), []
    for module in modules():
        name, page = module.__name__, found[f"{module.__name__}.rst"]
        public = {each for each in dir(module) if not each.startswith("_")}
        for each in {each for each in public if not inspect.ismodule(getattr(module, each))}:
            address = addresses()[f"{name}.{each}"]
            assert f"   ~{address}\n" in page, f"{name}.{each} is not in the reference."
            assert f"   ~{address}\n" in found["seepage.rst"]
            assert (each in _described(name, page)) == (address == f"{name}.{each}")
        described += [id(getattr(module, each)) for each in _described(name, page)]
    assert len(described) == len(set(described)) > 100


def test_names_are_described_where_they_belong():
    found = pages()
    assert _described("seepage", found["seepage.rst"]) == {*seepage.__all__} - {"__version__"}
    shown = {"Aggregate", "Cox", "Equations", "GLM", "KaplanMeier", "ModelTable"}
    assert _described("seepage.models", found["seepage.models.rst"]) == shown
    assert {"Job", "fit"} <= _described("seepage.engines", found["seepage.engines.rst"])
    assert "Features" in (linear := _described("seepage.linear", found["seepage.linear.rst"]))
    assert not linear & {"GLM", "fit", "measure"}


def test_every_picture_shows_how_it_is_plotted():
    page = pages()["seepage.display.rst"]
    entries = page.split(".. autoclass:: ")[1:]
    assert len(entries) > 8
    assert all(":inherited-members:" in entry for entry in entries)


def test_the_glossary_is_a_page():
    found = terms.page()
    for name, term in seepage.meaning.glossary().items():
        assert f"\n   {name}\n" in found
        assert " ".join(term.sentences) in found


def test_every_public_name_says_what_it_is():
    found = pages()
    for module in modules():
        for name in _described(module.__name__, found[f"{module.__name__}.rst"]):
            assert getattr(module, name).__doc__, f"{module.__name__}.{name} has no docstring."
