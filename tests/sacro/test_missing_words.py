"""The documented pipeline with missing categories is published alike by pandas below 3 and above."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "command-line.md"
STATED = "--classes no,yes --public-preprocessing simpleimputer --public-preprocessing onehotencoder"


def test_the_documented_pipeline_is_published(tmp_path, monkeypatch):
    section = PAGE.read_text().partition("## A pipeline with missing values")[2]
    code, policy = (re.search(f"```{kind}\n(.*?)```", section, re.DOTALL)[1] for kind in ("python", "toml"))
    (tmp_path / "policy.toml").write_text(policy)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(code, names)
    (levels,) = names["model"][0].named_transformers_["pipeline-2"][-1].categories_
    assert levels.tolist() == ["none", "office", "shop"]
    asked = f"publish pipeline.skops clients.parquet --target repaid --noise 0.5 --policy policy.toml {STATED}"
    done = subprocess.run(
        [sys.executable, "-m", "seepage", *asked.split(), "--out", "loans.skops"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Targets that are met" in done.stdout
