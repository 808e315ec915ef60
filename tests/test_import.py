"""What `import seepage` costs and shows."""

import subprocess
import sys

import pytest

import seepage


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
