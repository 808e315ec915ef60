"""What `import seepage` costs and shows."""

import subprocess
import sys

import pytest

import seepage
from seepage import _loading


def test_import_is_silent_fast_and_light():
    code = (
        "import time, sys; t = time.process_time(); import seepage; t = time.process_time() - t; "
        "heavy = {'torch', 'ray', 'matplotlib', 'sklearn', 'numba', 'pandas', 'polars', 'pyarrow'} & set(sys.modules); "
        "print(t, sorted(heavy))"
    )
    runs = [
        subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    assert all(run.stderr == "" for run in runs)
    seconds = min(float(run.stdout.split()[0]) for run in runs)
    assert runs[0].stdout.split(maxsplit=1)[1].strip() == "[]"
    assert seconds < 0.8


def test_the_public_names_are_one_page():
    names = dir(seepage)
    assert names == sorted(names)
    for name in names:
        assert getattr(seepage, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'mesure'"):
        seepage.mesure  # noqa: B018


def test_whoever_waits_for_an_import_is_told_why(monkeypatch, capsys, tmp_path):
    (tmp_path / "slow_room.py").write_text("import time; time.sleep(0.4)")
    (tmp_path / "quick_room.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_loading, "_SECONDS_BEFORE", 0.1)
    # Not in a file that somebody reads later.
    loaded = _loading.loaded
    assert loaded("quick_room").__name__ == "quick_room"
    monkeypatch.delitem(sys.modules, "quick_room")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert loaded("quick_room").__name__ == "quick_room"
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert loaded("slow_room").__name__ == "slow_room"
    assert "importing the libraries" in capsys.readouterr().err
