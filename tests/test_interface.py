"""The public interface is what a file says it is, so that no change goes unseen."""

import ast
import re
import subprocess
import sys
from functools import cache

import pytest
from interface import FILE, addresses, lines, public
from pages import ROOT

import seepage


def test_names_and_arguments_are_those_of_the_file():
    known, found = FILE.read_text(encoding="utf-8").splitlines(), lines()
    changed = [f"- {line}" for line in known if line not in found] + [
        f"+ {line}" for line in found if line not in known
    ]
    assert known == found, "Is this meant? Then python tests/interface.py, and say so in the changelog.\n" + "\n".join(
        changed
    )


def test_a_changed_argument_is_seen(monkeypatch):
    before = lines()
    monkeypatch.setattr(seepage.release, "calibrate", lambda leak, *, floors: None)
    assert before != lines()


SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("docs/**/*.ipynb"),
    *ROOT.glob("docs/examples/*.py"),
]
# What is written about is named as users name it; the changelog tells what names were called then.
WRITTEN = {path: path.read_text(encoding="utf-8") for path in PAGES if path.name != "CHANGELOG.md"}


def _strings(path):
    """Return the docstrings and messages of a module."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return "\n".join(text for text in found if " " in text)


def _named(text):
    """Yield the names of this library, in sentences and in imports."""
    yield from re.findall(r"(?<![\w./@-])(seepage(?:\.[A-Za-z]\w*)+)(?![\w-])", text)
    for module, names in re.findall(r"\bfrom (seepage[\w.]*) import ([\w, ]+)", text):
        yield from (f"{module}.{name.strip()}" for name in names.split(","))


@cache
def _known():
    return {each.__name__ for each in public()}, {"seepage.__version__", *addresses()}


def _is_at_its_address(name):
    modules, known = _known()
    module = max((each for each in modules if f"{name}.".startswith(f"{each}.")), key=len)
    shown = ".".join(name.split(".")[: module.count(".") + 2])
    return shown in {module, *known} or (ROOT / "src" / name.replace(".", "/")).is_dir()


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_pages_call_everything_by_its_address(path):
    assert [name for name in _named(WRITTEN[path]) if not _is_at_its_address(name)] == []


def test_docstrings_and_messages_call_everything_by_its_address():
    wrong = {(path.name, name) for path in SOURCES for name in _named(_strings(path)) if not _is_at_its_address(name)}
    assert wrong == set()


def test_a_star_brings_the_names_of_the_first_page_and_no_extra():
    names = {name for name in dir(seepage) if not isinstance(getattr(seepage, name), type(sys))}
    assert set(seepage.__all__) == names | {"__version__"}
    assert len(seepage.__all__) == len(set(seepage.__all__))
    code = "from seepage import *; import sys; assert measure and Report; print(*{'torch', 'ray'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.split() == []
