"""Pictures and pages of the documentation, and how they must look once a browser has rendered them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot
from pages import ROOT


def draw(folder: Path, data_home: Path, *names: str) -> Path:
    """Draw pictures, and write and render pages, by their names; return the folder that holds them."""
    command = [sys.executable, "-W", "error", "-m", "docs.pictures", *names, "--output", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "SEEPAGE_DATA": str(data_home)})
    return folder


def _ink(path: Path) -> tuple[tuple[int, ...], float]:
    """Return the shape of a picture, and the share of it that is not background."""
    image = pyplot.imread(path)[..., :3]
    return image.shape, float((np.abs(image - image[-1, -1]).max(axis=2) > 0.1).mean())


def check_picture(path: Path) -> None:
    shape, ink = _ink(path)
    # For half a page, and neither empty nor full.
    assert 300 < shape[1] < 1300
    assert 0.01 < ink < 0.75


def check_page(path: Path) -> None:
    (height, width, _), ink = _ink(path.with_suffix(".png"))
    assert width == 820
    # All of the page is there: below its end the browser's window was empty.
    shortest, longest = (1500, 6400) if path.stem.endswith("internal") else (900, 2000)
    assert shortest < height < longest
    assert 0.02 < ink < 0.3
    page = path.read_text(encoding="utf-8")
    assert len(page) < 100_000
    said = "no unbiased guess of" if path.stem.endswith("internal") else "no unbiased guess has a standard error below"
    assert said in page.lower()
