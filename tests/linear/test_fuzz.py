"""A hundred drawn settings against an independent computation; `python -m benchmarks fuzz` draws more."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_drawn_settings_agree_with_an_independent_computation(tmp_path):
    state = tmp_path / "fuzz.json"
    command = [sys.executable, "-m", "benchmarks", "fuzz", "--draws", "100", "--seed", "1", "--state", str(state)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert state.exists()
