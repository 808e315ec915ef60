"""Every picture and both editions, drawn from the real data and rendered by a browser."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parent.parent.parent
PICTURES = (
    "distribution_adult worst_adult attributes_adult attributes_iwpc groups_adult groups_iwpc floor_adult "
    "equalized_mnist gallery_mnist attack_iwpc frontier_iwpc"
)
REPORTS = [f"report_{name}_{edition}" for name in ("adult", "iwpc") for edition in ("internal", "publishable")]


@pytest.fixture(scope="module")
def output(tmp_path_factory, data_home):
    folder = tmp_path_factory.mktemp("pictures")
    command = [sys.executable, "-W", "error", "-m", "docs.pictures", "--all", "--output", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "SEEPAGE_DATA": str(data_home)})
    return folder


def _ink(path):
    """Return the shape of a picture, and the share of it that is not background."""
    image = pyplot.imread(path)[..., :3]
    return image.shape, float((np.abs(image - image[-1, -1]).max(axis=2) > 0.1).mean())


@pytest.mark.parametrize("name", re.findall(r"\w+", PICTURES))
def test_every_picture_is_drawn(output, name):
    shape, ink = _ink(output / f"{name}.png")
    # For half a page, and neither empty nor full.
    assert 300 < shape[1] < 1300
    assert 0.01 < ink < 0.75


@pytest.mark.parametrize("name", REPORTS)
def test_both_editions_are_rendered(output, name):
    (height, width, _), ink = _ink(output / f"{name}.png")
    assert width == 820
    # All of the page is there: below its end the browser's window was empty.
    shortest, longest = (1500, 5200) if name.endswith("internal") else (900, 2000)
    assert shortest < height < longest
    assert 0.02 < ink < 0.3


@pytest.mark.parametrize("name", REPORTS)
def test_pages_are_small(output, name):
    page = (output / f"{name}.html").read_text(encoding="utf-8")
    assert len(page) < 100_000
    said = "no unbiased guess of" if name.endswith("internal") else "no unbiased guess has a standard error below"
    assert said in page.lower()


def test_the_publishable_edition_of_real_data_names_nobody(output):
    page = (output / "report_adult_publishable.html").read_text(encoding="utf-8")
    assert "pseudonym" not in page
    assert "largest" not in page


def test_pictures_of_the_documentation_are_small_and_current():
    for name in ("distribution_adult", "attributes_iwpc", "report_adult_internal"):
        assert (ROOT / "docs" / "pictures" / f"{name}.png").stat().st_size < 200_000
