"""The public interface is what a file says it is, so that no change goes unseen."""

import subprocess
import sys

from interface import FILE, lines
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


def test_a_star_brings_the_names_of_the_first_page_and_no_extra():
    names = {name for name in dir(seepage) if not isinstance(getattr(seepage, name), type(sys))}
    assert set(seepage.__all__) == names | {"__version__"}
    assert len(seepage.__all__) == len(set(seepage.__all__))
    code = "from seepage import *; import sys; assert measure and Report; print(*{'torch', 'ray'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.split() == []
